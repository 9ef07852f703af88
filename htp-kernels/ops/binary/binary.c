/*
 * ADD, SUB, MUL, DIV: dst = src0 op src1, f32 or f16, element by element.
 *
 * src1 repeats into the shape of src0 in every dimension (ggml's broadcasting). f16 is computed in f32 and rounded
 * once. dst may be src0 or src1 themselves: every vector is read before it is written.
 *
 * Rows whose elements lie side by side are read and written as vectors, at any alignment, and not a byte beyond them.
 * All other rows are fetched element by element into vectors.
 */
#include <stdbool.h>

#include "hvx/divide.h"
#include "hvx/wrap.h"
#include "runtime/exec.h"

#define SEGMENT_MIN 32        /* src1 rows that repeat within a row of src0: shorter ones are fetched by element */
#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of dst */

uint32_t htp_binary(struct htp_exec *exec);

struct binary {
    uint32_t op, type, size; /* size: bytes of an element */
    const struct htp_view *a, *b, *dst;
};

HVX_INLINE HVX_Vector apply_f32(uint32_t op, HVX_Vector a, HVX_Vector b) {
    switch (op) {
    case HTP_OP_ADD:
        return hvx_add_f32(a, b);
    case HTP_OP_SUB:
        return hvx_sub_f32(a, b);
    case HTP_OP_MUL:
        return hvx_mul_f32(a, b);
    default:
        return hvx_div_f32(a, b);
    }
}

/* a vector of 32 f32 or 64 f16 */
HVX_INLINE HVX_Vector apply(uint32_t op, uint32_t type, HVX_Vector a, HVX_Vector b) {
    if (type == HTP_TYPE_F32)
        return apply_f32(op, a, b);
    const HVX_VectorPair x = hvx_f16_to_f32(a), y = hvx_f16_to_f32(b);
    return hvx_f32_to_f16(apply_f32(op, Q6_V_lo_W(x), Q6_V_lo_W(y)), apply_f32(op, Q6_V_hi_W(x), Q6_V_hi_W(y)));
}

/* bytes of a row; b: as many, or one element (already in every lane of `one`) when b is NULL */
HVX_INLINE void apply_row(uint32_t op, uint32_t type, const uint8_t *a, const uint8_t *b, HVX_Vector one, uint8_t *dst,
                          size_t bytes) {
    HVX_ROLLED
    for (size_t i = bytes / HVX_BYTES; i > 0; i--) {
        hvx_store(dst, apply(op, type, hvx_load(a), b == NULL ? one : hvx_load(b)));
        a += HVX_BYTES;
        b = b == NULL ? NULL : b + HVX_BYTES;
        dst += HVX_BYTES;
    }
    const uint32_t rest = (uint32_t)(bytes % HVX_BYTES);
    if (rest != 0) {
        const HVX_Vector y = b == NULL ? one : hvx_load_bytes(b, rest);
        hvx_store_bytes(dst, rest, apply(op, type, hvx_load_bytes(a, rest), y));
    }
}

/* one copy of the loop for each op, type and form of b */
HVX_INLINE void apply_op(uint32_t op, uint32_t type, const uint8_t *a, const uint8_t *b, HVX_Vector one, uint8_t *dst,
                         size_t bytes) {
    if (b == NULL)
        apply_row(op, type, a, NULL, one, dst, bytes);
    else
        apply_row(op, type, a, b, one, dst, bytes);
}

HVX_INLINE void apply_type(uint32_t op, uint32_t type, const uint8_t *a, const uint8_t *b, HVX_Vector one,
                           uint8_t *dst, size_t bytes) {
    switch (op) {
    case HTP_OP_ADD:
        apply_op(HTP_OP_ADD, type, a, b, one, dst, bytes);
        break;
    case HTP_OP_SUB:
        apply_op(HTP_OP_SUB, type, a, b, one, dst, bytes);
        break;
    case HTP_OP_MUL:
        apply_op(HTP_OP_MUL, type, a, b, one, dst, bytes);
        break;
    default:
        apply_op(HTP_OP_DIV, type, a, b, one, dst, bytes);
        break;
    }
}

static void row_f32(uint32_t op, const uint8_t *a, const uint8_t *b, HVX_Vector one, uint8_t *dst, size_t bytes) {
    apply_type(op, HTP_TYPE_F32, a, b, one, dst, bytes);
}

static void row_f16(uint32_t op, const uint8_t *a, const uint8_t *b, HVX_Vector one, uint8_t *dst, size_t bytes) {
    apply_type(op, HTP_TYPE_F16, a, b, one, dst, bytes);
}

static HVX_Vector splat_element(uint32_t type, const uint8_t *p) {
    if (type == HTP_TYPE_F32) {
        int32_t word;
        __builtin_memcpy(&word, __builtin_assume_aligned(p, 4), 4);
        return hvx_splat_i32(word);
    }
    uint16_t half;
    __builtin_memcpy(&half, __builtin_assume_aligned(p, 2), 2);
    return Q6_Vh_vsplat_R(half);
}

static void contiguous_row(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst) {
    const size_t bytes = (size_t)t->dst->ne[0] * t->size, b_bytes = (size_t)t->b->ne[0] * t->size;
    void (*const run)(uint32_t, const uint8_t *, const uint8_t *, HVX_Vector, uint8_t *, size_t) =
        t->type == HTP_TYPE_F32 ? row_f32 : row_f16;
    if (t->b->ne[0] == 1) {
        run(t->op, a, NULL, splat_element(t->type, b), dst, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += b_bytes)
        run(t->op, a + i, b, hvx_zero(), dst + i, b_bytes);
}

static void copy_element(uint32_t size, uint8_t *to, const uint8_t *from) {
    if (size == 4)
        __builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), 4);
    else
        __builtin_memcpy(__builtin_assume_aligned(to, 2), __builtin_assume_aligned(from, 2), 2);
}

static void strided_row(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst) {
    uint8_t x[HVX_BYTES] __attribute__((aligned(128))), y[HVX_BYTES] __attribute__((aligned(128)));
    const uint32_t in_vector = HVX_BYTES / t->size;
    uint32_t b_index = 0;
    for (uint32_t i = 0, count; i < t->dst->ne[0]; i += count) {
        count = htp_min_u32(t->dst->ne[0] - i, in_vector);
        __builtin_memset(x, 0, sizeof(x));
        __builtin_memset(y, 0, sizeof(y));
        for (uint32_t k = 0; k < count; k++) {
            copy_element(t->size, x + k * t->size, a + (size_t)(i + k) * t->a->nb[0]);
            copy_element(t->size, y + k * t->size, b + (size_t)b_index * t->b->nb[0]);
            b_index = b_index + 1 == t->b->ne[0] ? 0 : b_index + 1;
        }
        if (t->type == HTP_TYPE_F32)
            row_f32(t->op, x, y, hvx_zero(), x, HVX_BYTES);
        else
            row_f16(t->op, x, y, hvx_zero(), x, HVX_BYTES);
        for (uint32_t k = 0; k < count; k++)
            copy_element(t->size, dst + (size_t)(i + k) * t->dst->nb[0], x + k * t->size);
    }
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct binary *t = arg;
    const uint32_t *ne = t->dst->ne, *b_ne = t->b->ne;
    const uint32_t rows = htp_rows(t->dst);
    const uint32_t begin = (uint32_t)((uint64_t)rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)rows * (thread + 1) / n_threads);
    const bool b_repeats_fast = b_ne[0] == ne[0] || b_ne[0] >= SEGMENT_MIN;
    const bool b_fits = b_ne[0] == 1 || (t->b->nb[0] == t->size && b_repeats_fast);
    const bool side_by_side = t->a->nb[0] == t->size && t->dst->nb[0] == t->size && b_fits;
    for (uint32_t r = begin; r < end; r++) {
        const uint32_t i1 = r % ne[1], i2 = r / ne[1] % ne[2], i3 = r / ne[1] / ne[2];
        const uint8_t *a = htp_row(t->a, i1, i2, i3);
        const uint8_t *b = htp_row(t->b, i1 % b_ne[1], i2 % b_ne[2], i3 % b_ne[3]);
        uint8_t *dst = htp_row(t->dst, i1, i2, i3);
        if (side_by_side)
            contiguous_row(t, a, b, dst);
        else
            strided_row(t, a, b, dst);
    }
}

static uint32_t fail(struct htp_exec *exec, uint32_t status, uint32_t detail) {
    exec->detail = detail;
    return status;
}

/* detail of a failure: 0, 1, 2 the operand (src0, src1, dst) whose type is wrong, 16 + i: size i is wrong */
uint32_t htp_binary(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    if (exec->op != HTP_OP_ADD && exec->op != HTP_OP_SUB && exec->op != HTP_OP_MUL && exec->op != HTP_OP_DIV)
        return fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    const struct htp_view *const views[] = {exec->src[0], exec->src[1], exec->dst};
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t type = views[i]->type;
        if ((type != HTP_TYPE_F32 && type != HTP_TYPE_F16) || type != exec->dst->type ||
            views[i]->layout != HTP_LAYOUT_ROWS)
            return fail(exec, HTP_STATUS_UNSUPPORTED, i);
    }
    struct binary t = {.op = exec->op, .type = exec->dst->type, .size = exec->dst->type == HTP_TYPE_F32 ? 4 : 2};
    t.a = exec->src[0];
    t.b = exec->src[1];
    t.dst = exec->dst;
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (t.a->ne[i] != t.dst->ne[i] || t.b->ne[i] == 0 || t.a->ne[i] % t.b->ne[i] != 0)
            return fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    const uint32_t rows = htp_rows(t.dst);
    if (rows == 0 || t.dst->ne[0] == 0)
        return HTP_STATUS_OK;
    const uint64_t worth = (uint64_t)rows * t.dst->ne[0] * t.size / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
