#include "ops/matmul/weights.h"

#include "ops/matmul/pack.h"

/* column tiles that a step takes: neighbours in the same group */
static void set_step_tiles(const struct weight_stream *s, struct weight_cursor *at) {
    at->tiles = htp_min_u32(htp_min_u32(s->m->tiles - at->tile, s->end - at->item), s->m->pass_tiles);
}

/* Without divisions, which the DSP has no instruction for. */
static void advance(const struct weight_stream *s, struct weight_cursor *at) {
    at->slot = at->slot + 1 == s->m->slots ? 0 : at->slot + 1;
    if (++at->slice < s->m->slices)
        return;
    at->slice = 0;
    at->item += at->tiles;
    at->tile += at->tiles;
    if (at->tile == s->m->tiles) {
        at->tile = 0;
        at->group++;
    }
    set_step_tiles(s, at);
}

/* values along K of a slice */
static uint32_t slice_k(const struct matmul *m, uint32_t slice) {
    if (m->slices == 1)
        return m->k;
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

/* Column tiles as they are stored: one copy, since neighbours are neighbours there too. */
static void push_tiles(struct weight_stream *s, uint8_t *to) {
    const struct matmul *m = s->m;
    const struct weight_cursor *at = &s->load;
    const size_t index = (size_t)m->groups[at->group].matrix * m->tiles + at->tile, offset = at->slice * m->tile_bytes;
    const size_t bytes = at->slice + 1 < m->slices ? m->tile_bytes : m->column_bytes - offset;
    htp_dma_push(&s->dma, to, (uint32_t)m->tile_bytes, m->weights->data + index * m->column_bytes + offset,
                 (uint32_t)m->column_bytes, (uint32_t)bytes, at->tiles);
}

/* Rows of weights: a copy for each column tile. */
static HVX_NOINLINE void push_rows(struct weight_stream *s, uint8_t *to) {
    const struct matmul *m = s->m;
    const struct weight_cursor *at = &s->load;
    const uint32_t k = slice_k(m, at->slice), matrix = m->groups[at->group].matrix;
    const uint32_t bytes = (k >> m->block_shift) * m->element_bytes;
    const size_t offset = (size_t)matmul_row_bytes(m, at->slice * m->slice_units);
    for (uint32_t tile = at->tile; tile < at->tile + at->tiles; tile++, to += m->tile_bytes)
        htp_dma_push(&s->dma, to, (uint32_t)m->row_stride, first_row(m, matrix, tile) + offset, m->weights->nb[1],
                     bytes, tile_rows(m, tile));
}

static uint8_t *slot_of(const struct weight_stream *s, const struct weight_cursor *at) {
    return s->slots + at->slot * s->slot_bytes;
}

/* Starts the copies of a step. */
static void push_step(struct weight_stream *s) {
    if (s->m->source == MATMUL_TILES)
        push_tiles(s, slot_of(s, &s->load));
    else if (s->m->source != MATMUL_FLOAT_GATHER)
        push_rows(s, slot_of(s, &s->load));
    advance(s, &s->load);
}

static void copy_element(uint8_t *to, const uint8_t *from, uint32_t bytes) {
    if (bytes == 2)
        __builtin_memcpy(__builtin_assume_aligned(to, 2), __builtin_assume_aligned(from, 2), 2);
    else
        __builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), 4);
}

/* rows with any strides; k outside, so that views of a transposed tensor are read along their memory */
static HVX_NOINLINE void gather_rows(const struct matmul *m, const struct weight_step *step, uint8_t *to) {
    const struct htp_view *w = m->weights;
    const uint32_t rows = tile_rows(m, step->tile), bytes = m->element_bytes;
    const uint8_t *from =
        first_row(m, m->groups[step->group].matrix, step->tile) + (size_t)step->first_unit * m->unit * w->nb[0];
    for (uint32_t k = 0; k < step->k; k++, from += w->nb[0], to += bytes) {
        for (uint32_t n = 0; n < rows; n++)
            copy_element(to + n * m->row_stride, from + (size_t)n * w->nb[1], bytes);
    }
}

/* waits for rows; blocks are packed into tiles */
static HVX_NOINLINE void finish_rows(struct weight_stream *s, struct weight_step *step) {
    const struct matmul *m = s->m;
    for (uint32_t t = 0; t < step->tiles; t++)
        htp_dma_wait(&s->dma);
    if (m->source != MATMUL_BLOCK_ROWS)
        return;
    for (uint32_t t = 0; t < step->tiles; t++)
        pack_tile(m->type, m->element_bytes, step->data + t * m->tile_bytes, m->row_stride,
                  tile_rows(m, step->tile + t), step->k / MATMUL_BLOCK, s->packed + t * m->packed_bytes);
    step->data = s->packed;
    step->tile_bytes = m->packed_bytes;
}

void weight_stream_open(struct weight_stream *s, const struct matmul_chunk *chunk, uint32_t thread, uint32_t begin,
                        uint32_t end) {
    const struct matmul *m = chunk->m;
    s->m = m;
    s->end = end;
    s->load = (struct weight_cursor){.item = begin, .group = begin / m->tiles, .tile = begin % m->tiles};
    set_step_tiles(s, &s->load);
    s->use = s->load;
    s->slots = m->thread_vtcm + thread * m->thread_bytes;
    s->slot_bytes = m->pass_tiles * m->tile_bytes;
    s->packed = s->slots + m->slots * s->slot_bytes;
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

    uint8_t *slot = slot_of(s, &s->use);
    step->group = s->use.group;
    step->tile = s->use.tile;
    step->tiles = s->use.tiles;
    step->first_unit = s->use.slice * m->slice_units;
    step->k = slice_k(m, s->use.slice);
    step->data = slot;
    step->tile_bytes = m->tile_bytes;
    step->row_bytes = m->row_stride;
    if (m->source == MATMUL_TILES)
        htp_dma_wait(&s->dma);
    else if (m->source == MATMUL_FLOAT_GATHER)
        gather_rows(m, step, slot);
    else
        finish_rows(s, step);
    advance(s, &s->use);
    return true;
}
