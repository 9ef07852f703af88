/* Q3_K kernels. */
#include "ops/matmul/super_kernels.h"

SUPER_DOT_KERNELS(Q3_K, q3_k, KERNEL_Q3_K_TILES)
