/* Q4_K kernels. */
#include "ops/matmul/super_kernels.h"

SUPER_DOT_KERNELS(Q4_K, q4_k, KERNEL_Q4_K_TILES)
