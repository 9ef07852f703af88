/* The parts of all states, divided over threads: fetched, taken through their tokens, written back. */
#include "ops/recurrent/recurrent.h"
#include "runtime/dma.h"
#include "runtime/rows.h"

#define THREAD_WORK (32u << 10) /* a thread more is worth waking for this many elements that a token changes */

struct slot {
    HVX_Vector *state;
    struct part part;
    bool used;        /* there is a part */
    uint32_t fetched; /* dma.pushed when it had been asked for */
};

struct walk {
    struct recurrent *r;
    uint32_t next, end; /* parts */
    struct htp_dma dma;
    struct slot slot[2];
};

/* bytes from the start of a sequence's state */
static size_t part_offset(const struct recurrent *r, const struct part *p) {
    const size_t unit = (size_t)p->unit * r->unit_rows * r->length;
    return (unit + (r->by_columns ? p->first : (size_t)p->first * r->length)) * 4;
}

static size_t state_bytes(const struct recurrent *r) { return (size_t)r->units * r->unit_rows * r->length * 4; }

static uint8_t *snapshot(const struct recurrent *r, const struct part *p, uint32_t slot) {
    const size_t state = (size_t)slot * r->sequences + p->sequence;
    return r->dst->data + (size_t)r->results * 4 + state * state_bytes(r) + part_offset(r, p);
}

static uint32_t row_bytes(const struct recurrent *r, const struct part *p) {
    return (r->by_columns ? p->count : r->length) * 4;
}

static uint32_t row_count(const struct recurrent *r, const struct part *p) {
    return r->by_columns ? r->unit_rows : p->count;
}

/* The state that a sequence starts from; NULL when it names one that does not exist. */
static const uint8_t *first_state(struct recurrent *r, uint32_t sequence) {
    uint32_t state = sequence;
    if (r->ids != NULL) {
        state = *(const volatile uint32_t *)(const volatile void *)(r->ids->data + (size_t)sequence * r->ids->nb[0]);
        if (state >= r->states) {
            r->bad = 1 + sequence;
            return NULL;
        }
    }
    return r->state->data + (size_t)state * state_bytes(r);
}

static void fetch(struct walk *w, struct slot *s) {
    struct recurrent *const r = w->r;
    s->used = false;
    while (w->next < w->end && !s->used) {
        const uint32_t i = w->next++, unit = i / r->unit_parts;
        struct part *const p = &s->part;
        const uint32_t first = i % r->unit_parts * r->part_size;
        const uint32_t size = r->by_columns ? r->length : r->unit_rows;
        *p = (struct part){unit / r->units, unit % r->units, first, htp_min_u32(r->part_size, size - first)};
        const uint8_t *const from = first_state(r, p->sequence);
        if (from == NULL)
            continue;
        htp_dma_push(&w->dma, s->state, r->pitch, from + part_offset(r, p), r->length * 4,
                     row_bytes(r, p), row_count(r, p));
        s->fetched = w->dma.pushed;
        s->used = true;
    }
}

static void write_back(struct walk *w, const struct slot *s, uint32_t number) {
    const struct recurrent *const r = w->r;
    htp_dma_push(&w->dma, snapshot(r, &s->part, number), r->length * 4, s->state, r->pitch,
                 row_bytes(r, &s->part), row_count(r, &s->part));
}

static void wait_for(struct walk *w, uint32_t pushed) {
    while ((int32_t)(pushed - w->dma.done) > 0)
        htp_dma_wait(&w->dma);
}

/* Copies are complete in the order in which they were asked for: a slot's fetch follows its write. */
static void run_parts(void *arg, uint32_t thread, uint32_t n_threads) {
    struct walk w = {.r = arg};
    struct recurrent *const r = w.r;
    const struct htp_share share = htp_share_of(r->sequences * r->units * r->unit_parts, thread, n_threads);
    w.next = share.begin;
    w.end = share.begin + share.count;
    uint8_t *const vtcm = r->vtcm + thread * r->share;
    HVX_Vector *const scratch = (HVX_Vector *)(void *)(vtcm + 2 * (size_t)r->part_bytes);
    htp_dma_init(&w.dma);
    for (uint32_t i = 0; i < 2; i++) {
        struct slot *const s = &w.slot[i];
        s->state = (HVX_Vector *)(void *)(vtcm + i * (size_t)r->part_bytes);
        /* Lanes behind a row's end have to be numbers: they are multiplied by zero and added to its products. */
        if (!r->by_columns && r->pitch != r->length * 4) {
            for (uint32_t v = 0; v < r->part_bytes / HVX_BYTES; v++)
                s->state[v] = hvx_zero();
        }
    }
    fetch(&w, &w.slot[0]);
    fetch(&w, &w.slot[1]);
    for (uint32_t current = 0; w.slot[current].used; current ^= 1) {
        struct slot *const s = &w.slot[current];
        wait_for(&w, s->fetched);
        for (uint32_t t = 0; t < r->tokens; t++) {
            r->token(r, &s->part, t, s->state, scratch);
            const uint32_t number = r->tokens - 1 - t;
            if (number > 0 && number < r->snapshots) {
                write_back(&w, s, number);
                wait_for(&w, w.dma.pushed); /* the next token changes it */
            }
        }
        write_back(&w, s, 0);
        fetch(&w, s);
    }
    htp_dma_wait_all(&w.dma);
}

/* bytes of VTCM for a thread whose parts have so many rows */
static uint64_t thread_bytes(const struct recurrent *r, uint32_t rows) {
    return 2ull * rows * r->pitch + SCRATCH_ROWS * r->vectors * HVX_BYTES;
}

/*
 * Parts as large as possible, as what a token brings is prepared for each of them, but enough to go round. False: there
 * is no room for n threads.
 */
static bool choose_parts(const struct htp_exec *exec, struct recurrent *r, uint32_t n) {
    r->share = exec->vtcm_size / n / HVX_BYTES * HVX_BYTES;
    uint32_t rows;
    if (r->by_columns) {
        rows = r->unit_rows;
        r->part_size = COLUMNS;
        r->unit_parts = htp_div_up(r->length, COLUMNS);
    } else {
        uint32_t strips = htp_div_up(r->unit_rows, STRIP);
        const uint64_t units = (uint64_t)r->sequences * r->units;
        if (units < n)
            strips = htp_div_up(strips, htp_div_up(n, (uint32_t)units));
        while (strips > 1 && thread_bytes(r, strips * STRIP) > r->share)
            strips = htp_div_up(strips, 2);
        rows = strips * STRIP;
        r->part_size = rows;
        r->unit_parts = htp_div_up(r->unit_rows, rows);
    }
    if (thread_bytes(r, rows) > r->share)
        return false;
    r->part_bytes = rows * r->pitch;
    return true;
}

uint32_t recurrent_walk(struct htp_exec *exec, struct recurrent *r) {
    r->vtcm = exec->vtcm;
    const uint32_t strips = htp_div_up(r->by_columns ? r->length : r->unit_rows, STRIP);
    const uint64_t parts = (uint64_t)r->sequences * r->units * strips;
    const uint64_t worth = state_bytes(r) / 4 * (uint64_t)r->sequences * r->tokens / THREAD_WORK + 1;
    uint32_t n = exec->n_threads;
    n = worth < n ? (uint32_t)worth : n;
    n = parts < n ? (uint32_t)parts : n;
    while (!choose_parts(exec, r, n)) {
        if (n == 1)
            return htp_fail(exec, HTP_STATUS_NO_VTCM, (uint32_t)thread_bytes(r, STRIP));
        n--;
    }
    const uint64_t count = (uint64_t)r->sequences * r->units * r->unit_parts;
    if (count > UINT32_MAX)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 48);
    htp_parallel(exec, count < n ? (uint32_t)count : n, run_parts, r);
    return r->bad == 0 ? HTP_STATUS_OK : htp_fail(exec, HTP_STATUS_BAD_INDEX, r->bad - 1);
}
