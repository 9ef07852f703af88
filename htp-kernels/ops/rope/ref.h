/* ROPE by its definition, for check.c. */
#ifndef ROPE_REF_H
#define ROPE_REF_H

#include "runtime/exec.h"

/* Row (i1, i2, i3) of the result, in f64 but for the angles, whose chain of products is f32 by definition. */
void rope_ref_row(const struct htp_exec *exec, uint32_t i1, uint32_t i2, uint32_t i3, double *out);

#endif
