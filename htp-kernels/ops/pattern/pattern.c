/*
 * FILL: dst[i] = value, f32 or f16; a source is there for ggml only. ARANGE: dst[i] = start + step * i, f32, one row.
 */
#include "ops/pattern/pattern.h"

#include "hvx/half_scalar.h"

#define PART 8192                /* elements of a row that a thread takes at a time, whole vectors of every type */
#define THREAD_BYTES (32u << 10) /* a thread more is worth waking for this much of dst */

uint32_t htp_pattern(struct htp_exec *exec);

/* ---- parts over threads ---- */

uint32_t pattern_threads(const struct htp_exec *exec, uint64_t bytes, uint32_t parts) {
    const uint64_t worth = bytes / THREAD_BYTES + 1;
    const uint32_t n = htp_min_u32(exec->n_threads, parts);
    return worth < n ? (uint32_t)worth : n;
}

static void run_units(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct pattern *t = arg;
    const struct htp_share share = htp_share_of(t->units, thread, n_threads);
    uint32_t part = t->parts == 1 ? 0 : share.begin % t->parts;
    struct htp_place at = htp_place_of(t->dst.ne, t->parts == 1 ? share.begin : share.begin / t->parts);
    HVX_ROLLED
    for (uint32_t i = share.count; i > 0; i--) {
        const uint32_t first = part * PART, left = t->dst.ne[0] - first;
        t->run(t, &at, first, t->parts == 1 ? left : htp_min_u32(left, PART));
        if (++part == t->parts) {
            part = 0;
            htp_place_advance(&at, t->dst.ne, 1);
        }
    }
}

void pattern_run(struct htp_exec *exec, struct pattern *t) {
    const uint32_t rows = htp_rows(&t->dst), length = t->dst.ne[0];
    if (rows == 0 || length == 0)
        return;
    t->parts = htp_div_up(length, PART);
    if ((uint64_t)rows * t->parts > UINT32_MAX) /* rows enough */
        t->parts = 1;
    t->units = rows * t->parts;
    const uint64_t bytes = (uint64_t)rows * length * t->dst.nb[0];
    htp_parallel(exec, pattern_threads(exec, bytes, t->units), run_units, t);
}

uint32_t pattern_take_f32(struct htp_exec *exec, bool same_shape) {
    const struct htp_view *const src = exec->n_src < 1 ? NULL : exec->src[0], *const dst = exec->dst;
    if (!pattern_takes(src, 1u << HTP_TYPE_F32))
        return htp_fail(exec, src == NULL ? HTP_STATUS_BAD_OP : HTP_STATUS_UNSUPPORTED, 0);
    if (!pattern_takes(dst, 1u << HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    for (uint32_t d = 0; same_shape && d < HTP_MAX_DIMS; d++) {
        if (src->ne[d] != dst->ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_SHAPE + d);
    }
    return HTP_STATUS_OK;
}

/* ---- constants ---- */

static uint8_t *element(const struct pattern *t, const struct htp_place *at, uint32_t first) {
    return htp_row(&t->dst, at->i1, at->i2, at->i3) + (size_t)first * t->dst.nb[0];
}

static void fill_part(const struct pattern *t, const struct htp_place *at, uint32_t first, uint32_t count) {
    const uint32_t *const bits = t->params;
    fill_bytes(element(t, at, first), (size_t)count * t->dst.nb[0], hvx_splat_i32((int32_t)*bits));
}

static uint32_t fill_all(struct htp_exec *exec) {
    if (!pattern_takes(exec->dst, 1u << HTP_TYPE_F32 | 1u << HTP_TYPE_F16))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    struct htp_fill_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    uint32_t bits = (uint32_t)hvx_f32_bits(params.value);
    if (exec->dst->type == HTP_TYPE_F16)
        bits = hvx_scale_to_half(params.value) * 0x10001u;
    struct pattern t = {.run = fill_part, .dst = *exec->dst, .params = &bits};
    htp_merge_rows(&t.dst);
    pattern_run(exec, &t);
    return HTP_STATUS_OK;
}

/* ---- a sequence ---- */

static void arange_part(const struct pattern *t, const struct htp_place *at, uint32_t first, uint32_t count) {
    static const int32_t lanes[HVX_WORDS] __attribute__((aligned(128))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const struct htp_arange_params *const p = t->params;
    const HVX_Vector start = hvx_splat_f32(p->start), step = hvx_splat_f32(p->step), more = hvx_splat_i32(HVX_WORDS);
    HVX_Vector index = Q6_Vw_vadd_VwVw(hvx_load_aligned(lanes), hvx_splat_i32((int32_t)first));
    uint8_t *dst = element(t, at, first);
    HVX_UNROLL_COUNT(4)
    for (uint32_t i = 0; i < count / HVX_WORDS; i++) {
        hvx_store(dst + (size_t)i * HVX_BYTES, hvx_add_f32(hvx_mul_f32(hvx_wide_i32_to_f32(index), step), start));
        index = Q6_Vw_vadd_VwVw(index, more);
    }
    dst += (size_t)(count / HVX_WORDS) * HVX_BYTES;
    if (count % HVX_WORDS != 0)
        hvx_store_bytes(dst, count % HVX_WORDS * 4, hvx_add_f32(hvx_mul_f32(hvx_wide_i32_to_f32(index), step), start));
}

static uint32_t arange(struct htp_exec *exec) {
    if (!pattern_takes(exec->dst, 1u << HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    if (exec->dst->ne[0] > INT32_MAX)
        return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_SHAPE);
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        if (exec->dst->ne[d] != 1)
            return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_SHAPE + d);
    }
    struct htp_arange_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    struct pattern t = {.run = arange_part, .dst = *exec->dst, .params = &params};
    pattern_run(exec, &t);
    return HTP_STATUS_OK;
}

/* ---- entry ---- */

uint32_t htp_pattern(struct htp_exec *exec) {
    if (exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 2);
    switch (exec->op) {
    case HTP_OP_FILL:
        return fill_all(exec);
    case HTP_OP_ARANGE:
        return arange(exec);
    case HTP_OP_TRI:
    case HTP_OP_DIAG:
    case HTP_OP_DIAG_MASK_INF:
        return pattern_band(exec);
    case HTP_OP_ROLL:
        return pattern_roll(exec);
    case HTP_OP_TIMESTEP_EMBEDDING:
        return pattern_timestep(exec);
    case HTP_OP_ACC:
    case HTP_OP_SET:
        return pattern_put(exec);
    default:
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    }
}
