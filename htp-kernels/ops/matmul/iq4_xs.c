/* IQ4_XS kernels. */
#include "ops/matmul/super_kernels.h"

SUPER_DOT_KERNELS(IQ4_XS, iq4_xs, KERNEL_IQ4_XS_TILES)
