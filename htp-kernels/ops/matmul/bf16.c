/* The bf16 kernel. */
#include "ops/matmul/float_dot.h"

FLOAT_DOT_KERNEL(BF16, bf16)
