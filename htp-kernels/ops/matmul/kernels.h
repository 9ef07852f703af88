/*
 * The dot product kernels. Results are f32 vectors: lane n belongs to weight row n of a column tile.
 * Preconditions: pointers to weights and sums are 128-byte aligned, to activations 16-byte aligned; counts are not 0.
 */
#ifndef MATMUL_KERNELS_H
#define MATMUL_KERNELS_H

#include "ops/matmul/activations.h"

#define KERNEL_MAX_TILES 8 /* column tiles of a call at most */
#define KERNEL_ROWS 4      /* activation rows that a GEMM pass of quantised weights takes */
#define KERNEL_FLOAT_ROWS 2 /* and one of other weights */

/* ---- quantised weights, in tiles ---- */

/* column tiles that a GEMV pass takes: measured, more would spill */
#define KERNEL_Q4_0_TILES 4
#define KERNEL_Q8_0_TILES 4
#define KERNEL_Q4_1_TILES 3
#define KERNEL_MXFP4_TILES 3
#define KERNEL_IQ4_NL_TILES 4
#define KERNEL_Q5_0_TILES 3
#define KERNEL_Q5_1_TILES 3
#define KERNEL_Q4_K_TILES 3
#define KERNEL_Q5_K_TILES 3
#define KERNEL_Q6_K_TILES 2
#define KERNEL_Q3_K_TILES 2
#define KERNEL_Q2_K_TILES 2
#define KERNEL_IQ4_XS_TILES 3

/* X(type, name, column tiles of a GEMV pass) */
#define KERNEL_TILE_LIST(X)               \
    X(Q4_0, q4_0, KERNEL_Q4_0_TILES)      \
    X(Q8_0, q8_0, KERNEL_Q8_0_TILES)      \
    X(Q4_1, q4_1, KERNEL_Q4_1_TILES)      \
    X(MXFP4, mxfp4, KERNEL_MXFP4_TILES)   \
    X(IQ4_NL, iq4_nl, KERNEL_IQ4_NL_TILES) \
    X(Q5_0, q5_0, KERNEL_Q5_0_TILES)      \
    X(Q5_1, q5_1, KERNEL_Q5_1_TILES)      \
    X(Q4_K, q4_k, KERNEL_Q4_K_TILES)      \
    X(Q5_K, q5_k, KERNEL_Q5_K_TILES)      \
    X(Q6_K, q6_k, KERNEL_Q6_K_TILES)      \
    X(Q3_K, q3_k, KERNEL_Q3_K_TILES)      \
    X(Q2_K, q2_k, KERNEL_Q2_K_TILES)      \
    X(IQ4_XS, iq4_xs, KERNEL_IQ4_XS_TILES)

/* One activation row, `tiles` column tiles: sums[t], in units of the row. gemv_wide: for a row with f32 scales. */
typedef void (*kernel_gemv)(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,
                            const struct activation_slice *a, HVX_Vector *sums);
/* 1 .. KERNEL_ROWS activation rows, none of them wide, one column tile: sums[r]. */
typedef void (*kernel_gemm)(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a, uint32_t rows,
                            HVX_Vector *sums);

#define KERNEL_TILE_DECLARE(TYPE, name, tiles)                                                                \
    void gemv_##name(const uint8_t *weights, size_t tile_bytes, uint32_t n_tiles, uint32_t blocks,            \
                     const struct activation_slice *a, HVX_Vector *sums);                                     \
    void gemv_wide_##name(const uint8_t *weights, size_t tile_bytes, uint32_t n_tiles, uint32_t blocks,       \
                          const struct activation_slice *a, HVX_Vector *sums);                                \
    void gemm_##name(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a, uint32_t rows, \
                     HVX_Vector *sums);
KERNEL_TILE_LIST(KERNEL_TILE_DECLARE)
#undef KERNEL_TILE_DECLARE

/* ---- weights of floats, in rows ---- */

/*
 * Up to 32 weight rows (row_bytes apart, a multiple of 128; what is behind k values of a row does not matter) and
 * 1 or 2 activation rows (x_bytes apart, zeros behind k): sums[r]. Lanes of missing weight rows hold anything.
 * Activations: f16 for f16 weights; f32 for f32; for bf16 f32, of 64 values the even ones, then the odd ones.
 */
typedef void (*kernel_float)(const uint8_t *weights, size_t row_bytes, uint32_t weight_rows, uint32_t k,
                             const uint8_t *x, size_t x_bytes, uint32_t rows, HVX_Vector *sums);
void gemm_f16(const uint8_t *weights, size_t row_bytes, uint32_t weight_rows, uint32_t k, const uint8_t *x,
              size_t x_bytes, uint32_t rows, HVX_Vector *sums);
void gemm_bf16(const uint8_t *weights, size_t row_bytes, uint32_t weight_rows, uint32_t k, const uint8_t *x,
               size_t x_bytes, uint32_t rows, HVX_Vector *sums);
void gemm_f32(const uint8_t *weights, size_t row_bytes, uint32_t weight_rows, uint32_t k, const uint8_t *x,
              size_t x_bytes, uint32_t rows, HVX_Vector *sums);

/* ---- by type ---- */

struct kernels {
    uint32_t pass_tiles; /* column tiles that a GEMV pass takes, 1 .. KERNEL_MAX_TILES */
    kernel_gemv gemv;    /* quantised weights, else NULL */
    kernel_gemv gemv_wide;
    kernel_gemm gemm;
    kernel_float gemm_float; /* the other weights, else NULL */
};
/* NULL: no kernel for this type of weights */
const struct kernels *matmul_kernels(uint32_t type);

#endif
