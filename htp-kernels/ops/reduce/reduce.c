/*
 * SUM_ROWS: dst[0, r] = sum of row r, f32; MEAN: the same divided by its length. SUM: dst[0] = sum of all (sum_all.c).
 * ARGMAX: dst[r] = index of the largest element of row r, i32 (argmax.c).
 * CUMSUM: dst[i, r] = sum of the elements 0 .. i of row r, f32 (cumsum.c); dst may be src.
 *
 * Rows of any length, alignment and stride. Sums are f32, in an order that depends on the length of the row.
 */
#include "hvx/sum.h"
#include "ops/reduce/reduce.h"
#include "runtime/stream.h"

#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of src */

uint32_t htp_reduce(struct htp_exec *exec);

/* rows that start on vector boundaries, elements side by side */
static void sum_aligned_row(const struct reduce *t, const uint8_t *src, uint8_t *dst) {
    reduce_store_word(dst, hvx_sum_qf32(hvx_sum_row(HVX_SUM_VALUES, true, src, t->length, hvx_zero())));
}

/* 1 / length: a quotient of one element a row would cost as much as a long row */
static void mean_aligned_row(const struct reduce *t, const uint8_t *src, uint8_t *dst) {
    const HVX_Vector sum = hvx_sum_qf32(hvx_sum_row(HVX_SUM_VALUES, true, src, t->length, hvx_zero()));
    reduce_store_word(dst, hvx_mul_f32(sum, hvx_splat_f32(t->inverse)));
}

static HVX_Vector sum_of_row(const struct reduce *t, const uint8_t *src) {
    const HVX_Vector zero = hvx_zero();
    HVX_Vector sum = zero;
    for (uint32_t i = 0, count; i < t->length; i += count) {
        count = htp_min_u32(t->length - i, HVX_WORDS);
        sum = hvx_sum_up(HVX_SUM_VALUES, sum, reduce_fetch(t->src, src, i, count), zero);
    }
    return hvx_sum_qf32(sum);
}

static void sum_row(const struct reduce *t, const uint8_t *src, uint8_t *dst) {
    reduce_store_word(dst, sum_of_row(t, src));
}

static void mean_row(const struct reduce *t, const uint8_t *src, uint8_t *dst) {
    reduce_store_word(dst, hvx_mul_f32(sum_of_row(t, src), hvx_splat_f32(t->inverse)));
}

/* aligned: rows are handed over at vector boundaries */
static reduce_row_fn *choose_row(uint32_t op, const struct htp_view *src, bool aligned) {
    if (op == HTP_OP_ARGMAX)
        return reduce_argmax_row;
    if (op == HTP_OP_CUMSUM)
        return reduce_cumsum_row;
    const bool in_vectors = src->nb[0] == 4 && aligned;
    if (op == HTP_OP_MEAN)
        return in_vectors ? mean_aligned_row : mean_row;
    return in_vectors ? sum_aligned_row : sum_row;
}

struct work {
    struct reduce rows;
    reduce_row_fn *run;
    uint32_t dst_dim; /* of dst: where row r + 1 is next to row r */
};

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct work *w = arg;
    const struct reduce *t = &w->rows;
    reduce_row_fn *const run = w->run;
    const uint32_t *ne = t->src->ne;
    const struct htp_share share = htp_share_of(htp_rows(t->src), thread, n_threads);
    struct htp_place at = htp_place_of(ne, share.begin);
    for (uint32_t left = share.count, count; left > 0; left -= count) {
        struct htp_run src = htp_run_at(t->src, &at), dst = htp_run_at(t->dst, &at);
        if (w->dst_dim == 0) {
            dst.row = t->dst->data + (size_t)at.i1 * t->dst->nb[0];
            dst.step = t->dst->nb[0];
        }
        count = htp_min_u32(left, src.rows);
        HVX_ROLLED
        for (uint32_t i = count; i > 0; i--) {
            run(t, src.row, dst.row);
            src.row += src.step;
            dst.row += dst.step;
        }
        htp_place_advance(&at, ne, count);
    }
}

/* ---- rows in VTCM ---- */

struct moved_work {
    struct reduce rows;
    reduce_row_fn *run;
    struct htp_stream_plan plan; /* of dst and src */
};

static void run_blocks(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct moved_work *m = arg;
    const struct reduce *t = &m->rows;
    reduce_row_fn *const run = m->run;
    const uint32_t *const step = m->plan.step;
    struct htp_stream stream;
    htp_stream_open(&stream, &m->plan, thread, n_threads);
    for (const struct htp_stream_block *block; (block = htp_stream_next(&stream)) != NULL;) {
        uint8_t *dst = block->row[0];
        const uint8_t *src = block->row[1];
        HVX_ROLLED
        for (uint32_t i = block->rows; i > 0; i--) {
            run(t, src, dst);
            src += step[1];
            dst += step[0];
        }
    }
}

/* False, and nothing is done, when rows have to be used where they are. */
static HVX_NOINLINE bool run_in_vtcm(struct htp_exec *exec, const struct reduce *t, uint32_t n_threads) {
    struct moved_work m = {.rows = *t, .run = choose_row(exec->op, t->src, true)};
    struct htp_view dst = *t->dst;
    if (exec->op == HTP_OP_ARGMAX) { /* its one row of results as rows of one */
        dst.ne[1] = dst.ne[0];
        dst.nb[1] = dst.nb[0];
        dst.ne[0] = 1;
    }
    htp_stream_begin(&m.plan, 2, t->src->ne);
    htp_stream_operand(&m.plan, 0, &dst);
    htp_stream_operand(&m.plan, 1, t->src);
    if (!htp_stream_plan(&m.plan, exec, n_threads))
        return false;
    htp_parallel(exec, n_threads, run_blocks, &m);
    return true;
}

/* ---- the whole ---- */

/* detail of a failure: 0, 1 the operand (src, dst) whose type is wrong, 16 + i: size i of dst is wrong */
uint32_t htp_reduce(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    const uint32_t op = exec->op;
    if (op != HTP_OP_SUM_ROWS && op != HTP_OP_ARGMAX && op != HTP_OP_CUMSUM && op != HTP_OP_SUM && op != HTP_OP_MEAN)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, op);
    const struct htp_view *const src = exec->src[0], *const dst = exec->dst;
    const bool argmax = op == HTP_OP_ARGMAX;
    if (op == HTP_OP_SUM)
        return reduce_sum_all(exec);
    if (src->type != HTP_TYPE_F32 || src->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (dst->type != (argmax ? HTP_TYPE_I32 : HTP_TYPE_F32) || dst->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        uint32_t expected = src->ne[i];
        if (argmax) /* of a matrix */
            expected = i == 0 ? src->ne[1] : 1;
        else if (op != HTP_OP_CUMSUM && i == 0)
            expected = 1;
        if (dst->ne[i] != expected || (argmax && i > 1 && src->ne[i] != 1))
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    const uint32_t rows = htp_rows(src);
    if (rows == 0 || (op == HTP_OP_CUMSUM && src->ne[0] == 0))
        return HTP_STATUS_OK;
    struct work w = {.rows = {.src = src, .dst = dst, .length = src->ne[0]}, .dst_dim = argmax ? 0 : 1};
    w.rows.inverse = 1.0f / (float)src->ne[0]; /* of no elements: 0 * infinity is NaN, as 0 / 0 is */
    const uint64_t bytes = (uint64_t)rows * src->ne[0] * 4, worth = bytes / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    if (htp_stream_is_worth(bytes) && run_in_vtcm(exec, &w.rows, n))
        return HTP_STATUS_OK;
    w.run = choose_row(op, src, htp_rows_aligned(src));
    htp_parallel(exec, n, run_rows, &w);
    return HTP_STATUS_OK;
}
