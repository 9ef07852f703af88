/*
 * Recurrent layers: every sequence has a matrix, its state, which each token multiplies, adds to and reads.
 *
 * dst has the results first, heads side by side, a row for each token, sequence after sequence; behind them the states
 * of all sequences as the last token leaves them (and, when there is room for more, as the tokens before it left them).
 *
 * The state of a sequence is `units` blocks (heads, or groups of them) of `unit_rows` rows with `length` floats. It is
 * cut into parts that know nothing of each other: strips of rows where each row gives one result, columns where each
 * column gives one. A part stays in VTCM over all tokens, while the next one is fetched and the last one written back.
 */
#ifndef RECURRENT_H
#define RECURRENT_H

#include "hvx/wrap.h"
#include "runtime/exec.h"

#define RECURRENT_SOURCES 7
#define RECURRENT_MAX_LENGTH 1024 /* so that a strip fits the VTCM of any device, for each of its threads */
#define STRIP 32 /* rows whose results are a vector */
#define COLUMN_VECTORS 2
#define COLUMNS (COLUMN_VECTORS * HVX_WORDS)

struct part {
    uint32_t sequence, unit;
    uint32_t first, count; /* rows or columns of the unit */
};

struct recurrent;
/* One token of a part. scratch: vectors of its own; operands of a row of the state */
typedef void token_fn(const struct recurrent *r, const struct part *part, uint32_t token, HVX_Vector *state,
                      HVX_Vector *scratch);

#define SCRATCH_ROWS 5 /* of `vectors` each */

struct recurrent {
    const struct htp_view *src[RECURRENT_SOURCES], *dst;
    const struct htp_view *state, *ids; /* ids: which state a sequence starts from; NULL: its own */
    uint32_t op, sequences, units, unit_rows, length, snapshots;
    uint32_t tokens; /* of a sequence */
    uint32_t states; /* how many there are to start from */
    bool by_columns;
    float scale;
    uint64_t results; /* of all tokens, in front of the states */
    token_fn *token;
    uint32_t vectors; /* of a row's operands */
    uint32_t pitch;   /* from row to row in VTCM: that many vectors, or less when rows are packed */
    /* for recurrent_walk */
    uint32_t part_size, unit_parts; /* rows or columns of a part; parts of a unit */
    uint8_t *vtcm;
    size_t share; /* bytes of it for a thread */
    uint32_t part_bytes;
    _Atomic uint32_t bad; /* 1 + the sequence whose id is not that of a state; 0: none */
};

/* Runs all tokens of all parts; a status. Sizes have been checked, and none is zero. walk.c */
uint32_t recurrent_walk(struct htp_exec *exec, struct recurrent *r);

/* Where the results of a token for a part belong. */
static inline uint8_t *result_row(const struct recurrent *r, const struct part *p, uint32_t token) {
    const size_t row = (size_t)p->sequence * r->tokens + token;
    return r->dst->data + ((row * r->units + p->unit) * r->unit_rows + p->first) * 4;
}

/* Vector i of a row of n floats, zero behind its end. */
HVX_INLINE HVX_Vector row_vector(const uint8_t *row, uint32_t i, uint32_t n) {
    const uint32_t left = n - i * HVX_WORDS;
    return left >= HVX_WORDS ? hvx_load(row + i * HVX_BYTES) : hvx_load_bytes(row + i * HVX_BYTES, left * 4);
}

HVX_INLINE void store_floats(uint8_t *to, uint32_t n, HVX_Vector v) {
    if (n >= HVX_WORDS)
        hvx_store(to, v);
    else
        hvx_store_bytes(to, n * 4, v);
}

/* How to do a token, by the sources and sizes in r; delta_net.c, wkv7.c, scan.c, columns.c */
token_fn *delta_net_token(const struct recurrent *r);
token_fn *wkv7_token(const struct recurrent *r);
token_fn *scan_token(const struct recurrent *r);
bool scan_is_packed(const struct recurrent *r); /* its rows lie side by side in VTCM */
token_fn *columns_token(const struct recurrent *r);

#endif
