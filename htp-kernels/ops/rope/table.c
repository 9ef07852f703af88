/* Cosines and sines of a token's angles, shared by its heads: hvx/angle.h says how. */
#include "hvx/angle.h"
#include "ops/rope/rope.h"

size_t rope_thread_bytes(const struct rope *t) { return (5 + ROPE_CHAINS) * (size_t)t->padded * 4; }

/* sign: of the angle */
HVX_INLINE void cosine_and_sine(struct hvx_angle r, HVX_Vector sign, HVX_Vector magnitude_qf32, HVX_Vector *cosine,
                                HVX_Vector *sine) {
    const HVX_Vector x = hvx_angle_remainder_qf32(r.remainder);
    const HVX_Vector square = hvx_mul_qf32(x, x);
    const HVX_Vector c = hvx_mul_qf32(hvx_angle_polynomial(hvx_cosine_terms, square), magnitude_qf32);
    const HVX_Vector s = hvx_mul_qf32(hvx_angle_polynomial(hvx_sine_terms, square), hvx_mul_qf32(x, magnitude_qf32));
    *cosine = Q6_V_vxor_VV(hvx_qf32_to_f32(c), r.flip);
    *sine = Q6_V_vxor_VV(hvx_qf32_to_f32(s), Q6_V_vxor_VV(r.flip, sign));
}

static HVX_NOINLINE void large_table(const struct rope *t, const struct rope_scratch *s) {
    const HVX_Vector magnitude = hvx_f32_to_qf32(hvx_splat_f32(t->params.magnitude));
    hvx_angle_reduce(s->angle, t->padded, s->remainder, s->flip);
    for (uint32_t i = 0; i < t->padded; i += HVX_WORDS) {
        const struct hvx_angle r = {hvx_load_aligned(s->remainder + i), hvx_load_aligned(s->flip + i)};
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
        cosine_and_sine(hvx_angle_of(size), Q6_V_vxor_VV(a[i], size), m, &c[i], &n[i]);
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
