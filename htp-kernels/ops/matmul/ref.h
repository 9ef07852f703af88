/* MUL_MAT and MUL_MAT_ID by definition, in f64. For check.c. */
#ifndef MATMUL_REF_H
#define MATMUL_REF_H

#include "runtime/exec.h"

struct matmul_ref_weight {
    double value;
    double magnitude; /* of what is summed up for it: more than |value| where a minimum is added */
};

/* Weight k of row n of matrix (i2, i3), for every type and layout. */
struct matmul_ref_weight matmul_ref_weight(const struct htp_view *w, uint32_t k, uint32_t n, uint32_t i2, uint32_t i3);

/* Stores the quants and scales of ggml rows (ROWS) in tiles (TILES, same shape), element by element. */
void matmul_ref_tiles(const struct htp_view *rows, const struct htp_view *tiles);

enum matmul_ref_activations {
    MATMUL_REF_EXACT,  /* as they are */
    MATMUL_REF_KERNEL, /* as the kernels see them: quantised, or rounded to f16 */
};

/*
 * out[row of dst][n] = sum over k, terms[...] = sum of the magnitudes of its terms (the measure for rounding errors).
 * ids: NULL for MUL_MAT.
 */
void matmul_ref(const struct htp_view *w, const struct htp_view *a, const struct htp_view *ids,
                enum matmul_ref_activations kind, double *out, double *terms);

#endif
