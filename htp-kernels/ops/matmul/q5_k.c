/* Q5_K kernels. */
#include "ops/matmul/super_kernels.h"

SUPER_DOT_KERNELS(Q5_K, q5_k, KERNEL_Q5_K_TILES)
