/*
 * SOFT_MAX inside: what the files of this folder share.
 *
 *   softmax.c   entry: checks, rows over threads
 *   row.c       one row with vectors
 *   exact.c     the scores of a row element by element, for what row.c does not take
 */
#ifndef SOFTMAX_H
#define SOFTMAX_H

#include <stdbool.h>

#include "htp/params.h"
#include "hvx/wrap.h"
#include "runtime/exec.h"

#define SOFTMAX_BLOCK 64 /* elements that a step takes: two vectors of f32, one of f16 */
#define SOFTMAX_LOG2E 1.44269504088896f

/* What the rows of a head have in common. Row kernels measure scores in units of the slope. */
struct softmax_head {
    float scale, slope, sink; /* as ggml means them */
    bool has_sink, has_mask, mask_is_f16;
    bool plain;          /* row.c may try; no otherwise */
    uint32_t limit;      /* of |x|, upper half of the bits without the sign: rows with larger values are not for row.c */
    float unit_scale;    /* scale / slope; 1 without a mask: then unit_factor has it */
    float unit_sink;     /* sink in the same units */
    float unit_factor;   /* from these units to powers of two */
};

struct softmax_row {
    const uint8_t *x, *mask; /* mask: NULL when there is none */
    uint8_t *y;
    uint8_t *work; /* room for the whole blocks of the row: VTCM, or y */
    uint32_t elements;
};

/* The last, incomplete block of a row, and the largest score in all lanes. */
struct softmax_scores {
    HVX_Vector tail[2];
    HVX_Vector largest;
};

HVX_INLINE uint32_t softmax_tail(const struct softmax_row *r) { return r->elements % SOFTMAX_BLOCK; }

/* y = softmax of the row, as ggml defines it for finite and other values */
void softmax_row(const struct softmax_row *r, const struct softmax_head *head);

/*
 * scale * x + slope * mask into work and s->tail, and the largest of them and the sink. False when the definition gives
 * NaN: some score is NaN, or the largest is infinite.
 */
bool softmax_exact_scores(const struct softmax_row *r, const struct softmax_head *head, struct softmax_scores *s);

#endif
