/*
 * Rows that an op works on in VTCM, block by block: one block is computed while the next one is fetched and the one
 * before is written back.
 *
 *   if (htp_stream_is_worth(bytes)) {
 *       struct htp_stream_plan plan;
 *       htp_stream_begin(&plan, 2, shape);
 *       htp_stream_operand(&plan, 0, dst);
 *       htp_stream_operand(&plan, 1, src);
 *       if (htp_stream_plan(&plan, exec, n)) {                 // before htp_parallel, on the thread that runs the op
 *           ...
 *           htp_stream_open(&stream, &plan, i, n);             // on thread i of n
 *           while ((block = htp_stream_next(&stream)) != NULL) // its share of the rows
 *               row r < block->rows of operand k is at block->row[k] + r * plan.step[k]
 *
 * The result is in memory when htp_stream_next has returned NULL. When the plan is refused, the op takes rows where
 * they are, as it does with small tensors:
 *
 * Worth it: all operands together have 512 KiB, half of an L2 cache. Smaller ones the op before has just left there,
 * and the engine, which reads through that cache, brings nothing nearer; a copy costs a trip of the engine to its
 * descriptor and to memory before its first byte arrives, and an op some hundred packets of bookkeeping, which is as
 * much as the whole computation when one token is generated. And a thread has 32 KiB of the widest operand: double
 * buffering needs two blocks, large compared with such a trip. These limits are reasoned, not measured.
 *
 * Refused: rows whose elements lie apart, rows that repeat with a period, and operands that dst overlaps without being
 * the same rows. An operand with short rows (one number a row) is used where it is while the others pass through VTCM.
 *
 * The engine reads and writes through the L2 cache (platform/qurt/dma.c), as vectors do: caches need no maintenance.
 */
#ifndef HTP_STREAM_H
#define HTP_STREAM_H

#include "runtime/dma.h"
#include "runtime/rows.h"

#define HTP_STREAM_OPERANDS 4

#define HTP_STREAM_WORTH (512u << 10)

struct htp_stream_plan {
    uint32_t operands;                  /* the first is dst */
    uint32_t ne[HTP_MAX_DIMS];          /* of the rows. [0]: elements, counted only when segments > 1 */
    uint32_t segments;                  /* parts that a row may be cut into, at multiples of `segment` elements; 1: rows
                                           are whole. Above 1 no operand repeats, and rows * segments fits 32 bits */
    uint32_t segment;                   /* elements, a multiple of 128 bytes */
    uint32_t step[HTP_STREAM_OPERANDS]; /* from row to row of a block */
    /* not for ops */
    uint32_t block;                            /* rows, or segments of a row */
    struct htp_view view[HTP_STREAM_OPERANDS]; /* dimensions that repeat have stride 0; planes that follow are one */
    bool has_period;                           /* an operand repeats with a period of several rows */
    uint32_t row_bytes[HTP_STREAM_OPERANDS];   /* of a row or segment */
    uint32_t pitch[HTP_STREAM_OPERANDS];       /* from row to row in VTCM; 0: this operand is used where it is */
    uint32_t area[HTP_STREAM_OPERANDS];        /* where it begins in a slot */
    uint32_t slot_bytes;
    size_t share; /* of VTCM, for a thread */
    uint8_t *vtcm;
};

/*
 * Rows of a block, or part of one row. In VTCM rows start at multiples of 128 bytes, operands at multiples of 256,
 * and what lies between the rows, up to a multiple of 256 behind the last one, may be read and written.
 */
struct htp_stream_block {
    uint8_t *row[HTP_STREAM_OPERANDS]; /* the first */
    uint32_t rows;                     /* none: there is no block */
    uint32_t elements;                 /* of the row, or of the part */
};

struct htp_stream_slot {
    struct htp_stream_block block;            /* what the op sees */
    uint8_t *home[HTP_STREAM_OPERANDS];       /* where its rows belong */
    const uint8_t *held[HTP_STREAM_OPERANDS]; /* the row of an operand that all rows of a block share */
    uint32_t fetched;                         /* dma.pushed when all of it had been asked for */
};

struct htp_stream {
    const struct htp_stream_plan *plan;
    struct htp_place at; /* what comes next */
    uint32_t at_segment;
    uint32_t left; /* rows or segments */
    bool busy;     /* the op has been given the current slot */
    uint32_t current;
    struct htp_stream_slot slot[2];
    struct htp_dma dma;
};

/* bytes: of all operands, about */
static inline bool htp_stream_is_worth(uint64_t bytes) { return bytes >= HTP_STREAM_WORTH; }

/* shape: of the rows, no size zero. Rows are whole; for others set segments and segment. */
void htp_stream_begin(struct htp_stream_plan *plan, uint32_t operands, const uint32_t *shape);
/* view: layout ROWS, a type without blocks, no size zero; repeats to the shape of the rows */
void htp_stream_operand(struct htp_stream_plan *plan, uint32_t k, const struct htp_view *view);
bool htp_stream_plan(struct htp_stream_plan *plan, const struct htp_exec *exec, uint32_t n_threads);
void htp_stream_open(struct htp_stream *stream, const struct htp_stream_plan *plan, uint32_t thread,
                     uint32_t n_threads);
const struct htp_stream_block *htp_stream_next(struct htp_stream *stream);

#endif
