/*
 * SIN and COS, 3e-7 off; sines of small angles as a part of their value. Angles above 65535 pi are rare, and reduced
 * one by one: a first pass over the operands, of two packets a vector beside some twenty, tells whether there are any.
 */
#include "hvx/angle.h"
#include "ops/unary/functions.h"
#include "ops/unary/unary.h"

UNARY_EACH(small_sin, 2, 2, hvx_sine(hvx_angle_of(absolute(x)), x))
UNARY_EACH(small_cos, 2, 2, hvx_cosine(hvx_angle_of(absolute(x)), x))

static HVX_NOINLINE void run_any(bool is_sine, const HVX_Vector *a, HVX_Vector *dst, uint32_t pairs) {
    for (uint32_t i = 0; i < 2 * pairs; i++) {
        const HVX_Vector x = a[i];
        const struct hvx_angle angle = hvx_angle_of_any(x);
        dst[i] = is_sine ? hvx_sine(angle, x) : hvx_cosine(angle, x);
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
