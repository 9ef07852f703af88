/*
 * f32 division over all of IEEE f32: zeros, subnormals, infinities and NaN included, normal results within an ulp.
 *
 * Exponents and special cases are integer work, because the internal float formats have no infinities to rely on.
 * The float part divides two numbers in [1, 2).
 */
#ifndef HVX_DIVIDE_H
#define HVX_DIVIDE_H

#include "hvx/wrap.h"

struct hvx_split {
    HVX_Vector mantissa; /* f32 in [1, 2) */
    HVX_Vector exponent; /* biased as in f32; zero and less for subnormals */
};

/* magnitude: bits without the sign, neither zero nor infinity nor NaN (those give values that the caller overrides) */
HVX_INLINE struct hvx_split hvx_split_f32(HVX_Vector magnitude) {
    const HVX_Vector hidden = hvx_splat_i32(0x00800000), one = hvx_splat_i32(0x3f800000);
    const HVX_VectorPred is_subnormal = Q6_Q_vcmp_gt_VwVw(hidden, magnitude);
    /* a subnormal is shifted until its leading one stands where the hidden bit does */
    const HVX_Vector shift = Q6_Vw_vsub_VwVw(Q6_Vuw_vcl0_Vuw(magnitude), hvx_splat_i32(8));
    const HVX_Vector shifted = Q6_Vw_vasl_VwVw(magnitude, shift);
    const HVX_Vector fraction = Q6_V_vmux_QVV(is_subnormal, shifted, magnitude);
    const HVX_Vector small_exponent = Q6_Vw_vsub_VwVw(hvx_splat_i32(1), shift);
    struct hvx_split r;
    r.mantissa = Q6_V_vor_VV(Q6_V_vand_VV(fraction, hvx_splat_i32(0x007fffff)), one);
    r.exponent = Q6_V_vmux_QVV(is_subnormal, small_exponent, Q6_Vuw_vlsr_VuwR(magnitude, 23));
    return r;
}

/* q: f32 in (0.5, 2]; exponent: to be added to it. Overflow gives infinity, underflow rounds to a subnormal. */
HVX_INLINE HVX_Vector hvx_scale_f32(HVX_Vector q, HVX_Vector exponent) {
    const HVX_Vector one = hvx_splat_i32(1), limit = hvx_splat_i32(255);
    const HVX_Vector e = Q6_Vw_vadd_VwVw(Q6_Vuw_vlsr_VuwR(q, 23), exponent);
    const HVX_Vector fraction = Q6_V_vand_VV(q, hvx_splat_i32(0x007fffff));
    const HVX_Vector normal = Q6_V_vor_VV(Q6_Vw_vasl_VwR(e, 23), fraction);
    /* below the smallest normal exponent: shift the whole mantissa right by 1 - e (at most 25), rounding */
    HVX_Vector shift = Q6_Vw_vmin_VwVw(Q6_Vw_vsub_VwVw(one, e), hvx_splat_i32(25));
    shift = Q6_Vw_vmax_VwVw(shift, one);
    const HVX_Vector whole = Q6_V_vor_VV(fraction, hvx_splat_i32(0x00800000));
    const HVX_Vector middle = Q6_Vw_vasl_VwVw(one, Q6_Vw_vsub_VwVw(shift, one));
    const HVX_Vector subnormal = Q6_Vw_vlsr_VwVw(Q6_Vw_vadd_VwVw(whole, middle), shift);
    const HVX_Vector finite = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(one, e), subnormal, normal);
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(limit, e), finite, hvx_splat_i32(0x7f800000));
}

/* long, so there is one copy of it */
static HVX_NOINLINE __attribute__((unused)) HVX_Vector hvx_div_f32(HVX_Vector a, HVX_Vector b) {
    const HVX_Vector sign_bit = hvx_splat_i32(INT32_MIN), infinity = hvx_splat_i32(0x7f800000), zero = hvx_zero();
    const HVX_Vector sign = Q6_V_vand_VV(Q6_V_vxor_VV(a, b), sign_bit);
    const HVX_Vector a_abs = Q6_V_vand_VV(a, Q6_V_vnot_V(sign_bit)), b_abs = Q6_V_vand_VV(b, Q6_V_vnot_V(sign_bit));
    const struct hvx_split n = hvx_split_f32(a_abs), d = hvx_split_f32(b_abs);

    /* quotient of the mantissas, and one correction by what is left over */
    const HVX_Vector r = hvx_reciprocal_f32(d.mantissa);
    const HVX_Vector q = hvx_mul_f32(n.mantissa, r);
    const HVX_Vector q_high = Q6_V_vand_VV(q, hvx_splat_i32(-0x1000)); /* 12 bits: its products below are exact */
    const HVX_Vector q_low = hvx_sub_f32(q, q_high);
    const HVX_Vector d_high = Q6_V_vand_VV(d.mantissa, hvx_splat_i32(-0x1000));
    const HVX_Vector d_low = hvx_sub_f32(d.mantissa, d_high);
    HVX_Vector rest = hvx_sub_f32(n.mantissa, hvx_mul_f32(q_high, d_high));
    rest = hvx_sub_f32(rest, hvx_mul_f32(q_high, d_low));
    rest = hvx_sub_f32(rest, hvx_mul_f32(q_low, d_high));
    rest = hvx_sub_f32(rest, hvx_mul_f32(q_low, d_low));
    const HVX_Vector quotient = hvx_add_f32(q, hvx_mul_f32(rest, r));
    HVX_Vector result = hvx_scale_f32(quotient, Q6_Vw_vsub_VwVw(n.exponent, d.exponent));

    const HVX_VectorPred a_is_zero = Q6_Q_vcmp_eq_VwVw(a_abs, zero), b_is_zero = Q6_Q_vcmp_eq_VwVw(b_abs, zero);
    const HVX_VectorPred a_is_inf = Q6_Q_vcmp_eq_VwVw(a_abs, infinity), b_is_inf = Q6_Q_vcmp_eq_VwVw(b_abs, infinity);
    const HVX_VectorPred some_nan =
        Q6_Q_or_QQ(Q6_Q_vcmp_gt_VwVw(a_abs, infinity), Q6_Q_vcmp_gt_VwVw(b_abs, infinity));
    result = Q6_V_vmux_QVV(Q6_Q_or_QQ(a_is_zero, b_is_inf), zero, result);
    result = Q6_V_vmux_QVV(Q6_Q_or_QQ(b_is_zero, a_is_inf), infinity, result);
    result = Q6_V_vor_VV(result, sign);
    const HVX_VectorPred undefined = /* 0/0, inf/inf */
        Q6_Q_or_QQ(Q6_Q_and_QQ(a_is_zero, b_is_zero), Q6_Q_and_QQ(a_is_inf, b_is_inf));
    return Q6_V_vmux_QVV(Q6_Q_or_QQ(undefined, some_nan), hvx_splat_i32(0x7fc00000), result);
}

#endif
