/* Element-wise ops of two tensors: what the files of this folder share. */
#ifndef OPS_BINARY_H
#define OPS_BINARY_H

#include "runtime/rows.h"
#include "runtime/types.h"

#define BINARY_THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of dst */

struct binary;

/* `count` elements side by side; of b as many, or one for all when the function is for that */
typedef void binary_span_fn(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst, uint32_t count);

struct binary {
    const struct htp_view *a, *b, *dst;
    uint32_t op;      /* HTP_OP_ADD, SUB, MUL, DIV */
    uint32_t segment; /* elements of b's row, or of a when b has but one; 0: rows are fetched element by element */
    binary_span_fn *span;
};

/* Whether there are kernels for these types. */
bool binary_types_fit(const struct htp_view *a, const struct htp_view *b, const struct htp_view *dst);
/* Fills in segment and span. */
void binary_choose(struct binary *t);
/* Fills in span anew, for rows at vector boundaries in memory of their own; segment is not 0. */
void binary_choose_in_vtcm(struct binary *t);
/* One row of dst. */
void binary_row(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst);
/* How many threads are worth it for `bytes` of dst. */
static inline uint32_t binary_threads(const struct htp_exec *exec, const struct htp_view *dst, uint64_t bytes) {
    const uint64_t worth = bytes / BINARY_THREAD_BYTES + 1;
    const uint32_t n = htp_min_u32(exec->n_threads, htp_rows(dst));
    return worth < n ? (uint32_t)worth : n;
}
static inline uint64_t binary_bytes(const struct htp_view *dst) {
    return (uint64_t)htp_rows(dst) * dst->ne[0] * htp_type_bytes(dst->type);
}

uint32_t binary_add_id(struct htp_exec *exec);

#endif
