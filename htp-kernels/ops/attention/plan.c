/*
 * How the work and VTCM are divided. A thread's area: two slots for blocks, keys and values in f16 where they are
 * stored otherwise, the queries and the states of a tile. The states of parts lie behind the areas, where all threads
 * see them.
 */
#include "ops/attention/attention.h"

#define MIN_ROWS 16      /* of a tile: fewer make it wait for memory */
#define ITEMS_A_THREAD 3 /* so that threads end at about the same time */

static size_t vectors(size_t bytes) { return htp_round_up(bytes, HVX_BYTES); }

/* Sizes of a side with blocks of `keys`; heads are at most ATTENTION_MAX_HEAD, so nothing overflows. */
static void plan_side(struct attention_side *side, uint32_t keys) {
    const uint32_t elements = side->view->ne[0], type = side->view->type;
    side->units = htp_div_up(elements, HVX_HALVES);
    side->row_bytes = attention_row_bytes(type, elements);
    const bool is_wide = type == HTP_TYPE_F16;
    side->row_step = is_wide ? side->units * HVX_BYTES : side->row_bytes;
    /* widening reads up to two vectors at the last element */
    side->raw_bytes = vectors((size_t)keys * side->row_step + (is_wide ? 0 : 2 * HVX_BYTES));
    side->wide_bytes = is_wide ? 0 : (size_t)keys * side->units * HVX_BYTES;
}

/* false: does not fit n threads */
static bool plan_memory(struct attention *a, uint32_t keys, uint32_t rows) {
    plan_side(&a->k, keys);
    plan_side(&a->v, keys);
    a->block_keys = keys;
    a->tile_rows = rows;
    a->mask_rows = 0;
    if (a->mask != NULL && a->shared_mask) /* a tile may begin and end within a position */
        a->mask_rows = htp_min_u32((rows - 1) / a->heads + 2, rows);
    a->slot_bytes = a->k.raw_bytes + a->v.raw_bytes + vectors((size_t)a->mask_rows * keys * 2);
    a->state_bytes = (STATE_SUMS + 2 * a->v.units) * HVX_BYTES;
    a->thread_bytes = 2 * a->slot_bytes + a->k.wide_bytes + a->v.wide_bytes +
                      rows * (a->k.units * HVX_BYTES + a->state_bytes);
    return a->thread_bytes * a->n_threads <= a->exec->vtcm_size;
}

static bool plan_tiles(struct attention *a, uint32_t rows) {
    for (;;) {
        if (plan_memory(a, ATTENTION_MAX_BLOCK, rows) || plan_memory(a, ATTENTION_MAX_BLOCK / 2, rows))
            return true;
        if (rows == ATTENTION_ROW_STEP)
            return false;
        rows = (uint32_t)htp_round_up(rows / 2, ATTENTION_ROW_STEP);
    }
}

/* Ends soonest: rounds of items, each a part's length. */
static uint32_t best_parts(const struct attention *a, uint32_t tiles) {
    const size_t tile_states = (size_t)a->tile_rows * a->state_bytes * tiles;
    const size_t left = a->exec->vtcm_size - a->thread_bytes * a->n_threads;
    const uint32_t most = htp_min_u32(a->blocks, ATTENTION_MAX_PARTS);
    uint32_t best = 1;
    for (uint32_t parts = 2; parts <= most && parts * tile_states <= left; parts++) {
        /* rounds / parts, compared without division */
        if (htp_div_up(tiles * parts, a->n_threads) * best < htp_div_up(tiles * best, a->n_threads) * parts)
            best = parts;
    }
    return best;
}

uint32_t attention_plan(struct attention *a) {
    const uint64_t all_rows = (uint64_t)a->group_rows * a->groups;
    uint32_t rows = a->group_rows < ATTENTION_MAX_ROWS ? a->group_rows : ATTENTION_MAX_ROWS;
    while (rows > MIN_ROWS && all_rows / rows < (uint64_t)a->exec->n_threads * ITEMS_A_THREAD)
        rows /= 2;
    rows = (uint32_t)htp_round_up(rows, ATTENTION_ROW_STEP);
    for (a->n_threads = a->exec->n_threads; !plan_tiles(a, rows); a->n_threads--) {
        if (a->n_threads == 1) {
            a->exec->detail = (uint32_t)a->thread_bytes;
            return HTP_STATUS_NO_VTCM;
        }
    }
    a->blocks = htp_div_up(a->k.view->ne[1], a->block_keys);
    a->tiles = htp_div_up(a->group_rows, a->tile_rows);
    const uint64_t items = (uint64_t)a->groups * a->tiles; /* no more than rows, which fit 32 bits */
    a->parts = items < a->n_threads ? best_parts(a, (uint32_t)items) : 1;
    a->items = (uint32_t)items * a->parts;
    a->thread_vtcm = a->exec->vtcm;
    a->states = a->parts > 1 ? a->thread_vtcm + a->n_threads * a->thread_bytes : NULL;
    return HTP_STATUS_OK;
}
