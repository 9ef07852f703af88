/*
 * Dot products of one query row with 32 keys, f16, sums in qf32.
 *
 * A key gives a vector of 32 partial sums. The 32 vectors are added across lanes in a tree of five levels that turns
 * them at the same time: level l merges two vectors, and each keeps the lanes where bit l of the lane number is 0 (the
 * first) or 1 (the second). In the end lane j has the sum of key j, after 31 additions. Additions take one pipe, one a
 * packet, and those of the tree are as many as those within the keys for a head of 64.
 */
#include "ops/attention/scores.h"

struct score_operands {
    const uint8_t *keys;
    size_t step; /* bytes between keys */
    HVX_Vector q[2];
};

/* lanes with bit `level` clear: sums of neighbouring lanes of a; the others: of b */
HVX_INLINE HVX_Vector merge_lanes(int level, HVX_Vector a, HVX_Vector b) {
    const HVX_Vector bit = Q6_V_vand_VV(score_lane_numbers(), hvx_splat_i32(1 << level));
    const HVX_VectorPair swapped = Q6_W_vswap_QVV(Q6_Q_vcmp_eq_VwVw(bit, hvx_zero()), a, b);
    return hvx_add_qf32(Q6_V_lo_W(swapped), Q6_V_vror_VR(Q6_V_hi_W(swapped), 4 << level));
}

/* 32 partial sums of key i; units: 1 or 2 */
HVX_INLINE HVX_Vector key_sums(int units, const struct score_operands *o, int i) {
    const HVX_Vector *k = (const HVX_Vector *)(const void *)(o->keys + (size_t)i * o->step);
    const HVX_VectorPair p = hvx_mul_f16_qf32(k[0], o->q[0]);
    const HVX_Vector sum = hvx_add_qf32(Q6_V_lo_W(p), Q6_V_hi_W(p));
    if (units == 1)
        return sum;
    const HVX_VectorPair r = hvx_mul_f16_qf32(k[1], o->q[1]);
    return hvx_add_qf32(sum, hvx_add_qf32(Q6_V_lo_W(r), Q6_V_hi_W(r)));
}
/* 2, 4, 8, 16, 32 keys from i on */
HVX_INLINE HVX_Vector key_sums_2(int units, const struct score_operands *o, int i) {
    const HVX_Vector a = key_sums(units, o, i);
    return merge_lanes(0, a, key_sums(units, o, i + 1));
}
HVX_INLINE HVX_Vector key_sums_4(int units, const struct score_operands *o, int i) {
    const HVX_Vector a = key_sums_2(units, o, i);
    return merge_lanes(1, a, key_sums_2(units, o, i + 2));
}
HVX_INLINE HVX_Vector key_sums_8(int units, const struct score_operands *o, int i) {
    const HVX_Vector a = key_sums_4(units, o, i);
    return merge_lanes(2, a, key_sums_4(units, o, i + 4));
}
HVX_INLINE HVX_Vector key_sums_16(int units, const struct score_operands *o, int i) {
    const HVX_Vector a = key_sums_8(units, o, i);
    return merge_lanes(3, a, key_sums_8(units, o, i + 8));
}
HVX_INLINE HVX_Vector key_sums_32(int units, const struct score_operands *o) {
    const HVX_Vector a = key_sums_16(units, o, 0);
    return merge_lanes(4, a, key_sums_16(units, o, 16));
}

/* dot products with 32 keys over one or two units, qf32 */
static HVX_NOINLINE HVX_Vector dots_1(const uint8_t *keys, size_t step, const HVX_Vector *q) {
    const struct score_operands o = {keys, step, {q[0], q[0]}};
    return key_sums_32(1, &o);
}
static HVX_NOINLINE HVX_Vector dots_2(const uint8_t *keys, size_t step, const HVX_Vector *q) {
    const struct score_operands o = {keys, step, {q[0], q[1]}};
    return key_sums_32(2, &o);
}

HVX_Vector attention_dots(uint32_t units, const uint8_t *keys, size_t step, const HVX_Vector *q) {
    HVX_Vector sum = units % 2 == 0 ? dots_2(keys, step, q) : dots_1(keys, step, q);
    for (uint32_t u = 2 - units % 2; u < units; u += 2)
        sum = hvx_add_qf32(sum, dots_2(keys + u * HVX_BYTES, step, q + u));
    return hvx_qf32_to_f32(sum);
}
