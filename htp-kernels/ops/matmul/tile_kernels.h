/* The kernels of a type of quantised weights: see tile_dot.h. */
#ifndef MATMUL_TILE_KERNELS_H
#define MATMUL_TILE_KERNELS_H

#include "ops/matmul/tile_gemm.h"
#include "ops/matmul/tile_gemv.h"

#define TILE_DOT_KERNELS(TYPE, name, pass_tiles)                                                                       \
    HVX_NOINLINE void gemv_##name(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,          \
                                  const struct activation_slice *a, HVX_Vector *sums) {                                \
        gemv_tiles(HTP_TYPE_##TYPE, false, pass_tiles, weights, tile_bytes, tiles, blocks, a, sums);                   \
    }                                                                                                                  \
    HVX_NOINLINE void gemv_wide_##name(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,     \
                                       const struct activation_slice *a, HVX_Vector *sums) {                           \
        gemv_tiles(HTP_TYPE_##TYPE, true, pass_tiles, weights, tile_bytes, tiles, blocks, a, sums);                    \
    }                                                                                                                  \
    HVX_NOINLINE void gemm_##name(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a,           \
                                  uint32_t rows, HVX_Vector *sums) {                                                   \
        gemm_tile(HTP_TYPE_##TYPE, weights, blocks, a, rows, sums);                                                    \
    }

#endif
