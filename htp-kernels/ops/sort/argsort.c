/*
 * ARGSORT. A row becomes pairs of key and index in VTCM, 64-bit words with the key above the index; the pairs are
 * sorted and the indices stored. Equal elements keep their order, ascending and descending.
 *
 * Short rows: insertion sort. Others: radix sort by the four bytes of the key, least significant first, between two
 * buffers; it keeps the order of equal keys, so the indices need no pass. A row too long for VTCM is divided first, in
 * place, as quicksort does, until the parts fit.
 */
#include "htp/params.h"
#include "ops/sort/key.h"
#include "ops/sort/sort.h"

#define INSERTION_MAX 40
#define DIGITS 4
#define BUCKETS 256
#define COUNTS_BYTES (DIGITS * BUCKETS * 4)
#define PAIR_BYTES 8
#define PAD (2 * HVX_BYTES) /* of a buffer: pairs are written by twos of vectors */
#define THREAD_ELEMENTS (4u << 10) /* a thread more is worth waking for this many */

struct argsort {
    const struct htp_view *src, *dst;
    uint32_t flip; /* xor of a key: what turns signed order into unsigned, ascending or descending */
    uint32_t room; /* pairs of a buffer */
    size_t thread_bytes;
    uint8_t *vtcm;
};

/* What a thread works with. */
struct desk {
    uint32_t *counts; /* [DIGITS][BUCKETS] */
    uint64_t *a, *b;  /* room for `room` pairs each, and PAD bytes */
};

static uint32_t element_key(const struct argsort *t, const uint8_t *row, uint32_t i) {
    return (uint32_t)sort_key(row + (size_t)i * t->src->nb[0]) ^ t->flip;
}

static uint64_t pair_of(const struct argsort *t, const uint8_t *row, uint32_t i) {
    return (uint64_t)element_key(t, row, i) << 32 | i;
}

/* ---- sorting n pairs ---- */

static uint64_t *insertion_sort(uint64_t *a, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        const uint64_t x = a[i];
        uint32_t k = i;
        for (; k > 0 && a[k - 1] > x; k--)
            a[k] = a[k - 1];
        a[k] = x;
    }
    return a;
}

static void count_digits(const struct desk *d, uint32_t n) {
    for (uint32_t i = 0; i < DIGITS * BUCKETS; i++)
        d->counts[i] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t key = (uint32_t)(d->a[i] >> 32);
        d->counts[key & 0xff]++;
        d->counts[BUCKETS + (key >> 8 & 0xff)]++;
        d->counts[2 * BUCKETS + (key >> 16 & 0xff)]++;
        d->counts[3 * BUCKETS + (key >> 24)]++;
    }
}

/* The pairs are in d->a; returns the buffer where they are in order. */
static uint64_t *sort_pairs(const struct desk *d, uint32_t n) {
    uint64_t *from = d->a, *to = d->b;
    if (n <= INSERTION_MAX)
        return insertion_sort(from, n);
    count_digits(d, n);
    for (uint32_t digit = 0; digit < DIGITS; digit++) {
        uint32_t *counts = d->counts + digit * BUCKETS, shift = 32 + 8 * digit;
        if (counts[from[0] >> shift & 0xff] == n)
            continue; /* one digit for all */
        for (uint32_t i = 0, sum = 0; i < BUCKETS; i++) {
            const uint32_t count = counts[i];
            counts[i] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++)
            to[counts[from[i] >> shift & 0xff]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

/* the indices of n pairs, in order */
static void store_indices(uint8_t *dst, const uint64_t *pairs, uint32_t n) {
    const uint8_t *p = (const uint8_t *)pairs;
    for (; n >= HVX_WORDS; n -= HVX_WORDS, dst += HVX_BYTES, p += 2 * HVX_BYTES)
        hvx_store(dst, Q6_V_lo_W(hvx_deal_words(hvx_load(p), hvx_load(p + HVX_BYTES))));
    if (n > 0)
        hvx_store_bytes(dst, n * 4, Q6_V_lo_W(hvx_deal_words(hvx_load(p), hvx_load(p + HVX_BYTES))));
}

/* ---- rows that fit ---- */

static void load_pairs(const struct argsort *t, const uint8_t *row, uint32_t n, uint64_t *to) {
    if (t->src->nb[0] != 4) {
        for (uint32_t i = 0; i < n; i++)
            to[i] = pair_of(t, row, i);
        return;
    }
    HVX_Vector index = hvx_load(sort_lane_numbers);
    const HVX_Vector flip = hvx_splat_i32((int32_t)t->flip), step = hvx_splat_i32(HVX_WORDS);
    uint8_t *out = (uint8_t *)to;
    for (uint32_t left = n; left > 0; out += 2 * HVX_BYTES, row += HVX_BYTES) {
        const uint32_t count = htp_min_u32(left, HVX_WORDS);
        const HVX_Vector x = count == HVX_WORDS ? hvx_load(row) : hvx_load_bytes(row, count * 4);
        const HVX_VectorPair pairs = hvx_interleave_words(index, Q6_V_vxor_VV(sort_keys(x), flip));
        hvx_store(out, Q6_V_lo_W(pairs));
        hvx_store(out + HVX_BYTES, Q6_V_hi_W(pairs));
        index = Q6_Vw_vadd_VwVw(index, step);
        left -= count;
    }
}

/* ---- rows that do not: dst holds the indices from the start, and is divided where it is ---- */

static void sort_part(const struct argsort *t, const struct desk *d, const uint8_t *row, uint32_t *index, uint32_t n) {
    /* quicksort leaves equal elements in any order: bring the indices into theirs first, by sorting them as keys */
    for (uint32_t i = 0; i < n; i++)
        d->a[i] = (uint64_t)index[i] << 32;
    const uint64_t *ordered = sort_pairs(d, n);
    for (uint32_t i = 0; i < n; i++) /* ordered may be d->a: each is read before it is written */
        d->a[i] = pair_of(t, row, (uint32_t)(ordered[i] >> 32));
    store_indices((uint8_t *)index, sort_pairs(d, n), n);
}

/* All pairs below the pivot to the front; returns how many. Pairs differ, so both sides get some in the long run. */
static uint32_t divide(const struct argsort *t, const uint8_t *row, uint32_t *index, uint32_t n, uint64_t pivot) {
    uint32_t low = 0, high = n;
    while (low < high) {
        if (pair_of(t, row, index[low]) < pivot) {
            low++;
        } else {
            const uint32_t x = index[low];
            index[low] = index[--high];
            index[high] = x;
        }
    }
    return low;
}

#define STACK 40 /* parts that wait: the smaller of two is always done first, so they halve */

static void sort_long_row(const struct argsort *t, const struct desk *d, const uint8_t *row, uint32_t *index) {
    struct {
        uint32_t begin, count;
    } stack[STACK];
    uint32_t depth = 0, seed = 1, begin = 0, n = t->src->ne[0];
    for (uint32_t i = 0; i < n; i++)
        index[i] = i;
    for (;;) {
        while (n > t->room) {
            seed = seed * 1664525u + 1013904223u;
            const uint64_t pivot = pair_of(t, row, index[begin + (uint32_t)((uint64_t)seed * n >> 32)]);
            const uint32_t low = divide(t, row, index + begin, n, pivot), high = n - low;
            /* the pivot itself is in the high part, so that is never empty; an empty low part costs another try */
            const bool low_first = low < high;
            if (low != 0) {
                stack[depth].begin = low_first ? begin + low : begin;
                stack[depth++].count = low_first ? high : low;
                begin = low_first ? begin : begin + low;
                n = low_first ? low : high;
            }
        }
        sort_part(t, d, row, index + begin, n);
        if (depth == 0)
            return;
        begin = stack[--depth].begin;
        n = stack[depth].count;
    }
}

/* ---- the op ---- */

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct argsort *t = arg;
    const uint32_t *ne = t->src->ne, rows = htp_rows(t->src);
    uint8_t *vtcm = t->vtcm + thread * t->thread_bytes;
    const size_t buffer = (size_t)t->room * PAIR_BYTES + PAD;
    const struct desk d = {.counts = (uint32_t *)(void *)vtcm,
                           .a = (uint64_t *)(void *)(vtcm + COUNTS_BYTES),
                           .b = (uint64_t *)(void *)(vtcm + COUNTS_BYTES + buffer)};
    const uint32_t begin = (uint32_t)((uint64_t)rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)rows * (thread + 1) / n_threads);
    for (uint32_t r = begin; r < end; r++) {
        const uint32_t i1 = r % ne[1], i2 = r / ne[1] % ne[2], i3 = r / ne[1] / ne[2];
        const uint8_t *row = htp_row(t->src, i1, i2, i3);
        uint8_t *out = htp_row(t->dst, i1, i2, i3);
        if (ne[0] > t->room) {
            sort_long_row(t, &d, row, (uint32_t *)(void *)out);
        } else {
            load_pairs(t, row, ne[0], d.a);
            store_indices(out, sort_pairs(&d, ne[0]), ne[0]);
        }
    }
}

/* bytes of a thread's part of VTCM with room for n pairs; n up to 2^31, hence 64 bits */
static uint64_t desk_bytes(uint32_t n) {
    const uint64_t buffer = (uint64_t)n * PAIR_BYTES + PAD;
    return (COUNTS_BYTES + 2 * buffer + HVX_BYTES - 1) / HVX_BYTES * HVX_BYTES;
}

uint32_t sort_all(struct htp_exec *exec) {
    struct htp_argsort_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    if (params.order > 1)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 48);
    struct argsort t = {.src = exec->src[0], .dst = exec->dst, .vtcm = exec->vtcm};
    const uint32_t length = t.src->ne[0], rows = htp_rows(t.src);
    if (length != t.dst->ne[0])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    if (length == 0 || rows == 0)
        return HTP_STATUS_OK;
    t.flip = params.order == 0 ? 0x80000000u : 0x7fffffffu;

    const uint64_t worth = (uint64_t)length * rows / THREAD_ELEMENTS + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    /* as many threads as have room for whole rows; else one thread with all the room there is */
    while (n > 1 && desk_bytes(length) * n > exec->vtcm_size)
        n--;
    t.room = length;
    if (desk_bytes(length) > exec->vtcm_size) {
        if (desk_bytes(INSERTION_MAX) > exec->vtcm_size) {
            exec->detail = (uint32_t)desk_bytes(INSERTION_MAX);
            return HTP_STATUS_NO_VTCM;
        }
        t.room = (uint32_t)((exec->vtcm_size - COUNTS_BYTES - HVX_BYTES) / 2 - PAD) / PAIR_BYTES;
    }
    t.thread_bytes = (size_t)desk_bytes(t.room);
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
