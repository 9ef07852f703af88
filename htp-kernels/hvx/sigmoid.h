/*
 * Sigmoid, and what is a product with it: silu, the gelu family. Relative error below 1.5e-4, tails included.
 *
 * sigmoid(z) = 1/d with d = 1 + 2^t, t = -z / ln 2. The argument comes as t + 154, so that, cut to [128, 256), it is
 * the fixed-point number that hvx/exp2.h speaks of, with t in [-26, 102): below that the power is invisible beside 1,
 * above it the sigmoid is 2e-31. The power comes out times -2^-101, d likewise; the factor sits in the exponent only.
 * 1/d needs no float operation: the upper 16 bits m of the mantissas of two vectors share a vector of half-words;
 * 1/(1+m) is a line (5.9% off) times (1-c)(1+c^2), c = (1+m) * line - 1, hence 1.2e-5 off, and the steps of its 15 bits.
 * Its exponent is a constant minus that of d.
 */
#ifndef HVX_SIGMOID_H
#define HVX_SIGMOID_H

#include "hvx/exp2.h"

#define HVX_LOG2E 1.44269504088896f

/* m: 16-bit fractions -> 1/(1+m) with 15 fraction bits; 32767 stands for 1 */
HVX_INLINE HVX_Vector hvx_reciprocal_q15(HVX_Vector m) {
    const HVX_Vector c0 = Q6_Vh_vsplat_R(30832), c1 = Q6_Vh_vsplat_R(15416), minus_one = Q6_Vh_vsplat_R(0x8001);
    HVX_Vector r = Q6_Vh_vsub_VhVh(c0, hvx_multiply_high_u16(m, c1));
    HVX_Vector c = Q6_Vh_vadd_VhVh(Q6_Vh_vadd_VhVh(r, minus_one), hvx_multiply_high_u16(m, r));
    r = Q6_Vh_vsub_VhVh(r, Q6_Vh_vmpy_VhVh_s1_rnd_sat(c, r));
    c = Q6_Vh_vmpy_VhVh_s1_rnd_sat(c, c);
    return Q6_Vh_vadd_VhVh_sat(r, Q6_Vh_vmpy_VhVh_s1_rnd_sat(c, r));
}

/* 154 - z / ln 2 in f32, any value -> sigmoid(z) */
HVX_INLINE HVX_VectorPair hvx_sigmoid_154(HVX_Vector low, HVX_Vector high) {
    /* compared as integers: positive floats are ordered as their bits, negative ones and NaN fall outside */
    const HVX_Vector bottom = hvx_splat_f32(128.0f), top = hvx_splat_f32(255.99998f);
    low = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(low, bottom), top);
    high = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(high, bottom), top);
    const HVX_Vector dip = hvx_exp2_dip(Q6_Vh_vshuffe_VhVh(high, low));
    /* times 128: a shift that does not take the shift pipe */
    const HVX_VectorPair lines =
        Q6_W_vcombine_VV(Q6_Vw_vmpyi_VwRub(high, (int32_t)0x80808080u), Q6_Vw_vmpyi_VwRub(low, (int32_t)0x80808080u));
    const HVX_VectorPair powers = Q6_Ww_vmpyacc_WwVhRh(lines, dip, (int32_t)0xffc0ffc0u); /* times -64 */
    const HVX_Vector one = hvx_splat_f32(-0x1p-101f);
    const HVX_Vector d_low = hvx_add_f32(Q6_V_lo_W(powers), one), d_high = hvx_add_f32(Q6_V_hi_W(powers), one);

    const HVX_Vector r = hvx_reciprocal_q15(Q6_Vh_vasr_VwVwR(d_high, d_low, 7));
    /* r * 2^24 is the mantissa of 1/d and one exponent step; half a step of r is added, since 32767 stands for 1 */
    const HVX_Vector exponent = hvx_splat_i32((int32_t)0xff800000u);
    const HVX_Vector base = hvx_splat_i32((int32_t)(0x80000000u + (151u << 23) + 512u));
    const HVX_VectorPair steps =
        Q6_W_vcombine_VV(Q6_Vw_vsub_VwVw(base, Q6_V_vand_VV(d_high, exponent)),
                         Q6_Vw_vsub_VwVw(base, Q6_V_vand_VV(d_low, exponent)));
    return Q6_Ww_vmpyacc_WwVhRh(steps, r, 0x02000200);
}

/* ---- the arguments of sigmoids, as hvx_sigmoid_154 wants them ---- */

/* sigmoid(factor * x); minus_log2e: -factor / ln 2 */
HVX_INLINE HVX_Vector hvx_sigmoid_argument(HVX_Vector x, HVX_Vector minus_log2e) {
    const HVX_Vector z = hvx_mul_f32_qf32(x, minus_log2e);
    return hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(z, hvx_splat_f32(154.0f)));
}

/* gelu in its tanh form is x * sigmoid(2 * sqrt(2/pi) * (x + 0.044715 x^3)) */
HVX_INLINE HVX_Vector hvx_gelu_argument(HVX_Vector x) {
    const HVX_Vector cubic = hvx_f32_to_qf32(hvx_splat_f32(-HVX_LOG2E * 0.0713548163f));
    const HVX_Vector linear = hvx_splat_f32(-HVX_LOG2E * 1.5957691216f);
    const HVX_Vector factor = Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_qf32(hvx_mul_f32_qf32(x, x), cubic), linear);
    return hvx_sigmoid_argument(x, hvx_qf32_to_f32(factor));
}

/*
 * gelu with the error function is x * P(x), P the cumulative normal distribution. P(x) = sigmoid(x * Q(x^2)): Q is a
 * minimax fit up to |x| = 5.5, weighted with what it does to gelu (1.6e-6 of |x|); beyond, P is 0 or 1 within 2e-8.
 */
HVX_INLINE HVX_Vector hvx_gelu_erf_argument(HVX_Vector x) {
    static const float q[] = {2.930293675e-6f, -7.502435522e-5f, -1.658879266e-4f, 7.276576393e-2f, 1.595747878f};
    /* up to |x| = 8, where Q still grows; as integers, for the square may be infinite */
    const HVX_Vector square = Q6_Vw_vmin_VwVw(hvx_mul_f32(x, x), hvx_splat_f32(64.0f));
    HVX_Vector sum = hvx_splat_f32(-HVX_LOG2E * q[0]);
    HVX_UNROLL
    for (int i = 1; i < 5; i++)
        sum = hvx_qf32_to_f32(
            Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_f32_qf32(sum, square), hvx_splat_f32(-HVX_LOG2E * q[i])));
    return hvx_sigmoid_argument(x, sum);
}

/* x * sigmoid: x is cut off where the sigmoid is not quite zero. In qf32; neither infinity nor NaN is looked after. */
HVX_INLINE HVX_Vector hvx_gated_qf32(HVX_Vector x, HVX_Vector sigmoid) {
    return hvx_mul_f32_qf32(Q6_Vsf_vmax_VsfVsf(x, hvx_splat_f32(-128.0f)), sigmoid);
}

/* ---- special values, by integer comparison: the internal formats have none ---- */

#define HVX_NAN_ONLY 0xff800001u          /* negative numbers with these bits or above are NaN */
#define HVX_NAN_AND_MINUS_INF 0xff800000u /* the same, and -infinity */

/*
 * r, but NaN where x is NaN, or -infinity as well: x is negative with the bits of `first_nan` or above, or a positive
 * NaN. The limit for positive numbers is a NaN itself, and is taken for it: one register less, when they are scarce.
 */
HVX_INLINE HVX_Vector hvx_keep_nan(HVX_Vector x, HVX_Vector first_nan, HVX_Vector r) {
    const HVX_Vector nan = hvx_splat_i32(0x7f800001);
    const HVX_VectorPred is_number = Q6_Q_vcmp_gtand_QVuwVuw(Q6_Q_vcmp_gt_VwVw(nan, x), first_nan, x);
    return Q6_V_vmux_QVV(is_number, r, nan);
}

#endif
