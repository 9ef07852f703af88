/*
 * Powers of two with exponents of zero and less, as softmax and tanh need them: relative error below 3e-5.
 *
 * The exponent comes with 255 added. A float in [128, 256) is a fixed-point number whose 16 lowest bits are the
 * fraction, and its bits, shifted left by 7, are a float with that exponent and the fraction as mantissa: 2^n * (1+f),
 * with the sign bit set. No conversion to integer is needed and no float operation.
 * What is missing, 2^f - (1+f), depends on 16 bits only, so the fractions of two vectors share one vector of
 * half-words: it is -f(1-f) times a polynomial in f of degree 2.
 */
#ifndef HVX_EXP2_H
#define HVX_EXP2_H

#include "hvx/wrap.h"

#define HVX_EXP2_OFFSET 255.0f

/* upper halves of products of unsigned half-words */
HVX_INLINE HVX_Vector hvx_multiply_high_u16(HVX_Vector a, HVX_Vector b) {
#if defined(__HVX_ARCH__) && __HVX_ARCH__ < 69
    const HVX_VectorPair products = Q6_Wuw_vmpy_VuhVuh(a, b);
    return Q6_Vh_vshuffo_VhVh(Q6_V_hi_W(products), Q6_V_lo_W(products));
#else
    return Q6_Vuh_vmpy_VuhVuh_rs16(a, b);
#endif
}

/* f: 16-bit fractions -> 1+f - 2^f in units of 2^-17 */
HVX_INLINE HVX_Vector hvx_exp2_dip(HVX_Vector f) {
    const HVX_Vector c0 = Q6_Vh_vsplat_R(40235), c1 = Q6_Vh_vsplat_R(8597), c2 = Q6_Vh_vsplat_R(1777);
    const HVX_Vector bow = hvx_multiply_high_u16(f, Q6_V_vnot_V(f)); /* f(1-f) */
    HVX_Vector h = Q6_Vh_vadd_VhVh(hvx_multiply_high_u16(f, c2), c1);
    h = Q6_Vh_vadd_VhVh(hvx_multiply_high_u16(f, h), c0);
    return hvx_multiply_high_u16(bow, h);
}

/*
 * -2^(low - 255), -2^(high - 255) in f32, -0 where the argument is 128 or less; arguments up to 255, f32. Where a sign
 * is lost later on (in a quotient, say) this saves two instructions.
 */
HVX_INLINE HVX_VectorPair hvx_minus_exp2_255(HVX_Vector low, HVX_Vector high) {
    const HVX_Vector floor = hvx_splat_f32(128.0f);
    low = Q6_Vsf_vmax_VsfVsf(low, floor);
    high = Q6_Vsf_vmax_VsfVsf(high, floor);
    const HVX_Vector dip = hvx_exp2_dip(Q6_Vh_vshuffe_VhVh(high, low));
    /* times 128: a shift that does not take the shift pipe */
    const HVX_VectorPair lines =
        Q6_W_vcombine_VV(Q6_Vw_vmpyi_VwRub(high, (int32_t)0x80808080u), Q6_Vw_vmpyi_VwRub(low, (int32_t)0x80808080u));
    return Q6_Ww_vmpyacc_WwVhRh(lines, dip, (int32_t)0xffc0ffc0u); /* times -64 */
}

/* the same without the minus */
HVX_INLINE HVX_VectorPair hvx_exp2_255(HVX_Vector low, HVX_Vector high) {
    const HVX_Vector sign = hvx_splat_i32(INT32_MIN);
    const HVX_VectorPair powers = hvx_minus_exp2_255(low, high);
    return Q6_W_vcombine_VV(Q6_V_vxor_VV(Q6_V_hi_W(powers), sign), Q6_V_vxor_VV(Q6_V_lo_W(powers), sign));
}

#endif
