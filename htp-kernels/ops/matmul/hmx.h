/* MUL_MAT on the matrix unit. */
#ifndef MATMUL_HMX_H
#define MATMUL_HMX_H

#include "ops/matmul/matmul.h"

/*
 * Computes the product of m, whose shapes and order of rows are known, on the matrix unit. False when that is not
 * possible or not worth while, or when numbers turn out not to fit f16: then dst may be partly written, and the product
 * is to be computed in another way. Changes the plan in m.
 */
bool matmul_hmx(struct matmul *m);

#endif
