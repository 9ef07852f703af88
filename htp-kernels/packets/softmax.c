/* SOFT_MAX: a row alone, and rows within the op. */
#include "packets/packets.h"

#include <string.h>

#include "ops/softmax/softmax.h"

#define ROWS 16

uint32_t htp_softmax(struct htp_exec *exec);

/* With zeros and this scale the row kernel finds, by the nonsense that it computes here, that all is well. */
#define SCALE 0.1298828125f

static struct htp_view zeros(uint32_t type, uint32_t length, uint32_t rows) {
    const struct htp_view v = packets_tensor(type, length, rows);
    memset(v.data, 0, v.nb[2]);
    return v;
}

static const char *mask_name(uint32_t mask) {
    return mask == HTP_TYPE_F16 ? "f16 mask" : mask == HTP_TYPE_F32 ? "f32 mask" : "no mask";
}

/* mask: its type; HTP_TYPE_I32: none. shift: elements by which everything is off a vector's boundary */
static void one_row(uint32_t length, uint32_t mask, uint32_t shift) {
    const uint32_t mask_bytes = mask == HTP_TYPE_F16 ? 2 : 4;
    const struct softmax_head head = {
        .scale = SCALE,
        .slope = 1,
        .has_mask = mask != HTP_TYPE_I32,
        .mask_is_f16 = mask == HTP_TYPE_F16,
        .plain = true,
        .limit = 0xfefe,
        .unit_scale = SCALE,
        .unit_factor = SOFTMAX_LOG2E,
    };
    const struct softmax_row row = {
        .x = zeros(HTP_TYPE_F32, length + shift, 1).data + 4 * shift,
        .mask = mask == HTP_TYPE_I32 ? NULL : zeros(mask, length + shift, 1).data + mask_bytes * shift,
        .y = packets_memory(4 * (length + shift)) + 4 * shift,
        .work = packets_memory(4 * length),
        .elements = length,
    };
    packets_begin();
    softmax_row(&row, &head);
    packets_end("row", 1, "row %u, %s%s", (unsigned)length, mask_name(mask), shift != 0 ? ", not aligned" : "");
}

static void whole_op(uint32_t length, uint32_t mask) {
    const struct htp_view x = zeros(HTP_TYPE_F32, length, ROWS), y = packets_tensor(HTP_TYPE_F32, length, ROWS);
    const struct htp_view m = zeros(mask == HTP_TYPE_I32 ? HTP_TYPE_F32 : mask, length, ROWS);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_softmax_params p = {.scale = SCALE};
    memcpy(params, &p, sizeof(p));
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_SOFT_MAX, params, &x, mask == HTP_TYPE_I32 ? NULL : &m, &y);
    packets_begin();
    packets_run(&exec, htp_softmax);
    packets_end("row", ROWS, "op %u, %s", (unsigned)length, mask_name(mask));
}

void packets_softmax(void) {
    one_row(2048, HTP_TYPE_F16, 0);
    one_row(2048, HTP_TYPE_F16, 1);
    one_row(2048, HTP_TYPE_F32, 0);
    one_row(2048, HTP_TYPE_I32, 0);
    one_row(2000, HTP_TYPE_F16, 0);
    one_row(64, HTP_TYPE_F16, 0);
    one_row(128, HTP_TYPE_I32, 0); /* experts: powers to the last places */
    whole_op(2048, HTP_TYPE_F16);
    whole_op(2048, HTP_TYPE_I32);
    whole_op(64, HTP_TYPE_F16);
}
