/*
 * Cosines and sines of a token's angles, shared by its heads.
 *
 * The angle modulo pi is computed exactly, in integers: floats would make the result depend on how the hardware's
 * formats round. The angle as a number with 29 fraction bits, modulo 2^32, is a shift of its mantissa (what is lost at
 * the top are multiples of 8 rad). From it goes k * pi, modulo 2^32 too, with k = angle / pi rounded: any k that is
 * nearly right does, since the polynomials hold a little beyond pi/2. k has 16 bits, so angles are limited to 65535 pi;
 * larger ones go through reduce.c.
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
    const HVX_Vector s = hvx_mul_qf32(polynomial(sine_terms, square), hvx_mul_qf32(x, magnitude_qf32));
    *cosine = Q6_V_vxor_VV(hvx_qf32_to_f32(c), r.flip);
    *sine = Q6_V_vxor_VV(hvx_qf32_to_f32(s), Q6_V_vxor_VV(r.flip, sign));
}

static HVX_NOINLINE void large_table(const struct rope *t, const struct rope_scratch *s) {
    const HVX_Vector magnitude = hvx_f32_to_qf32(hvx_splat_f32(t->params.magnitude));
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

/*
 * ROPE_STEP entries. A function of its own, so that the rare cases cost no registers, and without a loop: constants are
 * made where they are needed, instead of being kept in memory for a second round that most heads do not have.
 */
static HVX_NOINLINE void small_step(const float *angle, float *cosine, float *sine, float magnitude) {
    const HVX_Vector m = hvx_f32_to_qf32(hvx_splat_f32(magnitude));
    HVX_Vector a[2], c[2], n[2];
    HVX_UNROLL
    for (uint32_t i = 0; i < 2; i++)
        a[i] = hvx_load_aligned(angle + i * HVX_WORDS);
    HVX_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        const HVX_Vector size = Q6_V_vand_VV(a[i], hvx_splat_i32(0x7fffffff));
        cosine_and_sine(reduce(size), Q6_V_vxor_VV(a[i], size), m, &c[i], &n[i]);
    }
    HVX_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        hvx_store_aligned(cosine + i * HVX_WORDS, c[i]);
        hvx_store_aligned(sine + i * HVX_WORDS, n[i]);
    }
}

void rope_table(const struct rope *t, const struct rope_scratch *s, uint32_t token) {
    const bool small = t->is_special ? rope_special_angles(t, s, token) : rope_plain_angles(t, s, token);
    if (!small) {
        large_table(t, s);
        return;
    }
    const float *angle = s->angle;
    float *cosine = s->cosine, *sine = s->sine;
    HVX_ROLLED
    for (uint32_t left = t->padded; left > ROPE_STEP; left -= ROPE_STEP) {
        small_step(angle, cosine, sine, t->params.magnitude);
        angle += ROPE_STEP;
        cosine += ROPE_STEP;
        sine += ROPE_STEP;
    }
    small_step(angle, cosine, sine, t->params.magnitude);
}
