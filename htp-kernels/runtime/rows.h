/* Walking over the rows of tensors, without a division for each. */
#ifndef HTP_ROWS_H
#define HTP_ROWS_H

#include <stdbool.h>

#include "runtime/exec.h"
#include "runtime/types.h"

/* What thread i of n works on, of `rows` rows. */
struct htp_share {
    uint32_t begin, count;
};

static inline struct htp_share htp_share_of(uint32_t rows, uint32_t i, uint32_t n) {
    if (n == 1)
        return (struct htp_share){0, rows};
    const uint32_t each = rows / n, more = rows % n; /* the first `more` threads have a row more */
    return (struct htp_share){each * i + htp_min_u32(i, more), each + (i < more)};
}

/* A row. Rows are numbered with dimension 1 running fastest. */
struct htp_place {
    uint32_t i1, i2, i3;
};

/* Row r of a tensor with sizes ne, none of which is zero. */
static inline struct htp_place htp_place_of(const uint32_t *ne, uint32_t r) {
    if (r == 0)
        return (struct htp_place){0, 0, 0};
    const uint32_t rest = r / ne[1];
    return (struct htp_place){r % ne[1], rest % ne[2], rest / ne[2]};
}

/* `count` rows on, at most to the first row of the next plane. */
static inline void htp_place_advance(struct htp_place *at, const uint32_t *ne, uint32_t count) {
    at->i1 += count;
    if (at->i1 < ne[1])
        return;
    at->i1 = 0;
    if (++at->i2 < ne[2])
        return;
    at->i2 = 0;
    at->i3++;
}

/* Rows of a tensor at equal distances. */
struct htp_run {
    uint8_t *row;  /* the first */
    uint32_t step; /* bytes from row to row */
    uint32_t rows; /* how many there are */
};

static inline struct htp_run htp_run_at(const struct htp_view *v, const struct htp_place *at) {
    return (struct htp_run){htp_row(v, at->i1, at->i2, at->i3), v->nb[1], v->ne[1] - at->i1};
}

/* The same of a tensor that repeats to the shape of the one that `at` is a row of; NULL: none, any number of rows. */
static inline struct htp_run htp_run_repeated(const struct htp_view *v, const struct htp_place *at) {
    if (v == NULL)
        return (struct htp_run){.rows = UINT32_MAX};
    const struct htp_place own = {at->i1 % v->ne[1], at->i2 % v->ne[2], at->i3 % v->ne[3]};
    struct htp_run run = htp_run_at(v, &own);
    if (v->ne[1] == 1) {
        run.step = 0;
        run.rows = UINT32_MAX;
    }
    return run;
}

/* Makes rows that follow each other without a gap one, for ops that treat all elements alike. */
static inline void htp_merge_rows(struct htp_view *v) {
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        if (v->ne[d] == 1)
            continue;
        if (v->nb[d] != (uint64_t)v->ne[0] * v->nb[0] || (uint64_t)v->ne[0] * v->ne[d] > INT32_MAX)
            return;
        v->ne[0] *= v->ne[d];
        v->ne[d] = 1;
    }
}

/* Whether every row starts at a multiple of 128 bytes. */
static inline bool htp_rows_aligned(const struct htp_view *t) {
    uintptr_t bits = (uintptr_t)t->data;
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++)
        bits |= t->ne[i] > 1 ? t->nb[i] : 0;
    return bits % 128 == 0;
}

/* Behind the last byte of a tensor that is not empty, has layout ROWS and a type without blocks. */
static inline const uint8_t *htp_view_end(const struct htp_view *t) {
    const uint8_t *const row = htp_row(t, t->ne[1] - 1, t->ne[2] - 1, t->ne[3] - 1);
    return row + (size_t)(t->ne[0] - 1) * t->nb[0] + htp_type_bytes(t->type);
}

/* Whether two such tensors may have memory in common. */
static inline bool htp_views_overlap(const struct htp_view *a, const struct htp_view *b) {
    return a->data < htp_view_end(b) && b->data < htp_view_end(a);
}

#endif
