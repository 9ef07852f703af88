/*
 * SOFT_MAX: dst = softmax(scale * src0 + slope * mask) along rows, f32. mask: f16 or f32, optional, repeats over
 * dimensions 2 and 3; slope: ALiBi, by head (dimension 2). sinks: one score a head that only takes part in the sum.
 *
 * Rows are divided over threads. The intermediate results of a row are in the thread's share of VTCM; a row that does
 * not fit has them in dst.
 */
#include "ops/softmax/softmax.h"

#include "hvx/alibi.h"

#define THREAD_BYTES (8u << 10) /* a thread more is worth waking for this much of dst */

uint32_t htp_softmax(struct htp_exec *exec);

struct softmax {
    const struct htp_view *src, *mask, *sinks, *dst;
    struct htp_softmax_params params;
    uint8_t *vtcm;
    size_t share; /* bytes of VTCM a thread */
};

static float magnitude(float f) { return f < 0 ? -f : f; }

/* Whether row.c may try, and its units. Scores within 1e9 units are far above what masked elements get. */
static void choose_units(struct softmax_head *h) {
    const float largest = 3.4028234e38f, limit = 1e9f;
    h->unit_scale = h->has_mask && h->slope != 1 ? h->scale / h->slope : h->scale;
    const float size = magnitude(h->unit_scale);
    h->plain = size > 1e-30f && size < 1e18f && (h->has_mask ? h->slope > 1e-5f && h->slope <= 1 : h->scale > 0);
    if (!h->plain)
        return;
    const float x_limit = (h->has_mask ? limit : largest) / size;
    h->limit = (uint32_t)hvx_f32_bits(x_limit < largest ? x_limit : largest) << 1 >> 16;
    h->unit_factor = (h->has_mask ? h->slope : h->scale) * SOFTMAX_LOG2E;
    if (!h->has_sink)
        return;
    h->unit_sink = h->has_mask ? h->sink / h->slope : h->sink / h->scale;
    h->plain = magnitude(h->unit_sink) <= (h->has_mask ? limit : largest);
}

static void describe_head(const struct softmax *t, uint32_t head, struct softmax_head *h) {
    h->scale = t->params.scale;
    h->slope = htp_alibi_slope(t->params.slope_base, t->params.slope_heads, head);
    h->has_mask = t->mask != NULL;
    h->mask_is_f16 = h->has_mask && t->mask->type == HTP_TYPE_F16;
    h->has_sink = t->sinks != NULL;
    h->sink = h->unit_sink = 0;
    if (h->has_sink)
        __builtin_memcpy(&h->sink, __builtin_assume_aligned(t->sinks->data + (size_t)head * t->sinks->nb[0], 4), 4);
    choose_units(h);
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct softmax *t = arg;
    const uint32_t *ne = t->src->ne;
    const uint32_t rows = htp_rows(t->src);
    const uint32_t begin = (uint32_t)((uint64_t)rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)rows * (thread + 1) / n_threads);
    const size_t blocks_bytes = (size_t)(ne[0] / SOFTMAX_BLOCK) * SOFTMAX_BLOCK * 4;
    uint8_t *share = blocks_bytes <= t->share ? t->vtcm + thread * t->share : NULL;
    struct softmax_head head = {0};
    uint32_t i1 = begin % ne[1], i2 = begin / ne[1] % ne[2], i3 = begin / ne[1] / ne[2];
    for (uint32_t left = end - begin; left > 0; i1 = 0) { /* a matrix, or what is the thread's of it */
        const struct htp_view *m = t->mask;
        struct softmax_row row = {.x = htp_row(t->src, i1, i2, i3), .y = htp_row(t->dst, i1, i2, i3)};
        row.mask = m == NULL ? NULL : htp_row(m, i1, i2 % m->ne[2], i3 % m->ne[3]);
        row.elements = ne[0];
        const uint32_t count = htp_min_u32(ne[1] - i1, left);
        describe_head(t, i2, &head);
        for (uint32_t k = count; k > 0; k--) {
            row.work = share != NULL ? share : row.y;
            softmax_row(&row, &head);
            row.x += t->src->nb[1];
            row.y += t->dst->nb[1];
            if (m != NULL)
                row.mask += m->nb[1];
        }
        left -= count;
        if (++i2 == ne[2]) {
            i2 = 0;
            i3++;
        }
    }
}

/* elements of rows side by side */
static bool has_rows_of(const struct htp_view *v, uint32_t type, uint32_t bytes) {
    return v->type == type && v->layout == HTP_LAYOUT_ROWS && v->nb[0] == bytes;
}

/* what mask and sinks have to be like; detail as below */
static uint32_t check_extras(struct htp_exec *exec, const struct softmax *t) {
    const uint32_t *ne = t->src->ne;
    if (t->mask != NULL) {
        const uint32_t *m = t->mask->ne;
        if (!has_rows_of(t->mask, HTP_TYPE_F16, 2) && !has_rows_of(t->mask, HTP_TYPE_F32, 4))
            return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
        if (m[0] < ne[0] || m[1] < ne[1] || m[2] == 0 || m[3] == 0)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 20);
    }
    if (t->sinks != NULL) {
        if (t->sinks->type != HTP_TYPE_F32 || t->sinks->layout != HTP_LAYOUT_ROWS)
            return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
        if (t->sinks->ne[0] < ne[2] || t->sinks->ne[1] == 0 || t->sinks->ne[2] == 0 || t->sinks->ne[3] == 0)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 21);
    }
    return HTP_STATUS_OK;
}

/*
 * detail of a failure: 0, 1, 2, 3 the operand (src0, mask, sinks, dst) whose type or element stride, 16 + dimension
 * whose size is wrong, 20 shape of the mask, 21 of the sinks
 */
uint32_t htp_softmax(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    if (exec->op != HTP_OP_SOFT_MAX)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct softmax t = {.src = exec->src[0], .dst = exec->dst, .vtcm = exec->vtcm};
    t.mask = exec->n_src > 1 ? exec->src[1] : NULL;
    t.sinks = exec->n_src > 2 ? exec->src[2] : NULL;
    __builtin_memcpy(&t.params, exec->params, sizeof(t.params));
    if (!has_rows_of(t.src, HTP_TYPE_F32, 4))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (!has_rows_of(t.dst, HTP_TYPE_F32, 4))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 3);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (t.src->ne[i] != t.dst->ne[i])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    const uint32_t rows = htp_rows(t.src);
    if (rows == 0 || t.src->ne[0] == 0)
        return HTP_STATUS_OK;
    const uint32_t status = check_extras(exec, &t);
    if (status != HTP_STATUS_OK)
        return status;
    const uint64_t worth = (uint64_t)rows * t.src->ne[0] * 4 / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    t.share = exec->vtcm_size / n / HVX_BYTES * HVX_BYTES;
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
