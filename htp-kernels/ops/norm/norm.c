/*
 * Normalisation of f32 rows, and what graphs do with the result:
 *
 *   RMS_NORM  y = x / sqrt(mean(x^2) + eps)
 *   NORM      y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps)
 *   L2_NORM   y = x / max(sqrt(sum(x^2)), eps)
 *   dst = y * weight + addend
 *
 * GROUP_NORM, over several planes of an image, is in group.c.
 *
 * Weight and addend (src1, src2) may be absent; L2_NORM has neither, an addend comes with a weight. Both repeat into
 * the shape of src in every dimension. dst may be src, weight or addend themselves: every vector is read before it is
 * written.
 *
 * First pass: sums in four qf32 accumulators (which hide the latency of the addition), five rotate-and-add steps and
 * 1/sqrt in all lanes; no scalar is involved. NORM takes the mean first, so it has a pass more. Last pass: multiply and
 * store. Rows of any length and alignment; when an operand's elements do not lie
 * side by side, or repeat within a row, rows are fetched and stored element by element.
 */
#include "hvx/strided.h"
#include "ops/norm/root.h"
#include "runtime/stream.h"

#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of a tensor */
#define MAX_FORMS 3              /* without weight, with it, with weight and addend */

uint32_t htp_norm(struct htp_exec *exec);

struct norm;
/* weight and addend are not read when the op has none */
typedef void row_fn(const struct norm *t, const uint8_t *x, const uint8_t *weight, const uint8_t *addend, uint8_t *dst);

struct norm {
    const struct htp_view *src, *dst, *weight, *addend;
    uint32_t op, length;
    float eps, inverse_length, inverse_eps;
    row_fn *run;
};

/* in all lanes */
struct statistics {
    HVX_Vector mean;  /* f32; zero unless NORM */
    HVX_Vector scale; /* in qf32 for NORM and where there is a weight, otherwise f32 */
};

/* ---- statistics ---- */

/* sum: of the squares, in qf32 */
HVX_INLINE struct statistics finish(const struct norm *t, uint32_t op, uint32_t form, HVX_Vector mean,
                                    HVX_Vector sum) {
    struct statistics s = {.mean = mean};
    if (op == HTP_OP_L2_NORM) {
        /* the smaller of 1/sqrt and 1/eps (ggml's result of a NaN too); as integers, for both are positive */
        const HVX_Vector root = norm_inverse_root(hvx_sum_qf32(sum));
        s.scale = Q6_Vw_vmin_VwVw(Q6_V_vand_VV(root, hvx_splat_i32(INT32_MAX)), hvx_splat_f32(t->inverse_eps));
        return s;
    }
    sum = hvx_mul_qf32(hvx_sum_lanes_qf32(sum), hvx_f32_to_qf32(hvx_splat_f32(t->inverse_length)));
    s.scale = norm_inverse_root(hvx_qf32_to_f32(hvx_add_qf32_f32(sum, hvx_splat_f32(t->eps))));
    if (op == HTP_OP_NORM || form > 0)
        s.scale = hvx_f32_to_qf32(s.scale);
    return s;
}

HVX_INLINE HVX_Vector load(bool aligned, const uint8_t *p) { return aligned ? hvx_load_aligned(p) : hvx_load(p); }

HVX_INLINE enum hvx_summand summand(uint32_t op) {
    return op == HTP_OP_NORM ? HVX_SUM_DISTANCES : HVX_SUM_SQUARES;
}

HVX_INLINE HVX_Vector mean_of(const struct norm *t, HVX_Vector sum) {
    return hvx_mul_f32(hvx_sum_qf32(sum), hvx_splat_f32(t->inverse_length));
}

/* ---- results ---- */

/* in qf32 */
HVX_INLINE HVX_Vector scaled(uint32_t op, const struct statistics *s, HVX_Vector x) {
    return op == HTP_OP_NORM ? hvx_mul_qf32(hvx_sub_f32_qf32(x, s->mean), s->scale) : hvx_mul_f32_qf32(x, s->scale);
}

/* form: 0 no weight, 1 weight, 2 weight and addend. RMS_NORM multiplies by the weight first: a conversion less. */
HVX_INLINE HVX_Vector result(uint32_t op, uint32_t form, const struct statistics *s, HVX_Vector x, HVX_Vector weight,
                             HVX_Vector addend) {
    HVX_Vector y;
    if (form == 0)
        y = scaled(op, s, x);
    else if (op == HTP_OP_NORM)
        y = hvx_mul_f32_qf32(hvx_qf32_to_f32(scaled(op, s, x)), weight);
    else
        y = hvx_mul_qf32(hvx_mul_f32_qf32(x, weight), s->scale);
    if (form > 1)
        y = hvx_add_qf32_f32(y, addend);
    return hvx_qf32_to_f32(y);
}

/* One vector, `at` vectors behind the row's pointers. */
HVX_INLINE HVX_Vector result_at(uint32_t op, uint32_t form, bool aligned, const struct statistics *s, const uint8_t *x,
                                const uint8_t *weight, const uint8_t *addend, uint32_t at) {
    const HVX_Vector w = form > 0 ? load(aligned, weight + at * HVX_BYTES) : hvx_zero();
    const HVX_Vector c = form > 1 ? load(aligned, addend + at * HVX_BYTES) : hvx_zero();
    return result(op, form, s, load(aligned, x + at * HVX_BYTES), w, c);
}

HVX_INLINE void store(bool aligned, uint8_t *p, HVX_Vector v) {
    if (aligned)
        hvx_store_aligned(p, v);
    else
        hvx_store(p, v);
}

/* `fast`: all pointers are vector boundaries */
HVX_INLINE void contiguous_row(const struct norm *t, uint32_t op, uint32_t form, bool fast, const uint8_t *x,
                               const uint8_t *weight, const uint8_t *addend, uint8_t *dst) {
    const uint32_t vectors = t->length / HVX_WORDS, rest = t->length % HVX_WORDS * 4, step = fast && form > 0 ? 8 : 1;
    HVX_Vector mean = hvx_zero();
    if (op == HTP_OP_NORM)
        mean = mean_of(t, hvx_sum_row(HVX_SUM_VALUES, fast, x, t->length, mean));
    const struct statistics s = finish(t, op, form, mean, hvx_sum_row(summand(op), fast, x, t->length, mean));
    HVX_ROLLED
    for (uint32_t i = vectors / step; i > 0; i--) {
        HVX_UNROLL
        for (uint32_t k = 0; k < step; k++)
            store(fast, dst + k * HVX_BYTES, result_at(op, form, fast, &s, x, weight, addend, k));
        x += step * HVX_BYTES;
        weight += form > 0 ? step * HVX_BYTES : 0;
        addend += form > 1 ? step * HVX_BYTES : 0;
        dst += step * HVX_BYTES;
    }
    HVX_ROLLED
    for (uint32_t i = vectors % step; i > 0; i--) {
        store(fast, dst, result_at(op, form, fast, &s, x, weight, addend, 0));
        x += HVX_BYTES;
        weight += form > 0 ? HVX_BYTES : 0;
        addend += form > 1 ? HVX_BYTES : 0;
        dst += HVX_BYTES;
    }
    if (rest != 0) {
        const HVX_Vector w = form > 0 ? hvx_load_bytes(weight, rest) : hvx_zero();
        const HVX_Vector c = form > 1 ? hvx_load_bytes(addend, rest) : hvx_zero();
        hvx_store_bytes(dst, rest, result(op, form, &s, hvx_load_bytes(x, rest), w, c));
    }
}

/*
 * One copy of the row for each op and form. The fast ones are for a dst that shares no memory with a source, so that
 * the compiler may move loads over stores, without which half of the packets' slots stay empty.
 */
#define DEFINE_ROW(name, op, form)                                                                                 \
    static void name##_fast(const struct norm *t, const uint8_t *restrict x, const uint8_t *restrict weight,       \
                            const uint8_t *restrict addend, uint8_t *restrict dst) {                               \
        contiguous_row(t, op, form, true, x, weight, addend, dst);                                                 \
    }                                                                                                              \
    static void name##_any(const struct norm *t, const uint8_t *x, const uint8_t *weight, const uint8_t *addend,   \
                           uint8_t *dst) {                                                                         \
        contiguous_row(t, op, form, false, x, weight, addend, dst);                                                \
    }
DEFINE_ROW(rms_0, HTP_OP_RMS_NORM, 0)
DEFINE_ROW(rms_1, HTP_OP_RMS_NORM, 1)
DEFINE_ROW(rms_2, HTP_OP_RMS_NORM, 2)
DEFINE_ROW(norm_0, HTP_OP_NORM, 0)
DEFINE_ROW(norm_1, HTP_OP_NORM, 1)
DEFINE_ROW(norm_2, HTP_OP_NORM, 2)
DEFINE_ROW(l2, HTP_OP_L2_NORM, 0)

/* any op, any strides */
static void strided_row(const struct norm *t, const uint8_t *x_row, const uint8_t *weight_row,
                        const uint8_t *addend_row, uint8_t *dst) {
    const uint32_t step = t->src->nb[0], form = t->weight == NULL ? 0 : t->addend == NULL ? 1 : 2;
    HVX_Vector mean = hvx_zero(), sum = mean, weight = mean, addend = mean;
    if (t->op == HTP_OP_NORM) {
        for (uint32_t i = 0, count; i < t->length; i += count) {
            count = htp_min_u32(t->length - i, HVX_WORDS);
            sum = hvx_sum_up(HVX_SUM_VALUES, sum, hvx_gather_words(x_row + (size_t)i * step, step, count), mean);
        }
        mean = mean_of(t, sum);
        sum = hvx_zero();
    }
    for (uint32_t i = 0, count; i < t->length; i += count) {
        count = htp_min_u32(t->length - i, HVX_WORDS);
        const HVX_Vector x = hvx_gather_words(x_row + (size_t)i * step, step, count);
        sum = hvx_sum_up_rest(summand(t->op), sum, x, mean, 4 * count);
    }
    const struct statistics s = finish(t, t->op, form, mean, sum);
    for (uint32_t i = 0, count; i < t->length; i += count) {
        count = htp_min_u32(t->length - i, HVX_WORDS);
        const HVX_Vector x = hvx_gather_words(x_row + (size_t)i * step, step, count);
        if (form > 0)
            weight = hvx_gather_repeated(weight_row, t->weight->nb[0], t->weight->ne[0], i, count);
        if (form > 1)
            addend = hvx_gather_repeated(addend_row, t->addend->nb[0], t->addend->ne[0], i, count);
        hvx_scatter_words(dst + (size_t)i * t->dst->nb[0], t->dst->nb[0], count,
                          result(t->op, form, &s, x, weight, addend));
    }
}

/* in_vtcm: rows are handed over at vector boundaries, in memory of their own */
static void choose_row(struct norm *t, bool in_vtcm) {
    static row_fn *const rows[2][2][MAX_FORMS] = {
        {{rms_0_any, rms_1_any, rms_2_any}, {rms_0_fast, rms_1_fast, rms_2_fast}},
        {{norm_0_any, norm_1_any, norm_2_any}, {norm_0_fast, norm_1_fast, norm_2_fast}},
    };
    const struct htp_view *const views[] = {t->dst, t->src, t->weight, t->addend};
    bool fast = true, contiguous = true;
    uint32_t form = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (views[i] == NULL)
            continue;
        fast = fast && (in_vtcm || (htp_rows_aligned(views[i]) && (i == 0 || !htp_views_overlap(views[i], t->dst))));
        contiguous = contiguous && views[i]->nb[0] == 4 && views[i]->ne[0] == t->length;
        form += i >= 2;
    }
    if (!contiguous)
        t->run = strided_row;
    else if (t->op == HTP_OP_L2_NORM)
        t->run = fast ? l2_fast : l2_any;
    else
        t->run = rows[t->op == HTP_OP_NORM][fast][form];
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct norm *t = arg;
    row_fn *const run = t->run;
    const struct htp_share share = htp_share_of(htp_rows(t->src), thread, n_threads);
    struct htp_place at = htp_place_of(t->src->ne, share.begin);
    for (uint32_t left = share.count, count; left > 0; left -= count) {
        struct htp_run x = htp_run_at(t->src, &at), dst = htp_run_at(t->dst, &at);
        struct htp_run weight = htp_run_repeated(t->weight, &at), addend = htp_run_repeated(t->addend, &at);
        count = htp_min_u32(htp_min_u32(left, x.rows), htp_min_u32(weight.rows, addend.rows));
        HVX_ROLLED
        for (uint32_t i = count; i > 0; i--) {
            run(t, x.row, weight.row, addend.row, dst.row);
            x.row += x.step;
            weight.row += weight.step;
            addend.row += addend.step;
            dst.row += dst.step;
        }
        htp_place_advance(&at, t->src->ne, count);
    }
}

/* ---- rows in VTCM ---- */

struct moved_norm {
    struct norm rows;
    struct htp_stream_plan plan; /* of dst, src, weight, addend */
};

static void run_blocks(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct moved_norm *m = arg;
    const struct norm *t = &m->rows;
    row_fn *const run = t->run;
    const uint32_t *const step = m->plan.step, operands = m->plan.operands;
    const uint32_t weight_step = operands > 2 ? step[2] : 0, addend_step = operands > 3 ? step[3] : 0;
    struct htp_stream stream;
    htp_stream_open(&stream, &m->plan, thread, n_threads);
    for (const struct htp_stream_block *block; (block = htp_stream_next(&stream)) != NULL;) {
        uint8_t *dst = block->row[0];
        const uint8_t *x = block->row[1], *weight = operands > 2 ? block->row[2] : NULL;
        const uint8_t *addend = operands > 3 ? block->row[3] : NULL;
        HVX_ROLLED
        for (uint32_t i = block->rows; i > 0; i--) {
            run(t, x, weight, addend, dst);
            x += step[1];
            weight += weight_step;
            addend += addend_step;
            dst += step[0];
        }
    }
}

/* False, and nothing is done, when rows have to be used where they are. */
static HVX_NOINLINE bool run_in_vtcm(struct htp_exec *exec, const struct norm *t, uint32_t n_threads) {
    const struct htp_view *const views[] = {t->dst, t->src, t->weight, t->addend};
    struct moved_norm m = {.rows = *t};
    htp_stream_begin(&m.plan, t->addend != NULL ? 4 : t->weight != NULL ? 3 : 2, t->src->ne);
    for (uint32_t k = 0; k < m.plan.operands; k++) {
        if (views[k]->ne[0] != t->length) /* read element by element */
            return false;
        htp_stream_operand(&m.plan, k, views[k]);
    }
    if (!htp_stream_plan(&m.plan, exec, n_threads))
        return false;
    choose_row(&m.rows, true);
    htp_parallel(exec, n_threads, run_blocks, &m);
    return true;
}

/* ---- the whole ---- */

static const struct htp_view *optional(const struct htp_exec *exec, uint32_t i) {
    return exec->n_src > i ? exec->src[i] : NULL;
}

/*
 * detail of a failure: 0, 1, 2, 3 the operand (src, dst, weight, addend) whose type is wrong, 16 + i: its size i is
 * wrong, 32 eps, 33 a weight or addend where there cannot be one
 */
uint32_t htp_norm(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    if (exec->op != HTP_OP_RMS_NORM && exec->op != HTP_OP_NORM && exec->op != HTP_OP_L2_NORM &&
        exec->op != HTP_OP_GROUP_NORM)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct norm t = {.src = exec->src[0], .dst = exec->dst, .op = exec->op};
    t.weight = optional(exec, 1);
    t.addend = optional(exec, 2);
    if ((t.weight == NULL && t.addend != NULL) || 
        (t.weight != NULL && (t.op == HTP_OP_L2_NORM || t.op == HTP_OP_GROUP_NORM)))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 33);
    const struct htp_view *const views[] = {t.src, t.dst, t.weight, t.addend};
    for (uint32_t k = 0; k < 4; k++) {
        if (views[k] == NULL)
            continue;
        if (views[k]->type != HTP_TYPE_F32 || views[k]->layout != HTP_LAYOUT_ROWS)
            return htp_fail(exec, HTP_STATUS_UNSUPPORTED, k);
        for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
            const uint32_t n = views[k]->ne[i];
            if (k < 2 ? n != t.src->ne[i] : n == 0 || t.src->ne[i] % n != 0)
                return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
        }
    }
    struct htp_norm_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    if (!(params.eps >= 0))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    if (t.op == HTP_OP_GROUP_NORM)
        return norm_groups(exec, &params);
    const uint32_t rows = htp_rows(t.src);
    if (rows == 0 || t.src->ne[0] == 0)
        return HTP_STATUS_OK;
    t.length = t.src->ne[0];
    t.eps = params.eps;
    t.inverse_eps = 1.0f / params.eps;
    t.inverse_length = 1.0f / (float)t.length;
    const uint64_t bytes = (uint64_t)rows * t.length * 4, worth = bytes / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    if (htp_stream_is_worth(2 * bytes) && run_in_vtcm(exec, &t, n))
        return HTP_STATUS_OK;
    choose_row(&t, false);
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
