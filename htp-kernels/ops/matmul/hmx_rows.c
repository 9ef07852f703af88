/* Activation rows -> f16 tiles of the matrix unit, and its output tiles -> rows of dst. */
#include "ops/matmul/hmx_tiles.h"

#if HMX_EXISTS

#define ROW_LARGEST_EXPONENT 1  /* of the largest value of a row after scaling */
#define ROW_EXPONENT_LIMIT 120  /* keeps the inverse, divided by 2^HMX_MXFP4_SHIFT, a normal number */
#define TILE_VECTORS (HMX_TILE_BYTES / HVX_BYTES)
#define MAGNITUDE_HALVES 0x7fff7fff

/* ---- activations ---- */

HVX_Vector hmx_largest_f32(const HVX_Vector *x, uint32_t count, HVX_Vector so_far) {
    const HVX_Vector magnitude = hvx_splat_i32(0x7fffffff);
    HVX_Vector m0 = so_far, m1 = so_far, m2 = so_far, m3 = so_far;
    /* magnitudes as integers are in order, and NaN is above all */
    HVX_ROLLED
    for (; count >= 4; count -= 4, x += 4) {
        m0 = Q6_Vw_vmax_VwVw(m0, Q6_V_vand_VV(x[0], magnitude));
        m1 = Q6_Vw_vmax_VwVw(m1, Q6_V_vand_VV(x[1], magnitude));
        m2 = Q6_Vw_vmax_VwVw(m2, Q6_V_vand_VV(x[2], magnitude));
        m3 = Q6_Vw_vmax_VwVw(m3, Q6_V_vand_VV(x[3], magnitude));
    }
    for (; count > 0; count--)
        m0 = Q6_Vw_vmax_VwVw(m0, Q6_V_vand_VV(*x++, magnitude));
    return Q6_Vw_vmax_VwVw(Q6_Vw_vmax_VwVw(m0, m1), Q6_Vw_vmax_VwVw(m2, m3));
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

/* A row of an output tile, as f32. */
HVX_INLINE HVX_Vector scaled(HVX_Vector q, const float *scale) {
    return hvx_qf32_to_f32(hvx_mul_qf32(q, hvx_f32_to_qf32(hvx_splat_f32(*scale))));
}

/* Pairs of whole rows, which are most. Returns how many rows are done. */
static uint32_t unpack_whole(const HVX_Vector *restrict tile, const struct matmul_row *restrict rows,
                             const float *restrict scales, uint32_t count, uint32_t first,
                             HVX_Vector *restrict largest) {
    const HVX_Vector one = hvx_splat_i32(HVX_HALF_ONE), mask = hvx_splat_i32(MAGNITUDE_HALVES);
    const uint32_t pairs = count / 2;
    HVX_Vector most = *largest;
    HVX_ROLLED
    for (uint32_t i = pairs; i > 0; i--, rows += 2, scales += 2) {
        const HVX_Vector halves = *tile++;
        const HVX_VectorPair q = hvx_mul_f16_qf32(halves, one);
        most = Q6_Vuh_vmax_VuhVuh(most, Q6_V_vand_VV(halves, mask));
        hvx_store(rows[0].output + first * 4, scaled(Q6_V_lo_W(q), scales));
        hvx_store(rows[1].output + first * 4, scaled(Q6_V_hi_W(q), scales + 1));
    }
    *largest = most;
    return 2 * pairs;
}

HVX_Vector hmx_unpack_tile(const HVX_Vector *tile, const struct matmul_row *rows, const float *scales, uint32_t count,
                           uint32_t first, uint32_t columns, HVX_Vector so_far) {
    const HVX_Vector one = hvx_splat_i32(HVX_HALF_ONE);
    /* magnitudes, of the columns that there are */
    const HVX_Vector mask = Q6_V_vand_QV(Q6_Q_vsetq2_R((int32_t)(columns * 4)), hvx_splat_i32(MAGNITUDE_HALVES));
    uint32_t r = columns == HMX_TILE ? unpack_whole(tile, rows, scales, count, first, &so_far) : 0;
    for (; r < count; r++) {
        const HVX_Vector halves = tile[r / 2];
        const HVX_VectorPair q = hvx_mul_f16_qf32(halves, one);
        so_far = Q6_Vuh_vmax_VuhVuh(so_far, Q6_V_vand_VV(halves, mask));
        const HVX_Vector row = r % 2 ? Q6_V_hi_W(q) : Q6_V_lo_W(q);
        hvx_store_bytes(rows[r].output + first * 4, columns * 4, scaled(row, scales + r));
    }
    return so_far;
}

#endif
