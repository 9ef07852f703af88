/*
 * TRI, DIAG_MASK_INF: of row r, the elements r + low .. r + high stay, the others are a constant. DIAG: the same with the
 * one row of each matrix of src, of which element r stays. f32; dst may be src.
 */
#include "ops/pattern/pattern.h"

/* r + offset as the number of an element between `first` and `end` */
static uint32_t clip(uint32_t r, int64_t offset, uint32_t first, uint32_t end) {
    const int64_t i = (int64_t)r + offset;
    return i < (int64_t)first ? first : i > (int64_t)end ? end : (uint32_t)i;
}

static void band_part(const struct pattern *t, const struct htp_place *at, uint32_t first, uint32_t count) {
    const struct htp_band_params *const p = t->params;
    const uint32_t end = first + count;
    const uint32_t from = clip(at->i1, p->low, first, end), past = clip(at->i1, (int64_t)p->high + 1, from, end);
    uint8_t *const dst = htp_row(&t->dst, at->i1, at->i2, at->i3);
    const uint8_t *const src = htp_row(t->src, t->src->ne[1] == 1 ? 0 : at->i1, at->i2, at->i3);
    const HVX_Vector outside = hvx_splat_f32(p->outside);
    if (from > first)
        fill_bytes(dst + (size_t)first * 4, (size_t)(from - first) * 4, outside);
    if (past > from && dst != src)
        htp_row_copy(dst + (size_t)from * 4, src + (size_t)from * 4, (size_t)(past - from) * 4);
    if (end > past)
        fill_bytes(dst + (size_t)past * 4, (size_t)(end - past) * 4, outside);
}

uint32_t pattern_band(struct htp_exec *exec) {
    const bool one_row = exec->op == HTP_OP_DIAG;
    const uint32_t status = pattern_take_f32(exec, !one_row);
    if (status != HTP_STATUS_OK)
        return status;
    const struct htp_view *const src = exec->src[0], *const dst = exec->dst;
    for (uint32_t d = 0; one_row && d < HTP_MAX_DIMS; d++) {
        if (dst->ne[d] != src->ne[d == 1 ? 0 : d] || (d == 1 && src->ne[1] != 1))
            return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_SHAPE + d);
    }
    struct htp_band_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    struct pattern t = {.run = band_part, .dst = *dst, .src = src, .params = &params};
    pattern_run(exec, &t);
    return HTP_STATUS_OK;
}
