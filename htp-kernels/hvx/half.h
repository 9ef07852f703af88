/*
 * f16 and bf16 <-> f32 with integer instructions only: rounding to nearest even, infinities, NaN and subnormals as IEEE wants
 * them, and the same bits on every engine. The qf formats have no infinities, and attention masks are full of them.
 *
 * In the functions with `word` in their names an f16 is the low half of a word, the upper half is zero.
 */
#ifndef HVX_HALF_H
#define HVX_HALF_H

#include "hvx/wrap.h"

HVX_INLINE HVX_Vector hvx_f32_to_f16_word(HVX_Vector x) {
    const HVX_Vector one = hvx_splat_i32(1), infinity = hvx_splat_i32(0x7f800000);
    const HVX_Vector magnitude = Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff));
    const HVX_Vector exponent = Q6_Vuw_vlsr_VuwR(magnitude, 23);
    const HVX_Vector mantissa =
        Q6_V_vor_VV(Q6_V_vand_VV(magnitude, hvx_splat_i32(0x007fffff)), hvx_splat_i32(0x00800000));
    /* 13 bits go; below the smallest normal f16 as many more as the exponent lacks, all of them at 25 */
    HVX_Vector shift = Q6_Vw_vsub_VwVw(hvx_splat_i32(126), exponent);
    shift = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(shift, hvx_splat_i32(13)), hvx_splat_i32(25));
    const HVX_Vector odd = Q6_V_vand_VV(Q6_Vw_vlsr_VwVw(mantissa, shift), one);
    const HVX_Vector below_half = Q6_Vw_vsub_VwVw(Q6_Vw_vasl_VwVw(one, Q6_Vw_vsub_VwVw(shift, one)), one);
    const HVX_Vector sum = Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(mantissa, below_half), odd);
    /* the leading one of a normal number counts as one exponent step */
    const HVX_Vector steps = Q6_Vw_vmax_VwVw(Q6_Vw_vsub_VwVw(exponent, hvx_splat_i32(113)), hvx_zero());
    HVX_Vector h = Q6_Vw_vadd_VwVw(Q6_Vw_vlsr_VwVw(sum, shift), Q6_Vw_vasl_VwR(steps, 10));
    h = Q6_Vw_vmin_VwVw(h, hvx_splat_i32(0x7c00));
    h = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(magnitude, infinity), hvx_splat_i32(0x7e00), h);
    return Q6_V_vor_VV(h, Q6_V_vand_VV(Q6_Vuw_vlsr_VuwR(x, 16), hvx_splat_i32(0x8000)));
}

HVX_INLINE HVX_Vector hvx_f16_word_to_f32(HVX_Vector h) {
    const HVX_Vector magnitude = Q6_V_vand_VV(h, hvx_splat_i32(0x7fff)), rebias = hvx_splat_i32(112 << 23);
    HVX_Vector normal = Q6_Vw_vadd_VwVw(Q6_Vw_vasl_VwR(magnitude, 13), rebias);
    const HVX_VectorPred special = Q6_Q_vcmp_gt_VwVw(magnitude, hvx_splat_i32(0x7bff));
    normal = Q6_Vw_vadd_VwVw(normal, Q6_V_vand_QV(special, rebias));
    /* subnormal: the leading one moves to the place of the hidden bit, which adds one to the exponent */
    const HVX_Vector zeros = Q6_Vuw_vcl0_Vuw(magnitude);
    const HVX_Vector exponent = Q6_Vw_vasl_VwR(Q6_Vw_vsub_VwVw(hvx_splat_i32(133), zeros), 23);
    const HVX_Vector shifted = Q6_Vw_vasl_VwVw(magnitude, Q6_Vw_vsub_VwVw(zeros, hvx_splat_i32(8)));
    HVX_Vector f = Q6_Vw_vadd_VwVw(shifted, exponent);
    f = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(magnitude, hvx_splat_i32(0x3ff)), normal, f);
    f = Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(magnitude, hvx_zero()), hvx_zero(), f);
    return Q6_V_vor_VV(f, Q6_Vw_vasl_VwR(Q6_V_vand_VV(h, hvx_splat_i32(0x8000)), 16));
}

/* 64 f32 in order -> 64 f16 in order */
HVX_INLINE HVX_Vector hvx_f32_to_f16_exact(HVX_Vector first, HVX_Vector second) {
    return Q6_Vh_vpacke_VwVw(hvx_f32_to_f16_word(second), hvx_f32_to_f16_word(first));
}

/* 64 f16 in order -> 64 f32 in order */
HVX_INLINE HVX_VectorPair hvx_f16_to_f32_exact(HVX_Vector h) {
    const HVX_Vector even = hvx_f16_word_to_f32(Q6_V_vand_VV(h, hvx_splat_i32(0xffff)));
    return hvx_interleave_words(even, hvx_f16_word_to_f32(Q6_Vuw_vlsr_VuwR(h, 16)));
}

/* ---- bf16: the upper half of an f32 ---- */

HVX_INLINE HVX_VectorPair hvx_bf16_to_f32(HVX_Vector h) {
    return hvx_interleave_words(Q6_Vw_vasl_VwR(h, 16), Q6_V_vand_VV(h, hvx_splat_i32((int32_t)0xffff0000u)));
}

/* the upper half is the result */
HVX_INLINE HVX_Vector hvx_round_to_bf16(HVX_Vector x) {
    const HVX_Vector odd = Q6_V_vand_VV(Q6_Vuw_vlsr_VuwR(x, 16), hvx_splat_i32(1));
    const HVX_Vector rounded = Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(x, hvx_splat_i32(0x7fff)), odd);
    const HVX_Vector quiet = Q6_V_vor_VV(x, hvx_splat_i32(0x00400000));
    const HVX_Vector magnitude = Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff));
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(magnitude, hvx_splat_i32(0x7f800000)), quiet, rounded);
}

/* 64 f32 in order -> 64 bf16 in order */
HVX_INLINE HVX_Vector hvx_f32_to_bf16(HVX_Vector first, HVX_Vector second) {
    return Q6_Vh_vpacko_VwVw(hvx_round_to_bf16(second), hvx_round_to_bf16(first));
}

#endif
