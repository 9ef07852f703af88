/*
 * f16 weights, row-major as ggml stores them, times f16 activations. Products are exact in the half-word
 * multiplication (its result is qf32), sums are qf32: nothing is rounded to f16 here.
 *
 * For 64 weights: one load, one multiplication, two additions. Additions run on one pipe, one a packet, so 32 packets
 * for 1024 products is the floor whatever the blocking. Four weight rows share the loads of the activations, two
 * activation rows those of the weights.
 *
 * Sums across lanes are made for 32 weight rows together in a tree of five levels, 31 additions: level l merges two
 * vectors, each keeps the lanes where bit l of the lane number is 0 (first) or 1 (second).
 */
#include "ops/matmul/kernels.h"
#include "ops/matmul/matmul.h"

#define F16_BLOCK 4                          /* weight rows of a pass */
#define F16_BLOCKS (MATMUL_TILE / F16_BLOCK) /* passes of a column tile */

static const int32_t lane_numbers[32] __attribute__((aligned(128))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

/* lanes whose number has bit `level` clear */
HVX_INLINE HVX_VectorPred first_lanes(int level) {
    const HVX_Vector number = *(const HVX_Vector *)(const void *)lane_numbers;
    return Q6_Q_vcmp_eq_VwVw(Q6_V_vand_VV(number, hvx_splat_i32(1 << level)), hvx_zero());
}

/* lanes of q: sums of neighbouring lanes of a; the others: of b */
HVX_INLINE HVX_Vector merge(HVX_Vector a, HVX_Vector b, int level) {
    const HVX_VectorPair swapped = Q6_W_vswap_QVV(first_lanes(level), a, b);
    return hvx_add_qf32(Q6_V_lo_W(swapped), Q6_V_vror_VR(Q6_V_hi_W(swapped), 4 << level));
}

/* n products, adding to the even and odd partial sums */
HVX_INLINE void multiply(HVX_Vector w, HVX_Vector x, HVX_Vector *even, HVX_Vector *odd) {
    const HVX_VectorPair p = hvx_mul_f16_qf32(w, x);
    *even = hvx_add_qf32(*even, Q6_V_lo_W(p));
    *odd = hvx_add_qf32(*odd, Q6_V_hi_W(p));
}

/* F16_BLOCK weight rows and n activation rows -> one vector for each activation row, two levels of the tree done */
HVX_INLINE void block_dots(int n, const uint8_t *weights, size_t row_bytes, uint32_t k, const uint8_t *x,
                           size_t x_bytes, HVX_Vector *out, size_t out_step) {
    HVX_Vector even[KERNEL_F16_ROWS][F16_BLOCK], odd[KERNEL_F16_ROWS][F16_BLOCK];
    HVX_UNROLL
    for (int c = 0; c < n; c++) {
        HVX_UNROLL
        for (int r = 0; r < F16_BLOCK; r++)
            even[c][r] = odd[c][r] = hvx_zero();
    }
    const HVX_Vector *w[F16_BLOCK], *v[KERNEL_F16_ROWS];
    HVX_UNROLL
    for (int r = 0; r < F16_BLOCK; r++)
        w[r] = (const HVX_Vector *)(const void *)(weights + r * row_bytes);
    HVX_UNROLL
    for (int c = 0; c < n; c++)
        v[c] = (const HVX_Vector *)(const void *)(x + c * x_bytes);

    const uint32_t whole = k / HVX_HALVES;
    HVX_ROLLED
    for (uint32_t i = 0; i < whole; i++) {
        HVX_UNROLL
        for (int r = 0; r < F16_BLOCK; r++) {
            HVX_UNROLL
            for (int c = 0; c < n; c++)
                multiply(w[r][i], v[c][i], &even[c][r], &odd[c][r]);
        }
    }
    if (k % HVX_HALVES != 0) {
        const HVX_VectorPred used = Q6_Q_vsetq_R((int32_t)(k % HVX_HALVES * 2));
        HVX_UNROLL
        for (int r = 0; r < F16_BLOCK; r++) {
            const HVX_Vector masked = Q6_V_vand_QV(used, w[r][whole]);
            HVX_UNROLL
            for (int c = 0; c < n; c++)
                multiply(masked, v[c][whole], &even[c][r], &odd[c][r]);
        }
    }
    HVX_UNROLL
    for (int c = 0; c < n; c++) {
        HVX_Vector row[F16_BLOCK];
        HVX_UNROLL
        for (int r = 0; r < F16_BLOCK; r++)
            row[r] = hvx_add_qf32(even[c][r], odd[c][r]);
        out[c * out_step] = merge(merge(row[0], row[1], 0), merge(row[2], row[3], 0), 1);
    }
}

/* the other three levels */
HVX_INLINE HVX_Vector reduce_blocks(const HVX_Vector *p) {
    const HVX_Vector low = merge(merge(p[0], p[1], 2), merge(p[2], p[3], 2), 3);
    const HVX_Vector high = merge(merge(p[4], p[5], 2), merge(p[6], p[7], 2), 3);
    return hvx_qf32_to_f32(merge(low, high, 4));
}

HVX_NOINLINE void gemm_f16(const uint8_t *weights, size_t row_bytes, uint32_t weight_rows, uint32_t k,
                           const uint8_t *x, size_t x_bytes, uint32_t rows, HVX_Vector *sums) {
    HVX_Vector p[KERNEL_F16_ROWS][F16_BLOCKS];
    const uint32_t blocks = htp_div_up(weight_rows, F16_BLOCK);
    for (uint32_t b = 0; b < blocks; b++) {
        const uint8_t *w = weights + b * F16_BLOCK * row_bytes;
        if (rows == 1)
            block_dots(1, w, row_bytes, k, x, x_bytes, &p[0][b], F16_BLOCKS);
        else
            block_dots(2, w, row_bytes, k, x, x_bytes, &p[0][b], F16_BLOCKS);
    }
    for (uint32_t c = 0; c < rows; c++) {
        for (uint32_t b = blocks; b < F16_BLOCKS; b++)
            p[c][b] = hvx_zero();
        sums[c] = reduce_blocks(p[c]);
    }
}
