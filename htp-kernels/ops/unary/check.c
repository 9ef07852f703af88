/* Element-wise ops of one tensor against f64: all types, strides, in place; special values as in ggml's CPU backend. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/row_ref.h"
#include "htp/params.h"
#include "ops/unary/ref.h"

uint32_t htp_unary(struct htp_exec *exec);

struct op {
    uint32_t number;
    double relative; /* part of a result that it may be off, beside its rounding */
    double unit;     /* the same part of this: what results are measured by when they are small */
    bool by_operand; /* of the operand's size as well: gelu_erf has cancelled there, in ggml too */
};

#define EXACT 2e-7
#define CURVE 4e-5 /* of powers of two in 16 bits */
#define GATE 1.5e-4 /* of their reciprocal as well */
static const struct op ops[] = {
    {HTP_OP_SCALE, EXACT, 1, false},
    {HTP_OP_SQR, EXACT, 1e-37, false},
    {HTP_OP_SQRT, 3e-7, 0, false},
    {HTP_OP_CLAMP, 0, 0, false},
    {HTP_OP_SILU, GATE, 1e-24, false},
    {HTP_OP_GELU, GATE, 1e-24, false},
    {HTP_OP_GELU_QUICK, GATE, 1e-24, false},
    {HTP_OP_GELU_ERF, GATE, 0, true},
    {HTP_OP_SIGMOID, 1e-5, 1e-26, false},
    {HTP_OP_NEG, 0, 0, false},
    {HTP_OP_EXP, CURVE, 1e-33, false},
    {HTP_OP_SOFTPLUS, 1e-5, 4e-33, false},
    {HTP_OP_TANH, CURVE, 1e-33, false},
    {HTP_OP_RELU, 0, 0, false},
    {HTP_OP_ABS, 0, 0, false},
    {HTP_OP_STEP, 0, 0, false},
    {HTP_OP_LOG, 5e-7, 0, false},
    {HTP_OP_SGN, 0, 0, false},
    {HTP_OP_ELU, 6e-5, 1e-33, false},
    {HTP_OP_HARDSWISH, 3e-7, 1e-33, false},
    {HTP_OP_HARDSIGMOID, 3e-7, 0, false},
    {HTP_OP_EXPM1, 6e-5, 1e-33, false},
    {HTP_OP_XIELU, 2e-4, 1e-33, true}, /* a difference */
    {HTP_OP_FLOOR, 0, 0, false},
    {HTP_OP_CEIL, 0, 0, false},
    {HTP_OP_ROUND, 0, 0, false},
    {HTP_OP_TRUNC, 0, 0, false},
    {HTP_OP_LEAKY_RELU, EXACT, 1e-33, false},
    {HTP_OP_SIN, 3e-7, 0.1, false},
    {HTP_OP_COS, 3e-7, 1, false},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

struct shape {
    uint32_t ne[4];
    uint32_t src_form, dst_form; /* see check_strides */
    uint32_t offset;             /* of the first element from a boundary, in elements */
    bool in_place, special;
    bool streams; /* large enough for blocks in VTCM */
};

static void run_shape(struct check *c, const struct op *op, uint32_t type, const struct shape *s, float scale) {
    struct check_tensor src, dst;
    uint32_t src_nb[4], dst_nb[4];
    const uint32_t size = check_type_size(type);
    check_strides(type, s->ne, s->src_form, src_nb);
    check_strides(type, s->ne, s->dst_form, dst_nb);
    check_make(&src, type, HTP_LAYOUT_ROWS, s->ne, src_nb, s->offset * size);
    check_make(&dst, type, HTP_LAYOUT_ROWS, s->ne, dst_nb, s->offset * 2 * size);
    ref_fill(&src.view, op->number == HTP_OP_LOG && scale == 1 ? 2 : scale, s->special);
    check_remember(&src);
    check_remember(&dst);
    struct check_run run;
    check_run_init(&run, op->number, 1 + check_below(4), s->streams ? 512 << 10 : 64 << 10);
    struct htp_unary_params params = {{check_uniform() * 4, check_below(2) == 0 ? 0 : check_uniform()}};
    if (op->number == HTP_OP_CLAMP) {
        params.args[0] = -fabsf(params.args[0]);
        params.args[1] = 0.125f + fabsf(params.args[1]); /* not 0: which sign a zero gets is not laid down */
    }
    if (op->number == HTP_OP_XIELU) /* none so large that 3e38 becomes infinite on the way to a finite result */
        params = (struct htp_unary_params){{0.6f + 0.0625f * fabsf(params.args[0]), 0.8f, 0.5f, -1e-6f}};
    memcpy(run.params, &params, sizeof(params));
    struct check_tensor before; /* the operands, when they are overwritten */
    check_make(&before, type, HTP_LAYOUT_ROWS, s->ne, src_nb, s->offset * size);
    memcpy(before.block, src.block, src.block_bytes);
    struct check_tensor *out = s->in_place ? &src : &dst;
    run.exec.n_src = 1;
    run.exec.src[0] = &src.view;
    run.exec.dst = &out->view;
    const uint32_t status = check_run_op(&run, htp_unary);
    double error = status != HTP_STATUS_OK ? INFINITY : 0;
    for (uint32_t r = 0; r < htp_rows(&src.view); r++) {
        for (uint32_t i = 0; i < s->ne[0]; i++) {
            const uint32_t i1 = r % s->ne[1], i2 = r / s->ne[1] % s->ne[2], i3 = r / s->ne[1] / s->ne[2];
            const double x = check_get(&before.view, i, i1, i2, i3), y = check_get(&out->view, i, i1, i2, i3);
            double expected = ref_unary(op->number, type, x, params.args);
            if (op->number == HTP_OP_CLAMP)
                expected = ref_round(type, expected);
            const double e = ref_error(type, y, expected, op->relative, op->by_operand ? fabs(x) : op->unit);
            if (!(e <= error))
                error = e;
        }
    }
    check_case(c, error, 1, "op %u type %u [%u,%u,%u,%u] strides %u to %u, offset %u, scale %g%s%s",
               (unsigned)op->number, (unsigned)type, (unsigned)s->ne[0], (unsigned)s->ne[1], (unsigned)s->ne[2],
               (unsigned)s->ne[3], (unsigned)s->src_form, (unsigned)s->dst_form, (unsigned)s->offset, scale,
               s->in_place ? " in place" : "", s->special ? " special" : "");
    check_true(c, check_unchanged(out, false) && (s->in_place || check_unchanged(&src, true)),
               "op %u type %u [%u,...] wrote beside its output", (unsigned)op->number, (unsigned)type,
               (unsigned)s->ne[0]);
    check_true(c, check_vtcm_intact(&run) && (!s->streams || check_vtcm_used(&run)),
               "op %u type %u [%u,%u,...] does not pass through VTCM as it should", (unsigned)op->number,
               (unsigned)type, (unsigned)s->ne[0], (unsigned)s->ne[1]);
    check_run_free(&run);
    check_free(&before);
    check_free(&src);
    check_free(&dst);
}

/* Experts are chosen by the order of SIGMOID and SOFTPLUS: what is larger stays larger, even by little. */
static void keeps_order(struct check *c, uint32_t op, float base) {
    struct check_tensor x, y;
    const uint32_t ne[4] = {2000, 1, 1, 1};
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&y, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    for (uint32_t i = 0; i < ne[0]; i++)
        check_set(&x.view, i, 0, 0, 0, base + 4e-6f * (float)i);
    struct check_run run;
    check_run_init(&run, op, 1, 4096);
    run.exec.n_src = 1;
    run.exec.src[0] = &x.view;
    run.exec.dst = &y.view;
    bool ascends = check_run_op(&run, htp_unary) == HTP_STATUS_OK;
    for (uint32_t i = 1; i < ne[0]; i++)
        ascends = ascends && check_get(&y.view, i, 0, 0, 0) > check_get(&y.view, i - 1, 0, 0, 0);
    check_true(c, ascends, "op %u: operands from %g on lose their order", (unsigned)op, (double)base);
    check_run_free(&run);
    check_free(&x);
    check_free(&y);
}

static void refuses(struct check *c) {
    struct check_tensor a, b, h, i;
    const uint32_t ne[4] = {32, 2, 1, 1}, other[4] = {32, 3, 1, 1};
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, other, NULL, 0);
    check_make(&h, HTP_TYPE_F16, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&i, HTP_TYPE_I32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_SQR, 1, 4096);
    run.exec.n_src = 1;
    run.exec.src[0] = &a.view;
    run.exec.dst = &b.view;
    check_true(c, check_run_op(&run, htp_unary) == HTP_STATUS_BAD_OP, "other shape of dst");
    run.exec.dst = &h.view;
    check_true(c, check_run_op(&run, htp_unary) == HTP_STATUS_UNSUPPORTED, "f32 into f16");
    run.exec.src[0] = run.exec.dst = &i.view;
    check_true(c, check_run_op(&run, htp_unary) == HTP_STATUS_UNSUPPORTED, "i32");
    run.exec.src[0] = NULL;
    check_true(c, check_run_op(&run, htp_unary) == HTP_STATUS_BAD_OP, "no source");
    run.exec.src[0] = run.exec.dst = &a.view;
    run.exec.op = HTP_OP_SWIGLU;
    check_true(c, check_run_op(&run, htp_unary) == HTP_STATUS_UNSUPPORTED, "an op of another family");
    struct htp_view empty = a.view;
    empty.ne[1] = 0;
    run.exec.op = HTP_OP_SILU;
    run.exec.src[0] = run.exec.dst = &empty;
    check_remember(&a);
    check_true(c, check_run_op(&run, htp_unary) == HTP_STATUS_OK && check_unchanged(&a, true), "no rows");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&h);
    check_free(&i);
}

void check_unary(struct check *c) {
    static const struct shape shapes[] = {
        {{1, 1, 1, 1}, 0, 0, 0, false, false, false},        {{31, 1, 1, 1}, 0, 0, 0, true, true, false},
        {{64, 3, 1, 1}, 0, 0, 0, false, true, false},        {{65, 2, 3, 2}, 1, 0, 0, false, true, false},
        {{97, 3, 2, 2}, 1, 1, 3, true, true, false},         {{256, 5, 1, 1}, 0, 0, 32, true, false, false},
        {{128, 2, 2, 2}, 2, 0, 0, false, false, false},      {{33, 7, 3, 1}, 3, 0, 0, false, true, false},
        {{33, 7, 3, 1}, 0, 4, 5, false, false, false},       {{200, 3, 2, 1}, 5, 5, 0, true, true, false},
        {{300, 3, 1, 1}, 5, 0, 7, false, true, false},       {{5, 7, 11, 3}, 0, 0, 1, false, false, false},
        {{1030, 11, 1, 1}, 1, 1, 0, false, false, false},    {{9000, 2, 1, 1}, 0, 0, 0, true, true, false},
        {{2048, 4, 1, 1}, 0, 2, 0, false, false, false},
    };
    static const struct shape large[] = {
        {{140000, 1, 1, 1}, 0, 0, 3, false, true, true}, {{2052, 70, 1, 1}, 1, 0, 0, false, true, true},
        {{320, 37, 5, 3}, 1, 1, 5, true, true, true},    {{9001, 11, 2, 1}, 1, 1, 1, true, true, true},
        {{100, 77, 20, 1}, 0, 1, 0, false, true, true},
    };
    static const uint32_t types[] = {HTP_TYPE_F32, HTP_TYPE_F16, HTP_TYPE_BF16};
    static const float scales[] = {1e-3f, 1, 6, 30, 150};
    for (uint32_t i = 0; i < OPS; i++) {
        for (uint32_t t = 0; t < 3; t++) {
            for (uint32_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
                run_shape(c, &ops[i], types[t], &shapes[s], scales[(s + t) % 5]);
        }
        for (uint32_t k = 0; k < 5; k++) {
            const struct shape dense = {{8192, 3, 1, 1}, 0, 0, 0, false, false, false};
            run_shape(c, &ops[i], HTP_TYPE_F32, &dense, scales[k]);
        }
    }
    for (uint32_t t = 0; t < 3; t++) {
        for (uint32_t s = 0; s < sizeof(large) / sizeof(large[0]); s++) {
            run_shape(c, &ops[0], types[t], &large[s], 1);
            run_shape(c, &ops[4], types[t], &large[s], 6);
        }
    }
    for (int base = -3; base <= 2; base++) {
        keeps_order(c, HTP_OP_SIGMOID, (float)base);
        keeps_order(c, HTP_OP_SOFTPLUS, (float)base);
    }
    refuses(c);
}
