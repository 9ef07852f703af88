/*
 * Cosines and sines.
 *
 * The angle modulo pi is computed exactly, in integers: floats would make the result depend on how the hardware's
 * formats round. The angle as a number with 29 fraction bits, modulo 2^32, is a shift of its mantissa (what is lost at
 * the top are multiples of 8 rad). From it goes k * pi, modulo 2^32 too, with k = angle / pi rounded: any k that is
 * nearly right does, since the polynomials hold a little beyond pi/2. k has 16 bits, so angles are limited to 65535 pi;
 * larger ones go through angle.c.
 */
#ifndef HVX_ANGLE_H
#define HVX_ANGLE_H

#include "hvx/wrap.h"

#define HVX_PI_29 1686629713         /* pi, 29 fraction bits */
#define HVX_PI_45 4276               /* the next 16 bits of it */
#define HVX_ANGLE_LIMIT 205000.0f    /* 65535 pi, less what roundings add */
#define HVX_ANGLE_TO_INTEGER 12582912.0f /* 1.5 * 2^23: the last place of a sum is 1, its low half-word the integer */

/* |angle| = k pi + remainder */
struct hvx_angle {
    HVX_Vector remainder; /* 29 fraction bits */
    HVX_Vector flip;      /* sign bit set: k is odd */
};

/* magnitude: f32, at most HVX_ANGLE_LIMIT */
HVX_INLINE struct hvx_angle hvx_angle_of(HVX_Vector magnitude) {
    const HVX_Vector quotient = hvx_mul_f32_qf32(magnitude, hvx_splat_f32(0.318309886f));
    const HVX_Vector k = hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(quotient, hvx_splat_f32(HVX_ANGLE_TO_INTEGER)));
    const HVX_Vector mantissa =
        Q6_V_vor_VV(Q6_V_vand_VV(magnitude, hvx_splat_i32(0x7fffff)), hvx_splat_i32(0x800000));
    HVX_Vector shift = Q6_Vw_vsub_VwVw(Q6_Vuw_vlsr_VuwR(magnitude, 23), hvx_splat_i32(121));
    shift = Q6_Vw_vmax_VwVw(shift, hvx_splat_i32(-31));
    HVX_Vector r = Q6_Vw_vasl_VwVw(mantissa, shift);
    r = Q6_Vw_vsub_VwVw(r, Q6_Vw_vmpyie_VwVuh(hvx_splat_i32(HVX_PI_29), k));
    r = Q6_Vw_vsub_VwVw(r, Q6_Vw_vmpye_VwVuh(hvx_splat_i32(HVX_PI_45), k));
    return (struct hvx_angle){r, Q6_Vw_vasl_VwR(k, 31)};
}

/*
 * The same of every f32, on the scalar unit: |angle| = k * pi + remainder with 29 fraction bits, |remainder| <= pi/2;
 * the lowest bit of k in the highest bit of flip. Infinities and NaN give a remainder of 0.
 */
void hvx_angle_reduce(const float *angle, uint32_t count, int32_t *remainder, uint32_t *flip);

/* the remainder in rad, in qf32 */
HVX_INLINE HVX_Vector hvx_angle_remainder_qf32(HVX_Vector remainder) {
    return hvx_mul_f32_qf32(hvx_wide_i32_to_f32(remainder), hvx_splat_f32(0x1p-29f));
}

/* coefficients of x^0, x^2, x^4 ... of cos(x) and sin(x)/x, for |x| <= pi/2: errors below 5e-8 */
#define HVX_ANGLE_TERMS 5
static const float hvx_cosine_terms[HVX_ANGLE_TERMS] __attribute__((unused)) = {
    0.9999999488f, -0.4999989783f, 4.166340331e-2f, -1.385234332e-3f, 2.312268060e-5f};
static const float hvx_sine_terms[HVX_ANGLE_TERMS] __attribute__((unused)) = {
    0.9999999742f, -0.1666664612f, 8.332874206e-3f, -1.979932955e-4f, 2.587338962e-6f};

/* such a polynomial; square and result in qf32 */
HVX_INLINE HVX_Vector hvx_angle_polynomial(const float *terms, HVX_Vector square) {
    HVX_Vector sum = hvx_mul_qf32(square, hvx_f32_to_qf32(hvx_splat_f32(terms[HVX_ANGLE_TERMS - 1])));
    HVX_UNROLL
    for (int i = HVX_ANGLE_TERMS - 2; i > 0; i--)
        sum = hvx_mul_qf32(Q6_Vqf32_vadd_Vqf32Vsf(sum, hvx_splat_f32(terms[i])), square);
    return Q6_Vqf32_vadd_Vqf32Vsf(sum, hvx_splat_f32(terms[0]));
}

/* ---- the functions of f32, 3e-7 off; angles that are no numbers give NaN ---- */

HVX_INLINE HVX_Vector hvx_angle_magnitude(HVX_Vector x) { return Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff)); }

/* of every f32: large ones are reduced one by one */
struct hvx_angle hvx_angle_of_any(HVX_Vector x);

/* r in qf32 */
HVX_INLINE HVX_Vector hvx_angle_finish(HVX_Vector r, HVX_Vector sign, HVX_Vector angle) {
    const HVX_VectorPred is_finite = Q6_Q_vcmp_gt_VwVw(hvx_splat_i32(0x7f800000), hvx_angle_magnitude(angle));
    return Q6_V_vmux_QVV(is_finite, Q6_V_vxor_VV(hvx_qf32_to_f32(r), sign), hvx_splat_i32(0x7fc00000));
}

HVX_INLINE HVX_Vector hvx_cosine(struct hvx_angle a, HVX_Vector angle) {
    const HVX_Vector x = hvx_angle_remainder_qf32(a.remainder);
    return hvx_angle_finish(hvx_angle_polynomial(hvx_cosine_terms, hvx_mul_qf32(x, x)), a.flip, angle);
}

/* An angle below 1.5 is its own remainder, with all its places: its sine is as near as a part of its value. */
HVX_INLINE HVX_Vector hvx_sine(struct hvx_angle a, HVX_Vector angle) {
    const HVX_Vector magnitude = hvx_angle_magnitude(angle);
    const HVX_Vector reduced = hvx_qf32_to_f32(hvx_angle_remainder_qf32(a.remainder));
    const HVX_Vector x = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(hvx_splat_f32(1.5f), magnitude), magnitude, reduced);
    const HVX_Vector p = hvx_qf32_to_f32(hvx_angle_polynomial(hvx_sine_terms, hvx_mul_f32_qf32(x, x)));
    const HVX_Vector sign = Q6_V_vxor_VV(a.flip, Q6_V_vxor_VV(angle, magnitude));
    return hvx_angle_finish(hvx_mul_f32_qf32(p, x), sign, angle);
}

#endif
