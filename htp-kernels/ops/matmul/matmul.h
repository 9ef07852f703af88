/*
 * MUL_MAT inside: what the files of this folder share.
 *
 *   matmul.c       entry: checks, then chunk by chunk: prepare activation rows, multiply
 *   plan.c         how VTCM is divided
 *   activations.c  rows of src1 into VTCM: quantised (quantize.c) or f16
 *   weights.c      column tiles of src0 into VTCM, by DMA, ahead of the computation (pack.c turns ggml rows into tiles)
 *   q4_0.c q8_0.c  dot products of a column tile with activation rows (tile_dot.h), f16.c the same for f16 weights
 *   ref.c          the definition, for check.c
 *
 * Terms. A matrix: one of the ne02 * ne03 weight matrices. Its rows: all rows of src1 that are multiplied with it
 * (several when ggml broadcasts the weights); every row of src1 belongs to exactly one matrix. A column tile: 32 weight
 * rows, which give 32 neighbouring outputs. A unit: 64 values along K, the step in which K can be cut: two quantised
 * blocks (that share a scale vector) or one vector of f16.
 */
#ifndef MATMUL_H
#define MATMUL_H

#include <stdbool.h>

#include "hvx/wrap.h"
#include "runtime/exec.h"
#include "runtime/tiles.h"

#define MATMUL_TILE 32
#define MATMUL_UNIT 64
#define MATMUL_BLOCK 32

/* What a worker needs for the preparation of activation rows; its part of VTCM is never smaller. */
#define MATMUL_STAGE_VALUES 1024
#define MATMUL_STAGE_BYTES (MATMUL_STAGE_VALUES * 4 + MATMUL_STAGE_VALUES * 2)

enum matmul_source {
    MATMUL_TILES,      /* tiles as stored by the host */
    MATMUL_BLOCK_ROWS, /* ggml's quantised rows: packed into tiles here */
    MATMUL_F16_ROWS,   /* f16 rows, elements side by side */
    MATMUL_F16_GATHER, /* f16 with any strides: fetched element by element */
};

struct matmul {
    struct htp_exec *exec;
    const struct htp_view *weights, *activations, *dst;
    enum matmul_source source;
    uint32_t type; /* of the weights */
    uint32_t k, n;
    uint32_t units;          /* of K, rounded up */
    uint32_t tiles;          /* column tiles of a matrix */
    uint32_t matrices;       /* ne02 * ne03 */
    uint32_t matrix_rows;    /* activation rows of a matrix */
    uint32_t repeat2;        /* ne12 / ne02 */
    uint32_t pass_tiles;     /* column tiles that a kernel takes at a time */

    /* the plan (plan.c) */
    uint32_t n_threads;
    uint32_t slice_units, slices; /* K is cut into slices when a column tile is too large for VTCM */
    uint32_t slots;               /* of the ring of a thread; a slot holds a slice of pass_tiles column tiles */
    size_t tile_bytes;            /* of a column tile's slice in a slot */
    size_t row_stride;            /* of weight rows in a slot; not for MATMUL_TILES */
    size_t packed_bytes;          /* of a column tile's slice after packing, 0 when nothing is packed */
    size_t thread_bytes;          /* VTCM of a thread */
    size_t activation_bytes;      /* of an activation row in VTCM */
    uint32_t capacity;            /* activation rows that fit at a time */
    uint8_t *thread_vtcm;         /* n_threads areas of thread_bytes */
    uint8_t *rows;                /* capacity activation rows */
    uint8_t **outputs;            /* capacity addresses: where the outputs of a row begin */
};

/* Activation rows that are in VTCM at the same time: some rows of one matrix, or all rows of several. */
struct matmul_chunk {
    const struct matmul *m;
    uint32_t first_matrix, matrices;
    uint32_t first_row, rows; /* of each matrix */
};

/* vectors of a unit of a column tile */
static inline uint32_t matmul_unit_vectors(uint32_t type) { return 2 * htp_tile_quant_vectors(type) + 1; }
static inline uint32_t matmul_block_bytes(uint32_t type) { return type == HTP_TYPE_Q4_0 ? 18 : 34; }
static inline bool matmul_is_quantized(uint32_t type) { return htp_tile_quant_vectors(type) != 0; }

/* Divides VTCM; NO_VTCM when not even one activation row and one unit of weights fit. */
uint32_t matmul_plan(struct matmul *m);

/* Worker: brings the chunk's rows into VTCM. Thread i of n takes its share of the rows. */
void matmul_prepare(void *chunk, uint32_t i, uint32_t n);

#endif
