/*
 * ARGMAX of a row, by the rule of ggml's CPU backend: the last of equal elements (zeros of either sign are equal); what
 * stands in front of a NaN does not count, unless only NaN follow it; 0 when all are NaN, or there are none.
 *
 * Elements are compared as integers: the bits of a float that is not negative, minus those of the magnitude of one
 * that is. Each lane keeps its best element and its index. A row with a NaN is done again, one by one.
 */
#include "ops/reduce/reduce.h"

#define INFINITE 0x7f800000

struct best {
    HVX_Vector key, index; /* of the largest so far, the last of equal ones */
    HVX_Vector least;      /* the smallest key: it or the largest one gives a NaN away */
};

HVX_INLINE HVX_Vector key_of(HVX_Vector bits) {
    const HVX_Vector negative = Q6_Vw_vsub_VwVw(hvx_splat_i32(INT32_MIN), bits);
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(hvx_zero(), bits), negative, bits);
}

HVX_INLINE void consider(struct best *b, HVX_Vector key, HVX_Vector index) {
    const HVX_VectorPred keep = Q6_Q_vcmp_gt_VwVw(b->key, key);
    b->index = Q6_V_vmux_QVV(keep, b->index, index);
    b->key = Q6_Vw_vmax_VwVw(b->key, key);
}

/* the best of all lanes in every lane */
HVX_INLINE void settle(struct best *b) {
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2) {
        const HVX_Vector key = Q6_V_vror_VR(b->key, bytes), index = Q6_V_vror_VR(b->index, bytes);
        const HVX_VectorPred later =
            Q6_Q_and_QQ(Q6_Q_vcmp_eq_VwVw(key, b->key), Q6_Q_vcmp_gt_VwVw(index, b->index));
        const HVX_VectorPred take = Q6_Q_or_QQ(Q6_Q_vcmp_gt_VwVw(key, b->key), later);
        b->index = Q6_V_vmux_QVV(take, index, b->index);
        b->key = Q6_Vw_vmax_VwVw(b->key, key);
        b->least = Q6_Vw_vmin_VwVw(b->least, Q6_V_vror_VR(b->least, bytes));
    }
}

static int32_t first_word(HVX_Vector v) {
    int32_t words[HVX_WORDS] __attribute__((aligned(128)));
    hvx_store_aligned(words, v);
    return words[0];
}

/* Comparing integers: of `a > b ? a : b` the compiler makes a maximum that passes over NaN. */
static int32_t one_by_one(const struct htp_view *v, const uint8_t *row) {
    int32_t largest = INT32_MIN, index = 0;
    for (uint32_t i = 0; i < v->ne[0]; i++) {
        int32_t bits;
        __builtin_memcpy(&bits, __builtin_assume_aligned(row + (size_t)i * v->nb[0], 4), 4);
        if ((bits & INT32_MAX) > INFINITE) { /* what follows starts anew */
            largest = INT32_MIN;
            continue;
        }
        const int32_t key = bits < 0 ? -(bits & INT32_MAX) : bits;
        if (key >= largest) {
            largest = key;
            index = (int32_t)i;
        }
    }
    return index;
}

void reduce_argmax_row(const struct reduce *t, const uint8_t *src, uint8_t *dst) {
    static const int32_t lanes[HVX_WORDS] __attribute__((aligned(128))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const uint32_t length = t->length, whole = length / HVX_WORDS * HVX_WORDS, rest = length - whole;
    const HVX_Vector step = hvx_splat_i32(HVX_WORDS), none = hvx_splat_i32(INT32_MIN);
    struct best b = {.key = none, .index = hvx_zero(), .least = hvx_zero()};
    HVX_Vector index = hvx_load_aligned(lanes);
    if (t->src->nb[0] == 4) {
        const uint8_t *p = src;
        HVX_ROLLED
        for (uint32_t i = whole / HVX_WORDS; i > 0; i--, p += HVX_BYTES) {
            const HVX_Vector key = key_of(hvx_load(p));
            consider(&b, key, index);
            b.least = Q6_Vw_vmin_VwVw(b.least, key);
            index = Q6_Vw_vadd_VwVw(index, step);
        }
    } else {
        for (uint32_t i = 0; i < whole; i += HVX_WORDS) {
            const HVX_Vector key = key_of(reduce_fetch(t->src, src, i, HVX_WORDS));
            consider(&b, key, index);
            b.least = Q6_Vw_vmin_VwVw(b.least, key);
            index = Q6_Vw_vadd_VwVw(index, step);
        }
    }
    if (rest != 0) { /* the lanes behind the end are zero, and less than anything to be the largest */
        const HVX_Vector key = key_of(reduce_fetch(t->src, src, whole, rest));
        b.least = Q6_Vw_vmin_VwVw(b.least, key);
        consider(&b, Q6_V_vmux_QVV(Q6_Q_vsetq_R((int32_t)rest * 4), key, none), index);
    }
    settle(&b);
    if (first_word(b.key) > INFINITE || first_word(b.least) < -INFINITE)
        b.index = hvx_splat_i32(one_by_one(t->src, src));
    reduce_store_word(dst, b.index);
}
