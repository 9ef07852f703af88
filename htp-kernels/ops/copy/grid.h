/*
 * A tensor as units that are moved as a whole: elements, or blocks of quantised types. And the ways to move them, which
 * copy.c chooses from.
 */
#ifndef HTP_COPY_GRID_H
#define HTP_COPY_GRID_H

#include <stdbool.h>

#include "hvx/row.h"
#include "runtime/exec.h"

struct grid {
    uint8_t *data;
    uint32_t unit; /* bytes of a unit */
    uint32_t ne[HTP_MAX_DIMS];
    uint32_t nb[HTP_MAX_DIMS];
};

/* The units of a tensor in rows: blocks of its own type. False when rows are no whole blocks. */
bool grid_of(struct grid *g, const struct htp_view *v);
/* Units of `elements` of a type that has no blocks; false when rows are no whole units or not side by side. */
bool grid_of_runs(struct grid *g, const struct htp_view *v, uint32_t elements);
/* Number of units; false when it does not fit 32 bits. */
bool grid_count(const struct grid *g, uint32_t *count);
bool grid_same_shape(const struct grid *a, const struct grid *b);
/* The dimension along which units lie side by side, with at least `least` of them; HTP_MAX_DIMS when there is none. */
uint32_t grid_dense_dim(const struct grid *g, uint32_t least);
void grid_swap_dims(struct grid *g, uint32_t a, uint32_t b);
static inline uint8_t *grid_row(const struct grid *g, uint32_t i1, uint32_t i2, uint32_t i3) {
    return g->data + (size_t)i1 * g->nb[1] + (size_t)i2 * g->nb[2] + (size_t)i3 * g->nb[3];
}

/* count units of `unit` bytes, src_step and dst_step bytes apart */
void units_copy(uint8_t *dst, uint32_t dst_step, const uint8_t *src, uint32_t src_step, uint32_t unit, uint32_t count);

/*
 * flat.c: unit i of src goes to unit i of dst in ggml's order, whatever their shapes. convert NULL: same type;
 * otherwise each unit has `elements` elements: 1, or a block of one of the types.
 */
void copy_flat(struct htp_exec *exec, const struct grid *dst, const struct grid *src, uint32_t count,
               htp_row_fn convert, uint32_t elements);

/*
 * transpose.c: same type, same shape; units of dst lie side by side along dimension 0, those of src along another one.
 * False, and nothing is done, when that is not so or not worth it.
 */
bool copy_transposed(struct htp_exec *exec, const struct grid *dst, const struct grid *src, uint32_t count);

/*
 * overlap.c: whether one begins before the other ends; and copy_flat for those that do: what is copied are the units as
 * they were before. Contiguous tensors of one type may be of any size, others have to fit VTCM: false, and nothing is
 * done, when they do not. Larger ones are copied as if they shared nothing, which views of different columns do not.
 */
bool grids_overlap(const struct grid *a, const struct grid *b);
bool copy_overlapping(struct htp_exec *exec, const struct grid *dst, const struct grid *src, uint32_t count,
                      htp_row_fn convert, uint32_t elements);

/* How many threads are worth waking for this many bytes, when the work divides into `parts`. */
static inline uint32_t copy_threads(const struct htp_exec *exec, uint64_t bytes, uint32_t parts) {
    const uint64_t worth = bytes / (32u << 10) + 1;
    const uint32_t n = htp_min_u32(exec->n_threads, parts);
    return worth < n ? (uint32_t)worth : n;
}

#endif
