/* Activation rows -> f16 tiles of the matrix unit, and its output tiles -> rows of dst. */
#include "ops/matmul/hmx_tiles.h"

#if HMX_EXISTS

#define ROW_LARGEST_EXPONENT 3  /* of the largest value of a row after scaling */
#define ROW_EXPONENT_LIMIT 120  /* keeps the inverse, divided by 2^HMX_MXFP4_SHIFT, a normal number */
#define TILE_VECTORS (HMX_TILE_BYTES / HVX_BYTES)

/* ---- activations ---- */

HVX_Vector hmx_largest_f32(const HVX_Vector *x, uint32_t count, HVX_Vector so_far) {
    const HVX_Vector magnitude = hvx_splat_i32(0x7fffffff);
    HVX_Vector even = so_far, odd = so_far;
    uint32_t i = 0;
    HVX_UNROLL_COUNT(2)
    for (; i + 2 <= count; i += 2) { /* magnitudes as integers are in order, and NaN is above all */
        even = Q6_Vw_vmax_VwVw(even, Q6_V_vand_VV(x[i], magnitude));
        odd = Q6_Vw_vmax_VwVw(odd, Q6_V_vand_VV(x[i + 1], magnitude));
    }
    if (i < count)
        even = Q6_Vw_vmax_VwVw(even, Q6_V_vand_VV(x[i], magnitude));
    return Q6_Vw_vmax_VwVw(even, odd);
}

bool hmx_row_exponent(uint32_t largest_bits, int *exponent) {
    const int field = (int)(largest_bits >> 23);
    const int e = ROW_LARGEST_EXPONENT + 127 - field;
    *exponent = field == 0 ? 0 : e < ROW_EXPONENT_LIMIT ? e : ROW_EXPONENT_LIMIT;
    return field < 255;
}

/* The conversion takes its two operands to the even and odd half-words: as the layout wants a pair of rows. */
HVX_INLINE HVX_Vector pack_pair(HVX_Vector a, HVX_Vector b, HVX_Vector scale_a, HVX_Vector scale_b) {
    return Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(hvx_mul_f32_qf32(b, scale_b), hvx_mul_f32_qf32(a, scale_a)));
}

void hmx_pack_rows(const HVX_Vector *restrict a, const HVX_Vector *restrict b, float scale_a, float scale_b,
                   uint32_t blocks, HVX_Vector *restrict to) {
    const HVX_Vector sa = hvx_splat_f32(scale_a), sb = hvx_splat_f32(scale_b);
    /* one pointer a tile: the stores of a step need no address arithmetic between them */
    HVX_Vector *restrict to1 = to + TILE_VECTORS, *restrict to2 = to + 2 * TILE_VECTORS,
               *restrict to3 = to + 3 * TILE_VECTORS;
    HVX_ROLLED
    for (uint32_t i = blocks / 4; i > 0; i--) {
        *to = pack_pair(a[0], b[0], sa, sb);
        *to1 = pack_pair(a[1], b[1], sa, sb);
        *to2 = pack_pair(a[2], b[2], sa, sb);
        *to3 = pack_pair(a[3], b[3], sa, sb);
        a += 4, b += 4;
        to += 4 * TILE_VECTORS, to1 += 4 * TILE_VECTORS, to2 += 4 * TILE_VECTORS, to3 += 4 * TILE_VECTORS;
    }
    HVX_ROLLED
    for (uint32_t i = blocks % 4; i > 0; i--) {
        *to = pack_pair(*a++, *b++, sa, sb);
        to += TILE_VECTORS;
    }
}

/* ---- outputs ---- */

HVX_INLINE void store_row(const struct matmul_row *row, uint32_t first, uint32_t columns, float scale, HVX_Vector q) {
    const HVX_Vector factor = hvx_f32_to_qf32(hvx_splat_f32(scale));
    const HVX_Vector values = hvx_qf32_to_f32(hvx_mul_qf32(q, factor));
    float *to = (float *)(void *)row->output + first;
    if (columns == HMX_TILE)
        hvx_store(to, values);
    else
        hvx_store_bytes(to, columns * 4, values);
}

HVX_Vector hmx_unpack_tile(const HVX_Vector *tile, const struct matmul_row *rows, const float *scales, uint32_t count,
                           uint32_t first, uint32_t columns, HVX_Vector so_far) {
    const HVX_Vector one = hvx_splat_i32(HVX_HALF_ONE);
    /* magnitudes, of the columns that there are */
    const HVX_Vector mask = Q6_V_vand_QV(Q6_Q_vsetq2_R((int32_t)(columns * 4)), hvx_splat_i32(0x7fff7fff));
    HVX_ROLLED
    for (uint32_t r = 0; r < count; r += 2) {
        const HVX_Vector halves = *tile++;
        const HVX_VectorPair q = hvx_mul_f16_qf32(halves, one);
        so_far = Q6_Vuh_vmax_VuhVuh(so_far, Q6_V_vand_VV(halves, mask));
        store_row(rows + r, first, columns, scales[r], Q6_V_lo_W(q));
        if (r + 1 < count)
            store_row(rows + r + 1, first, columns, scales[r + 1], Q6_V_hi_W(q));
    }
    return so_far;
}

#endif
