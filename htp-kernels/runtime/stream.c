/* The walk over rows of runtime/stream.h: what a block is, and the two slots of VTCM that blocks pass through. */
#include "runtime/stream.h"

#include "runtime/types.h"

#define WORTH_BYTES (32u << 10)   /* see stream.h */
#define BLOCK_MIN (16u << 10)     /* bytes of the widest operand */
#define BLOCK_MAX (128u << 10)    /* more makes the first fetch and the last write longer, beside which nothing runs */
#define BLOCKS 4                  /* of a thread's share, between these limits */
#define BLOCK_SHORT (8u << 10)    /* bytes: planes with less are not worth a copy each */
#define ROW_MIN 128u              /* bytes: the engine takes a cache line at a time */
#define STRIDE_MAX 0xffffu        /* bytes: what descriptors of copies of several rows have room for on every DSP */
#define AREA_BYTES 256u

/* ---- plan ---- */

/* of operand k, in a row or segment */
static uint32_t unit_bytes(const struct htp_stream_plan *p, uint32_t k) {
    return (p->segments > 1 ? p->segment : p->view[k]->ne[0]) * htp_type_bytes(p->view[k]->type);
}

static uint32_t widest_unit(const struct htp_stream_plan *p) {
    uint32_t widest = 0;
    for (uint32_t k = 0; k < p->operands; k++) {
        const uint32_t bytes = p->view[k] == NULL ? 0 : unit_bytes(p, k);
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* same element in the same place */
static bool is_same(const struct htp_view *a, const struct htp_view *b) {
    bool same = a->data == b->data && a->type == b->type;
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++)
        same = same && a->ne[i] == b->ne[i] && (a->nb[i] == b->nb[i] || a->ne[i] == 1);
    return same;
}

/* Whether blocks can be told as one rectangle an operand; sets pitch. */
static bool set_pitches(struct htp_stream_plan *p) {
    for (uint32_t k = 0; k < p->operands; k++) {
        const struct htp_view *const v = p->view[k];
        p->pitch[k] = 0;
        if (v == NULL)
            continue;
        const uint32_t bytes = unit_bytes(p, k);
        if (v->ne[0] > 1 && v->nb[0] != htp_type_bytes(v->type))
            return false;
        for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
            if (v->ne[i] != 1 && v->ne[i] != p->ne[i])
                return false;
        }
        if (bytes >= ROW_MIN)
            p->pitch[k] = (uint32_t)htp_round_up(bytes, 128);
        /* a row is fetched before, and written after, what is computed of other rows */
        if (k > 0 && htp_views_overlap(v, p->view[0]) &&
            (!is_same(v, p->view[0]) || p->pitch[0] == 0 || p->pitch[k] == 0))
            return false;
    }
    return true;
}

/* whether in every operand plane i + 1 follows plane i without a gap, or is the same one */
static bool continues(const struct htp_stream_plan *p, uint32_t last, uint32_t i) {
    for (uint32_t k = 0; k < p->operands; k++) {
        const struct htp_view *const v = &p->merged[k];
        if (p->view[k] == NULL)
            continue;
        const bool repeats = v->ne[last] != p->ne[last] && v->ne[i] == 1;
        const bool follows = v->ne[last] == p->ne[last] && v->ne[i] == p->ne[i] &&
                             v->nb[i] == (uint64_t)v->ne[last] * v->nb[last];
        if (!repeats && !follows)
            return false;
    }
    return true;
}

/* Planes that follow each other become one: blocks end where planes do. */
static void merge_planes(struct htp_stream_plan *p) {
    for (uint32_t k = 0; k < p->operands; k++) {
        if (p->view[k] != NULL) {
            p->merged[k] = *p->view[k];
            p->view[k] = &p->merged[k];
        }
    }
    uint32_t last = 1; /* the dimension that grows */
    for (uint32_t i = 2; i < HTP_MAX_DIMS; i++) {
        if (p->ne[i] == 1)
            continue;
        const bool moves = p->ne[last] == 1, grows = !moves && continues(p, last, i);
        if (!moves && !grows)
            last++;
        for (uint32_t k = 0; k < p->operands; k++) {
            struct htp_view *const v = &p->merged[k];
            if (p->view[k] == NULL)
                continue;
            if (grows) {
                v->ne[last] *= v->ne[i];
            } else {
                v->ne[last] = v->ne[i];
                v->nb[last] = v->nb[i];
            }
            if (i != last)
                v->ne[i] = 1;
        }
        p->ne[last] = grows ? p->ne[last] * p->ne[i] : p->ne[i];
        if (i != last)
            p->ne[i] = 1;
    }
}

/* one row of the operand for all rows of a block */
static bool is_shared(const struct htp_stream_plan *p, uint32_t k) {
    return p->view[k]->ne[1] == 1 && p->ne[1] > 1;
}

/* whether the engine needs a descriptor for every row of a block */
static bool is_far_apart(const struct htp_stream_plan *p, uint32_t k) {
    const uint32_t step = p->view[k]->nb[1], bytes = p->view[k]->ne[0] * p->view[k]->nb[0];
    return !is_shared(p, k) && !(step == bytes && step == p->pitch[k]) && (step > STRIDE_MAX || p->pitch[k] > STRIDE_MAX);
}

/* The number of rows or segments in a block, 0 when blocks would be too small. */
static uint32_t block_units(const struct htp_stream_plan *p, uint64_t thread_bytes, uint32_t widest) {
    uint64_t target = thread_bytes / BLOCKS;
    target = target < BLOCK_MIN ? BLOCK_MIN : target > BLOCK_MAX ? BLOCK_MAX : target;
    uint64_t units = target / widest == 0 ? 1 : target / widest, each = 0, fixed = 0;
    for (uint32_t k = 0; k < p->operands; k++) {
        if (p->pitch[k] == 0)
            continue;
        fixed += AREA_BYTES + (is_shared(p, k) ? p->pitch[k] : 0);
        each += is_shared(p, k) ? 0 : p->pitch[k];
        if (p->segments == 1 && is_far_apart(p, k))
            units = 1;
    }
    const uint64_t room = p->share / 2;
    if (each == 0 || room < fixed + each)
        return 0;
    units = units * each + fixed > room ? (room - fixed) / each : units;
    const uint32_t limit = p->segments > 1 ? p->segments : p->ne[1];
    units = units > limit ? limit : units;
    return units * widest < BLOCK_SHORT ? 0 : (uint32_t)units;
}

void htp_stream_plan(struct htp_stream_plan *p, const struct htp_exec *exec, uint32_t n_threads) {
    p->block = 0;
    const uint32_t widest = widest_unit(p);
    const uint64_t bytes = (uint64_t)p->ne[1] * p->ne[2] * p->ne[3] * p->segments * widest;
    if (bytes < (uint64_t)WORTH_BYTES * n_threads || !set_pitches(p))
        return;
    merge_planes(p);
    p->vtcm = exec->vtcm;
    p->share = exec->vtcm_size / n_threads / AREA_BYTES * AREA_BYTES;
    p->block = block_units(p, bytes / n_threads, widest);
    p->slot_bytes = 0;
    for (uint32_t k = 0; k < p->operands; k++) {
        p->area[k] = p->slot_bytes;
        if (p->pitch[k] > 0)
            p->slot_bytes +=
                (uint32_t)htp_round_up((size_t)p->pitch[k] * (is_shared(p, k) ? 1 : p->block), AREA_BYTES);
    }
}

/* ---- walk ---- */

static struct htp_run run_of(const struct htp_stream_plan *p, uint32_t k, const struct htp_place *at) {
    const struct htp_view *const v = p->view[k];
    if (v != NULL && v->ne[1] == p->ne[1] && v->ne[2] == p->ne[2] && v->ne[3] == p->ne[3])
        return htp_run_at(v, at);
    return htp_run_repeated(v, at);
}

/* What comes next, where it is: as much as fits a block, or lies at equal distances. */
static void take(struct htp_stream *s, struct htp_stream_block *b) {
    const struct htp_stream_plan *const p = s->plan;
    uint32_t count = htp_min_u32(s->left, p->block > 0 ? p->block : UINT32_MAX);
    const uint32_t i0 = s->at_segment * p->segment;
    for (uint32_t k = 0; k < p->operands; k++) {
        b->run[k] = run_of(p, k, &s->at);
        if (p->segments > 1)
            b->run[k].row += (size_t)i0 * p->view[k]->nb[0];
        else
            count = htp_min_u32(count, b->run[k].rows);
    }
    b->rows = count;
    b->elements = p->ne[0];
    if (p->segments > 1) {
        const uint32_t rest = p->segments - s->at_segment;
        count = htp_min_u32(count, rest);
        b->rows = 1;
        b->elements = count == rest ? p->ne[0] - i0 : count * p->segment;
        s->at_segment = count == rest ? 0 : s->at_segment + count;
        if (count == rest)
            htp_place_advance(&s->at, p->ne, 1);
    } else {
        htp_place_advance(&s->at, p->ne, count);
    }
    s->left -= count;
}

/* ---- slots ---- */

static uint32_t copied_bytes(const struct htp_stream_plan *p, uint32_t k, const struct htp_stream_block *b) {
    return (p->segments > 1 ? b->elements : p->view[k]->ne[0]) * htp_type_bytes(p->view[k]->type);
}

static uint8_t *area_of(const struct htp_stream *s, uint32_t slot, uint32_t k) {
    return s->vtcm + (size_t)slot * s->plan->slot_bytes + s->plan->area[k];
}

static void fetch(struct htp_stream *s, uint32_t i) {
    const struct htp_stream_plan *const p = s->plan;
    struct htp_stream_slot *const slot = &s->slot[i];
    slot->home.rows = 0;
    if (s->left == 0)
        return;
    take(s, &slot->home);
    for (uint32_t k = 1; k < p->operands; k++) {
        const struct htp_run *const run = &slot->home.run[k];
        if (p->pitch[k] == 0)
            continue;
        const bool shared = is_shared(p, k);
        if (shared && slot->held[k] == run->row)
            continue;
        slot->held[k] = run->row;
        htp_dma_push(&s->dma, area_of(s, i, k), p->pitch[k], run->row, run->step, copied_bytes(p, k, &slot->home),
                     shared ? 1 : slot->home.rows);
    }
    slot->fetched = s->dma.pushed;
}

static void write_back(struct htp_stream *s, uint32_t i) {
    const struct htp_stream_plan *const p = s->plan;
    const struct htp_stream_block *const home = &s->slot[i].home;
    if (p->pitch[0] > 0)
        htp_dma_push(&s->dma, home->run[0].row, home->run[0].step, area_of(s, i, 0), p->pitch[0],
                     copied_bytes(p, 0, home), home->rows);
}

/*
 * Copies are complete in the order in which they were asked for. Of a slot that is: the write of the block before, then
 * the fetch; so who waits for the fetch knows that the slot's dst is free as well.
 */
static bool next_block(struct htp_stream *s, struct htp_stream_block *b) {
    const struct htp_stream_plan *const p = s->plan;
    if (s->busy) {
        write_back(s, s->current);
        fetch(s, s->current);
        s->current ^= 1;
    }
    const struct htp_stream_slot *const slot = &s->slot[s->current];
    s->busy = slot->home.rows > 0;
    if (!s->busy) {
        htp_dma_wait_all(&s->dma);
        return false;
    }
    while ((int32_t)(slot->fetched - s->dma.done) > 0)
        htp_dma_wait(&s->dma);
    *b = slot->home;
    for (uint32_t k = 0; k < p->operands; k++) {
        if (p->pitch[k] == 0)
            continue;
        b->run[k].row = area_of(s, s->current, k);
        b->run[k].step = is_shared(p, k) ? 0 : p->pitch[k];
    }
    return true;
}

/* ---- runtime/stream.h ---- */

void htp_stream_open(struct htp_stream *s, const struct htp_stream_plan *p, uint32_t thread, uint32_t n_threads) {
    const struct htp_share share = htp_share_of(p->ne[1] * p->ne[2] * p->ne[3] * p->segments, thread, n_threads);
    const uint32_t row = p->segments > 1 ? share.begin / p->segments : share.begin;
    s->plan = p;
    s->at = htp_place_of(p->ne, row);
    s->at_segment = share.begin - row * p->segments;
    s->left = share.count;
    if (p->block == 0)
        return;
    s->vtcm = p->vtcm + thread * p->share;
    s->current = 0;
    s->busy = false;
    for (uint32_t k = 0; k < HTP_STREAM_OPERANDS; k++)
        s->slot[0].held[k] = s->slot[1].held[k] = NULL;
    htp_dma_init(&s->dma);
    fetch(s, 0);
    fetch(s, 1);
}

bool htp_stream_next(struct htp_stream *s, struct htp_stream_block *b) {
    if (s->plan->block > 0)
        return next_block(s, b);
    if (s->left == 0)
        return false;
    take(s, b);
    return true;
}
