/*
 * SIN and COS, 3e-7 off; sines of small angles as a part of their value. Angles above 65535 pi are rare, and reduced
 * one by one: a first pass over the operands, of two packets a vector beside some twenty, tells whether there are any.
 */
#include "hvx/angle.h"
#include "ops/unary/functions.h"
#include "ops/unary/unary.h"

/* r in qf32. Angles that are no numbers give NaN. */
HVX_INLINE HVX_Vector finish(HVX_Vector r, HVX_Vector sign, HVX_Vector angle) {
    const HVX_VectorPred is_finite = Q6_Q_vcmp_gt_VwVw(hvx_splat_i32(UNARY_INFINITY), absolute(angle));
    return Q6_V_vmux_QVV(is_finite, Q6_V_vxor_VV(hvx_qf32_to_f32(r), sign), hvx_splat_i32(UNARY_NAN));
}

HVX_INLINE HVX_Vector cosine(struct hvx_angle a, HVX_Vector angle) {
    const HVX_Vector x = hvx_angle_remainder_qf32(a.remainder);
    return finish(hvx_angle_polynomial(hvx_cosine_terms, hvx_mul_qf32(x, x)), a.flip, angle);
}

/* An angle below 1.5 is its own remainder, with all its places. */
HVX_INLINE HVX_Vector sine(struct hvx_angle a, HVX_Vector angle) {
    const HVX_Vector magnitude = absolute(angle);
    const HVX_Vector reduced = hvx_qf32_to_f32(hvx_angle_remainder_qf32(a.remainder));
    const HVX_Vector x = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(hvx_splat_f32(1.5f), magnitude), magnitude, reduced);
    const HVX_Vector p = hvx_qf32_to_f32(hvx_angle_polynomial(hvx_sine_terms, hvx_mul_f32_qf32(x, x)));
    return finish(hvx_mul_f32_qf32(p, x), Q6_V_vxor_VV(a.flip, Q6_V_vxor_VV(angle, magnitude)), angle);
}

UNARY_EACH(small_sin, 2, 2, sine(hvx_angle_of(absolute(x)), x))
UNARY_EACH(small_cos, 2, 2, cosine(hvx_angle_of(absolute(x)), x))

/* The angles of a vector, the large ones done again on the scalar unit. */
static struct hvx_angle any_angle(HVX_Vector x) {
    float angle[HVX_WORDS] __attribute__((aligned(128)));
    int32_t remainder[HVX_WORDS] __attribute__((aligned(128)));
    uint32_t flip[HVX_WORDS] __attribute__((aligned(128)));
    const struct hvx_angle a = hvx_angle_of(absolute(x));
    hvx_store_aligned(angle, x);
    hvx_store_aligned(remainder, a.remainder);
    hvx_store_aligned(flip, a.flip);
    for (uint32_t i = 0; i < HVX_WORDS; i++) {
        if (!(__builtin_fabsf(angle[i]) <= HVX_ANGLE_LIMIT))
            hvx_angle_reduce(angle + i, 1, remainder + i, flip + i);
    }
    return (struct hvx_angle){hvx_load_aligned(remainder), hvx_load_aligned(flip)};
}

static HVX_NOINLINE void run_any(bool is_sine, const HVX_Vector *a, HVX_Vector *dst, uint32_t pairs) {
    for (uint32_t i = 0; i < 2 * pairs; i++) {
        const HVX_Vector x = a[i];
        const struct hvx_angle angle = any_angle(x);
        dst[i] = is_sine ? sine(angle, x) : cosine(angle, x);
    }
}

/* NaN counts as large */
static HVX_NOINLINE bool all_small(const HVX_Vector *a, uint32_t pairs) {
    HVX_Vector largest = hvx_zero();
    HVX_UNROLL_COUNT(4)
    for (uint32_t i = 0; i < 2 * pairs; i++)
        largest = Q6_Vw_vmax_VwVw(largest, absolute(a[i]));
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        largest = Q6_Vw_vmax_VwVw(largest, Q6_V_vror_VR(largest, bytes));
    int32_t words[HVX_WORDS] __attribute__((aligned(128)));
    hvx_store_aligned(words, largest);
    return words[0] <= hvx_f32_bits(HVX_ANGLE_LIMIT);
}

static void run_sin(const struct map *map, const HVX_Vector *a, const HVX_Vector *b, HVX_Vector *dst, uint32_t pairs) {
    if (all_small(a, pairs))
        run_small_sin(map, a, b, dst, pairs);
    else
        run_any(true, a, dst, pairs);
}

static void run_cos(const struct map *map, const HVX_Vector *a, const HVX_Vector *b, HVX_Vector *dst, uint32_t pairs) {
    if (all_small(a, pairs))
        run_small_cos(map, a, b, dst, pairs);
    else
        run_any(false, a, dst, pairs);
}

map_fn unary_circle(uint32_t op) { return op == HTP_OP_SIN ? run_sin : op == HTP_OP_COS ? run_cos : NULL; }
