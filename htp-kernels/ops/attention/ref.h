/* FLASH_ATTN_EXT by its definition, for check.c. */
#ifndef ATTENTION_REF_H
#define ATTENTION_REF_H

#include "runtime/exec.h"

/* An element of a tensor of any type that keys and values may have. */
double attention_ref_element(const struct htp_view *t, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3);

/*
 * out: one row of dst in f64, of v->ne[0] elements; magnitude: the same with the magnitudes of the values. Queries,
 * keys and values are rounded to f16, as the kernel does it. exec: sources and parameters as for the op.
 */
void attention_ref_row(const struct htp_exec *exec, uint32_t position, uint32_t head, uint32_t sequence, double *out,
                       double *magnitude);

#endif
