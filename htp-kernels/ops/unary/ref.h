/* The functions of families unary and glu in f64, and how far kernels may be off them. */
#ifndef UNARY_REF_H
#define UNARY_REF_H

#include "check/check.h"

/* args as in htp_unary_params. type: of x; ggml's CPU backend differs by type in one place. */
double ref_unary(uint32_t op, uint32_t type, double x, const float *args);

/* ggml's rounding of a result to the type */
double ref_round(uint32_t type, double x);

/* Half of a place of the type, as a part of a value: what rounding alone costs. */
double ref_precision(uint32_t type);

/* Some value of a tensor: of about `scale`, or a special one now and then. Of the type. */
float ref_value(uint32_t type, float scale, bool special);
void ref_fill(const struct htp_view *v, float scale, bool special);

/*
 * How far a result is off, as a part of what is allowed: `relative` of the value and of `unit` beside rounding.
 * Infinite when one is NaN or infinite and the other is not the same. Zeros of either sign are equal.
 */
double ref_error(uint32_t type, double got, double expected, double relative, double unit);

#endif
