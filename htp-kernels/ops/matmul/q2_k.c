/* Q2_K kernels. */
#include "ops/matmul/super_kernels.h"

SUPER_DOT_KERNELS(Q2_K, q2_k, KERNEL_Q2_K_TILES)
