/* Q4_1 kernels. */
#include "ops/matmul/tile_kernels.h"

TILE_DOT_KERNELS(Q4_1, q4_1, KERNEL_Q4_1_TILES)
