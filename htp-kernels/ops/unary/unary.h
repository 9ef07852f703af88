/* Kernels of family unary: which file has which. */
#ifndef UNARY_H
#define UNARY_H

#include "ops/unary/map.h"

/* The kernel of an op, NULL when the file has none. */
map_fn unary_parts(uint32_t op);  /* parts.c */
map_fn unary_circle(uint32_t op); /* circle.c */

/* A kernel of a function of a vector x. */
#define UNARY_EACH(name, count, in_place, expr)                                       \
    HVX_INLINE HVX_Vector name##_vector(const struct map *map, HVX_Vector x) {        \
        (void)map;                                                                    \
        return expr;                                                                  \
    }                                                                                 \
    MAP_EACH(run_##name, count, in_place, name##_vector)

#endif
