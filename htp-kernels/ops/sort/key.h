/*
 * f32 as integers of the same order: what the sorts compare. NaN have a place too, beyond the infinity of their sign,
 * so that every row has an order. -0 and 0 are equal.
 */
#ifndef HTP_SORT_KEY_H
#define HTP_SORT_KEY_H

#include "hvx/wrap.h"

HVX_INLINE int32_t sort_key(const uint8_t *f32) {
    int32_t bits;
    __builtin_memcpy(&bits, __builtin_assume_aligned(f32, 4), 4);
    if (bits == INT32_MIN)
        return 0;
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

HVX_INLINE HVX_Vector sort_keys(HVX_Vector bits) {
    const HVX_Vector sign = Q6_Vuw_vlsr_VuwR(Q6_Vw_vasr_VwR(bits, 31), 1);
    const HVX_VectorPred minus_zero = Q6_Q_vcmp_eq_VwVw(bits, hvx_splat_i32(INT32_MIN));
    return Q6_V_vmux_QVV(minus_zero, hvx_zero(), Q6_V_vxor_VV(bits, sign));
}

static const int32_t sort_lane_numbers[HVX_WORDS] __attribute__((aligned(128), unused)) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

#endif
