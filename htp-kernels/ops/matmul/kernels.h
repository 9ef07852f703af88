/*
 * The dot product kernels. Results are f32 vectors: lane n belongs to weight row n of a column tile.
 * Preconditions: pointers to weights and sums are 128-byte aligned, to activations 16-byte aligned; counts are not 0.
 */
#ifndef MATMUL_KERNELS_H
#define MATMUL_KERNELS_H

#include "ops/matmul/activations.h"

#define KERNEL_Q4_0_TILES 2 /* column tiles that a GEMV pass takes: measured, more would spill */
#define KERNEL_Q8_0_TILES 4
#define KERNEL_ROWS 4 /* activation rows that a GEMM pass takes */

/* One activation row, `tiles` column tiles: sums[t]. */
void gemv_q4_0(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,
               const struct activation_slice *a, HVX_Vector *sums);
void gemv_q8_0(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,
               const struct activation_slice *a, HVX_Vector *sums);

/* 1 .. KERNEL_ROWS activation rows, one column tile: sums[r]. */
void gemm_q4_0(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a, uint32_t rows,
               HVX_Vector *sums);
void gemm_q8_0(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a, uint32_t rows,
               HVX_Vector *sums);

/*
 * f16: up to 32 weight rows (row_bytes apart, a multiple of 128; what is behind k values of a row does not matter) and
 * 1 or 2 activation rows (x_bytes apart, zeros behind k): sums[r]. Lanes of missing weight rows hold anything.
 */
#define KERNEL_F16_ROWS 2
void gemm_f16(const uint8_t *weights, size_t row_bytes, uint32_t weight_rows, uint32_t k, const uint8_t *x,
              size_t x_bytes, uint32_t rows, HVX_Vector *sums);

#endif
