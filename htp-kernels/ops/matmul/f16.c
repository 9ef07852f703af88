/* The f16 kernel. */
#include "ops/matmul/float_dot.h"

FLOAT_DOT_KERNEL(F16, f16)
