/*
 * TOP_K: the indices of the k largest elements of each row, in no order that callers may rely on.
 *
 * The row of dst is a heap of indices with the smallest of the k elements on top. Elements are compared with it a block
 * of vectors at a time; only blocks that hold a larger one are looked at by element, and they become rare. Of equal
 * elements those that come first are kept.
 */
#include "ops/sort/key.h"
#include "ops/sort/sort.h"

#define BLOCK_VECTORS 8
#define BLOCK (BLOCK_VECTORS * HVX_WORDS) /* elements that are compared in one step */
#define THREAD_ELEMENTS (16u << 10)       /* a thread more is worth waking for this many */

struct top_k {
    const struct htp_view *src, *dst;
};

struct heap {
    int32_t *index;
    uint32_t count;
    const uint8_t *row;
    uint32_t step;
};

static int32_t key_of(const struct heap *h, int32_t index) { return sort_key(h->row + (size_t)index * h->step); }

/* the order in the heap: of equal elements the one that comes first is the larger */
static int64_t rank(const struct heap *h, int32_t index) {
    return (int64_t)((uint64_t)(uint32_t)key_of(h, index) << 32 | (uint32_t)~index);
}

/* Puts `index` at `place` or, as long as a child is smaller, below it. */
static void sink(const struct heap *h, uint32_t place, int32_t index) {
    const int64_t own = rank(h, index);
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= h->count)
            break;
        int64_t least = rank(h, h->index[child]);
        if (child + 1 < h->count) {
            const int64_t right = rank(h, h->index[child + 1]);
            if (right < least) {
                least = right;
                child++;
            }
        }
        if (own < least)
            break;
        h->index[place] = h->index[child];
        place = child;
    }
    h->index[place] = index;
}

/* elements begin .. end - 1 against the heap; returns the key of its smallest element */
static int32_t offer(const struct heap *h, uint32_t begin, uint32_t end, int32_t smallest) {
    for (uint32_t i = begin; i < end; i++) {
        if (key_of(h, (int32_t)i) > smallest) {
            sink(h, 0, (int32_t)i);
            smallest = key_of(h, h->index[0]);
        }
    }
    return smallest;
}

/* whether one of BLOCK elements is above `smallest`, which is in all lanes */
static bool has_larger(const uint8_t *p, int32_t smallest) {
    HVX_Vector m = sort_keys(hvx_load(p));
    HVX_UNROLL
    for (uint32_t i = 1; i < BLOCK_VECTORS; i++)
        m = Q6_Vw_vmax_VwVw(m, sort_keys(hvx_load(p + i * HVX_BYTES)));
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        m = Q6_Vw_vmax_VwVw(m, Q6_V_vror_VR(m, bytes));
    int32_t lanes[HVX_WORDS] __attribute__((aligned(128)));
    hvx_store(lanes, m);
    return lanes[0] > smallest;
}

static void run_row(const struct top_k *t, const uint8_t *row, int32_t *index) {
    const uint32_t length = t->src->ne[0], k = t->dst->ne[0];
    const struct heap h = {.index = index, .count = k, .row = row, .step = t->src->nb[0]};
    for (uint32_t i = 0; i < k; i++)
        index[i] = (int32_t)i;
    if (k == length)
        return;
    for (uint32_t i = k / 2; i-- > 0;)
        sink(&h, i, index[i]);
    int32_t smallest = key_of(&h, index[0]);
    uint32_t i = k;
    if (h.step == 4) {
        for (; length - i >= BLOCK; i += BLOCK) {
            if (has_larger(row + (size_t)i * 4, smallest))
                smallest = offer(&h, i, i + BLOCK, smallest);
        }
    }
    offer(&h, i, length, smallest);
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct top_k *t = arg;
    const uint32_t *ne = t->src->ne, rows = htp_rows(t->src);
    const uint32_t begin = (uint32_t)((uint64_t)rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)rows * (thread + 1) / n_threads);
    for (uint32_t r = begin; r < end; r++) {
        const uint32_t i1 = r % ne[1], i2 = r / ne[1] % ne[2], i3 = r / ne[1] / ne[2];
        run_row(t, htp_row(t->src, i1, i2, i3), (int32_t *)(void *)htp_row(t->dst, i1, i2, i3));
    }
}

uint32_t sort_top_k(struct htp_exec *exec) {
    struct top_k t = {.src = exec->src[0], .dst = exec->dst};
    const uint32_t rows = htp_rows(t.src);
    if (t.dst->ne[0] > t.src->ne[0])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    if (t.dst->ne[0] == 0 || rows == 0)
        return HTP_STATUS_OK;
    const uint64_t worth = (uint64_t)rows * t.src->ne[0] / THREAD_ELEMENTS + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
