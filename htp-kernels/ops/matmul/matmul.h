/*
 * MUL_MAT and MUL_MAT_ID inside: what the files of this folder share.
 *
 *   matmul.c       entry and checks; chunk by chunk: prepare activation rows, multiply
 *   order.c        which rows meet which matrix: ggml's broadcasting, or tokens sorted by expert
 *   plan.c         how VTCM is divided
 *   activations.c  rows of src1 into VTCM: quantised (quantize.c), f16 or f32
 *   weights.c      column tiles of src0 into VTCM, by DMA, ahead of their use (pack.c turns ggml rows into tiles)
 *   q4_0.c ...     dot products of a column tile with activation rows (tile_dot.h), a file a type; f16.c bf16.c f32.c
 *                  the same for weights of floats (float_dot.h); kernels.c finds them
 *   hmx.c          the way over the matrix unit, for many rows (hmx_tiles.h)
 *   ref.c          the definition, for check.c; ref_weight.c: of the weights
 *
 * Terms. A matrix: one of the ne02 * ne03 weight matrices (of MUL_MAT_ID: an expert). Its rows: the activation rows
 * that are multiplied with it, one for each row of dst; with MUL_MAT_ID several may have the same source. A column
 * tile: 32 weight rows, which give 32 neighbouring outputs. A unit: the step in which K can be cut: the blocks that
 * share a scale vector, or 64 values of floats.
 */
#ifndef MATMUL_H
#define MATMUL_H

#include <stdbool.h>

#include "hvx/wrap.h"
#include "ops/matmul/kernels.h"
#include "runtime/exec.h"
#include "runtime/tiles.h"

#define MATMUL_TILE 32
#define MATMUL_BLOCK 32 /* a K-block; the blocks of some types have several of them (htp/tiles.h) */

/* What a worker needs for the preparation of activation rows; its part of VTCM is never smaller. */
#define MATMUL_STAGE_VALUES 2048
#define MATMUL_STAGE_BYTES (MATMUL_STAGE_VALUES * 4 + MATMUL_STAGE_VALUES * 2)

enum matmul_source {
    MATMUL_TILES,        /* tiles as stored by the host */
    MATMUL_BLOCK_ROWS,   /* ggml's quantised rows: packed into tiles here */
    MATMUL_FLOAT_ROWS,   /* floats, elements side by side */
    MATMUL_FLOAT_GATHER, /* floats with any strides: fetched element by element */
};

/* A row of dst and the activations that it comes from. */
struct matmul_row {
    const uint8_t *source;
    uint8_t *output;
    float unit; /* of quantised activations: what sums are to be multiplied with; 0: a wide row (quantize.h) */
};

/* Rows of one matrix that are in VTCM. */
struct matmul_group {
    uint32_t matrix;
    uint32_t first, rows; /* of the rows in VTCM */
};

struct matmul {
    struct htp_exec *exec;
    const struct htp_view *weights, *activations, *dst;
    enum matmul_source source;
    const struct kernels *kernels;
    uint32_t type;          /* of the weights */
    uint32_t block_shift;   /* log2 of the elements of a block of ggml's; 0: floats */
    uint32_t element_bytes; /* of a block, or of a float */
    uint32_t k, n;
    uint32_t unit;     /* values of a unit */
    uint32_t units;    /* of K, rounded up */
    uint32_t tiles;    /* column tiles of a matrix */
    uint32_t matrices; /* ne02 * ne03 */

    /* the order of rows (order.c) */
    uint32_t total_rows;
    uint32_t matrix_rows, repeat2; /* MUL_MAT: rows of each matrix; ne12 / ne02 */
    const uint32_t *starts;        /* MUL_MAT_ID, otherwise NULL: where an expert's rows begin in picks; one more for */
    const uint32_t *picks;         /* the end. picks: token * n_used + slot */

    /* the plan (plan.c) */
    uint8_t *vtcm;
    size_t vtcm_size;
    uint32_t pass_tiles; /* column tiles of a step: of one kernel pass or of several */
    uint32_t n_threads;
    uint32_t slice_units, slices; /* K is cut into slices when a column tile is too large for VTCM */
    size_t column_bytes;          /* of a column tile as stored; only for MATMUL_TILES */
    uint32_t slots;               /* of the ring of a thread; a slot holds a slice of pass_tiles column tiles */
    size_t tile_bytes;            /* of a column tile's slice in a slot */
    size_t row_stride;            /* of weight rows in a slot; not for MATMUL_TILES */
    size_t packed_bytes;          /* of a column tile's slice after packing, 0 when nothing is packed */
    size_t thread_bytes;          /* VTCM of a thread */
    size_t activation_bytes;      /* of an activation row in VTCM */
    uint32_t capacity;            /* activation rows that fit at a time */
    uint8_t *thread_vtcm;         /* n_threads areas of thread_bytes */
    uint8_t *activation_rows;     /* capacity rows of activation_bytes */
    struct matmul_row *rows;      /* capacity entries each */
    struct matmul_group *groups;
};

/* What m->rows and m->groups hold: activation rows that are in VTCM at the same time. */
struct matmul_chunk {
    const struct matmul *m;
    uint32_t groups, rows;
    uint64_t passes; /* over column tiles, of all groups */
};

static inline bool matmul_is_quantized(uint32_t type) { return htp_tile_quant_vectors(type) != 0; }

/* Bytes of `units` units of a weight row as ggml stores it. */
static inline uint64_t matmul_row_bytes(const struct matmul *m, uint64_t units) {
    return units * (m->unit >> m->block_shift) * m->element_bytes;
}
/* Bytes of `units` units of a column tile in tiles. */
static inline uint64_t matmul_unit_bytes(const struct matmul *m, uint64_t units) {
    return units * htp_tile_group_vectors(m->type) * HVX_BYTES;
}
/* Bytes of `units` units of an activation row of floats. */
static inline uint64_t matmul_float_bytes(const struct matmul *m, uint64_t units) {
    return units * m->unit * (m->type == HTP_TYPE_F16 ? 2 : 4);
}

/* ---- order.c ---- */

static inline uint32_t matmul_rows_of(const struct matmul *m, uint32_t matrix) {
    return m->starts == NULL ? m->matrix_rows : m->starts[matrix + 1] - m->starts[matrix];
}
/* Row r of a matrix. */
struct matmul_row matmul_find_row(const struct matmul *m, uint32_t matrix, uint32_t r);

/* MUL_MAT_ID: words of memory that the order of so many picks takes; they fit 32 bits. */
static inline uint64_t matmul_order_words(uint32_t experts, uint64_t picks) { return experts + 1 + 2 * picks; }
/*
 * Sorts what tokens [first, first + tokens) of ids have picked by expert: starts, picks and total_rows, in the words
 * given. False when an id is not an expert: *bad is its place in ids.
 */
bool matmul_sort(struct matmul *m, const struct htp_view *ids, uint32_t first, uint32_t tokens, uint32_t *words,
                 uint32_t *bad);

/* ---- plan.c, activations.c ---- */

/* Divides VTCM; NO_VTCM when not even one activation row and one unit of weights fit. */
uint32_t matmul_plan(struct matmul *m);

/*
 * Values [begin, begin + count) of a row of the activations as f32, with zeros behind them up to a multiple of 64; count
 * is at most MATMUL_STAGE_VALUES. The row itself where it can be used as it lies, otherwise a copy in stage, which has
 * MATMUL_STAGE_BYTES.
 */
const HVX_Vector *matmul_load_f32(const struct matmul *m, const uint8_t *source, uint32_t begin, uint32_t count,
                                  HVX_Vector *stage);

/* Worker: brings the chunk's rows into VTCM. Thread i of n takes its share of the rows. */
void matmul_prepare(void *chunk, uint32_t i, uint32_t n);

#endif
