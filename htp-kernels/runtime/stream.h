/*
 * The rows that an op works on, block by block: in VTCM, where one block is computed while the next one is fetched and
 * the one before is written back, or, when that is not worth it, where they are.
 *
 *   struct htp_stream_plan plan = {.operands = 2, .view = {dst, src}, .ne = {...}, .segments = 1};
 *   htp_stream_plan(&plan, exec, n);                       // on the thread that runs the op, before htp_parallel
 *   ...
 *   htp_stream_open(&stream, &plan, i, n);                 // on thread i of n
 *   while (htp_stream_next(&stream, &block))               // its share of the rows
 *       for each row r < block.rows: run[k].row + r * run[k].step is that of operand k
 *
 * A result is in memory when htp_stream_next has returned false.
 *
 * When a thread has less than 32 KiB of the widest operand, rows are used where they are. Double buffering needs two
 * blocks at least, and a block has to be large compared with what a copy costs before its first byte arrives (a trip of
 * the engine to its descriptor and to DDR); what small ops read, as when one token is generated, the op before has just
 * left in the L2 cache anyway. So are rows whose elements lie apart, and operands that dst overlaps without being the
 * same rows. An operand with short rows (one number a row) is used where it is while the others pass through VTCM.
 */
#ifndef HTP_STREAM_H
#define HTP_STREAM_H

#include "runtime/dma.h"
#include "runtime/rows.h"

#define HTP_STREAM_OPERANDS 4

struct htp_stream_plan {
    /* set by the op; tensors have layout ROWS, types without blocks, and no size is zero */
    uint32_t operands;                                /* the first is dst */
    const struct htp_view *view[HTP_STREAM_OPERANDS]; /* NULL: not there. Sources repeat to the shape of the rows */
    uint32_t ne[HTP_MAX_DIMS];                        /* of the rows; [0]: elements, counted only when segments > 1 */
    uint32_t segments; /* parts that a row may be cut into, at multiples of `segment` elements; 1: rows are whole.
                          Above 1 no operand repeats, and rows * segments fits 32 bits */
    uint32_t segment;  /* elements, a multiple of 128 bytes */
    /* set by htp_stream_plan */
    uint32_t block; /* rows, or segments of a row; 0: operands are used where they are */
    struct htp_view merged[HTP_STREAM_OPERANDS]; /* what view points at when planes that follow each other are one */
    uint32_t pitch[HTP_STREAM_OPERANDS];         /* from row to row in VTCM; 0: this operand is used where it is */
    uint32_t area[HTP_STREAM_OPERANDS];          /* where it begins in a slot */
    uint32_t slot_bytes;
    size_t share; /* of VTCM, for a thread */
    uint8_t *vtcm;
};

/* Rows of a block, or part of one row. In VTCM every row starts at a multiple of 128 bytes, every operand at one of 256,
 * and what lies between the rows, up to a multiple of 256 behind the last one, may be read and written. */
struct htp_stream_block {
    struct htp_run run[HTP_STREAM_OPERANDS]; /* .rows counts for nothing */
    uint32_t rows;
    uint32_t elements; /* of the row, or of the part */
};

struct htp_stream_slot {
    struct htp_stream_block home; /* the block where it belongs; no rows: there is none */
    const uint8_t *held[HTP_STREAM_OPERANDS]; /* the row of an operand that all rows of a block share */
    uint32_t fetched;                         /* dma.pushed when all of it had been asked for */
};

struct htp_stream {
    const struct htp_stream_plan *plan;
    struct htp_place at; /* what comes next */
    uint32_t at_segment;
    uint32_t left; /* rows or segments */
    /* the rest is for blocks in VTCM */
    uint8_t *vtcm;
    uint32_t current; /* slot */
    bool busy;        /* the op has been given the current slot */
    struct htp_stream_slot slot[2];
    struct htp_dma dma;
};

void htp_stream_plan(struct htp_stream_plan *plan, const struct htp_exec *exec, uint32_t n_threads);
void htp_stream_open(struct htp_stream *stream, const struct htp_stream_plan *plan, uint32_t thread,
                     uint32_t n_threads);
bool htp_stream_next(struct htp_stream *stream, struct htp_stream_block *block);

/* Whether a kernel that is handed rows of the operand can rely on vector boundaries. */
static inline bool htp_stream_aligned(const struct htp_stream_plan *plan, uint32_t operand) {
    return (plan->block > 0 && plan->pitch[operand] > 0) || htp_rows_aligned(plan->view[operand]);
}

#endif
