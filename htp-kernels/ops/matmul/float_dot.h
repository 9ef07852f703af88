/*
 * Dot products of weight rows of floats, row-major as ggml stores them, with activation rows. FLOAT_DOT_KERNEL
 * instantiates them for a type (f16.c, bf16.c, f32.c).
 *
 *   f16    times f16: products are exact in the half-word multiplication (its result is qf32). For 64 weights one load,
 *          one multiplication, two additions; additions run on one pipe, one a packet, so 32 packets for 1024 products
 *          is the floor whatever the blocking
 *   bf16   is the upper half of an f32: even weights by a shift, odd ones by a mask. Times f32
 *   f32    times f32
 * Sums are qf32. Four weight rows share the loads of the activations, two activation rows those of the weights.
 *
 * Sums across lanes are made for 32 weight rows together in a tree of five levels, 31 additions: level l merges two
 * vectors, each keeps the lanes where bit l of the lane number is 0 (first) or 1 (second).
 */
#ifndef MATMUL_FLOAT_DOT_H
#define MATMUL_FLOAT_DOT_H

#include "ops/matmul/kernels.h"
#include "ops/matmul/matmul.h"

#define FLOAT_DOT_BLOCK 4                                /* weight rows of a pass */
#define FLOAT_DOT_BLOCKS (MATMUL_TILE / FLOAT_DOT_BLOCK) /* passes of a column tile */
#define FLOAT_DOT_UNIT 64                                /* products of a step */

/* ---- sums across lanes ---- */

static const int32_t float_dot_lanes[32] __attribute__((aligned(128))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

/* lanes whose number has bit `level` clear */
HVX_INLINE HVX_VectorPred float_dot_first(int level) {
    const HVX_Vector number = *(const HVX_Vector *)(const void *)float_dot_lanes;
    return Q6_Q_vcmp_eq_VwVw(Q6_V_vand_VV(number, hvx_splat_i32(1 << level)), hvx_zero());
}

/* lanes with that bit clear: sums of neighbouring lanes of a; the others: of b */
HVX_INLINE HVX_Vector float_dot_merge(HVX_Vector a, HVX_Vector b, int level) {
    const HVX_VectorPair swapped = Q6_W_vswap_QVV(float_dot_first(level), a, b);
    return hvx_add_qf32(Q6_V_lo_W(swapped), Q6_V_vror_VR(Q6_V_hi_W(swapped), 4 << level));
}

/* the last three levels */
HVX_INLINE HVX_Vector float_dot_reduce(const HVX_Vector *p) {
    const HVX_Vector low = float_dot_merge(float_dot_merge(p[0], p[1], 2), float_dot_merge(p[2], p[3], 2), 3);
    const HVX_Vector high = float_dot_merge(float_dot_merge(p[4], p[5], 2), float_dot_merge(p[6], p[7], 2), 3);
    return hvx_qf32_to_f32(float_dot_merge(low, high, 4));
}

/* ---- products ---- */

/* 64 values of a row: vector a (f16), or a and b (32 f32 each) */
struct float_dot_values {
    HVX_Vector a, b;
};

/* used: how many of the 64 weights count; a constant where it is 64. What is behind them may be NaN. */
HVX_INLINE struct float_dot_values float_dot_weights(uint32_t type, const HVX_Vector *row, uint32_t unit,
                                                     uint32_t used) {
    struct float_dot_values w;
    if (type == HTP_TYPE_F32) {
        w.a = row[2 * unit];
        w.b = row[2 * unit + 1];
        if (used < FLOAT_DOT_UNIT) {
            const uint32_t behind = used > HVX_WORDS ? used - HVX_WORDS : 0;
            if (used < HVX_WORDS)
                w.a = Q6_V_vand_QV(Q6_Q_vsetq_R((int32_t)(4 * used)), w.a);
            w.b = behind == 0 ? hvx_zero() : Q6_V_vand_QV(Q6_Q_vsetq_R((int32_t)(4 * behind)), w.b);
        }
        return w;
    }
    HVX_Vector v = row[unit];
    if (used < FLOAT_DOT_UNIT)
        v = Q6_V_vand_QV(Q6_Q_vsetq_R((int32_t)(2 * used)), v);
    w.a = type == HTP_TYPE_BF16 ? Q6_Vw_vasl_VwR(v, 16) : v;
    w.b = type == HTP_TYPE_BF16 ? Q6_V_vand_VV(v, hvx_splat_i32(-0x10000)) : hvx_zero();
    return w;
}

HVX_INLINE struct float_dot_values float_dot_activations(uint32_t type, const HVX_Vector *row, uint32_t unit) {
    struct float_dot_values x;
    x.a = type == HTP_TYPE_F16 ? row[unit] : row[2 * unit];
    x.b = type == HTP_TYPE_F16 ? hvx_zero() : row[2 * unit + 1];
    return x;
}

/* adds 64 products to two vectors of partial sums */
HVX_INLINE void float_dot_multiply(uint32_t type, struct float_dot_values w, struct float_dot_values x,
                                   HVX_Vector *first, HVX_Vector *second) {
    if (type == HTP_TYPE_F16) {
        const HVX_VectorPair p = hvx_mul_f16_qf32(w.a, x.a);
        *first = hvx_add_qf32(*first, Q6_V_lo_W(p));
        *second = hvx_add_qf32(*second, Q6_V_hi_W(p));
        return;
    }
    *first = hvx_add_qf32(*first, hvx_mul_f32_qf32(w.a, x.a));
    *second = hvx_add_qf32(*second, hvx_mul_f32_qf32(w.b, x.b));
}

/* ---- rows ---- */

/* one step of FLOAT_DOT_BLOCK weight rows and n activation rows */
HVX_INLINE void float_dot_step(uint32_t type, int n, const HVX_Vector *const *w, const HVX_Vector *const *v,
                               uint32_t unit, uint32_t used, HVX_Vector (*first)[FLOAT_DOT_BLOCK],
                               HVX_Vector (*second)[FLOAT_DOT_BLOCK]) {
    struct float_dot_values x[KERNEL_FLOAT_ROWS];
    HVX_UNROLL
    for (int c = 0; c < n; c++)
        x[c] = float_dot_activations(type, v[c], unit);
    HVX_UNROLL
    for (int r = 0; r < FLOAT_DOT_BLOCK; r++) {
        const struct float_dot_values weights = float_dot_weights(type, w[r], unit, used);
        HVX_UNROLL
        for (int c = 0; c < n; c++)
            float_dot_multiply(type, weights, x[c], &first[c][r], &second[c][r]);
    }
}

/* FLOAT_DOT_BLOCK weight rows, n activation rows -> a vector for each activation row, two levels of the tree done */
HVX_INLINE void float_dot_block(uint32_t type, int n, const uint8_t *weights, size_t row_bytes, uint32_t k,
                                const uint8_t *x, size_t x_bytes, HVX_Vector *out, size_t out_step) {
    HVX_Vector first[KERNEL_FLOAT_ROWS][FLOAT_DOT_BLOCK], second[KERNEL_FLOAT_ROWS][FLOAT_DOT_BLOCK];
    const HVX_Vector *w[FLOAT_DOT_BLOCK], *v[KERNEL_FLOAT_ROWS];
    HVX_UNROLL
    for (int r = 0; r < FLOAT_DOT_BLOCK; r++)
        w[r] = (const HVX_Vector *)(const void *)(weights + r * row_bytes);
    HVX_UNROLL
    for (int c = 0; c < n; c++) {
        v[c] = (const HVX_Vector *)(const void *)(x + c * x_bytes);
        HVX_UNROLL
        for (int r = 0; r < FLOAT_DOT_BLOCK; r++)
            first[c][r] = second[c][r] = hvx_zero();
    }
    const uint32_t whole = k / FLOAT_DOT_UNIT;
    HVX_ROLLED
    for (uint32_t i = 0; i < whole; i++)
        float_dot_step(type, n, w, v, i, FLOAT_DOT_UNIT, first, second);
    if (k % FLOAT_DOT_UNIT != 0)
        float_dot_step(type, n, w, v, whole, k % FLOAT_DOT_UNIT, first, second);
    HVX_UNROLL
    for (int c = 0; c < n; c++) {
        HVX_Vector row[FLOAT_DOT_BLOCK];
        HVX_UNROLL
        for (int r = 0; r < FLOAT_DOT_BLOCK; r++)
            row[r] = hvx_add_qf32(first[c][r], second[c][r]);
        out[c * out_step] = float_dot_merge(float_dot_merge(row[0], row[1], 0), float_dot_merge(row[2], row[3], 0), 1);
    }
}

HVX_INLINE void float_dot_tile(uint32_t type, const uint8_t *weights, size_t row_bytes, uint32_t weight_rows,
                               uint32_t k, const uint8_t *x, size_t x_bytes, uint32_t rows, HVX_Vector *sums) {
    HVX_Vector p[KERNEL_FLOAT_ROWS][FLOAT_DOT_BLOCKS];
    const uint32_t blocks = htp_div_up(weight_rows, FLOAT_DOT_BLOCK);
    for (uint32_t b = 0; b < blocks; b++) {
        const uint8_t *w = weights + b * FLOAT_DOT_BLOCK * row_bytes;
        if (rows == 1)
            float_dot_block(type, 1, w, row_bytes, k, x, x_bytes, &p[0][b], FLOAT_DOT_BLOCKS);
        else
            float_dot_block(type, KERNEL_FLOAT_ROWS, w, row_bytes, k, x, x_bytes, &p[0][b], FLOAT_DOT_BLOCKS);
    }
    for (uint32_t c = 0; c < rows; c++) {
        for (uint32_t b = blocks; b < FLOAT_DOT_BLOCKS; b++)
            p[c][b] = hvx_zero();
        sums[c] = float_dot_reduce(p[c]);
    }
}

#define FLOAT_DOT_KERNEL(TYPE, name)                                                                                   \
    HVX_NOINLINE void gemm_##name(const uint8_t *weights, size_t row_bytes, uint32_t weight_rows, uint32_t k,          \
                                  const uint8_t *x, size_t x_bytes, uint32_t rows, HVX_Vector *sums) {                 \
        float_dot_tile(HTP_TYPE_##TYPE, weights, row_bytes, weight_rows, k, x, x_bytes, rows, sums);                   \
    }

#endif
