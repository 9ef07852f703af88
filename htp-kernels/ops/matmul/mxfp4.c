/* MXFP4 kernels. */
#include "ops/matmul/tile_kernels.h"

TILE_DOT_KERNELS(MXFP4, mxfp4, KERNEL_MXFP4_TILES)
