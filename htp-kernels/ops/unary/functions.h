/*
 * Functions of one operand, a pair of vectors at a time, all in f32. Special values as in ggml's CPU backend, found by
 * integer comparison wherever an instruction would not keep them.
 */
#ifndef UNARY_FUNCTIONS_H
#define UNARY_FUNCTIONS_H

#include "hvx/divide.h"
#include "hvx/exact.h"
#include "hvx/sigmoid.h"

#define UNARY_INFINITY 0x7f800000
#define UNARY_NAN 0x7fc00000

/* hvx_keep_nan for a pair */
HVX_INLINE HVX_VectorPair keep_nan(HVX_Vector low, HVX_Vector high, uint32_t first_nan, HVX_VectorPair r) {
    const HVX_Vector limit = hvx_splat_i32((int32_t)first_nan);
    return Q6_W_vcombine_VV(hvx_keep_nan(high, limit, Q6_V_hi_W(r)), hvx_keep_nan(low, limit, Q6_V_lo_W(r)));
}

HVX_INLINE HVX_Vector absolute(HVX_Vector x) { return Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff)); }

/* x > 0: neither zero nor NaN */
HVX_INLINE HVX_VectorPred is_positive(HVX_Vector x) {
    return Q6_Q_vcmp_gt_VuwVuw(hvx_splat_i32(UNARY_INFINITY), Q6_Vw_vsub_VwVw(x, hvx_splat_i32(1)));
}
HVX_INLINE HVX_Vector relu(HVX_Vector x) { return Q6_V_vand_QV(is_positive(x), x); }
HVX_INLINE HVX_Vector step(HVX_Vector x) { return Q6_V_vand_QV(is_positive(x), hvx_splat_f32(1.0f)); }

/* at least `min`, at most `max`, in ggml's order of comparisons: NaN becomes max */
HVX_INLINE HVX_Vector clamp(HVX_Vector x, float min, float max) {
    const HVX_Vector r = Q6_Vsf_vmax_VsfVsf(Q6_Vsf_vmin_VsfVsf(x, hvx_splat_f32(max)), hvx_splat_f32(min));
    const HVX_VectorPred is_nan = Q6_Q_vcmp_gt_VwVw(absolute(x), hvx_splat_i32(UNARY_INFINITY));
    return Q6_V_vmux_QVV(is_nan, hvx_splat_f32(max > min ? max : min), r);
}

/* relative error 2e-5; infinite above 88.72, zero below -88.03 */
HVX_INLINE HVX_VectorPair exponential(HVX_Vector low, HVX_Vector high) {
    const HVX_Vector log2e = hvx_splat_f32(HVX_LOG2E), offset = hvx_splat_f32(383.0f);
    const HVX_Vector bottom = hvx_splat_f32(256.0f), top = hvx_splat_f32(511.0f), sign = hvx_splat_i32(INT32_MIN);
    HVX_Vector u = hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_f32_qf32(low, log2e), offset));
    HVX_Vector v = hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_f32_qf32(high, log2e), offset));
    /* as hvx/exp2.h does it, with numbers in [256, 512): one bit of exponent more, one of the fraction less */
    u = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(u, bottom), top);
    v = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(v, bottom), top);
    const HVX_Vector fraction = Q6_Vh_vshuffe_VhVh(v, u);
    const HVX_Vector dip = hvx_exp2_dip(Q6_Vh_vadd_VhVh(fraction, fraction));
    const HVX_VectorPair lines = Q6_W_vcombine_VV(Q6_Vw_vasl_VwR(v, 8), Q6_Vw_vasl_VwR(u, 8));
    const HVX_VectorPair r = Q6_Ww_vmpyacc_WwVhRh(lines, dip, (int32_t)0xffc0ffc0u); /* times -64 */
    return Q6_W_vcombine_VV(Q6_V_vxor_VV(Q6_V_hi_W(r), sign), Q6_V_vxor_VV(Q6_V_lo_W(r), sign));
}

/* exp(-factor * |x|), 2e-5 off; minus_log2e: -factor / ln 2 */
HVX_INLINE HVX_VectorPair exponential_below(HVX_Vector low, HVX_Vector high, float minus_log2e) {
    const HVX_Vector factor = hvx_splat_f32(minus_log2e), offset = hvx_splat_f32(HVX_EXP2_OFFSET);
    const HVX_Vector u = hvx_mul_f32_qf32(absolute(low), factor), v = hvx_mul_f32_qf32(absolute(high), factor);
    return hvx_exp2_255(hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(u, offset)),
                        hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(v, offset)));
}

/* exp(-|x|), 4e-6 off where |x| = 80: |x| / ln 2 is rounded */
HVX_INLINE HVX_Vector exponential_exact_below(HVX_Vector x) {
    return hvx_exp2_minus_exact(hvx_mul_f32(absolute(x), hvx_splat_f32(HVX_LOG2E)));
}

/* Exact enough to keep the order of neighbours: experts are chosen by it. */
HVX_INLINE HVX_Vector sigmoid(HVX_Vector x) {
    const HVX_Vector e = exponential_exact_below(x);
    const HVX_Vector r = hvx_reciprocal_f32(hvx_add_f32(e, hvx_splat_f32(1.0f)));
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(hvx_zero(), x), hvx_mul_f32(e, r), r);
}

/* max(x, 0) + log(1 + e) with e = exp(-|x|) in 0 .. 1, by a fit 5e-9 off; keeps the order of neighbours, as above */
HVX_INLINE HVX_Vector softplus(HVX_Vector x) {
    static const float c[] = {-3.176057018e-3f, 1.954252726e-2f,  -5.637361283e-2f, 1.05436238e-1f,  -1.526966707e-1f,
                              1.966327426e-1f,  -2.495161626e-1f, 3.33297105e-1f,   -4.999989265e-1f, 9.999999947e-1f};
    const HVX_Vector e = exponential_exact_below(x);
    return hvx_add_f32(relu(x), hvx_mul_f32(e, hvx_polynomial(e, c, 10)));
}

/* e = exp(-2|x|). Small x by a fit of (tanh(x) - x) / x^3 up to 0.6, 8e-8 off; others by (1 - e) / (1 + e), 1e-5 off */
HVX_INLINE HVX_Vector tanh_of(HVX_Vector x, HVX_Vector e) {
    static const float c[] = {1.565227930e-2f, -5.223820674e-2f, 1.331364682e-1f, -3.333262778e-1f};
    const HVX_Vector magnitude = absolute(x), one = hvx_splat_f32(1.0f);
    const HVX_Vector square = hvx_mul_f32(x, x);
    const HVX_Vector small = hvx_add_f32(hvx_mul_f32(hvx_mul_f32(x, square), hvx_polynomial(square, c, 4)), x);
    const HVX_Vector ratio = hvx_mul_f32(hvx_sub_f32(one, e), hvx_reciprocal_f32(hvx_add_f32(one, e)));
    const HVX_Vector large = Q6_V_vor_VV(ratio, Q6_V_vand_VV(x, hvx_splat_i32(INT32_MIN)));
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(magnitude, hvx_splat_f32(0.6f)), large, small);
}

/* all of f32, subnormals included; negative numbers give NaN */
HVX_INLINE HVX_Vector square_root(HVX_Vector x) {
    const HVX_Vector magnitude = absolute(x), zero = hvx_zero();
    const struct hvx_split s = hvx_split_f32(magnitude);
    /* an even power of two goes: the root is that of a number in [1, 4) */
    const HVX_Vector power = Q6_Vw_vsub_VwVw(s.exponent, hvx_splat_i32(127));
    const HVX_Vector odd = Q6_V_vand_VV(power, hvx_splat_i32(1));
    const HVX_Vector m = Q6_Vw_vadd_VwVw(s.mantissa, Q6_Vw_vasl_VwR(odd, 23));
    const HVX_Vector r = hvx_rsqrt_f32(m);
    const HVX_Vector half_power = Q6_Vw_vasr_VwR(Q6_Vw_vsub_VwVw(power, odd), 1);
    HVX_Vector root = Q6_Vw_vadd_VwVw(hvx_mul_f32(m, r), Q6_Vw_vasl_VwR(half_power, 23));
    const HVX_VectorPred is_zero = Q6_Q_vcmp_eq_VwVw(magnitude, zero);
    const HVX_VectorPred is_inf = Q6_Q_vcmp_eq_VwVw(x, hvx_splat_i32(UNARY_INFINITY));
    const HVX_VectorPred has_root = Q6_Q_vcmp_gt_VwVw(hvx_splat_i32(UNARY_INFINITY), x);
    const HVX_VectorPred has_none = Q6_Q_vcmp_gt_VwVw(zero, x);
    root = Q6_V_vmux_QVV(Q6_Q_and_QQn(has_root, has_none), root, hvx_splat_i32(UNARY_NAN));
    return Q6_V_vmux_QVV(Q6_Q_or_QQ(is_zero, is_inf), x, root);
}

/*
 * log(x) = exponent * ln 2 + log(m), m in [0.707, 1.414]; log(1 + r) = r - r^2/2 + r^3 * fit(r), 3e-8 off.
 * Zero gives -infinity, negative numbers NaN.
 */
HVX_INLINE HVX_Vector logarithm(HVX_Vector x) {
    static const float c[] = {8.690978840e-2f, -1.425326e-1f,     1.491166194e-1f, -1.657907872e-1f,
                              1.996346144e-1f, -2.500130057e-1f, 3.333390177e-1f};
    const HVX_Vector magnitude = absolute(x), zero = hvx_zero(), infinity = hvx_splat_i32(UNARY_INFINITY);
    const struct hvx_split s = hvx_split_f32(magnitude);
    const HVX_VectorPred is_above = Q6_Q_vcmp_gt_VwVw(s.mantissa, hvx_splat_f32(1.41421356f));
    const HVX_Vector step_down = Q6_V_vand_QV(is_above, hvx_splat_i32(1 << 23));
    const HVX_Vector step_up = Q6_V_vand_QV(is_above, hvx_splat_i32(1));
    const HVX_Vector r = hvx_sub_f32(Q6_Vw_vsub_VwVw(s.mantissa, step_down), hvx_splat_f32(1.0f));
    const HVX_Vector power = Q6_Vw_vadd_VwVw(Q6_Vw_vsub_VwVw(s.exponent, hvx_splat_i32(127)), step_up);
    const HVX_Vector square = hvx_mul_f32(r, r);
    const HVX_Vector bend =
        hvx_sub_f32(hvx_mul_f32(hvx_mul_f32(r, square), hvx_polynomial(r, c, 7)),
                    hvx_mul_f32(square, hvx_splat_f32(0.5f)));
    const HVX_Vector whole = hvx_mul_f32(hvx_i32_to_f32(power), hvx_splat_f32(0.69314718056f));
    const HVX_Vector log = hvx_add_f32(whole, hvx_add_f32(bend, r));
    const HVX_VectorPred is_zero = Q6_Q_vcmp_eq_VwVw(magnitude, zero), is_inf = Q6_Q_vcmp_eq_VwVw(x, infinity);
    const HVX_VectorPred has_log = Q6_Q_vcmp_gt_VwVw(infinity, x), has_none = Q6_Q_vcmp_gt_VwVw(zero, x);
    HVX_Vector result = Q6_V_vmux_QVV(Q6_Q_and_QQn(has_log, has_none), log, hvx_splat_i32(UNARY_NAN));
    result = Q6_V_vmux_QVV(is_inf, x, result);
    return Q6_V_vmux_QVV(is_zero, hvx_splat_i32((int32_t)0xff800000u), result);
}

#endif
