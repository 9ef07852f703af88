/*
 * SUM: dst[0] = sum of all elements of src, f32, of any strides.
 *
 * Threads sum rows, or parts of them when they are long, into a word each; the thread that runs the op adds those up.
 * Elements that lie side by side across rows are one row.
 */
#include "hvx/sum.h"
#include "ops/reduce/reduce.h"

#define THREADS 16               /* that take part, at most */
#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of src */
#define PART 8192                /* elements of a row that a thread takes at a time */

struct all {
    struct htp_view src;
    uint32_t parts, units; /* of a row, of all rows */
    float sums[THREADS];
};

static HVX_Vector sum_part(const struct htp_view *v, const uint8_t *row, uint32_t count) {
    const HVX_Vector zero = hvx_zero();
    if (v->nb[0] == 4)
        return hvx_sum_row(HVX_SUM_VALUES, (uintptr_t)row % HVX_BYTES == 0, row, count, zero);
    HVX_Vector sum = zero;
    for (uint32_t i = 0, n; i < count; i += n) {
        n = htp_min_u32(count - i, HVX_WORDS);
        sum = hvx_add_qf32_f32(sum, reduce_fetch(v, row, i, n));
    }
    return sum;
}

static void run_units(void *arg, uint32_t thread, uint32_t n_threads) {
    struct all *t = arg;
    const struct htp_view *v = &t->src;
    const struct htp_share share = htp_share_of(t->units, thread, n_threads);
    uint32_t part = t->parts == 1 ? 0 : share.begin % t->parts;
    struct htp_place at = htp_place_of(v->ne, t->parts == 1 ? share.begin : share.begin / t->parts);
    HVX_Vector sum = hvx_zero();
    for (uint32_t i = 0; i < share.count; i++) {
        const uint32_t first = part * PART, left = v->ne[0] - first;
        const uint32_t count = t->parts == 1 ? left : htp_min_u32(left, PART);
        const uint8_t *const row = htp_row(v, at.i1, at.i2, at.i3) + (size_t)first * v->nb[0];
        sum = hvx_add_qf32(sum, sum_part(v, row, count));
        if (++part == t->parts) {
            part = 0;
            htp_place_advance(&at, v->ne, 1);
        }
    }
    float words[HVX_WORDS] __attribute__((aligned(128))); /* not a vector's store into what threads share */
    hvx_store_aligned(words, hvx_sum_qf32(sum));
    t->sums[thread] = words[0];
}

/* detail of a failure: as htp_reduce */
uint32_t reduce_sum_all(struct htp_exec *exec) {
    const struct htp_view *const src = exec->src[0], *const dst = exec->dst;
    if (src->type != HTP_TYPE_F32 || src->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (dst->type != HTP_TYPE_F32 || dst->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (dst->ne[i] != 1)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    struct all t = {.src = *src};
    const uint64_t bytes = (uint64_t)htp_rows(src) * src->ne[0] * 4;
    float sum = 0;
    if (bytes > 0) {
        htp_merge_rows(&t.src);
        const uint32_t rows = htp_rows(&t.src);
        t.parts = htp_div_up(t.src.ne[0], PART);
        if ((uint64_t)rows * t.parts > UINT32_MAX) /* rows enough */
            t.parts = 1;
        t.units = rows * t.parts;
        const uint64_t worth = bytes / THREAD_BYTES + 1;
        uint32_t n = htp_min_u32(htp_min_u32(exec->n_threads, THREADS), t.units);
        n = worth < n ? (uint32_t)worth : n;
        htp_parallel(exec, n, run_units, &t);
        for (uint32_t i = 0; i < n; i++)
            sum += t.sums[i];
    }
    __builtin_memcpy(__builtin_assume_aligned(dst->data, 4), &sum, 4);
    return HTP_STATUS_OK;
}
