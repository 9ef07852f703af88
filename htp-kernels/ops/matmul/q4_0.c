/* Q4_0 kernels. */
#include "ops/matmul/tile_kernels.h"

TILE_DOT_KERNELS(Q4_0, q4_0, KERNEL_Q4_0_TILES)
