/*
 * TRI, DIAG_MASK_INF: of row r, the elements r + low .. r + high stay, the others are a constant. DIAG: the same with the
 * one row of each matrix of src, of which element r stays. f32; dst may be src.
 *
 * Short rows are a vector of src or the constant lane by lane, three packets a vector. Long ones are constants, a copy
 * and constants, which is less a vector but some fifty packets for the edges between them.
 */
#include "ops/pattern/pattern.h"

#define SHORT 256 /* elements: about where both take as long */

/* r + offset as the number of an element between `first` and `end` */
static uint32_t clip(uint32_t r, int64_t offset, uint32_t first, uint32_t end) {
    const int64_t i = (int64_t)r + offset;
    return i < (int64_t)first ? first : i > (int64_t)end ? end : (uint32_t)i;
}

/* elements from .. past - 1 of `count` from src, the others `outside` */
static void select_row(uint8_t *dst, const uint8_t *src, uint32_t count, uint32_t from, uint32_t past,
                       HVX_Vector outside) {
    static const int32_t lanes[HVX_WORDS] __attribute__((aligned(128))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const HVX_Vector low = hvx_splat_i32((int32_t)from - 1), high = hvx_splat_i32((int32_t)past - 1);
    const HVX_Vector more = hvx_splat_i32(HVX_WORDS);
    HVX_Vector index = hvx_load_aligned(lanes);
    HVX_ROLLED
    for (uint32_t n = count / HVX_WORDS; n > 0; n--, dst += HVX_BYTES, src += HVX_BYTES) {
        const HVX_VectorPred stays = Q6_Q_and_QQn(Q6_Q_vcmp_gt_VwVw(index, low), Q6_Q_vcmp_gt_VwVw(index, high));
        hvx_store(dst, Q6_V_vmux_QVV(stays, hvx_load(src), outside));
        index = Q6_Vw_vadd_VwVw(index, more);
    }
    const uint32_t bytes = count % HVX_WORDS * 4;
    if (bytes == 0)
        return;
    const HVX_VectorPred stays = Q6_Q_and_QQn(Q6_Q_vcmp_gt_VwVw(index, low), Q6_Q_vcmp_gt_VwVw(index, high));
    hvx_store_bytes(dst, bytes, Q6_V_vmux_QVV(stays, hvx_load_bytes(src, bytes), outside));
}

static void band_part(const struct pattern *t, const struct htp_place *at, uint32_t first, uint32_t count) {
    const struct htp_band_params *const p = t->params;
    const uint32_t end = first + count;
    const uint32_t from = clip(at->i1, p->low, first, end), past = clip(at->i1, (int64_t)p->high + 1, from, end);
    uint8_t *const dst = htp_row(&t->dst, at->i1, at->i2, at->i3);
    const uint8_t *const src = htp_row(t->src, t->src->ne[1] == 1 ? 0 : at->i1, at->i2, at->i3);
    const HVX_Vector outside = hvx_splat_f32(p->outside);
    if (t->dst.ne[0] <= SHORT) {
        select_row(dst, src, count, from, past, outside);
        return;
    }
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
