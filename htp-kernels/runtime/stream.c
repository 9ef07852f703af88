/* runtime/stream.h: what a block is, and the two slots of VTCM that blocks pass through. */
#include "runtime/stream.h"

#include "hvx/compiler.h"
#include "runtime/types.h"

#define THREAD_BYTES (32u << 10) /* of the widest operand, see stream.h */
#define BLOCK_MIN (16u << 10)    /* bytes of the widest operand; a quarter of a thread's rows between these limits */
#define BLOCK_MAX (128u << 10)   /* more makes the first fetch and the last write longer, beside which nothing runs */
#define BLOCK_SHORT (8u << 10)   /* bytes: planes with less are not worth a copy each */
#define ROW_MIN 128u             /* bytes: the engine takes a cache line at a time */
#define STRIDE_MAX 0xffffu       /* bytes: what descriptors of copies of several rows have room for on every DSP */
#define AREA_BYTES 256u

/* ---- plan ---- */

void htp_stream_begin(struct htp_stream_plan *p, uint32_t operands, const uint32_t *shape) {
    p->operands = operands;
    p->segments = 1;
    p->has_period = false;
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++)
        p->ne[i] = shape[i];
}

void htp_stream_operand(struct htp_stream_plan *p, uint32_t k, const struct htp_view *view) {
    struct htp_view *const v = &p->view[k];
    *v = *view;
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
        if (v->ne[i] == p->ne[i])
            continue;
        p->has_period |= v->ne[i] != 1;
        v->nb[i] = 0;
    }
}

/* one row of the operand for all rows of a block */
static bool is_shared(const struct htp_stream_plan *p, uint32_t k) { return p->view[k].nb[1] == 0 && p->ne[1] > 1; }

/* same element in the same place, in all dimensions of the rows */
static bool is_same(const struct htp_view *a, const struct htp_view *b) {
    bool same = a->data == b->data && a->type == b->type;
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++)
        same = same && a->ne[i] == b->ne[i] && (a->nb[i] == b->nb[i] || a->ne[i] == 1);
    return same;
}

/* Whether blocks can be told as one rectangle an operand; sets row_bytes and pitch. */
static bool set_pitches(struct htp_stream_plan *p) {
    for (uint32_t k = 0; k < p->operands; k++) {
        struct htp_view *const v = &p->view[k];
        const uint32_t size = htp_type_bytes(v->type);
        if (v->ne[0] == 1)
            v->nb[0] = size;
        if (v->nb[0] != size)
            return false;
        p->row_bytes[k] = (p->segments > 1 ? p->segment : v->ne[0]) * size;
        if (p->row_bytes[k] > p->share)
            return false;
        p->pitch[k] = p->row_bytes[k] < ROW_MIN ? 0 : (p->row_bytes[k] + 127) & ~127u;
        /* a row is fetched before, and written after, what is computed of other rows */
        if (k > 0 && htp_views_overlap(v, &p->view[0]) &&
            (!is_same(v, &p->view[0]) || p->pitch[0] == 0 || p->pitch[k] == 0))
            return false;
    }
    return true;
}

/* whether in every operand plane i follows the last one without a gap, or both are the same row */
static bool continues(const struct htp_stream_plan *p, uint32_t last, uint32_t i) {
    for (uint32_t k = 0; k < p->operands; k++) {
        if (p->view[k].nb[i] != (uint64_t)p->ne[last] * p->view[k].nb[last])
            return false;
    }
    return true;
}

/* Planes that follow each other become one: blocks end where planes do. */
static void merge_planes(struct htp_stream_plan *p) {
    uint32_t last = 1; /* the dimension that grows */
    for (uint32_t i = 2; i < HTP_MAX_DIMS; i++) {
        if (p->ne[i] == 1)
            continue;
        if (p->ne[last] != 1) {
            if (continues(p, last, i)) {
                p->ne[last] *= p->ne[i];
                p->ne[i] = 1;
                continue;
            }
            last++;
        }
        if (last == i)
            continue;
        for (uint32_t k = 0; k < p->operands; k++)
            p->view[k].nb[last] = p->view[k].nb[i];
        p->ne[last] = p->ne[i];
        p->ne[i] = 1;
    }
}

/* whether the engine needs a descriptor for every row of a block */
static bool is_far_apart(const struct htp_stream_plan *p, uint32_t k) {
    const uint32_t step = p->view[k].nb[1];
    return !(step == p->row_bytes[k] && step == p->pitch[k]) && (step > STRIDE_MAX || p->pitch[k] > STRIDE_MAX);
}

/*
 * The number of rows or segments in a block, 0 when blocks would be too small. thread_bytes: of the widest operand.
 * No sum exceeds 32 bits, since no row is longer than VTCM.
 */
static uint32_t block_units(const struct htp_stream_plan *p, uint32_t thread_bytes, uint32_t widest) {
    uint32_t target = thread_bytes / 4;
    target = target < BLOCK_MIN ? BLOCK_MIN : target > BLOCK_MAX ? BLOCK_MAX : target;
    uint32_t units = widest >= target ? 1 : target / widest, each = 0, fixed = 0;
    for (uint32_t k = 0; k < p->operands; k++) {
        if (p->pitch[k] == 0)
            continue;
        fixed += AREA_BYTES;
        if (is_shared(p, k)) {
            fixed += p->pitch[k];
            continue;
        }
        each += p->pitch[k];
        if (p->segments == 1 && is_far_apart(p, k))
            units = 1;
    }
    const uint32_t room = (uint32_t)p->share / 2;
    if (each == 0 || room < fixed + each)
        return 0;
    if (units * each > room - fixed)
        units = (room - fixed) / each;
    units = htp_min_u32(units, p->segments > 1 ? p->segments : p->ne[1]);
    return units * widest < BLOCK_SHORT ? 0 : units;
}

static void lay_out(struct htp_stream_plan *p) {
    p->slot_bytes = 0;
    for (uint32_t k = 0; k < p->operands; k++) {
        p->area[k] = p->slot_bytes;
        p->step[k] = p->view[k].nb[1];
        if (p->pitch[k] == 0)
            continue;
        p->step[k] = is_shared(p, k) ? 0 : p->pitch[k];
        const uint32_t bytes = is_shared(p, k) ? p->pitch[k] : p->pitch[k] * p->block;
        p->slot_bytes += (bytes + AREA_BYTES - 1) & ~(AREA_BYTES - 1);
    }
}

bool htp_stream_plan(struct htp_stream_plan *p, const struct htp_exec *exec, uint32_t n_threads) {
    uint32_t widest = 0, units = p->ne[1] * p->ne[2] * p->ne[3] * p->segments;
    p->share = exec->vtcm_size;
    if (n_threads > 1) { /* divisions are long on the DSP */
        units /= n_threads;
        p->share = p->share / n_threads / AREA_BYTES * AREA_BYTES;
    }
    if (p->has_period || !set_pitches(p))
        return false;
    for (uint32_t k = 0; k < p->operands; k++)
        widest = p->row_bytes[k] > widest ? p->row_bytes[k] : widest;
    const uint64_t bytes = (uint64_t)units * widest;
    if (bytes < THREAD_BYTES)
        return false;
    if (p->ne[2] * p->ne[3] > 1)
        merge_planes(p);
    p->vtcm = exec->vtcm;
    p->block = block_units(p, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes, widest);
    if (p->block == 0)
        return false;
    lay_out(p);
    return true;
}

/* ---- walk ---- */

/* What comes next, as much as fits a block: where its rows belong. */
static void take(struct htp_stream *s, struct htp_stream_slot *slot) {
    const struct htp_stream_plan *const p = s->plan;
    struct htp_stream_block *const b = &slot->block;
    uint32_t count = htp_min_u32(s->left, p->block);
    b->rows = 1;
    b->elements = p->ne[0];
    HVX_ROLLED
    for (uint32_t k = 0; k < p->operands; k++)
        slot->home[k] = htp_row(&p->view[k], s->at.i1, s->at.i2, s->at.i3);
    if (p->segments > 1) {
        const uint32_t rest = p->segments - s->at_segment, i0 = s->at_segment * p->segment;
        HVX_ROLLED
        for (uint32_t k = 0; k < p->operands; k++)
            slot->home[k] += (size_t)i0 * p->view[k].nb[0];
        count = htp_min_u32(count, rest);
        b->elements = count == rest ? p->ne[0] - i0 : count * p->segment;
        s->at_segment = count == rest ? 0 : s->at_segment + count;
        if (count == rest)
            htp_place_advance(&s->at, p->ne, 1);
    } else {
        count = htp_min_u32(count, p->ne[1] - s->at.i1);
        b->rows = count;
        htp_place_advance(&s->at, p->ne, count);
    }
    s->left -= count;
}

/* ---- slots ---- */

static uint32_t copied_bytes(const struct htp_stream_plan *p, uint32_t k, const struct htp_stream_block *b) {
    return p->segments > 1 ? b->elements * p->view[k].nb[0] : p->row_bytes[k];
}

static void fetch(struct htp_stream *s, struct htp_stream_slot *slot) {
    const struct htp_stream_plan *const p = s->plan;
    slot->block.rows = 0;
    if (s->left == 0)
        return;
    take(s, slot);
    HVX_ROLLED
    for (uint32_t k = 0; k < p->operands; k++) {
        uint8_t *const home = slot->home[k];
        if (p->pitch[k] == 0) {
            slot->block.row[k] = home;
            continue;
        }
        const bool shared = is_shared(p, k);
        if (k == 0 || (shared && slot->held[k] == home))
            continue;
        slot->held[k] = home;
        htp_dma_push(&s->dma, slot->block.row[k], p->pitch[k], home, p->view[k].nb[1],
                     copied_bytes(p, k, &slot->block), shared ? 1 : slot->block.rows);
    }
    slot->fetched = s->dma.pushed;
}

static void write_back(struct htp_stream *s, const struct htp_stream_slot *slot) {
    const struct htp_stream_plan *const p = s->plan;
    if (p->pitch[0] > 0)
        htp_dma_push(&s->dma, slot->home[0], p->view[0].nb[1], slot->block.row[0], p->pitch[0],
                     copied_bytes(p, 0, &slot->block), slot->block.rows);
}

/* ---- runtime/stream.h ---- */

void htp_stream_open(struct htp_stream *s, const struct htp_stream_plan *p, uint32_t thread, uint32_t n_threads) {
    const struct htp_share share = htp_share_of(p->ne[1] * p->ne[2] * p->ne[3] * p->segments, thread, n_threads);
    const uint32_t row = p->segments > 1 && share.begin > 0 ? share.begin / p->segments : share.begin;
    s->plan = p;
    s->at = htp_place_of(p->ne, row);
    s->at_segment = share.begin - row * p->segments;
    s->left = share.count;
    s->current = 0;
    s->busy = false;
    htp_dma_init(&s->dma);
    uint8_t *const vtcm = p->vtcm + thread * p->share;
    for (uint32_t i = 0; i < 2; i++) {
        HVX_ROLLED
        for (uint32_t k = 0; k < p->operands; k++) {
            s->slot[i].held[k] = NULL;
            s->slot[i].block.row[k] = vtcm + (size_t)i * p->slot_bytes + p->area[k];
        }
        fetch(s, &s->slot[i]);
    }
}

/*
 * Copies are complete in the order in which they were asked for. Of a slot that is: the write of the block before, then
 * the fetch; so who waits for the fetch knows that the slot's dst is free as well.
 */
const struct htp_stream_block *htp_stream_next(struct htp_stream *s) {
    if (s->busy) {
        write_back(s, &s->slot[s->current]);
        fetch(s, &s->slot[s->current]);
        s->current ^= 1;
    }
    const struct htp_stream_slot *const slot = &s->slot[s->current];
    s->busy = slot->block.rows > 0;
    if (!s->busy) {
        htp_dma_wait_all(&s->dma);
        return NULL;
    }
    while ((int32_t)(slot->fetched - s->dma.done) > 0)
        htp_dma_wait(&s->dma);
    return &slot->block;
}
