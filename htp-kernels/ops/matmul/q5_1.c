/* Q5_1 kernels. */
#include "ops/matmul/tile_kernels.h"

TILE_DOT_KERNELS(Q5_1, q5_1, KERNEL_Q5_1_TILES)
