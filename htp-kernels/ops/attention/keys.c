/*
 * The stream of key blocks of a tile: one block is worked on while the next one is on its way. A block whose mask is
 * -infinity for every row of the tile (above the diagonal of a causal mask, other sequences of a shared cache) is never
 * fetched.
 */
#include "ops/attention/attention.h"

#define ALL_MASKED ((int32_t)0xfc00fc00u) /* two f16 -infinity */

static bool any_bit(HVX_Vector v) {
    uint64_t words[HVX_BYTES / 8] __attribute__((aligned(128))), any = 0;
    *(HVX_Vector *)(void *)words = v;
    for (uint32_t i = 0; i < HVX_BYTES / 8; i++)
        any |= words[i];
    return any != 0;
}

/* whether one of `keys` entries is not -infinity */
static bool is_row_live(const uint8_t *row, uint32_t keys) {
    HVX_Vector other = hvx_zero();
    uint32_t i = 0;
    for (; i + HVX_HALVES <= keys; i += HVX_HALVES)
        other = Q6_V_vor_VV(other, Q6_V_vxor_VV(hvx_load(row + 2 * i), hvx_splat_i32(ALL_MASKED)));
    if (i < keys) {
        const uint32_t bytes = 2 * (keys - i);
        const HVX_Vector rest = Q6_V_vxor_VV(hvx_load_bytes(row + 2 * i, bytes), hvx_splat_i32(ALL_MASKED));
        other = Q6_V_vor_VV(other, Q6_V_vand_QV(Q6_Q_vsetq_R((int32_t)bytes), rest));
    }
    return any_bit(other);
}

static uint32_t block_keys(const struct attention *a, uint32_t block) {
    return htp_min_u32(a->k.view->ne[1] - block * a->block_keys, a->block_keys);
}

static bool is_live(const struct attention_tile *tile, uint32_t block) {
    const struct attention *a = tile->a;
    const uint32_t keys = block_keys(a, block), rows = a->shared_mask ? tile->positions : tile->rows;
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t row = tile->first_row + i;
        const uint32_t position = a->shared_mask ? tile->first_position + i : attention_group_position(a, row);
        const uint8_t *mask =
            attention_mask_row(a, position, attention_row_head(a, tile->kv_head, row), tile->sequence);
        if (is_row_live(mask + (size_t)2 * block * a->block_keys, keys))
            return true;
    }
    return false;
}

/* fetches the next live block from `block` on */
static void prefetch(struct attention_stream *s, uint32_t block) {
    const struct attention_tile *tile = s->tile;
    const struct attention *a = tile->a;
    while (block < tile->end_block && a->mask != NULL && !is_live(tile, block))
        block++;
    s->pending = block;
    if (block >= tile->end_block)
        return;
    uint8_t *slot = s->slots[s->slot];
    const uint32_t first = block * a->block_keys, keys = block_keys(a, block);
    const struct htp_view *k = a->k.view, *v = a->v.view;
    const uint32_t kv_sequence = tile->sequence / (a->q->ne[3] / k->ne[3]);
    htp_dma_push(&s->dma, slot, a->k.row_step, htp_row(k, first, tile->kv_head, kv_sequence), k->nb[1],
                 a->k.row_bytes, keys);
    htp_dma_push(&s->dma, slot + a->k.raw_bytes, a->v.row_step, htp_row(v, first, tile->kv_head, kv_sequence),
                 v->nb[1], a->v.row_bytes, keys);
    if (a->mask != NULL && a->shared_mask) {
        const uint32_t head = attention_row_head(a, tile->kv_head, 0);
        const uint8_t *mask = attention_mask_row(a, tile->first_position, head, tile->sequence) + (size_t)2 * first;
        htp_dma_push(&s->dma, slot + a->k.raw_bytes + a->v.raw_bytes, 2 * a->block_keys, mask, a->mask->nb[1],
                     2 * keys, tile->positions);
    }
}

/* Keys of a head that is no multiple of 64 are followed by what is multiplied with the zeros behind the query. */
static void clear(uint8_t *from, size_t bytes) {
    for (; bytes > 0; bytes -= HVX_BYTES, from += HVX_BYTES)
        *(HVX_Vector *)(void *)from = hvx_zero();
}

void attention_stream_init(struct attention_stream *s, const struct attention *a, uint8_t *area) {
    htp_dma_init(&s->dma);
    s->slots[0] = area;
    s->slots[1] = area + a->slot_bytes;
    s->wide_k = area + 2 * a->slot_bytes;
    s->wide_v = s->wide_k + a->k.wide_bytes;
    s->slot = 0;
    if (a->k.wide_bytes == 0 && a->k.row_bytes % HVX_BYTES != 0) {
        clear(s->slots[0], a->k.raw_bytes);
        clear(s->slots[1], a->k.raw_bytes);
    }
}

void attention_stream_open(struct attention_stream *s, const struct attention_tile *tile) {
    s->tile = tile;
    prefetch(s, tile->first_block);
}

static const uint8_t *widened(const struct attention_side *side, const uint8_t *raw, uint32_t keys, uint8_t *wide) {
    if (side->wide_bytes == 0)
        return raw;
    attention_widen(side->view->type, raw, side->row_step, keys, side->view->ne[0], wide);
    return wide;
}

bool attention_stream_next(struct attention_stream *s, struct attention_block *block) {
    const struct attention *a = s->tile->a;
    if (s->pending >= s->tile->end_block)
        return false;
    const uint8_t *slot = s->slots[s->slot];
    block->first = s->pending * a->block_keys;
    block->keys = block_keys(a, s->pending);
    htp_dma_wait_all(&s->dma);
    s->slot ^= 1;
    prefetch(s, s->pending + 1);
    block->k = widened(&a->k, slot, block->keys, s->wide_k);
    block->v = widened(&a->v, slot + a->k.raw_bytes, block->keys, s->wide_v);
    block->mask = a->mask != NULL && a->shared_mask ? slot + a->k.raw_bytes + a->v.raw_bytes : NULL;
    return true;
}
