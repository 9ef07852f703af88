/*
 * Element-wise ops of one or two tensors, of any float type, strides and alignment: what families unary and glu share.
 *
 * A kernel sees f32 vectors side by side, always in pairs. Rows that lie so in memory are handed to it as they are; all
 * others pass through a buffer of a few vectors, and so do the ends of rows. Dimensions that follow each other without
 * a gap are one row; rows, and parts of long ones, are divided among the threads.
 */
#ifndef UNARY_MAP_H
#define UNARY_MAP_H

#include <stdbool.h>

#include "hvx/hvx.h"
#include "runtime/exec.h"

struct map;

/*
 * dst[i] = f(a[i], b[i]) for 2 * pairs vectors; ops of one operand find it in b too. dst is a, or b, or shares nothing
 * with them. Elements of a pair are not in the order of memory, but in the same one for all operands.
 */
typedef void (*map_fn)(const struct map *map, const HVX_Vector *a, const HVX_Vector *b, HVX_Vector *dst,
                       uint32_t pairs);

struct map {
    map_fn run;
    uint32_t type; /* of all operands */
    float args[4]; /* of the op */
};

/* Whether map_run knows the type. */
bool map_knows(uint32_t type);

/* All operands have the same shape; b is NULL when the op has one. */
void map_run(struct htp_exec *exec, const struct map *map, const struct htp_view *a, const struct htp_view *b,
             const struct htp_view *dst);

/* ---- kernels ---- */

/*
 * MAP_UNARY(name, count, f) defines the map_fn `name` from f(map, low, high), which computes a pair, and MAP_EACH from
 * f(map, x), which computes a vector. Two loops: for operands apart, and for dst being the source, where the compiler
 * can tell loads and stores from each other since there is one pointer. `count` pairs or vectors are unrolled, as many
 * as gave the fewest packets: see packets/.
 */
#define MAP_LOOPS(name, count, count_in_place, n, body_apart, body_in_place)                                    \
    static HVX_NOINLINE void name##_apart(const struct map *map, const HVX_Vector *restrict a,                  \
                                          HVX_Vector *restrict dst, uint32_t pairs) {                           \
        const struct map local = *map;                                                                          \
        HVX_UNROLL_COUNT(count)                                                                                 \
        for (uint32_t i = 0; i < n; i++)                                                                        \
            body_apart                                                                                          \
    }                                                                                                           \
    static HVX_NOINLINE void name##_in_place(const struct map *map, HVX_Vector *dst, uint32_t pairs) {          \
        const struct map local = *map;                                                                          \
        HVX_UNROLL_COUNT(count_in_place)                                                                        \
        for (uint32_t i = 0; i < n; i++)                                                                        \
            body_in_place                                                                                       \
    }                                                                                                           \
    static void name(const struct map *map, const HVX_Vector *a, const HVX_Vector *b, HVX_Vector *dst,          \
                     uint32_t pairs) {                                                                          \
        (void)b;                                                                                                \
        if (a == dst)                                                                                           \
            name##_in_place(map, dst, pairs);                                                                   \
        else                                                                                                    \
            name##_apart(map, a, dst, pairs);                                                                   \
    }

#define MAP_PAIR(f, a)                                                                                          \
    {                                                                                                           \
        const HVX_VectorPair r = f(&local, a[2 * i], a[2 * i + 1]);                                             \
        dst[2 * i] = Q6_V_lo_W(r);                                                                              \
        dst[2 * i + 1] = Q6_V_hi_W(r);                                                                          \
    }
#define MAP_UNARY(name, count, f) MAP_LOOPS(name, count, count, pairs, MAP_PAIR(f, a), MAP_PAIR(f, dst))
#define MAP_EACH(name, count, in_place, f) \
    MAP_LOOPS(name, count, in_place, 2 * pairs, { dst[i] = f(&local, a[i]); }, { dst[i] = f(&local, dst[i]); })

/* The same for f(map, a_low, a_high, b_low, b_high). */
#define MAP_BINARY(name, count, f)                                                                              \
    static HVX_NOINLINE void name##_apart(const struct map *map, const HVX_Vector *restrict a,                  \
                                          const HVX_Vector *restrict b, HVX_Vector *restrict dst,               \
                                          uint32_t pairs) {                                                     \
        const struct map local = *map;                                                                          \
        HVX_UNROLL_COUNT(count)                                                                                 \
        for (uint32_t i = 0; i < pairs; i++) {                                                                  \
            const HVX_VectorPair r = f(&local, a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]);                 \
            dst[2 * i] = Q6_V_lo_W(r);                                                                          \
            dst[2 * i + 1] = Q6_V_hi_W(r);                                                                      \
        }                                                                                                       \
    }                                                                                                           \
    static HVX_NOINLINE void name##_in_place(const struct map *map, const HVX_Vector *a, const HVX_Vector *b,   \
                                             HVX_Vector *dst, uint32_t pairs) {                                 \
        const struct map local = *map;                                                                          \
        HVX_ROLLED                                                                                              \
        for (uint32_t i = 0; i < pairs; i++) {                                                                  \
            const HVX_VectorPair r = f(&local, a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]);                 \
            dst[2 * i] = Q6_V_lo_W(r);                                                                          \
            dst[2 * i + 1] = Q6_V_hi_W(r);                                                                      \
        }                                                                                                       \
    }                                                                                                           \
    static void name(const struct map *map, const HVX_Vector *a, const HVX_Vector *b, HVX_Vector *dst,          \
                     uint32_t pairs) {                                                                          \
        if (a == dst || b == dst)                                                                               \
            name##_in_place(map, a, b, dst, pairs);                                                             \
        else                                                                                                    \
            name##_apart(map, a, b, dst, pairs);                                                                \
    }

#endif
