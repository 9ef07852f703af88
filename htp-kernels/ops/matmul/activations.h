/* The layout of a quantised activation row in VTCM, as kernels see it. */
#ifndef MATMUL_ACTIVATIONS_H
#define MATMUL_ACTIVATIONS_H

#include "ops/matmul/quantize.h"

/* Rows that follow one another at row_bytes, from a K position on that is a multiple of 64. */
struct activation_slice {
    const uint8_t *quants;  /* int8, 8-byte aligned */
    const uint8_t *records; /* struct activation_record, one for two blocks */
    size_t row_bytes;
};

#endif
