/*
 * TIMESTEP_EMBEDDING: row i of dst has cos(t * f[j]) for j < half, then sin(t * f[j]), and a zero behind them when it is
 * odd; t is element i of src, f[j] = 2^-(j * step). f32.
 *
 * A frequency serves all rows, so threads take vectors of frequencies. Frequencies are within 6e-7 of their value, as
 * those of f32 logarithms are: the exponent is rounded.
 */
#include "hvx/angle.h"
#include "hvx/exact.h"
#include "ops/pattern/pattern.h"

struct embedding {
    const struct htp_view *src, *dst;
    float step;
    uint32_t half, vectors;
};

static float timestep(const struct htp_view *src, uint32_t i) {
    float t;
    __builtin_memcpy(&t, __builtin_assume_aligned(src->data + (size_t)i * src->nb[0], 4), 4);
    return t;
}

static HVX_Vector frequencies(const struct embedding *t, uint32_t first) {
    static const int32_t lanes[HVX_WORDS] __attribute__((aligned(128))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const HVX_Vector j = Q6_Vw_vadd_VwVw(hvx_load_aligned(lanes), hvx_splat_i32((int32_t)first));
    return hvx_exp2_minus_exact(hvx_mul_f32(hvx_wide_i32_to_f32(j), hvx_splat_f32(t->step)));
}

static void run_vectors(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct embedding *t = arg;
    const struct htp_share share = htp_share_of(t->vectors, thread, n_threads);
    for (uint32_t k = share.begin; k < share.begin + share.count; k++) {
        const uint32_t first = k * HVX_WORDS, bytes = htp_min_u32(t->half - first, HVX_WORDS) * 4;
        const HVX_Vector f = frequencies(t, first);
        uint8_t *row = t->dst->data + (size_t)first * 4;
        for (uint32_t i = 0; i < t->dst->ne[1]; i++, row += t->dst->nb[1]) {
            const float time = timestep(t->src, i);
            const HVX_Vector angle = hvx_mul_f32(f, hvx_splat_f32(time));
            const bool is_small = __builtin_fabsf(time) <= HVX_ANGLE_LIMIT; /* not so for NaN */
            const struct hvx_angle a = is_small ? hvx_angle_of(hvx_angle_magnitude(angle)) : hvx_angle_of_any(angle);
            hvx_store_bytes(row, bytes, hvx_cosine(a, angle));
            hvx_store_bytes(row + (size_t)t->half * 4, bytes, hvx_sine(a, angle));
        }
    }
    if (thread != 0 || t->dst->ne[0] % 2 == 0)
        return;
    for (uint32_t i = 0; i < t->dst->ne[1]; i++)
        htp_row_clear(t->dst->data + (size_t)i * t->dst->nb[1] + (size_t)t->half * 8, 4);
}

uint32_t pattern_timestep(struct htp_exec *exec) {
    const struct htp_view *const src = exec->n_src < 1 ? NULL : exec->src[0], *const dst = exec->dst;
    if (src == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (src->type != HTP_TYPE_F32 || src->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (!pattern_takes(dst, 1u << HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        if (src->ne[d] != 1 || dst->ne[d] != (d == 1 ? src->ne[0] : 1))
            return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_SHAPE + d);
    }
    if (dst->ne[0] > INT32_MAX)
        return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_SHAPE);
    struct htp_timestep_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    if (!(params.step >= 0 && params.step < __builtin_inff()))
        return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_PARAMS);
    if (dst->ne[0] == 0 || dst->ne[1] == 0)
        return HTP_STATUS_OK;
    struct embedding t = {.src = src, .dst = dst, .step = params.step, .half = dst->ne[0] / 2};
    t.vectors = htp_div_up(t.half, HVX_WORDS);
    const uint32_t parts = t.vectors == 0 ? 1 : t.vectors;
    /* a result costs as much as eight that are only moved */
    htp_parallel(exec, pattern_threads(exec, (uint64_t)dst->ne[0] * dst->ne[1] * 4 * 8, parts), run_vectors, &t);
    return HTP_STATUS_OK;
}
