/*
 * From dot products to probabilities, one row and one block at a time, with what the row has seen before (online
 * softmax). A pair holds 64 keys: the even ones in the first vector, the odd ones in the second, so that masks come,
 * and probabilities go, as plain f16 vectors without a shuffle.
 */
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H

#include "hvx/exp2.h"
#include "ops/attention/attention.h"
#include "ops/attention/scores.h"

#define SOFTMAX_LOG2_E 1.44269504f
#define SOFTMAX_MAX_PAIRS (ATTENTION_MAX_BLOCK / HVX_HALVES)
#define SOFTMAX_HALF_MINUS_INFINITY ((int32_t)0xfc000000u) /* as the upper half of a word */

/* exp(a - max), exp(b - max) for a, b up to max; all f32 */
HVX_INLINE HVX_VectorPair exp_below(HVX_Vector a, HVX_Vector b, HVX_Vector max) {
    const HVX_Vector log2_e = hvx_f32_to_qf32(hvx_splat_f32(SOFTMAX_LOG2_E)), offset = hvx_splat_f32(HVX_EXP2_OFFSET);
    const HVX_Vector x = hvx_mul_qf32(Q6_Vqf32_vsub_VsfVsf(a, max), log2_e);
    const HVX_Vector y = hvx_mul_qf32(Q6_Vqf32_vsub_VsfVsf(b, max), log2_e);
    return hvx_exp2_255(hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(x, offset)),
                        hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(y, offset)));
}

/* tanh(x) in f32: (1 - e) / (1 + e) with e = exp(-2|x|), and the sign of x. Absolute error below 2e-5. */
HVX_INLINE HVX_Vector tanh_from_exp(HVX_Vector e, HVX_Vector x) {
    const HVX_Vector one = hvx_splat_f32(1.0f);
    const HVX_Vector t = hvx_mul_f32(hvx_sub_f32(one, e), hvx_reciprocal_f32(hvx_add_f32(one, e)));
    return Q6_V_vor_VV(t, Q6_V_vand_VV(x, hvx_splat_i32(INT32_MIN)));
}
HVX_INLINE void soft_cap(HVX_Vector *a, HVX_Vector *b, float cap) {
    const HVX_Vector minus = hvx_splat_i32(INT32_MIN);
    const HVX_Vector x = Q6_V_vor_VV(hvx_add_f32(*a, *a), minus), y = Q6_V_vor_VV(hvx_add_f32(*b, *b), minus);
    const HVX_VectorPair e = exp_below(x, y, hvx_zero());
    *a = hvx_mul_f32(tanh_from_exp(Q6_V_lo_W(e), *a), hvx_splat_f32(cap));
    *b = hvx_mul_f32(tanh_from_exp(Q6_V_hi_W(e), *b), hvx_splat_f32(cap));
}

/* adds slope * mask, 64 f16; where the mask is -infinity the score is ATTENTION_MASKED whatever it was */
HVX_INLINE void add_mask(HVX_Vector *even, HVX_Vector *odd, HVX_Vector mask, HVX_Vector slope_qf32) {
    const HVX_Vector infinity = hvx_splat_i32(SOFTMAX_HALF_MINUS_INFINITY), masked = hvx_splat_f32(ATTENTION_MASKED);
    const HVX_VectorPair m = hvx_mul_f16_qf32(mask, hvx_splat_i32(HVX_HALF_ONE));
    const HVX_Vector e = Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_qf32(Q6_V_lo_W(m), slope_qf32), *even);
    const HVX_Vector o = Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_qf32(Q6_V_hi_W(m), slope_qf32), *odd);
    const HVX_Vector upper = Q6_V_vand_VV(mask, hvx_splat_i32((int32_t)0xffff0000u));
    *even = Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(Q6_Vw_vasl_VwR(mask, 16), infinity), masked, hvx_qf32_to_f32(e));
    *odd = Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(upper, infinity), masked, hvx_qf32_to_f32(o));
}

/* keys from `keys` (1 .. 63) on do not exist */
HVX_INLINE void cut_pair(HVX_Vector *even, HVX_Vector *odd, uint32_t keys) {
    const HVX_Vector number = Q6_Vw_vasl_VwR(score_lane_numbers(), 1), masked = hvx_splat_f32(ATTENTION_MASKED);
    *even = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(hvx_splat_i32((int32_t)keys), number), *even, masked);
    *odd = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(hvx_splat_i32((int32_t)keys - 1), number), *odd, masked);
}

/* the largest lane in all lanes */
HVX_INLINE HVX_Vector max_lanes(HVX_Vector x) {
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        x = Q6_Vsf_vmax_VsfVsf(x, Q6_V_vror_VR(x, bytes));
    return x;
}

/* What scores of a row become. */
struct row_terms {
    float scale, cap;   /* cap: 0 for none; the scale is already divided by it */
    const uint8_t *mask; /* f16 of the block's first key on, NULL: none */
    float slope;
};

/* mask of 64 keys, or of the `keys` that are left */
HVX_INLINE HVX_Vector load_mask(const uint8_t *mask, uint32_t keys) {
    return keys >= HVX_HALVES ? hvx_load(mask) : hvx_load_bytes(mask, 2 * keys);
}

/*
 * scores: pairs of dot products, f32, for `keys` keys; state: of the row. Writes the probabilities, f16, relative to
 * the largest score so far, and returns the factor that earlier ones are to be multiplied with, in qf32.
 */
HVX_INLINE HVX_Vector softmax_block(const struct row_terms *t, HVX_Vector *scores, uint32_t keys, HVX_Vector *state,
                                    HVX_Vector *probabilities) {
    const HVX_Vector scale = hvx_splat_f32(t->scale);
    const HVX_Vector slope = hvx_f32_to_qf32(hvx_splat_f32(t->slope));
    HVX_Vector largest = state[STATE_LARGEST];
    HVX_ROLLED
    for (uint32_t first = 0; first < keys; first += HVX_HALVES) {
        HVX_Vector *pair = scores + first / HVX_WORDS;
        HVX_Vector even = hvx_mul_f32(pair[0], scale), odd = hvx_mul_f32(pair[1], scale);
        if (t->cap != 0)
            soft_cap(&even, &odd, t->cap);
        if (t->mask != NULL)
            add_mask(&even, &odd, load_mask(t->mask + 2 * first, keys - first), slope);
        if (keys - first < HVX_HALVES)
            cut_pair(&even, &odd, keys - first);
        largest = Q6_Vsf_vmax_VsfVsf(largest, Q6_Vsf_vmax_VsfVsf(even, odd));
        pair[0] = even;
        pair[1] = odd;
    }
    largest = max_lanes(largest);
    const HVX_VectorPair change = exp_below(state[STATE_LARGEST], state[STATE_LARGEST], largest);
    const HVX_Vector factor = hvx_f32_to_qf32(Q6_V_lo_W(change));
    HVX_Vector total = hvx_mul_qf32(state[STATE_TOTAL], factor);
    state[STATE_LARGEST] = largest;
    HVX_ROLLED
    for (uint32_t first = 0; first < keys; first += HVX_HALVES) {
        const HVX_Vector *pair = scores + first / HVX_WORDS;
        const HVX_VectorPair p = exp_below(pair[0], pair[1], largest);
        const HVX_Vector even = hvx_f32_to_qf32(Q6_V_lo_W(p)), odd = hvx_f32_to_qf32(Q6_V_hi_W(p));
        total = hvx_add_qf32(total, hvx_add_qf32(even, odd));
        probabilities[first / HVX_HALVES] = Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(odd, even));
    }
    state[STATE_TOTAL] = total;
    return factor;
}

#endif
