/* What the files for rows of quantised blocks share: row_dequantize.c, row_dequantize_256.c, row_quantize.c. */
#ifndef HVX_ROW_BLOCKS_H
#define HVX_ROW_BLOCKS_H

#include <stdbool.h>

#include "htp/type_list.h"
#include "hvx/half_scalar.h"
#include "hvx/row.h"
#include "hvx/wrap.h"

#define BLOCK 32 /* elements, as many as a vector has words */

HVX_INLINE uint16_t load_half(const uint8_t *p) {
    uint16_t h;
    __builtin_memcpy(&h, __builtin_assume_aligned(p, 2), 2);
    return h;
}

HVX_INLINE void store_half(uint8_t *p, uint16_t h) { __builtin_memcpy(__builtin_assume_aligned(p, 2), &h, 2); }

/* Bytes in front of a block's quants: scale, minimum of the _1 types, fifth bits of the Q5 types. */
HVX_INLINE uint32_t head_bytes(uint32_t type) {
    switch (type) {
    case HTP_TYPE_MXFP4:
        return 1;
    case HTP_TYPE_Q4_1:
        return 4;
    case HTP_TYPE_Q5_0:
        return 6;
    case HTP_TYPE_Q5_1:
        return 8;
    default:
        return 2;
    }
}

HVX_INLINE bool has_minimum(uint32_t type) {
    return type == HTP_TYPE_Q4_1 || type == HTP_TYPE_Q5_1 || type == HTP_TYPE_Q4_K || type == HTP_TYPE_Q5_K ||
           type == HTP_TYPE_Q2_K;
}
HVX_INLINE bool has_fifth_bits(uint32_t type) { return type == HTP_TYPE_Q5_0 || type == HTP_TYPE_Q5_1; }

static const int32_t lane_numbers[HVX_WORDS] __attribute__((aligned(128))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

/* Table of 16 for vlut32: entry i in byte 2i. */
#define NIBBLE_TABLE(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)                                          \
    { a, 0, b, 0, c, 0, d, 0, e, 0, f, 0, g, 0, h, 0, i, 0, j, 0, k, 0, l, 0, m, 0, n, 0, o, 0, p, 0 }
static const int8_t iq4_nl_values[HVX_BYTES] __attribute__((aligned(128))) =
    NIBBLE_TABLE(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

/* the first 32 of signed bytes, as words */
HVX_INLINE HVX_Vector widen(HVX_Vector bytes) {
    const HVX_Vector halves = Q6_V_lo_W(Q6_W_vshuff_VVR(bytes, hvx_zero(), -1)); /* each byte at the top of a half */
    return Q6_Vw_vasr_VwR(Q6_V_lo_W(Q6_W_vshuff_VVR(halves, hvx_zero(), -2)), 24);
}

/* Q3_K, Q6_K, IQ4_XS: unsigned quants as bytes -> what they stand for, signed */
HVX_INLINE HVX_Vector hvx_row_signed(uint32_t type, HVX_Vector stored) {
    if (type == HTP_TYPE_IQ4_XS)
        return Q6_Vb_vlut32_VbVbR_nomatch(stored, hvx_load_aligned(iq4_nl_values), 0);
    /* with bit 7 set no byte borrows from its neighbour; turned over it is the sign */
    const int32_t zero = type == HTP_TYPE_Q6_K ? 0x20202020 : 0x04040404;
    const HVX_Vector top = hvx_splat_i32((int32_t)0x80808080u);
    return Q6_V_vxor_VV(Q6_Vw_vsub_VwVw(Q6_V_vor_VV(stored, top), hvx_splat_i32(zero)), top);
}

/* 32 values times scale[0], and behind half of them scale[1], plus minima likewise. first_half: 64 bytes. */
HVX_INLINE HVX_Vector hvx_row_scaled(uint32_t type, HVX_Vector values, const float *scale, const float *minimum,
                                     HVX_VectorPred first_half) {
    const HVX_Vector by = Q6_V_vmux_QVV(first_half, hvx_splat_f32(scale[0]), hvx_splat_f32(scale[1]));
    const HVX_Vector x = hvx_mul_f32(hvx_i32_to_f32(values), by);
    if (!has_minimum(type))
        return x;
    return hvx_add_f32(x, Q6_V_vmux_QVV(first_half, hvx_splat_f32(minimum[0]), hvx_splat_f32(minimum[1])));
}

#endif
