/*
 * ADD, SUB, MUL, DIV: dst = src0 op src1, element by element. ADD_ID is in add_id.c, rows are in row.c.
 *
 * src1 repeats into the shape of src0 in every dimension (ggml's broadcasting). All is computed in f32 and rounded
 * once. Types: all f32, all f16, all bf16; or f16 or bf16 with an f32 src1 and either type of dst. dst may be src0 or
 * src1 themselves: every vector is read before it is written.
 */
#include "hvx/compiler.h"
#include "ops/binary/binary.h"
#include "runtime/stream.h"

uint32_t htp_binary(struct htp_exec *exec);

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct binary *t = arg;
    const uint32_t *ne = t->dst->ne;
    const uint32_t length = ne[0];
    binary_span_fn *const whole_row = t->segment == length ? t->span : NULL;
    const struct htp_share share = htp_share_of(htp_rows(t->dst), thread, n_threads);
    struct htp_place at = htp_place_of(ne, share.begin);
    for (uint32_t left = share.count, count; left > 0; left -= count) {
        struct htp_run a = htp_run_at(t->a, &at), dst = htp_run_at(t->dst, &at), b = htp_run_repeated(t->b, &at);
        count = htp_min_u32(htp_min_u32(left, dst.rows), b.rows);
        HVX_ROLLED
        for (uint32_t i = count; i > 0; i--) {
            if (whole_row != NULL)
                whole_row(t, a.row, b.row, dst.row, length);
            else
                binary_row(t, a.row, b.row, dst.row);
            a.row += a.step;
            b.row += b.step;
            dst.row += dst.step;
        }
        htp_place_advance(&at, ne, count);
    }
}

/* ---- rows in VTCM ---- */

struct moved_binary {
    struct binary rows;
    struct htp_stream_plan plan; /* of dst, a, b */
};

static void run_blocks(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct moved_binary *m = arg;
    const struct binary *t = &m->rows;
    const uint32_t length = t->dst->ne[0], *const step = m->plan.step;
    binary_span_fn *const whole_row = t->segment == length ? t->span : NULL;
    struct htp_stream stream;
    htp_stream_open(&stream, &m->plan, thread, n_threads);
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

/* False, and nothing is done, when rows have to be used where they are. */
static HVX_NOINLINE bool run_in_vtcm(struct htp_exec *exec, const struct binary *t, uint32_t n_threads) {
    if (t->segment == 0) /* read element by element */
        return false;
    struct moved_binary m = {.rows = *t};
    htp_stream_begin(&m.plan, 3, t->dst->ne);
    htp_stream_operand(&m.plan, 0, t->dst);
    htp_stream_operand(&m.plan, 1, t->a);
    htp_stream_operand(&m.plan, 2, t->b);
    if (!htp_stream_plan(&m.plan, exec, n_threads))
        return false;
    binary_choose_in_vtcm(&m.rows);
    htp_parallel(exec, n_threads, run_blocks, &m);
    return true;
}

/* ---- the whole ---- */

/* detail of a failure: 0, 1, 2 the operand (src0, src1, dst) whose layout is wrong, 8 types, 16 + i: size i is wrong */
uint32_t htp_binary(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    const struct htp_view *const views[] = {exec->src[0], exec->src[1], exec->dst};
    for (uint32_t i = 0; i < 3; i++) {
        if (views[i]->layout != HTP_LAYOUT_ROWS)
            return htp_fail(exec, HTP_STATUS_UNSUPPORTED, i);
    }
    if (exec->op == HTP_OP_ADD_ID)
        return binary_add_id(exec);
    if (exec->op != HTP_OP_ADD && exec->op != HTP_OP_SUB && exec->op != HTP_OP_MUL && exec->op != HTP_OP_DIV)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct binary t = {.a = exec->src[0], .b = exec->src[1], .dst = exec->dst, .op = exec->op};
    if (!binary_types_fit(t.a, t.b, t.dst))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 8);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (t.a->ne[i] != t.dst->ne[i] || t.b->ne[i] == 0 || t.a->ne[i] % t.b->ne[i] != 0)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    if (htp_rows(t.dst) == 0 || t.dst->ne[0] == 0)
        return HTP_STATUS_OK;
    binary_choose(&t);
    const uint64_t bytes = binary_bytes(t.dst);
    const uint32_t n = binary_threads(exec, t.dst, bytes);
    if (htp_stream_is_worth(2 * bytes) && run_in_vtcm(exec, &t, n))
        return HTP_STATUS_OK;
    htp_parallel(exec, n, run_rows, &t);
    return HTP_STATUS_OK;
}
