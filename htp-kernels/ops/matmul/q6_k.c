/* Q6_K kernels. */
#include "ops/matmul/super_kernels.h"

SUPER_DOT_KERNELS(Q6_K, q6_k, KERNEL_Q6_K_TILES)
