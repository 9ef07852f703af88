/* Recurrent layers, whole op: tokens of a sequence, by the vectors of the state that each changes. */
#include "htp/params.h"
#include "packets/packets.h"

#define HEADS 4
#define TOKENS 16
#define SOURCES 7

uint32_t htp_recurrent(struct htp_exec *exec);

static struct htp_view tensor(uint32_t type, uint32_t n0, uint32_t n1, uint32_t n2) {
    struct htp_view v = packets_tensor(type, n0, n1 * n2);
    v.ne[1] = n1;
    v.ne[2] = n2;
    v.nb[2] = v.nb[1] * n1;
    v.nb[3] = v.nb[2] * n2;
    return v;
}

/* fine: the decay is a vector. rows: of a head's state, with `length` elements */
static void recurrent(const char *name, uint32_t op, uint32_t rows, uint32_t length, uint32_t heads, uint32_t tokens,
                      bool fine) {
    const struct htp_view x = tensor(HTP_TYPE_F32, rows, heads, tokens), one = tensor(HTP_TYPE_F32, 1, heads, tokens);
    const struct htp_view bonus = tensor(HTP_TYPE_F32, rows, heads, 1), per_head = tensor(HTP_TYPE_F32, heads, tokens, 1);
    const struct htp_view state = tensor(HTP_TYPE_F32, length, rows, heads);
    const struct htp_view line = tensor(HTP_TYPE_F32, length * rows * heads, 1, 1);
    const struct htp_view group = tensor(HTP_TYPE_F32, length, 1, tokens);
    const struct htp_view decay = tensor(HTP_TYPE_F32, fine ? length : 1, heads, 1);
    struct htp_view ids = tensor(HTP_TYPE_I32, 1, 1, 1);
    *(int32_t *)(void *)ids.data = 0;
    const struct htp_view dst = tensor(HTP_TYPE_F32, rows * heads * (tokens + length), 1, 1);
    const struct htp_view *src[5][SOURCES] = {
        {&x, &x, &x, fine ? &x : &one, &one, &state},
        {&state, &x, &per_head, &decay, &group, &group, &ids},
        {&x, &x, &x, &bonus, &x, &line},
        {&x, &x, &x, &x, &x, &x, &line},
        {&x, &x, &x, &x, &line},
    };
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_recurrent_params numbers = {.snapshots = 1, .scale = 0.125f};
    __builtin_memcpy(params, &numbers, sizeof(numbers));
    struct htp_exec exec;
    packets_exec(&exec, op, params, &x, NULL, &dst);
    exec.n_src = SOURCES;
    for (uint32_t i = 0; i < SOURCES; i++)
        exec.src[i] = src[op - HTP_OP_GATED_DELTA_NET][i];
    packets_begin();
    packets_run(&exec, htp_recurrent);
    packets_end("vector", (double)((length + 31) / 32) * rows * heads * tokens, "%s %ux%u, %u token%s%s", name,
                (unsigned)rows, (unsigned)length, (unsigned)tokens, tokens == 1 ? "" : "s", fine ? ", fine" : "");
}

void packets_recurrent(void) {
    for (uint32_t tokens = 1; tokens <= TOKENS; tokens += TOKENS - 1) {
        recurrent("gated_delta_net", HTP_OP_GATED_DELTA_NET, 128, 128, HEADS, tokens, false);
        recurrent("gated_delta_net", HTP_OP_GATED_DELTA_NET, 128, 128, HEADS, tokens, true);
        recurrent("ssm_scan", HTP_OP_SSM_SCAN, 64, 128, HEADS, tokens, false);
        recurrent("ssm_scan", HTP_OP_SSM_SCAN, 1, 16, 256, tokens, true);
        recurrent("rwkv_wkv6", HTP_OP_RWKV_WKV6, 64, 64, HEADS, tokens, false);
        recurrent("rwkv_wkv7", HTP_OP_RWKV_WKV7, 64, 64, HEADS, tokens, false);
        recurrent("gated_linear_attn", HTP_OP_GATED_LINEAR_ATTN, 64, 64, HEADS, tokens, false);
    }
}
