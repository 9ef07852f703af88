/* The f32 kernel. */
#include "ops/matmul/float_dot.h"

FLOAT_DOT_KERNEL(F32, f32)
