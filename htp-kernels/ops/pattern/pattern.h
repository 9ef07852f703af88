/*
 * Ops whose result is made of constants, of elements that stay what they are, or of numbers that follow from their
 * place. What the files of this folder share.
 *
 *   pattern.c   entry: FILL, ARANGE; parts of rows over threads
 *   band.c      TRI, DIAG, DIAG_MASK_INF
 *   roll.c      ROLL
 *   timestep.c  TIMESTEP_EMBEDDING
 *   put.c       ACC, SET
 *
 * Nothing passes through VTCM: an element is used once and hardly computed with, and most of these tensors are small.
 * detail of a failure: 0, 1, 2 the operand (src, src1, dst) that is missing or whose type or row is not taken, 16 + i:
 * size i does not fit, 48: an argument is wrong
 */
#ifndef OPS_PATTERN_H
#define OPS_PATTERN_H

#include "htp/params.h"
#include "hvx/row.h"
#include "hvx/wrap.h"
#include "runtime/rows.h"

#define PATTERN_DETAIL_SHAPE 16
#define PATTERN_DETAIL_PARAMS 48

struct pattern;

/* `count` elements of a row of dst, from element `first` on; count is not 0 */
typedef void (*pattern_fn)(const struct pattern *t, const struct htp_place *at, uint32_t first, uint32_t count);

struct pattern {
    pattern_fn run;
    struct htp_view dst;
    const struct htp_view *src; /* NULL: the op reads none */
    const void *params;         /* of the op */
    uint32_t parts, units;      /* of a row, of all rows; set by pattern_run */
};

/* All elements of dst, divided among the threads. */
void pattern_run(struct htp_exec *exec, struct pattern *t);

/* how many threads are worth waking for this many bytes, when the work divides into `parts`, which are not 0 */
uint32_t pattern_threads(const struct htp_exec *exec, uint64_t bytes, uint32_t parts);

/* `bytes` of the same vector, which has elements of no more than 4 bytes that are all the same */
HVX_INLINE void fill_bytes(uint8_t *dst, size_t bytes, HVX_Vector v) {
    HVX_ROLLED
    for (; bytes >= HVX_BYTES; bytes -= HVX_BYTES, dst += HVX_BYTES)
        hvx_store(dst, v);
    if (bytes != 0)
        hvx_store_bytes(dst, (uint32_t)bytes, v);
}

/* Whether rows are side by side, of a type that `types` (a bit a number of enum htp_type) has. */
static inline bool pattern_takes(const struct htp_view *v, uint32_t types) {
    return v != NULL && v->layout == HTP_LAYOUT_ROWS && v->type < 32 && (types >> v->type & 1) != 0 &&
           v->nb[0] == htp_type_bytes(v->type);
}

/* The operands of an op of one source and the same shape; HTP_STATUS_OK when they are of type f32. */
uint32_t pattern_take_f32(struct htp_exec *exec, bool same_shape);

uint32_t pattern_band(struct htp_exec *exec);
uint32_t pattern_roll(struct htp_exec *exec);
uint32_t pattern_timestep(struct htp_exec *exec);
uint32_t pattern_put(struct htp_exec *exec);

#endif
