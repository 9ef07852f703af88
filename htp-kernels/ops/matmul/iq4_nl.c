/* IQ4_NL kernels. */
#include "ops/matmul/tile_kernels.h"

TILE_DOT_KERNELS(IQ4_NL, iq4_nl, KERNEL_IQ4_NL_TILES)
