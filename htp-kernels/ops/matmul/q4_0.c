/* Q4_0 kernels: tile_dot.h for this type. */
#include "ops/matmul/kernels.h"
#include "ops/matmul/tile_dot.h"

HVX_NOINLINE void gemv_q4_0(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,
                            const struct activation_slice *a, HVX_Vector *sums) {
    uint32_t t = 0;
    for (; t + KERNEL_Q4_0_TILES <= tiles; t += KERNEL_Q4_0_TILES)
        gemv_pass(HTP_TYPE_Q4_0, KERNEL_Q4_0_TILES, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
    for (; t < tiles; t++)
        gemv_pass(HTP_TYPE_Q4_0, 1, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
}

HVX_NOINLINE void gemm_q4_0(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a, uint32_t rows,
                            HVX_Vector *sums) {
    switch (rows) {
    case 1:
        gemm_pass(HTP_TYPE_Q4_0, 1, weights, blocks, a, sums);
        break;
    case 2:
        gemm_pass(HTP_TYPE_Q4_0, 2, weights, blocks, a, sums);
        break;
    case 3:
        gemm_pass(HTP_TYPE_Q4_0, 3, weights, blocks, a, sums);
        break;
    default:
        gemm_pass(HTP_TYPE_Q4_0, 4, weights, blocks, a, sums);
        break;
    }
}
