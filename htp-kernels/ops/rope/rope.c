/*
 * ROPE: pairs of the elements of each row (a head of a token) are rotated by angles that depend on the token's position
 * and on the pair. f32 or f16, modes as in htp/params.h. Elements outside of the rotated ones are copied.
 *
 * Tokens, and the heads of a token, are divided over threads. A thread computes the cosines and sines of a token once,
 * for all of its heads and for all of dimension 3.
 */
#include "ops/rope/rope.h"

#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of dst */
#define MAX_DIMS (1u << 20)      /* of arguments: what is added and multiplied below stays within 32 bits */

uint32_t htp_rope(struct htp_exec *exec);

struct job {
    const struct rope *rope;
    uint8_t *vtcm; /* of the first thread */
};

static struct rope_scratch scratch_of(const struct rope *t, uint8_t *vtcm) {
    float *p = (float *)vtcm;
    const uint32_t n = t->padded;
    return (struct rope_scratch){p, p + n, p + 2 * n, p + 3 * n, (int32_t *)(p + (3 + ROPE_CHAINS) * n),
                                 (uint32_t *)(p + (4 + ROPE_CHAINS) * n)};
}

static void copy_others(const struct rope *t, const uint8_t *x, uint8_t *y, uint32_t heads) {
    const uint32_t behind = t->first + t->rotated, bytes = t->src->ne[0] * t->size;
    for (uint32_t h = 0; h < heads; h++, x += t->src->nb[1], y += t->dst->nb[1]) {
        if (t->first != 0)
            __builtin_memcpy(y, x, t->first);
        if (behind != bytes)
            __builtin_memcpy(y + behind, x + behind, bytes - behind);
    }
}

static void run_heads(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct job *job = arg;
    const struct rope *t = job->rope;
    const struct rope_scratch s = scratch_of(t, job->vtcm + thread * rope_thread_bytes(t));
    const uint32_t *ne = t->src->ne, rows = ne[1] * ne[2];
    uint32_t i = (uint32_t)((uint64_t)rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)rows * (thread + 1) / n_threads);
    uint32_t token = i / ne[1], head = i % ne[1];
    while (i < end) {
        const uint32_t heads = htp_min_u32(ne[1] - head, end - i);
        rope_table(t, &s, token);
        for (uint32_t i3 = 0; i3 < ne[3]; i3++) {
            const uint8_t *x = htp_row(t->src, head, token, i3);
            uint8_t *y = htp_row(t->dst, head, token, i3);
            rope_rotate(t, &s, x, y, t->src->nb[1], t->dst->nb[1], heads);
            if (t->has_others)
                copy_others(t, x, y, heads);
        }
        i += heads;
        token++;
        head = 0;
    }
}

/* finite: neither NaN nor infinite */
static bool is_finite(float f) { return f - f == 0; }

static bool good_params(const struct rope *t, const struct htp_rope_params *p) {
    const uint32_t row = t->src->ne[0];
    int64_t sections = 0;
    switch (p->mode) {
    case HTP_ROPE_NORMAL:
    case HTP_ROPE_NEOX:
    case HTP_ROPE_MROPE:
    case HTP_ROPE_IMROPE:
        break;
    case HTP_ROPE_VISION:
        if (row % 2 != 0 || row / 2 != (uint32_t)p->n_dims || p->offset != 0)
            return false;
        break;
    default:
        return false;
    }
    if (p->n_dims < 2 || p->n_dims % 2 != 0 || p->offset < 0 || (int64_t)p->offset + p->n_dims > row ||
        row > MAX_DIMS)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        if (p->sections[i] < 0)
            return false;
        sections += p->sections[i];
    }
    if (t->has_sections && (sections == 0 || sections > row))
        return false;
    return is_finite(p->theta_scale) && is_finite(p->freq_scale) && is_finite(p->ext_factor) &&
           is_finite(p->ramp_low) && is_finite(p->ramp_inverse) && is_finite(p->magnitude);
}

static bool is_rows(const struct htp_view *v, uint32_t type) {
    return v->type == type && v->layout == HTP_LAYOUT_ROWS;
}

static bool is_empty(const struct htp_view *v) { return htp_rows(v) == 0 || v->ne[0] == 0; }

static bool same_place(const struct htp_view *a, const struct htp_view *b) {
    return a->data == b->data && a->nb[1] == b->nb[1] && a->nb[2] == b->nb[2] && a->nb[3] == b->nb[3];
}

static bool is_aligned(const struct htp_view *v) {
    return (((uintptr_t)v->data | v->nb[1] | v->nb[2] | v->nb[3]) & (HVX_BYTES - 1)) == 0;
}

static void describe(struct rope *t) {
    const struct htp_rope_params *p = &t->params;
    const uint32_t n_dims = (uint32_t)p->n_dims;
    t->pairs = p->mode == HTP_ROPE_VISION ? n_dims : n_dims / 2;
    t->padded = (uint32_t)htp_round_up(t->pairs, ROPE_STEP);
    t->first = (uint32_t)p->offset * t->size;
    t->distance = (p->mode == HTP_ROPE_NORMAL ? 1 : t->pairs) * t->size;
    t->rotated = 2 * t->pairs * t->size;
    t->has_others = !same_place(t->src, t->dst) && (t->first != 0 || t->rotated != t->src->ne[0] * t->size);
    const uint32_t inside = p->mode == HTP_ROPE_NORMAL ? t->first : t->first | t->distance;
    t->aligned = is_aligned(t->src) && is_aligned(t->dst) && inside % HVX_BYTES == 0;
}

/* what the operands have to be like */
static uint32_t check_operands(struct htp_exec *exec, const struct rope *t) {
    if (!is_rows(t->src, HTP_TYPE_F32) && !is_rows(t->src, HTP_TYPE_F16))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (!is_rows(t->dst, t->src->type))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 3);
    if (t->src->nb[0] != t->size || t->dst->nb[0] != t->size)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, t->src->nb[0] != t->size ? 0 : 3);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (t->src->ne[i] != t->dst->ne[i])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    if (!is_rows(t->positions, HTP_TYPE_I32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    if (t->factors != NULL && !is_rows(t->factors, HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    return HTP_STATUS_OK;
}

/*
 * detail of a failure: 0, 1, 2, 3 the operand (x, positions, factors, dst) whose type or element stride, 16 + dimension
 * whose size is wrong, 20 too few positions, 21 too few factors, 32 arguments. NO_VTCM: bytes that are needed.
 */
uint32_t htp_rope(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    if (exec->op != HTP_OP_ROPE)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct rope t = {.src = exec->src[0], .positions = exec->src[1], .dst = exec->dst};
    t.factors = exec->n_src > 2 ? exec->src[2] : NULL;
    t.size = t.src->type == HTP_TYPE_F32 ? 4 : 2;
    __builtin_memcpy(&t.params, exec->params, sizeof(t.params));
    t.has_sections = t.params.mode == HTP_ROPE_MROPE || t.params.mode == HTP_ROPE_VISION ||
                     t.params.mode == HTP_ROPE_IMROPE;
    const uint32_t status = check_operands(exec, &t);
    if (status != HTP_STATUS_OK || is_empty(t.src))
        return status;
    if (!good_params(&t, &t.params))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    describe(&t);
    const uint64_t positions = (uint64_t)t.src->ne[2] * (t.has_sections ? ROPE_CHAINS : 1);
    if (is_empty(t.positions) || t.positions->ne[0] < positions)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 20);
    if (t.factors != NULL && (is_empty(t.factors) || t.factors->ne[0] < t.pairs))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 21);

    const size_t shared = rope_shared_bytes(&t), each = rope_thread_bytes(&t);
    if (exec->vtcm_size < shared + each)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, (uint32_t)(shared + each));
    const uint32_t rows = t.src->ne[1] * t.src->ne[2];
    const uint64_t worth = (uint64_t)htp_rows(t.src) * t.src->ne[0] * t.size / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    n = htp_min_u32(n, (uint32_t)((exec->vtcm_size - shared) / each));
    rope_prepare_angles(&t, exec->vtcm);
    struct job job = {&t, exec->vtcm + shared};
    htp_parallel(exec, n, run_heads, &job);
    return HTP_STATUS_OK;
}
