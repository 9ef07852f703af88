/* ROPE: the table of a token, the rotation of its heads, and both within the op. */
#include "packets/packets.h"

#include <string.h>

#include "ops/rope/rope.h"

#define DIMS 128
#define PAIRS (DIMS / 2)
#define HEADS 32
#define TOKENS 4

uint32_t htp_rope(struct htp_exec *exec);

static const char *mode_name(int32_t mode) { return mode == HTP_ROPE_NEOX ? "neox" : "interleaved"; }

static struct htp_rope_params params_of(int32_t mode) {
    return (struct htp_rope_params){
        .mode = mode,
        .n_dims = DIMS,
        .theta_scale = 0.9f,
        .freq_scale = 1,
        .magnitude = 1,
    };
}

static struct htp_view positions(void) {
    const struct htp_view p = packets_tensor(HTP_TYPE_F32, TOKENS, 1);
    struct htp_view i = p;
    i.type = HTP_TYPE_I32;
    for (int32_t t = 0; t < TOKENS; t++)
        memcpy(i.data + 4 * t, &t, 4);
    return i;
}

static float *entries(void) { return (float *)(void *)packets_memory(PAIRS * 4); }

static void parts(int32_t mode, uint32_t type) {
    const struct htp_view x = packets_tensor(type, DIMS, HEADS), y = packets_tensor(type, DIMS, HEADS);
    const struct htp_view where = positions();
    struct rope t = {.src = &x, .positions = &where, .dst = &y, .params = params_of(mode)};
    t.pairs = t.padded = PAIRS;
    t.size = x.nb[0];
    t.distance = (mode == HTP_ROPE_NEOX ? PAIRS : 1) * t.size;
    t.rotated = DIMS * t.size;
    t.aligned = true;
    rope_prepare_angles(&t, packets_memory(rope_shared_bytes(&t)));
    const struct rope_scratch s = {.angle = entries(), .cosine = entries(), .sine = entries()};
    const char *type_name = type == HTP_TYPE_F32 ? "f32" : "f16";
    if (mode == HTP_ROPE_NEOX && type == HTP_TYPE_F32) {
        packets_begin();
        rope_table(&t, &s, 1);
        packets_end("token", 1, "table of %u dims", DIMS);
    }
    packets_begin();
    rope_rotate(&t, &s, x.data, y.data, x.nb[1], y.nb[1], HEADS);
    packets_end("head", HEADS, "rotate %u heads, %s %s", HEADS, mode_name(mode), type_name);
    t.aligned = false;
    packets_begin();
    rope_rotate(&t, &s, x.data, y.data, x.nb[1], y.nb[1], HEADS);
    packets_end("head", HEADS, "rotate %u heads, %s %s, not aligned", HEADS, mode_name(mode), type_name);
}

/* a view of four dimensions: heads of TOKENS tokens */
static struct htp_view heads_of_tokens(void) {
    struct htp_view v = packets_tensor(HTP_TYPE_F32, DIMS, HEADS * TOKENS);
    v.ne[1] = HEADS;
    v.ne[2] = TOKENS;
    v.nb[2] = HEADS * v.nb[1];
    v.nb[3] = TOKENS * v.nb[2];
    return v;
}

static void whole_op(int32_t mode) {
    const struct htp_view x = heads_of_tokens(), y = heads_of_tokens(), where = positions();
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_rope_params p = params_of(mode);
    memcpy(params, &p, sizeof(p));
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_ROPE, params, &x, &where, &y);
    packets_begin();
    packets_run(&exec, htp_rope);
    packets_end("token", TOKENS, "op, %u heads of %u, %s", HEADS, DIMS, mode_name(mode));
}

void packets_rope(void) {
    parts(HTP_ROPE_NEOX, HTP_TYPE_F32);
    parts(HTP_ROPE_NORMAL, HTP_TYPE_F32);
    parts(HTP_ROPE_NEOX, HTP_TYPE_F16);
    parts(HTP_ROPE_NORMAL, HTP_TYPE_F16);
    whole_op(HTP_ROPE_NEOX);
    whole_op(HTP_ROPE_NORMAL);
}
