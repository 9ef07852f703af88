/* Q8_0 kernels. */
#include "ops/matmul/tile_kernels.h"

TILE_DOT_KERNELS(Q8_0, q8_0, KERNEL_Q8_0_TILES)
