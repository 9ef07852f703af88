/*
 * ADD, SUB, MUL, DIV: dst = src0 op src1, element by element. ADD_ID is in add_id.c, rows are in row.c.
 *
 * src1 repeats into the shape of src0 in every dimension (ggml's broadcasting). All is computed in f32 and rounded
 * once. Types: all f32, all f16, all bf16; or f16 or bf16 with an f32 src1 and either type of dst. dst may be src0 or
 * src1 themselves: every vector is read before it is written.
 */
#include "hvx/compiler.h"
#include "ops/binary/binary.h"

uint32_t htp_binary(struct htp_exec *exec);

uint32_t binary_threads(const struct htp_exec *exec, const struct htp_view *dst) {
    const uint32_t rows = htp_rows(dst);
    const uint64_t worth = (uint64_t)rows * dst->ne[0] * htp_type_bytes(dst->type) / BINARY_THREAD_BYTES + 1;
    const uint32_t n = htp_min_u32(exec->n_threads, rows);
    return worth < n ? (uint32_t)worth : n;
}

static void plan_rows(struct binary *t, const struct htp_exec *exec, uint32_t n_threads) {
    struct htp_stream_plan *const plan = &t->plan;
    plan->operands = 3;
    __builtin_memcpy(plan->ne, t->dst->ne, sizeof(plan->ne));
    plan->segments = 1;
    plan->stay = t->segment == 0;
    htp_stream_operand(plan, 0, t->dst);
    htp_stream_operand(plan, 1, t->a);
    htp_stream_operand(plan, 2, t->b);
    htp_stream_plan(plan, exec, n_threads);
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct binary *t = arg;
    const uint32_t length = t->dst->ne[0], *const step = t->plan.step;
    binary_span_fn *const whole_row = t->segment == length ? t->span : NULL;
    struct htp_stream stream;
    htp_stream_open(&stream, &t->plan, thread, n_threads);
    for (const struct htp_stream_block *block; (block = htp_stream_next(&stream)) != NULL;) {
        uint8_t *dst = block->row[0];
        const uint8_t *a = block->row[1], *b = block->row[2];
        HVX_ROLLED
        for (uint32_t i = block->rows; i > 0; i--) {
            if (whole_row != NULL)
                whole_row(t, a, b, dst, length);
            else
                binary_row(t, a, b, dst);
            a += step[1];
            b += step[2];
            dst += step[0];
        }
    }
}

/* detail of a failure: 0, 1, 2 the operand (src0, src1, dst) whose layout is wrong, 8 types, 16 + i: size i is wrong */
uint32_t htp_binary(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return binary_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    const struct htp_view *const views[] = {exec->src[0], exec->src[1], exec->dst};
    for (uint32_t i = 0; i < 3; i++) {
        if (views[i]->layout != HTP_LAYOUT_ROWS)
            return binary_fail(exec, HTP_STATUS_UNSUPPORTED, i);
    }
    if (exec->op == HTP_OP_ADD_ID)
        return binary_add_id(exec);
    if (exec->op != HTP_OP_ADD && exec->op != HTP_OP_SUB && exec->op != HTP_OP_MUL && exec->op != HTP_OP_DIV)
        return binary_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct binary t; /* every member that is used is set below */
    t.a = exec->src[0];
    t.b = exec->src[1];
    t.dst = exec->dst;
    t.op = exec->op;
    if (!binary_types_fit(t.a, t.b, t.dst))
        return binary_fail(exec, HTP_STATUS_UNSUPPORTED, 8);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (t.a->ne[i] != t.dst->ne[i] || t.b->ne[i] == 0 || t.a->ne[i] % t.b->ne[i] != 0)
            return binary_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    if (htp_rows(t.dst) == 0 || t.dst->ne[0] == 0)
        return HTP_STATUS_OK;
    const uint32_t n = binary_threads(exec, t.dst);
    binary_set_segment(&t);
    plan_rows(&t, exec, n);
    binary_choose(&t, htp_stream_moves(&t.plan, 0) && htp_stream_moves(&t.plan, 1));
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
