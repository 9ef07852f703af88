/*
 * The weights that a thread multiplies with, in order, brought into VTCM ahead of their use.
 *
 *   weight_stream_open(&s, chunk, thread, begin, end);
 *   while (weight_stream_next(&s, &step)) ... compute with step ...
 *
 * What a step points at stays valid until the next call.
 */
#ifndef MATMUL_WEIGHTS_H
#define MATMUL_WEIGHTS_H

#include "ops/matmul/matmul.h"
#include "runtime/dma.h"

/* Where a stream stands: items are the column tiles of the chunk's groups, group by group. */
struct weight_cursor {
    uint32_t item, slice;
    uint32_t group, tile; /* of the item */
    uint32_t tiles;       /* column tiles of the step at this item */
    uint32_t slot;
};

struct weight_stream {
    const struct matmul *m;
    uint32_t end;
    struct weight_cursor load, use;
    uint8_t *slots, *packed;
    size_t slot_bytes;
    struct htp_dma dma;
};

/* A slice along K of some neighbouring column tiles. */
struct weight_step {
    uint32_t group; /* of the chunk, from 0 */
    uint32_t tile, tiles;
    uint32_t first_unit; /* of K */
    uint32_t k;          /* values along K */
    const uint8_t *data; /* tiles: operand vectors; floats: rows */
    size_t tile_bytes;   /* from tile to tile */
    size_t row_bytes;    /* floats: from row to row */
};

/* Items begin .. end-1 of the chunk. */
void weight_stream_open(struct weight_stream *s, const struct matmul_chunk *chunk, uint32_t thread, uint32_t begin,
                        uint32_t end);
bool weight_stream_next(struct weight_stream *s, struct weight_step *step);

#endif
