/*
 * Functions made of pieces: whole numbers near x, and what is a line on one side. A vector at a time, or a pair where
 * the exponential of functions.h is in it.
 */
#ifndef UNARY_FUNCTIONS_PARTS_H
#define UNARY_FUNCTIONS_PARTS_H

#include "ops/unary/functions.h"

HVX_INLINE HVX_Vector sign_bit(HVX_Vector x) { return Q6_V_vand_VV(x, hvx_splat_i32(INT32_MIN)); }
HVX_INLINE HVX_VectorPred is_number(HVX_Vector x) {
    return Q6_Q_vcmp_gt_VwVw(hvx_splat_i32(UNARY_INFINITY + 1), absolute(x));
}

/* -1, 0, 1; 0 for NaN */
HVX_INLINE HVX_Vector sign_of(HVX_Vector x) {
    return Q6_V_vand_QV(is_positive(absolute(x)), Q6_V_vor_VV(sign_bit(x), hvx_splat_f32(1.0f)));
}

/* ---- whole numbers, by their bits: exact, NaN and infinities stay what they are ---- */

/* the last place before the point of a magnitude of at least 1, as a number to be added to its bits */
HVX_INLINE HVX_Vector unit_place(HVX_Vector magnitude) {
    const HVX_Vector places = Q6_Vw_vsub_VwVw(hvx_splat_i32(150), Q6_Vuw_vlsr_VuwR(magnitude, 23));
    return Q6_Vw_vasl_VwVw(hvx_splat_i32(1), Q6_Vw_vmax_VwVw(places, hvx_zero()));
}

/* The magnitude's bits with `more` added, cut at the point, or `small` where it is below 1; the sign of x. */
HVX_INLINE HVX_Vector cut_at_point(HVX_Vector x, HVX_Vector unit, HVX_Vector more, HVX_Vector small) {
    const HVX_Vector magnitude = absolute(x), mask = Q6_Vw_vsub_VwVw(hvx_zero(), unit);
    const HVX_Vector whole = Q6_V_vand_VV(Q6_Vw_vadd_VwVw(magnitude, more), mask);
    const HVX_VectorPred is_small = Q6_Q_vcmp_gt_VwVw(hvx_splat_f32(1.0f), magnitude);
    return Q6_V_vor_VV(Q6_V_vmux_QVV(is_small, small, whole), sign_bit(x));
}

HVX_INLINE HVX_Vector truncated(HVX_Vector x) {
    return cut_at_point(x, unit_place(absolute(x)), hvx_zero(), hvx_zero());
}

/* halves away from zero */
HVX_INLINE HVX_Vector rounded(HVX_Vector x) {
    const HVX_Vector magnitude = absolute(x), unit = unit_place(magnitude), one = hvx_splat_f32(1.0f);
    const HVX_VectorPred is_less = Q6_Q_vcmp_gt_VwVw(hvx_splat_f32(0.5f), magnitude);
    return cut_at_point(x, unit, Q6_Vuw_vlsr_VuwR(unit, 1), Q6_V_vmux_QVV(is_less, hvx_zero(), one));
}

/* Away from zero where `away` has the sign bit set, towards it elsewhere. */
HVX_INLINE HVX_Vector directed(HVX_Vector x, HVX_Vector away) {
    const HVX_Vector magnitude = absolute(x), unit = unit_place(magnitude), zero = hvx_zero();
    const HVX_VectorPred is_away = Q6_Q_vcmp_gt_VwVw(zero, away);
    const HVX_Vector more = Q6_V_vand_QV(is_away, Q6_Vw_vsub_VwVw(unit, hvx_splat_i32(1)));
    const HVX_VectorPred leaves_zero = Q6_Q_and_QQ(is_away, Q6_Q_vcmp_gt_VwVw(magnitude, zero));
    return cut_at_point(x, unit, more, Q6_V_vand_QV(leaves_zero, hvx_splat_f32(1.0f)));
}
HVX_INLINE HVX_Vector floor_of(HVX_Vector x) { return directed(x, x); }
HVX_INLINE HVX_Vector ceiling(HVX_Vector x) { return directed(x, Q6_V_vnot_V(x)); }

/* ---- lines ---- */

/* NaN becomes 0, as ggml's comparisons have it */
HVX_INLINE HVX_Vector leaky_relu(HVX_Vector x, float slope) {
    const HVX_VectorPred is_above = Q6_Q_vcmp_gt_VwVw(x, hvx_zero());
    return Q6_V_vand_QV(is_number(x), Q6_V_vmux_QVV(is_above, x, hvx_mul_f32(x, hvx_splat_f32(slope))));
}

/* (x + 3) / 6 within 0 .. 1. The sum comes first: near -3 it is exact. NaN gives what it gives. */
HVX_INLINE HVX_Vector hard_gate(HVX_Vector x) {
    const HVX_Vector three = hvx_splat_f32(3.0f);
    const HVX_Vector inside = Q6_Vsf_vmax_VsfVsf(Q6_Vsf_vmin_VsfVsf(x, three), hvx_splat_f32(-3.0f));
    return hvx_mul_f32(hvx_add_f32(inside, three), hvx_splat_f32(1.0f / 6));
}
/* NaN becomes 0, as ggml's minimum and maximum have it */
HVX_INLINE HVX_Vector hard_sigmoid(HVX_Vector x) { return Q6_V_vand_QV(is_number(x), hard_gate(x)); }
/* NaN for -infinity too: ggml multiplies it by 0 */
HVX_INLINE HVX_Vector hard_swish(HVX_Vector x) {
    const HVX_VectorPred is_open = Q6_Q_vcmp_gt_VwVw(x, hvx_splat_f32(3.0f));
    const HVX_Vector r = Q6_V_vmux_QVV(is_open, x, hvx_mul_f32(x, hard_gate(x)));
    return hvx_keep_nan(x, hvx_splat_i32((int32_t)HVX_NAN_AND_MINUS_INF), r);
}

/* ---- exp(x) - 1 ---- */

/*
 * e = exp(x). |x| <= 0.6 by a fit of (exp(x) - 1 - x) / x^2, 1.7e-5 off; beyond, e - 1 is 5e-5 off, since e is 2e-5
 * off. Above 20 the 1 is below the last place, and e may be infinite.
 */
HVX_INLINE HVX_Vector exponential_less_one(HVX_Vector x, HVX_Vector e) {
    static const float c[] = {8.405075283e-3f, 4.216948883e-2f, 1.666634363e-1f, 4.999773548e-1f};
    const HVX_Vector near = hvx_add_f32(hvx_mul_f32(hvx_mul_f32(x, x), hvx_polynomial(x, c, 4)), x);
    HVX_Vector far = hvx_sub_f32(e, hvx_splat_f32(1.0f));
    far = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(x, hvx_splat_f32(20.0f)), e, far);
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(absolute(x), hvx_splat_f32(0.6f)), far, near);
}

HVX_INLINE HVX_VectorPair exponential_less_one_pair(HVX_Vector low, HVX_Vector high) {
    const HVX_VectorPair e = exponential(low, high);
    return Q6_W_vcombine_VV(exponential_less_one(high, Q6_V_hi_W(e)), exponential_less_one(low, Q6_V_lo_W(e)));
}

struct xielu {
    float alpha_n, alpha_p, beta, eps;
};

/* m: min(x, eps); less_one: exp(m) - 1. Infinities by the same formulas in C: the internal formats have none. */
HVX_INLINE HVX_Vector xielu(const struct xielu *t, HVX_Vector x, HVX_Vector less_one) {
    const float infinity = __builtin_inff();
    const float at_top = t->alpha_p * infinity * infinity + t->beta * infinity;
    const float at_bottom = (-1.0f + infinity) * t->alpha_n - t->beta * infinity;
    const HVX_Vector beta = hvx_splat_f32(t->beta);
    const HVX_Vector slope = Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_f32_qf32(x, hvx_splat_f32(t->alpha_p)), beta);
    const HVX_Vector above = hvx_mul_f32(hvx_qf32_to_f32(slope), x);
    const HVX_Vector bend = hvx_mul_f32_qf32(hvx_sub_f32(less_one, x), hvx_splat_f32(t->alpha_n));
    const HVX_Vector below = hvx_qf32_to_f32(hvx_add_qf32(bend, hvx_mul_f32_qf32(x, beta)));
    const HVX_VectorPred is_above = Q6_Q_vcmp_gt_VwVw(x, hvx_zero());
    const HVX_VectorPred is_infinite = Q6_Q_vcmp_eq_VwVw(absolute(x), hvx_splat_i32(UNARY_INFINITY));
    const HVX_Vector limit = Q6_V_vmux_QVV(is_above, hvx_splat_f32(at_top), hvx_splat_f32(at_bottom));
    return Q6_V_vmux_QVV(is_infinite, limit, Q6_V_vmux_QVV(is_above, above, below));
}

#endif
