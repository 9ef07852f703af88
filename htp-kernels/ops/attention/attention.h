/*
 * FLASH_ATTN_EXT inside: what the files of this folder share.
 *
 *   attention.c   entry: checks, then workers that take one item after another
 *   plan.c        how the work and VTCM are divided
 *   keys.c        blocks of keys, values and mask into VTCM by DMA, one block ahead
 *   widen.c       keys and values of other types to f16 (widen_units.h: 64 elements of each)
 *   rows.c        query rows into VTCM, finished rows out of it
 *   scores.c      dot products of a query row with keys
 *   softmax.c     scores to probabilities, online
 *   values.c      sums of values, weighted by probabilities
 *   ref.c         the definition, for check.c
 *
 * Terms. A group: the query heads that share a KV head of a sequence. Its rows: every position of every head, heads
 * innermost, so that rows that share mask entries are neighbours. A tile: some rows of one group, which pass over the
 * keys together. A part: a range of the keys; there is more than one when there are fewer tiles than threads. An item:
 * a part of a tile. A block: up to block_keys keys and their values, in VTCM at a time. A unit: 64 f16, one vector.
 */
#ifndef ATTENTION_H
#define ATTENTION_H

#include <stdbool.h>

#include "htp/params.h"
#include "hvx/wrap.h"
#include "runtime/dma.h"
#include "runtime/exec.h"

#define ATTENTION_MAX_BLOCK 128 /* keys */
#define ATTENTION_MAX_ROWS 64   /* of a tile */
#define ATTENTION_MAX_PARTS 8
#define ATTENTION_ROW_STEP 4    /* rows that the sums of values take at a time; a tile has memory for a multiple */
#define ATTENTION_MAX_HEAD 1024 /* elements: what the smallest VTCM is sure to hold */

/* Where the keys (or the values) of a block are. */
struct attention_side {
    const struct htp_view *view;
    uint32_t units;     /* vectors of a row in f16 */
    uint32_t row_bytes; /* as stored */
    uint32_t row_step;  /* in a slot; f16 rows lie as the kernels read them */
    size_t raw_bytes;   /* of a block in a slot */
    size_t wide_bytes;  /* of a block in f16, 0 when a slot holds just that */
};

struct attention {
    struct htp_exec *exec;
    const struct htp_view *q, *mask, *sinks, *dst;
    struct attention_side k, v;
    struct htp_attention_params params;
    uint32_t heads;      /* query heads of a group */
    uint32_t groups;     /* KV heads of all sequences */
    uint32_t group_rows;
    bool shared_mask;    /* all heads of a group have the same mask */

    /* the plan (plan.c) */
    uint32_t n_threads;
    uint32_t block_keys, blocks;
    uint32_t tile_rows, tiles; /* of a group */
    uint32_t parts, items;
    uint32_t mask_rows; /* that a slot has room for */
    size_t slot_bytes, thread_bytes;
    size_t state_bytes;   /* of a row */
    uint8_t *thread_vtcm; /* n_threads areas of thread_bytes */
    uint8_t *states;      /* of all items when there are parts, otherwise NULL: each thread has its own */
};

/*
 * What is known of a row after some of its keys, state_bytes each:
 *   vector 0    the largest score, in all lanes, f32; ATTENTION_NO_SCORE at first
 *   vector 1    the sum of exp(score - largest), lane by lane, qf32
 *   then        the sum of value * exp(score - largest), qf32: for each unit the even and the odd elements
 */
#define ATTENTION_NO_SCORE (-1e29f) /* finite: qf32 knows no infinity */
#define ATTENTION_MASKED (-1e30f)   /* far below: exp of the difference is 0 */
#define STATE_LARGEST 0
#define STATE_TOTAL 1
#define STATE_SUMS 2

struct attention_tile {
    const struct attention *a;
    uint32_t sequence, kv_head;
    uint32_t first_row, rows; /* of the group */
    uint32_t first_position, positions;
    uint32_t first_block, end_block;
    HVX_Vector *q;      /* rows in f16, k.units each */
    HVX_Vector *states; /* of ATTENTION_ROW_STEP-rounded rows */
    /* of each row */
    float slope[ATTENTION_MAX_ROWS];
    uint32_t position[ATTENTION_MAX_ROWS];     /* after first_position */
    const uint8_t *mask[ATTENTION_MAX_ROWS];   /* of key 0, when there is a mask */
};

/* A block that is in VTCM. */
struct attention_block {
    const uint8_t *k, *v; /* f16 rows, units * 128 bytes each */
    const uint8_t *mask;  /* of the tile's positions, block_keys f16 each; NULL: mask rows are not in VTCM */
    uint32_t first, keys;
};

/* Blocks of a tile, in order. */
struct attention_stream {
    const struct attention_tile *tile;
    struct htp_dma dma;
    uint8_t *slots[2], *wide_k, *wide_v;
    uint32_t slot;    /* that the next block goes to */
    uint32_t pending; /* block that is under way, end_block when there is none */
};

uint32_t attention_plan(struct attention *a);

/* area: the thread's VTCM. Once for all tiles of a thread. */
void attention_stream_init(struct attention_stream *s, const struct attention *a, uint8_t *area);
void attention_stream_open(struct attention_stream *s, const struct attention_tile *tile);
bool attention_stream_next(struct attention_stream *s, struct attention_block *block);

/* bytes of a row of keys or values; 0: there is no kernel for the type */
uint32_t attention_row_bytes(uint32_t type, uint32_t elements);
/* f16 of rows of `elements`, zeros up to a whole vector; out: a multiple of 128 bytes a row */
void attention_widen(uint32_t type, const uint8_t *raw, size_t raw_step, uint32_t rows, uint32_t elements,
                     uint8_t *out);

/* Sets the tile up for the item; the last function turns the states of all parts into rows of dst. */
void attention_tile_open(struct attention_tile *tile, const struct attention *a, uint32_t item, uint8_t *area);
void attention_store_row(const struct attention *a, uint32_t group, uint32_t row, const uint8_t *state,
                         size_t part_step);

static inline uint32_t attention_group_position(const struct attention *a, uint32_t row) { return row / a->heads; }
static inline uint32_t attention_row_head(const struct attention *a, uint32_t kv_head, uint32_t row) {
    return kv_head * a->heads + row % a->heads;
}
static inline const uint8_t *attention_mask_row(const struct attention *a, uint32_t position, uint32_t head,
                                                uint32_t sequence) {
    return htp_row(a->mask, position, head % a->mask->ne[2], sequence % a->mask->ne[3]);
}
static inline HVX_Vector *attention_state(const struct attention_tile *tile, uint32_t row) {
    return (HVX_Vector *)(void *)((uint8_t *)tile->states + row * tile->a->state_bytes);
}

#endif
