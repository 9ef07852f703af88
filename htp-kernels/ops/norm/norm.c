/*
 * RMS_NORM: dst[i] = src[i] / sqrt(mean(src^2) + eps), row by row, f32.
 *
 * First pass: sum of squares in four qf32 accumulators (which hide the latency of the addition), five rotate-and-add
 * steps, 1/sqrt in all lanes; no scalar is involved. Second pass: multiply and store. Rows of any length and alignment;
 * a row whose elements do not lie side by side is fetched, and stored, element by element. dst may be src.
 */
#include "hvx/wrap.h"
#include "htp/params.h"
#include "runtime/exec.h"

#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of a tensor */

uint32_t htp_norm(struct htp_exec *exec);

struct norm {
    const struct htp_view *src, *dst;
    float eps, inverse_length;
};

HVX_INLINE HVX_Vector add_square(HVX_Vector sum, HVX_Vector x) { return hvx_add_qf32(sum, hvx_mul_f32_qf32(x, x)); }

/* 1/sqrt(mean + eps) in all lanes; sum in qf32 */
HVX_INLINE HVX_Vector row_scale(const struct norm *t, HVX_Vector sum) {
    const HVX_Vector mean = hvx_mul_f32(hvx_sum_qf32(sum), hvx_splat_f32(t->inverse_length));
    return hvx_rsqrt_f32(hvx_add_f32(mean, hvx_splat_f32(t->eps)));
}

static void contiguous_row(const struct norm *t, const uint8_t *src, uint8_t *dst) {
    const uint32_t vectors = t->src->ne[0] / HVX_WORDS, rest = t->src->ne[0] % HVX_WORDS * 4;
    const uint8_t *x = src;
    HVX_Vector s0 = hvx_zero(), s1 = s0, s2 = s0, s3 = s0;
    HVX_ROLLED
    for (uint32_t i = vectors / 4; i > 0; i--, x += 4 * HVX_BYTES) {
        s0 = add_square(s0, hvx_load(x));
        s1 = add_square(s1, hvx_load(x + HVX_BYTES));
        s2 = add_square(s2, hvx_load(x + 2 * HVX_BYTES));
        s3 = add_square(s3, hvx_load(x + 3 * HVX_BYTES));
    }
    HVX_ROLLED
    for (uint32_t i = vectors % 4; i > 0; i--, x += HVX_BYTES)
        s0 = add_square(s0, hvx_load(x));
    if (rest != 0)
        s1 = add_square(s1, hvx_load_bytes(x, rest));
    const HVX_Vector scale = row_scale(t, hvx_add_qf32(hvx_add_qf32(s0, s1), hvx_add_qf32(s2, s3)));
    HVX_ROLLED
    for (uint32_t i = vectors; i > 0; i--, src += HVX_BYTES, dst += HVX_BYTES)
        hvx_store(dst, hvx_mul_f32(hvx_load(src), scale));
    if (rest != 0)
        hvx_store_bytes(dst, rest, hvx_mul_f32(hvx_load_bytes(src, rest), scale));
}

/* up to 32 elements, from i on, zeros behind the row's end */
static HVX_Vector gather(const struct htp_view *v, const uint8_t *row, uint32_t i) {
    uint8_t words[HVX_BYTES] __attribute__((aligned(128))) = {0};
    const uint32_t count = htp_min_u32(v->ne[0] - i, HVX_WORDS);
    for (uint32_t k = 0; k < count; k++)
        __builtin_memcpy(words + 4 * k, __builtin_assume_aligned(row + (size_t)(i + k) * v->nb[0], 4), 4);
    return hvx_load(words);
}

static void scatter(const struct htp_view *v, uint8_t *row, uint32_t i, HVX_Vector x) {
    uint8_t words[HVX_BYTES] __attribute__((aligned(128)));
    const uint32_t count = htp_min_u32(v->ne[0] - i, HVX_WORDS);
    hvx_store(words, x);
    for (uint32_t k = 0; k < count; k++)
        __builtin_memcpy(__builtin_assume_aligned(row + (size_t)(i + k) * v->nb[0], 4), words + 4 * k, 4);
}

static void strided_row(const struct norm *t, const uint8_t *src, uint8_t *dst) {
    const uint32_t length = t->src->ne[0];
    HVX_Vector sum = hvx_zero();
    uint32_t i = 0;
    for (; i < length; i += htp_min_u32(length - i, HVX_WORDS))
        sum = add_square(sum, gather(t->src, src, i));
    const HVX_Vector scale = row_scale(t, sum);
    for (i = 0; i < length; i += htp_min_u32(length - i, HVX_WORDS))
        scatter(t->dst, dst, i, hvx_mul_f32(gather(t->src, src, i), scale));
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct norm *t = arg;
    const uint32_t *ne = t->src->ne;
    const uint32_t rows = htp_rows(t->src);
    const uint32_t begin = (uint32_t)((uint64_t)rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)rows * (thread + 1) / n_threads);
    for (uint32_t r = begin; r < end; r++) {
        const uint32_t i1 = r % ne[1], i2 = r / ne[1] % ne[2], i3 = r / ne[1] / ne[2];
        const uint8_t *src = htp_row(t->src, i1, i2, i3);
        uint8_t *dst = htp_row(t->dst, i1, i2, i3);
        if (t->src->nb[0] == 4 && t->dst->nb[0] == 4)
            contiguous_row(t, src, dst);
        else
            strided_row(t, src, dst);
    }
}

static uint32_t fail(struct htp_exec *exec, uint32_t status, uint32_t detail) {
    exec->detail = detail;
    return status;
}

/* detail of a failure: 0, 1 the operand (src, dst) whose type is wrong, 16 + i: size i is wrong, 32 eps */
uint32_t htp_norm(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    if (exec->op != HTP_OP_RMS_NORM)
        return fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct norm t = {.src = exec->src[0], .dst = exec->dst};
    if (t.src->type != HTP_TYPE_F32 || t.src->layout != HTP_LAYOUT_ROWS)
        return fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (t.dst->type != HTP_TYPE_F32 || t.dst->layout != HTP_LAYOUT_ROWS)
        return fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (t.src->ne[i] != t.dst->ne[i])
            return fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    struct htp_norm_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    if (!(params.eps >= 0))
        return fail(exec, HTP_STATUS_BAD_OP, 32);
    const uint32_t rows = htp_rows(t.src);
    if (rows == 0 || t.src->ne[0] == 0)
        return HTP_STATUS_OK;
    t.eps = params.eps;
    t.inverse_length = 1.0f / (float)t.src->ne[0];
    const uint64_t worth = (uint64_t)rows * t.src->ne[0] * 4 / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
