/* The kernels of a type of weights with superblocks: see super_dot.h. No row is narrow or wide there: one GEMV does. */
#ifndef MATMUL_SUPER_KERNELS_H
#define MATMUL_SUPER_KERNELS_H

#include "ops/matmul/super_gemm.h"
#include "ops/matmul/super_gemv.h"

#define SUPER_DOT_KERNELS(TYPE, name, pass_tiles)                                                                      \
    HVX_NOINLINE void gemv_##name(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,          \
                                  const struct activation_slice *a, HVX_Vector *sums) {                                \
        super_gemv_tiles(HTP_TYPE_##TYPE, pass_tiles, weights, tile_bytes, tiles, blocks, a, sums);                    \
    }                                                                                                                  \
    void gemv_wide_##name(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,                  \
                          const struct activation_slice *a, HVX_Vector *sums) {                                        \
        gemv_##name(weights, tile_bytes, tiles, blocks, a, sums);                                                      \
    }                                                                                                                  \
    HVX_NOINLINE void gemm_##name(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a,           \
                                  uint32_t rows, HVX_Vector *sums) {                                                   \
        super_gemm_tile(HTP_TYPE_##TYPE, weights, blocks, a, rows, sums);                                              \
    }

#endif
