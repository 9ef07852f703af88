/* ROLL: dst[i] = src[i - shift] in each dimension, modulo its size; f32. dst shares nothing with src. */
#include "ops/pattern/pattern.h"

/* i - by modulo size; i and by are below it */
static uint32_t back(uint32_t i, uint32_t by, uint32_t size) { return i >= by ? i - by : i + (size - by); }

static void roll_part(const struct pattern *t, const struct htp_place *at, uint32_t first, uint32_t count) {
    const struct htp_roll_params *const p = t->params;
    const uint32_t *const ne = t->dst.ne;
    const uint8_t *const src = htp_row(t->src, back(at->i1, p->by[1], ne[1]), back(at->i2, p->by[2], ne[2]),
                                       back(at->i3, p->by[3], ne[3]));
    uint8_t *const dst = htp_row(&t->dst, at->i1, at->i2, at->i3) + (size_t)first * 4;
    const uint32_t start = back(first, p->by[0], ne[0]), until_end = htp_min_u32(count, ne[0] - start);
    htp_row_copy(dst, src + (size_t)start * 4, (size_t)until_end * 4);
    if (count > until_end)
        htp_row_copy(dst + (size_t)until_end * 4, src, (size_t)(count - until_end) * 4);
}

uint32_t pattern_roll(struct htp_exec *exec) {
    const uint32_t status = pattern_take_f32(exec, true);
    if (status != HTP_STATUS_OK)
        return status;
    struct htp_roll_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        if (params.by[d] != 0 && params.by[d] >= exec->dst->ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_PARAMS);
    }
    struct pattern t = {.run = roll_part, .dst = *exec->dst, .src = exec->src[0], .params = &params};
    pattern_run(exec, &t);
    return HTP_STATUS_OK;
}
