/*
 * Cosines and sines of a token's angles, shared by its heads.
 *
 * The angle modulo pi is computed exactly, in integers: floats would make the result depend on how the hardware's formats
 * round. The angle as a number with 29 fraction bits, modulo 2^32, is a shift of its mantissa (what is lost at the top
 * are multiples of 8 rad). From it goes k * pi, modulo 2^32 too, with k = angle / pi rounded: any k that is nearly right
 * does, since the polynomials hold a little beyond pi/2. k has 16 bits, so angles are limited to 65535 pi; larger ones
 * go through reduce.c.
 */
#include "ops/rope/rope.h"

#define PI_29 1686629713     /* pi, 29 fraction bits */
#define PI_45 4276           /* the next 16 bits of it */
#define ROUND_TO_INTEGER 12582912.0f /* 1.5 * 2^23: the last place of a sum is 1, and its low half-word the integer */

size_t rope_thread_bytes(const struct rope *t) { return (5 + ROPE_CHAINS) * (size_t)t->padded * 4; }

/* |angle| = k pi + remainder */
struct reduced {
    HVX_Vector remainder; /* 29 fraction bits */
    HVX_Vector flip;      /* sign bit set: k is odd */
};

HVX_INLINE struct reduced reduce(HVX_Vector magnitude) {
    const HVX_Vector quotient = hvx_mul_f32_qf32(magnitude, hvx_splat_f32(0.318309886f));
    const HVX_Vector k = hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(quotient, hvx_splat_f32(ROUND_TO_INTEGER)));
    const HVX_Vector mantissa =
        Q6_V_vor_VV(Q6_V_vand_VV(magnitude, hvx_splat_i32(0x7fffff)), hvx_splat_i32(0x800000));
    HVX_Vector shift = Q6_Vw_vsub_VwVw(Q6_Vuw_vlsr_VuwR(magnitude, 23), hvx_splat_i32(121));
    shift = Q6_Vw_vmax_VwVw(shift, hvx_splat_i32(-31));
    HVX_Vector r = Q6_Vw_vasl_VwVw(mantissa, shift);
    r = Q6_Vw_vsub_VwVw(r, Q6_Vw_vmpyie_VwVuh(hvx_splat_i32(PI_29), k));
    r = Q6_Vw_vsub_VwVw(r, Q6_Vw_vmpye_VwVuh(hvx_splat_i32(PI_45), k));
    return (struct reduced){r, Q6_Vw_vasl_VwR(k, 31)};
}

/* coefficients of x^0, x^2, x^4 ... of cos(x) and sin(x)/x, for |x| <= pi/2: errors below 5e-8 */
#define TERMS 5
static const float cosine_terms[TERMS] = {0.9999999488f, -0.4999989783f, 4.166340331e-2f, -1.385234332e-3f,
                                          2.312268060e-5f};
static const float sine_terms[TERMS] = {0.9999999742f, -0.1666664612f, 8.332874206e-3f, -1.979932955e-4f,
                                        2.587338962e-6f};

/* in qf32 */
HVX_INLINE HVX_Vector polynomial(const float *terms, HVX_Vector square) {
    HVX_Vector sum = hvx_mul_qf32(square, hvx_f32_to_qf32(hvx_splat_f32(terms[TERMS - 1])));
    HVX_UNROLL
    for (int i = TERMS - 2; i > 0; i--)
        sum = hvx_mul_qf32(Q6_Vqf32_vadd_Vqf32Vsf(sum, hvx_splat_f32(terms[i])), square);
    return Q6_Vqf32_vadd_Vqf32Vsf(sum, hvx_splat_f32(terms[0]));
}

/* sign: of the angle */
HVX_INLINE void cosine_and_sine(struct reduced r, HVX_Vector sign, HVX_Vector magnitude_qf32, HVX_Vector *cosine,
                                HVX_Vector *sine) {
    const HVX_Vector x = hvx_mul_f32_qf32(hvx_wide_i32_to_f32(r.remainder), hvx_splat_f32(0x1p-29f));
    const HVX_Vector square = hvx_mul_qf32(x, x);
    const HVX_Vector c = hvx_mul_qf32(polynomial(cosine_terms, square), magnitude_qf32);
    const HVX_Vector s = hvx_mul_qf32(hvx_mul_qf32(polynomial(sine_terms, square), x), magnitude_qf32);
    *cosine = Q6_V_vxor_VV(hvx_qf32_to_f32(c), r.flip);
    *sine = Q6_V_vxor_VV(hvx_qf32_to_f32(s), Q6_V_vxor_VV(r.flip, sign));
}

static HVX_Vector pair_numbers(uint32_t first) {
    static const int32_t lanes[HVX_WORDS] __attribute__((aligned(128))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    return hvx_i32_to_f32(Q6_Vw_vadd_VwVw(hvx_load_aligned(lanes), hvx_splat_i32((int32_t)first)));
}

/* Interpolation of positions, YaRN: below the ramp angles stay (in part, ext_factor says) as they are. */
static void interpolate(const struct rope *t, float *angle) {
    const struct htp_rope_params *p = &t->params;
    const HVX_Vector one = hvx_splat_f32(1), zero = hvx_zero();
    for (uint32_t i = 0; i < t->padded; i += HVX_WORDS) {
        const HVX_Vector original = hvx_load_aligned(angle + i);
        HVX_Vector result = hvx_mul_f32(original, hvx_splat_f32(p->freq_scale));
        if (p->ext_factor != 0) {
            const HVX_Vector behind = hvx_sub_f32(pair_numbers(i), hvx_splat_f32(p->ramp_low));
            const HVX_Vector y = Q6_Vsf_vmax_VsfVsf(hvx_mul_f32(behind, hvx_splat_f32(p->ramp_inverse)), zero);
            const HVX_Vector ramp = Q6_Vsf_vmax_VsfVsf(hvx_sub_f32(one, y), zero);
            const HVX_Vector mix = hvx_mul_f32(ramp, hvx_splat_f32(p->ext_factor));
            result = hvx_add_f32(hvx_mul_f32(result, hvx_sub_f32(one, mix)), hvx_mul_f32(original, mix));
        }
        hvx_store_aligned(angle + i, result);
    }
}

static void large_table(const struct rope *t, const struct rope_scratch *s, HVX_Vector magnitude) {
    rope_reduce(s->angle, t->padded, s->remainder, s->flip);
    for (uint32_t i = 0; i < t->padded; i += HVX_WORDS) {
        const struct reduced r = {hvx_load_aligned(s->remainder + i), hvx_load_aligned(s->flip + i)};
        const HVX_Vector sign = Q6_V_vand_VV(hvx_load_aligned(s->angle + i), hvx_splat_i32(INT32_MIN));
        HVX_Vector c, n;
        cosine_and_sine(r, sign, magnitude, &c, &n);
        hvx_store_aligned(s->cosine + i, c);
        hvx_store_aligned(s->sine + i, n);
    }
    for (uint32_t i = 0; i < t->pairs; i++) {
        if (((uint32_t)hvx_f32_bits(s->angle[i]) & 0x7fffffffu) >= 0x7f800000u)
            s->cosine[i] = s->sine[i] = __builtin_nanf("");
    }
}

void rope_table(const struct rope *t, const struct rope_scratch *s, bool small) {
    const HVX_Vector magnitude = hvx_f32_to_qf32(hvx_splat_f32(t->params.magnitude));
    if (t->params.freq_scale != 1 || t->params.ext_factor != 0)
        interpolate(t, s->angle);
    if (!small) {
        large_table(t, s, magnitude);
        return;
    }
    HVX_ROLLED
    for (uint32_t i = 0; i < t->padded; i += 2 * HVX_WORDS) {
        HVX_UNROLL
        for (uint32_t k = i; k < i + 2 * HVX_WORDS; k += HVX_WORDS) {
            const HVX_Vector angle = hvx_load_aligned(s->angle + k);
            const HVX_Vector size = Q6_V_vand_VV(angle, hvx_splat_i32(0x7fffffff));
            HVX_Vector c, n;
            cosine_and_sine(reduce(size), Q6_V_vxor_VV(angle, size), magnitude, &c, &n);
            hvx_store_aligned(s->cosine + k, c);
            hvx_store_aligned(s->sine + k, n);
        }
    }
}
