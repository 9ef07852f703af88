/*
 * Powers of two to the last places of f32, for results whose order decides something: experts are chosen by the order
 * of softmax, sigmoid and softplus. hvx/exp2.h has those for everything else, at a third of the cost.
 */
#ifndef HVX_EXACT_H
#define HVX_EXACT_H

#include "hvx/exp2.h"

/* c[0] * x^(n-1) + ... + c[n-1], f32 */
HVX_INLINE HVX_Vector hvx_polynomial(HVX_Vector x, const float *c, int n) {
    HVX_Vector sum = hvx_splat_f32(c[0]);
    HVX_UNROLL
    for (int i = 1; i < n; i++)
        sum = hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_f32_qf32(sum, x), hvx_splat_f32(c[i])));
    return sum;
}

/*
 * 2^-t for t >= 0, f32; zero from t = 125 on, also for infinity and NaN. t is m - f with an integer m and |f| <= 1/2,
 * found as in hvx/exp2.h; 2^f by its series, which is 1.2e-7 off.
 */
HVX_INLINE HVX_Vector hvx_exp2_minus_exact(HVX_Vector t) {
    static const float series[] = {1.5403530e-4f, 1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f,
                                   2.4022651e-1f, 6.9314718e-1f, 1.0f}; /* (ln 2)^n / n! */
    const HVX_Vector most = hvx_splat_f32(125.0f), offset = hvx_splat_f32(HVX_EXP2_OFFSET);
    const HVX_VectorPred is_power = Q6_Q_vcmp_gt_VwVw(most, t);
    t = Q6_Vw_vmin_VwVw(t, most);
    const HVX_Vector nearest = hvx_sub_f32(hvx_splat_f32(HVX_EXP2_OFFSET + 0.5f), t);
    const HVX_Vector whole = Q6_V_vand_VV(nearest, hvx_splat_i32((int32_t)0xffff0000u)); /* 255 - m */
    const HVX_Vector power = hvx_polynomial(hvx_sub_f32(hvx_sub_f32(offset, whole), t), series, 7);
    /* 128 + j as a float has j in bits 16..22; 2^-m is 2^(j - 127) */
    const HVX_Vector exponent = Q6_Vw_vadd_VwVw(Q6_Vw_vasl_VwR(whole, 7), hvx_splat_i32(0x40800000));
    return Q6_V_vand_QV(is_power, Q6_Vw_vadd_VwVw(power, exponent));
}

/*
 * exp(x) of any x, f32: NaN stays NaN, infinite from x = 85.9 on, zero below -86.6. x / ln 2 is rounded, which is 4e-6
 * off where |x| = 80. Powers above 1 are 2^124 times those that hvx_exp2_minus_exact knows.
 */
HVX_INLINE HVX_Vector hvx_exp_exact(HVX_Vector x) {
    const HVX_Vector most = hvx_splat_f32(124.0f), infinity = hvx_splat_i32(0x7f800000);
    const HVX_Vector t = hvx_mul_f32(x, hvx_splat_f32(1.44269504088896f /* 1 / ln 2 */));
    const HVX_VectorPred grows = Q6_Q_vcmp_gt_VwVw(x, hvx_zero()), too_large = Q6_Q_vcmp_gt_VwVw(t, most);
    const HVX_Vector power =
        hvx_exp2_minus_exact(hvx_sub_f32(Q6_V_vand_QV(grows, most), Q6_V_vmux_QVV(too_large, most, t)));
    const HVX_Vector r = Q6_Vw_vadd_VwVw(power, Q6_V_vand_QV(grows, hvx_splat_i32(124 << 23)));
    const HVX_VectorPred is_nan =
        Q6_Q_vcmp_gt_VwVw(Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff)), infinity);
    return Q6_V_vmux_QVV(is_nan, x, Q6_V_vmux_QVV(too_large, infinity, r));
}

#endif
