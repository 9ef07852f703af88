/* 32 vectors turned over: lanes become vectors. */
#ifndef HVX_TRANSPOSE_H
#define HVX_TRANSPOSE_H

#include "hvx/wrap.h"

#define HVX_TRANSPOSE_ROWS 32

/*
 * One round: vectors i and i + 16, their elements interleaved, become vectors 2i and 2i + 1. Seen as bits of an
 * address, (vector, lane) rotates by one; five rounds bring the 5 bits of the vector number down to the lanes.
 */
HVX_INLINE void hvx_transpose_round(HVX_Vector *to, const HVX_Vector *from, int32_t element_bytes) {
    HVX_ROLLED
    for (uint32_t i = 0; i < 16; i++) {
        const HVX_VectorPair w = Q6_W_vshuff_VVR(from[i + 16], from[i], -element_bytes);
        to[2 * i] = Q6_V_lo_W(w);
        to[2 * i + 1] = Q6_V_hi_W(w);
    }
}

/*
 * element_bytes 4: tile[i] lane j goes to result[j] lane i.
 * element_bytes 2: 64 lanes; result[j] holds lanes 2j of all 32 vectors in its first half, lanes 2j + 1 in its second.
 * The result is in `other` (both are written).
 */
HVX_INLINE void hvx_transpose(HVX_Vector *tile, HVX_Vector *other, int32_t element_bytes) {
    hvx_transpose_round(other, tile, element_bytes);
    hvx_transpose_round(tile, other, element_bytes);
    hvx_transpose_round(other, tile, element_bytes);
    hvx_transpose_round(tile, other, element_bytes);
    hvx_transpose_round(other, tile, element_bytes);
}

#endif
