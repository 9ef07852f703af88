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

#endif
