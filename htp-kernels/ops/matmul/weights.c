#include "ops/matmul/weights.h"

#include "ops/matmul/pack.h"

/* column tiles that a step at this item takes: neighbours in the same group */
static uint32_t step_tiles(const struct weight_stream *s, uint32_t item) {
    const uint32_t in_group = s->m->tiles - item % s->m->tiles;
    return htp_min_u32(htp_min_u32(in_group, s->end - item), s->m->pass_tiles);
}

static void advance(const struct weight_stream *s, struct weight_cursor *at, uint32_t *slot) {
    *slot = *slot + 1 == s->m->slots ? 0 : *slot + 1;
    if (++at->slice == s->m->slices) {
        at->slice = 0;
        at->item += step_tiles(s, at->item);
    }
}

/* values along K of a slice */
static uint32_t slice_k(const struct matmul *m, uint32_t slice) {
    const uint32_t begin = slice * m->slice_units * m->unit;
    const uint64_t length = (uint64_t)m->slice_units * m->unit;
    return m->k - begin < length ? m->k - begin : (uint32_t)length;
}

static uint32_t tile_rows(const struct matmul *m, uint32_t tile) {
    return htp_min_u32(m->n - tile * MATMUL_TILE, MATMUL_TILE);
}

static const uint8_t *first_row(const struct matmul *m, uint32_t matrix, uint32_t tile) {
    const struct htp_view *w = m->weights;
    return htp_row(w, tile * MATMUL_TILE, matrix % w->ne[2], matrix / w->ne[2]);
}

/* Starts the copies of a step, one for each column tile. */
static void push_step(struct weight_stream *s) {
    const struct matmul *m = s->m;
    const uint32_t item = s->load.item, slice = s->load.slice, tiles = step_tiles(s, item);
    const uint32_t k = slice_k(m, slice), first_unit = slice * m->slice_units;
    uint8_t *to = s->slots + s->load_slot * m->pass_tiles * m->tile_bytes;
    const uint32_t matrix = m->groups[item / m->tiles].matrix, first_tile = item % m->tiles;
    for (uint32_t t = 0; t < tiles && m->source != MATMUL_FLOAT_GATHER; t++, to += m->tile_bytes) {
        const uint32_t tile = first_tile + t;
        if (m->source == MATMUL_TILES) {
            const size_t column = htp_tile_column_bytes(m->type, m->k);
            const size_t index = (size_t)matrix * m->tiles + tile;
            const uint8_t *from = m->weights->data + index * column + (size_t)matmul_unit_bytes(m, first_unit);
            htp_dma_push(&s->dma, to, 0, from, 0, (uint32_t)htp_tile_column_bytes(m->type, k), 1);
            continue;
        }
        const uint32_t elements = m->source == MATMUL_BLOCK_ROWS ? k / MATMUL_BLOCK : k;
        htp_dma_push(&s->dma, to, (uint32_t)m->row_stride,
                     first_row(m, matrix, tile) + (size_t)matmul_row_bytes(m, first_unit), m->weights->nb[1],
                     elements * m->element_bytes, tile_rows(m, tile));
    }
    advance(s, &s->load, &s->load_slot);
}

static void copy_element(uint8_t *to, const uint8_t *from, uint32_t bytes) {
    if (bytes == 2)
        __builtin_memcpy(__builtin_assume_aligned(to, 2), __builtin_assume_aligned(from, 2), 2);
    else
        __builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), 4);
}

/* rows with any strides; k outside, so that views of a transposed tensor are read along their memory */
static void gather_rows(const struct matmul *m, const struct weight_step *step, uint8_t *to) {
    const struct htp_view *w = m->weights;
    const uint32_t rows = tile_rows(m, step->tile), bytes = m->element_bytes;
    const uint8_t *from =
        first_row(m, m->groups[step->group].matrix, step->tile) + (size_t)step->first_unit * m->unit * w->nb[0];
    for (uint32_t k = 0; k < step->k; k++, from += w->nb[0], to += bytes) {
        for (uint32_t n = 0; n < rows; n++)
            copy_element(to + n * m->row_stride, from + (size_t)n * w->nb[1], bytes);
    }
}

void weight_stream_open(struct weight_stream *s, const struct matmul_chunk *chunk, uint32_t thread, uint32_t begin,
                        uint32_t end) {
    const struct matmul *m = chunk->m;
    s->m = m;
    s->end = end;
    s->load.item = s->use.item = begin;
    s->load.slice = s->use.slice = 0;
    s->load_slot = s->use_slot = 0;
    s->slots = m->thread_vtcm + thread * m->thread_bytes;
    s->packed = s->slots + m->slots * m->pass_tiles * m->tile_bytes;
    htp_dma_init(&s->dma);
    /* one slot less than there are: each call of next starts the copy into the slot that its predecessor used */
    for (uint32_t i = 1; i < m->slots && s->load.item < end; i++)
        push_step(s);
}

bool weight_stream_next(struct weight_stream *s, struct weight_step *step) {
    const struct matmul *m = s->m;
    if (s->use.item >= s->end)
        return false;
    if (s->load.item < s->end)
        push_step(s);

    uint8_t *slot = s->slots + s->use_slot * m->pass_tiles * m->tile_bytes;
    step->group = s->use.item / m->tiles;
    step->tile = s->use.item % m->tiles;
    step->tiles = step_tiles(s, s->use.item);
    step->first_unit = s->use.slice * m->slice_units;
    step->k = slice_k(m, s->use.slice);
    step->data = slot;
    step->tile_bytes = m->tile_bytes;
    step->row_bytes = m->row_stride;
    if (m->source == MATMUL_FLOAT_GATHER) {
        gather_rows(m, step, slot);
    } else {
        for (uint32_t t = 0; t < step->tiles; t++)
            htp_dma_wait(&s->dma);
    }
    if (m->source == MATMUL_BLOCK_ROWS) {
        for (uint32_t t = 0; t < step->tiles; t++)
            pack_tile(m->type, m->element_bytes, slot + t * m->tile_bytes, m->row_stride, tile_rows(m, step->tile + t),
                      step->k / MATMUL_BLOCK, s->packed + t * m->packed_bytes);
        step->data = s->packed;
        step->tile_bytes = m->packed_bytes;
    }
    advance(s, &s->use, &s->use_slot);
    return true;
}
