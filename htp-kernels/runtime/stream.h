/*
 * The rows that an op works on, block by block: in VTCM, where one block is computed while the next one is fetched and
 * the one before is written back, or, when that is not worth it, where they are.
 *
 *   struct htp_stream_plan plan = {.operands = 2, .ne = {...}, .segments = 1};
 *   htp_stream_operand(&plan, 0, dst);
 *   htp_stream_operand(&plan, 1, src);
 *   htp_stream_plan(&plan, exec, n);                       // on the thread that runs the op, before htp_parallel
 *   ...
 *   htp_stream_open(&stream, &plan, i, n);                 // on thread i of n
 *   while ((block = htp_stream_next(&stream)) != NULL)     // its share of the rows
 *       row r < block->rows of operand k is at block->row[k] + r * plan.step[k]
 *
 * A result is in memory when htp_stream_next has returned NULL.
 *
 * Small tensors are used where they are: all operands together below 512 KiB, half of an L2 cache. The op before has just
 * left them there, and the engine, which reads through that cache, brings nothing nearer; a copy costs a trip of the
 * engine to its descriptor and to memory before its first byte arrives, and a few hundred packets of bookkeeping an op,
 * which is more than the whole computation when one token is generated. Also below 32 KiB of the widest operand a thread,
 * since double buffering needs two blocks, which have to be large compared with such a trip. These limits are reasoned,
 * not measured.
 *
 * So are rows whose elements lie apart, rows that repeat with a period, and operands that dst overlaps without being the
 * same rows. An operand with short rows (one number a row) is used where it is while the others pass through VTCM.
 */
#ifndef HTP_STREAM_H
#define HTP_STREAM_H

#include "runtime/dma.h"
#include "runtime/rows.h"

#define HTP_STREAM_OPERANDS 4

struct htp_stream_plan {
    /* set by the op, before htp_stream_operand */
    uint32_t operands;         /* the first is dst */
    uint32_t ne[HTP_MAX_DIMS]; /* of the rows; none is zero. [0]: elements, counted only when segments > 1 */
    uint32_t segments; /* parts that a row may be cut into, at multiples of `segment` elements; 1: rows are whole.
                          Above 1 no operand repeats, and rows * segments fits 32 bits */
    uint32_t segment;  /* elements, a multiple of 128 bytes */
    bool stay; /* rows are used where they are: for kernels that read element by element, which VTCM makes slower */
    /* set by htp_stream_plan */
    uint32_t block; /* rows, or segments of a row; 0: operands are used where they are */
    uint32_t step[HTP_STREAM_OPERANDS]; /* from row to row of a block */
    /* not for ops */
    struct htp_view view[HTP_STREAM_OPERANDS]; /* dimensions that repeat have stride 0; planes that follow each other are one */
    bool folded;                               /* an operand repeats with a period of several rows */
    uint32_t row_bytes[HTP_STREAM_OPERANDS];   /* of a row or segment */
    uint32_t pitch[HTP_STREAM_OPERANDS];       /* from row to row in VTCM; 0: this operand is used where it is */
    uint32_t area[HTP_STREAM_OPERANDS];        /* where it begins in a slot */
    uint32_t slot_bytes;
    size_t share; /* of VTCM, for a thread */
    uint8_t *vtcm;
};

/* Rows of a block, or part of one row. In VTCM every row starts at a multiple of 128 bytes, every operand at one of 256,
 * and what lies between the rows, up to a multiple of 256 behind the last one, may be read and written. */
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
    struct htp_stream_slot slot[2]; /* the first one alone when operands are used where they are */
    struct htp_dma dma;
};

/* view: layout ROWS, a type without blocks, no size zero; repeats to the shape of the rows. NULL: not there. */
void htp_stream_operand(struct htp_stream_plan *plan, uint32_t k, const struct htp_view *view);
void htp_stream_plan(struct htp_stream_plan *plan, const struct htp_exec *exec, uint32_t n_threads);
void htp_stream_open(struct htp_stream *stream, const struct htp_stream_plan *plan, uint32_t thread,
                     uint32_t n_threads);
const struct htp_stream_block *htp_stream_next(struct htp_stream *stream);

/* Whether rows of the operand pass through VTCM, where they have vector boundaries and share memory with nothing. */
static inline bool htp_stream_moves(const struct htp_stream_plan *plan, uint32_t operand) {
    return plan->block > 0 && plan->pitch[operand] > 0;
}

#endif
