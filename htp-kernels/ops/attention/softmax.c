/* Scores to probabilities: see softmax.h. */
#include "ops/attention/softmax.h"

#define SOFTMAX_HALF_MINUS_INFINITY ((int32_t)0xfc000000u) /* as the upper half of a word */

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

/* mask of 64 keys, or of the `keys` that are left */
HVX_INLINE HVX_Vector load_mask(const uint8_t *mask, uint32_t keys) {
    return keys >= HVX_HALVES ? hvx_load(mask) : hvx_load_bytes(mask, 2 * keys);
}

/*
 * The scores of a pair, from `first` on of `keys` keys. capped, masked: there is a cap, a mask.
 */
HVX_INLINE void finish_pair(const struct row_terms *t, HVX_Vector *pair, uint32_t first, uint32_t keys, bool capped,
                            bool masked) {
    const HVX_Vector scale = hvx_splat_f32(t->scale);
    HVX_Vector even = hvx_mul_f32(pair[0], scale), odd = hvx_mul_f32(pair[1], scale);
    if (capped)
        soft_cap(&even, &odd, t->cap);
    if (masked)
        add_mask(&even, &odd, load_mask(t->mask + 2 * first, keys - first), hvx_f32_to_qf32(hvx_splat_f32(t->slope)));
    if (keys - first < HVX_HALVES)
        cut_pair(&even, &odd, keys - first);
    pair[0] = even;
    pair[1] = odd;
}

/* The work on a state when the scores are finished; `largest`: of them and of the state. */
struct online {
    HVX_Vector largest, factor, total;
};

HVX_INLINE struct online meet(HVX_Vector largest, const HVX_Vector *state) {
    struct online o = {.largest = max_lanes(largest)};
    const HVX_VectorPair change = exp_below(state[STATE_LARGEST], state[STATE_LARGEST], o.largest);
    o.factor = hvx_f32_to_qf32(Q6_V_lo_W(change));
    o.total = hvx_mul_qf32(state[STATE_TOTAL], o.factor);
    return o;
}

HVX_INLINE HVX_Vector pair_probabilities(struct online *o, const HVX_Vector *pair) {
    const HVX_VectorPair p = exp_below(pair[0], pair[1], o->largest);
    const HVX_Vector even = hvx_f32_to_qf32(Q6_V_lo_W(p)), odd = hvx_f32_to_qf32(Q6_V_hi_W(p));
    o->total = hvx_add_qf32(o->total, hvx_add_qf32(even, odd));
    return Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(odd, even));
}

HVX_INLINE HVX_Vector leave(const struct online *o, HVX_Vector *state) {
    state[STATE_LARGEST] = o->largest;
    state[STATE_TOTAL] = o->total;
    return o->factor;
}

HVX_INLINE HVX_Vector largest_of(HVX_Vector largest, const HVX_Vector *pair) {
    return Q6_Vsf_vmax_VsfVsf(largest, Q6_Vsf_vmax_VsfVsf(pair[0], pair[1]));
}

/* A whole block without a cap, which is nearly all of them: everything in registers, the pairs side by side. */
HVX_INLINE HVX_Vector whole_block(const struct row_terms *t, const HVX_Vector *scores, HVX_Vector *state,
                                  HVX_Vector *probabilities, bool masked) {
    HVX_Vector s[2 * SOFTMAX_MAX_PAIRS], p[SOFTMAX_MAX_PAIRS], largest = state[STATE_LARGEST];
    HVX_UNROLL
    for (uint32_t i = 0; i < 2 * SOFTMAX_MAX_PAIRS; i++)
        s[i] = scores[i];
    HVX_UNROLL
    for (uint32_t i = 0; i < SOFTMAX_MAX_PAIRS; i++) {
        finish_pair(t, s + 2 * i, i * HVX_HALVES, ATTENTION_MAX_BLOCK, false, masked);
        largest = largest_of(largest, s + 2 * i);
    }
    struct online o = meet(largest, state);
    HVX_UNROLL
    for (uint32_t i = 0; i < SOFTMAX_MAX_PAIRS; i++)
        p[i] = pair_probabilities(&o, s + 2 * i);
    HVX_UNROLL
    for (uint32_t i = 0; i < SOFTMAX_MAX_PAIRS; i++)
        probabilities[i] = p[i];
    return leave(&o, state);
}
static HVX_NOINLINE HVX_Vector whole_block_plain(const struct row_terms *t, const HVX_Vector *scores,
                                                 HVX_Vector *state, HVX_Vector *probabilities) {
    return whole_block(t, scores, state, probabilities, false);
}
static HVX_NOINLINE HVX_Vector whole_block_masked(const struct row_terms *t, const HVX_Vector *scores,
                                                  HVX_Vector *state, HVX_Vector *probabilities) {
    return whole_block(t, scores, state, probabilities, true);
}

HVX_Vector attention_softmax(const struct row_terms *t, HVX_Vector *scores, uint32_t keys, HVX_Vector *state,
                             HVX_Vector *probabilities) {
    if (keys == ATTENTION_MAX_BLOCK && t->cap == 0)
        return (t->mask != NULL ? whole_block_masked : whole_block_plain)(t, scores, state, probabilities);
    HVX_Vector largest = state[STATE_LARGEST];
    HVX_ROLLED
    for (uint32_t first = 0; first < keys; first += HVX_HALVES) {
        HVX_Vector *pair = scores + first / HVX_WORDS;
        finish_pair(t, pair, first, keys, t->cap != 0, t->mask != NULL);
        largest = largest_of(largest, pair);
    }
    struct online o = meet(largest, state);
    HVX_ROLLED
    for (uint32_t first = 0; first < keys; first += HVX_HALVES)
        probabilities[first / HVX_HALVES] = pair_probabilities(&o, scores + first / HVX_WORDS);
    return leave(&o, state);
}
