#include "ops/matmul/kernels.h"

#include "htp/type_list.h"

const struct kernels *matmul_kernels(uint32_t type) {
    switch (type) {
#define TILE_CASE(TYPE, name, tiles)                                                                     \
    case HTP_TYPE_##TYPE: {                                                                              \
        static const struct kernels kernels = {.pass_tiles = tiles,                                      \
                                               .gemv = gemv_##name,                                      \
                                               .gemv_wide = gemv_wide_##name,                            \
                                               .gemm = gemm_##name};                                     \
        return &kernels;                                                                                 \
    }
        KERNEL_TILE_LIST(TILE_CASE)
#undef TILE_CASE
#define FLOAT_CASE(TYPE, name)                                                          \
    case HTP_TYPE_##TYPE: {                                                             \
        static const struct kernels kernels = {.pass_tiles = 1, .gemm_float = gemm_##name}; \
        return &kernels;                                                                \
    }
        FLOAT_CASE(F16, f16)
        FLOAT_CASE(BF16, bf16)
        FLOAT_CASE(F32, f32)
#undef FLOAT_CASE
    default:
        return NULL;
    }
}
