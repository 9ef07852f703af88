/* Q5_0 kernels. */
#include "ops/matmul/tile_kernels.h"

TILE_DOT_KERNELS(Q5_0, q5_0, KERNEL_Q5_0_TILES)
