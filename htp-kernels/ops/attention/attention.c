/*
 * FLASH_ATTN_EXT: for each query row, softmax(cap * tanh(q k / cap) + slope * mask) over the keys, times the values.
 *
 * Rows that share a KV head pass over its keys together, block by block, and keep a running maximum, total and sum of
 * values (online softmax): scores never leave registers and a small buffer. Rows without any key become zero.
 */
#include "ops/attention/attention.h"

#include <stdatomic.h>

#include "ops/attention/softmax.h"
#include "ops/attention/values.h"

uint32_t htp_attention(struct htp_exec *exec);

struct run {
    const struct attention *a;
    _Atomic uint32_t next;
};

static const uint8_t *row_mask(const struct attention_tile *tile, const struct attention_block *block, uint32_t row) {
    const struct attention *a = tile->a;
    if (a->mask == NULL)
        return NULL;
    if (block->mask != NULL)
        return block->mask + (size_t)tile->position[row] * a->block_keys * 2;
    return tile->mask[row] + (size_t)2 * block->first;
}

/* up to ATTENTION_ROW_STEP rows against a block */
static void process_rows(const struct attention_tile *tile, const struct attention_block *block, uint32_t first,
                         uint32_t rows) {
    const struct attention *a = tile->a;
    const size_t step = a->k.units * HVX_BYTES;
    HVX_Vector scores[2 * SOFTMAX_MAX_PAIRS];
    struct probabilities p;
    for (uint32_t r = 0; r < rows; r++) {
        const HVX_Vector *q = tile->q + (size_t)(first + r) * a->k.units;
        for (uint32_t pair = 0; pair < htp_div_up(block->keys, HVX_HALVES); pair++) {
            const uint8_t *keys = block->k + pair * HVX_HALVES * step;
            scores[2 * pair] = attention_dots(a->k.units, keys, 2 * step, q);
            scores[2 * pair + 1] = attention_dots(a->k.units, keys + step, 2 * step, q);
        }
        const struct row_terms terms = {
            .scale = a->params.scale,
            .cap = a->params.logit_softcap,
            .mask = row_mask(tile, block, first + r),
            .slope = tile->slope[first + r],
        };
        p.factor[r] = attention_softmax(&terms, scores, block->keys, attention_state(tile, first + r),
                                        (HVX_Vector *)(void *)p.p[r]);
    }
    if (rows == 3) {
        p.factor[3] = hvx_zero();
        for (uint32_t i = 0; i < SOFTMAX_MAX_PAIRS; i++)
            ((HVX_Vector *)(void *)p.p[3])[i] = hvx_zero();
    }
    attention_add_values(rows, a->v.units, block->v, block->keys, &p, attention_state(tile, first) + STATE_SUMS,
                         a->state_bytes / HVX_BYTES);
}

static void run_items(void *arg, uint32_t thread, uint32_t n_threads) {
    struct run *run = arg;
    const struct attention *a = run->a;
    uint8_t *area = a->thread_vtcm + thread * a->thread_bytes;
    uint8_t *tile_area = area + 2 * a->slot_bytes + a->k.wide_bytes + a->v.wide_bytes;
    struct attention_stream stream;
    struct attention_tile tile;
    struct attention_block block;
    (void)n_threads;
    attention_stream_init(&stream, a, area);
    for (;;) {
        const uint32_t item = atomic_fetch_add(&run->next, 1);
        if (item >= a->items)
            return;
        attention_tile_open(&tile, a, item, tile_area);
        attention_stream_open(&stream, &tile);
        while (attention_stream_next(&stream, &block)) {
            for (uint32_t r = 0; r < tile.rows; r += ATTENTION_ROW_STEP)
                process_rows(&tile, &block, r, htp_min_u32(tile.rows - r, ATTENTION_ROW_STEP));
        }
        for (uint32_t r = 0; r < tile.rows && a->parts == 1; r++) {
            attention_store_row(a, item / a->tiles, tile.first_row + r,
                                (const uint8_t *)attention_state(&tile, r), 0);
        }
    }
}

/* Puts the parts of each row together. */
static void join_parts(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct attention *a = ((struct run *)arg)->a;
    const size_t part_bytes = a->tile_rows * a->state_bytes;
    const uint32_t all_rows = a->groups * a->group_rows; /* few: parts are for less than a tile a thread */
    for (uint32_t i = thread; i < all_rows; i += n_threads) {
        const uint32_t group = i / a->group_rows, row = i % a->group_rows;
        const uint32_t tile = group * a->tiles + row / a->tile_rows;
        const uint8_t *state = a->states + (size_t)tile * a->parts * part_bytes + row % a->tile_rows * a->state_bytes;
        attention_store_row(a, group, row, state, part_bytes);
    }
}

/* ---- checking ---- */

static const struct htp_view *source(const struct htp_exec *exec, uint32_t i) {
    return i < exec->n_src ? exec->src[i] : NULL;
}

static bool has_side_by_side_rows(const struct htp_view *t) {
    switch (t->type) {
    case HTP_TYPE_F32:
        return t->nb[0] == 4;
    case HTP_TYPE_F16:
    case HTP_TYPE_BF16:
        return t->nb[0] == 2;
    default:
        return true; /* whole blocks, side by side: the runtime has checked it */
    }
}

/* detail of a failure: 0 .. 4 the source, 5 dst whose type, 16 + 8 * that + the dimension whose size is wrong */
static uint32_t check_types(struct htp_exec *exec) {
    for (uint32_t i = 0; i < 6; i++) {
        const struct htp_view *t = i < 5 ? source(exec, i) : exec->dst;
        if (t == NULL)
            continue;
        const uint32_t wanted = i == 3 ? HTP_TYPE_F16 : HTP_TYPE_F32;
        const bool type_fits = i == 1 || i == 2 ? attention_row_bytes(t->type, 32) != 0 : t->type == wanted;
        if (!type_fits || t->layout != HTP_LAYOUT_ROWS || (i != 4 && !has_side_by_side_rows(t)))
            return htp_fail(exec, HTP_STATUS_UNSUPPORTED, i);
    }
    return HTP_STATUS_OK;
}

static uint32_t check_shapes(struct htp_exec *exec) {
    const struct htp_view *q = exec->src[0], *k = exec->src[1], *v = exec->src[2], *mask = source(exec, 3);
    const struct htp_view *sinks = source(exec, 4), *d = exec->dst;
    const uint32_t wrong = 16;
    if (q->ne[0] != k->ne[0] || k->ne[0] == 0 || k->ne[0] > ATTENTION_MAX_HEAD)
        return htp_fail(exec, HTP_STATUS_BAD_OP, wrong + 8);
    if (v->ne[0] == 0 || v->ne[0] > ATTENTION_MAX_HEAD)
        return htp_fail(exec, HTP_STATUS_BAD_OP, wrong + 16);
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
        if (v->ne[i] != k->ne[i])
            return htp_fail(exec, HTP_STATUS_BAD_OP, wrong + 16 + i);
        if (k->ne[i] == 0 || (i > 1 && q->ne[i] % k->ne[i] != 0))
            return htp_fail(exec, HTP_STATUS_BAD_OP, wrong + 8 + i);
    }
    const uint32_t out[HTP_MAX_DIMS] = {v->ne[0], q->ne[2], q->ne[1], q->ne[3]};
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (d->ne[i] != out[i])
            return htp_fail(exec, HTP_STATUS_BAD_OP, wrong + 40 + i);
    }
    if (mask != NULL && (mask->ne[0] < k->ne[1] || mask->ne[1] < q->ne[1] || mask->ne[2] == 0 || mask->ne[3] == 0))
        return htp_fail(exec, HTP_STATUS_BAD_OP, wrong + 24);
    if (sinks != NULL && sinks->ne[0] < q->ne[2])
        return htp_fail(exec, HTP_STATUS_BAD_OP, wrong + 32);
    return HTP_STATUS_OK;
}

uint32_t htp_attention(struct htp_exec *exec) {
    if (exec->n_src < 3 || exec->src[0] == NULL || exec->src[1] == NULL || exec->src[2] == NULL || exec->dst == NULL ||
        exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    uint32_t status = check_types(exec);
    if (status == HTP_STATUS_OK)
        status = check_shapes(exec);
    if (status != HTP_STATUS_OK)
        return status;
    struct attention a = {.exec = exec, .q = exec->src[0], .dst = exec->dst};
    a.mask = source(exec, 3);
    a.sinks = source(exec, 4);
    a.k.view = exec->src[1];
    a.v.view = exec->src[2];
    if (htp_rows(a.q) == 0)
        return HTP_STATUS_OK;
    __builtin_memcpy(&a.params, exec->params, sizeof(a.params));
    if (a.params.logit_softcap != 0)
        a.params.scale /= a.params.logit_softcap;
    a.heads = a.q->ne[2] / a.k.view->ne[2];
    a.groups = a.k.view->ne[2] * a.q->ne[3];
    a.group_rows = a.q->ne[1] * a.heads;
    a.shared_mask = a.mask != NULL && a.mask->ne[2] == 1;
    status = attention_plan(&a);
    if (status != HTP_STATUS_OK)
        return status;
    struct run run = {.a = &a};
    htp_parallel(exec, htp_min_u32(a.n_threads, a.items), run_items, &run);
    if (a.parts > 1)
        htp_parallel(exec, htp_min_u32(a.n_threads, a.groups * a.group_rows), join_parts, &run);
    return HTP_STATUS_OK;
}
