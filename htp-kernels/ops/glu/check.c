/* Gated linear units against f64: two tensors or halves of one, all types, strides, in place; special values. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/row_ref.h"
#include "htp/params.h"
#include "ops/unary/ref.h"

uint32_t htp_glu(struct htp_exec *exec);

#define GATE 1.5e-4
enum form { APART, HALVES, SWAPPED, DST_IS_A, DST_IS_B };

struct shape {
    uint32_t ne[4];              /* of dst */
    enum form form;
    uint32_t src_form, dst_form; /* see check_strides */
    uint32_t offset;             /* of the first element from a boundary, in elements */
    bool special;
    bool streams;                /* large enough to pass through VTCM */
};

static double reference(uint32_t op, uint32_t type, double a, double b, const struct htp_glu_params *p) {
    /* comparisons that NaN goes through; compilers make others of a > limit ? limit : a */
    const double limit = p->limit, x = isgreater(a, limit) ? limit : a;
    const double y = isgreater(b, limit) ? limit : isless(b, -limit) ? -limit : b;
    switch (op) {
    case HTP_OP_SWIGLU:
        return ref_unary(HTP_OP_SILU, type, a, NULL) * b;
    case HTP_OP_GEGLU:
        return ref_unary(HTP_OP_GELU, type, a, NULL) * b;
    case HTP_OP_GEGLU_QUICK:
        return ref_unary(HTP_OP_GELU_QUICK, type, a, NULL) * b;
    case HTP_OP_GEGLU_ERF:
        return ref_unary(HTP_OP_GELU_ERF, type, a, NULL) * b;
    case HTP_OP_REGLU:
        return a > 0 ? a * b : 0;
    case HTP_OP_SWIGLU_OAI:
        return x / (1 + exp(p->alpha * -x)) * (y + 1);
    default:
        return x / (1 + exp(-x)) * y;
    }
}

/* Not when a product of infinity or a huge number and almost zero decides: that zero is 2e-31 or less here. */
static bool is_settled(double a, double b) {
    return (isfinite(b) && fabs(b) < 1e6) || (fabs(a) < 20 && fabs(a) > 1e-3);
}

static void run_shape(struct check *c, uint32_t op, uint32_t type, const struct shape *s, float scale) {
    struct check_tensor a, b, dst;
    const bool halves = s->form == HALVES || s->form == SWAPPED;
    const uint32_t size = check_type_size(type), length = s->ne[0];
    const uint32_t odd = halves && length % 2 == 1; /* one element more than both halves */
    const uint32_t a_ne[4] = {halves ? 2 * length + odd : length, s->ne[1], s->ne[2], s->ne[3]};
    uint32_t a_nb[4], b_nb[4], dst_nb[4];
    check_strides(type, a_ne, s->src_form, a_nb);
    check_strides(type, s->ne, s->form == DST_IS_B ? s->dst_form : s->src_form, b_nb);
    check_strides(type, s->ne, s->dst_form, dst_nb);
    check_make(&a, type, HTP_LAYOUT_ROWS, a_ne, a_nb, s->offset * size);
    check_make(&b, type, HTP_LAYOUT_ROWS, s->ne, b_nb, s->offset * 3 * size);
    check_make(&dst, type, HTP_LAYOUT_ROWS, s->ne, dst_nb, s->offset * 2 * size);
    ref_fill(&a.view, scale, s->special);
    ref_fill(&b.view, 3, s->special);
    const float alpha = 0.25f + 2 * fabsf(check_uniform()), limit = 1 + 6 * fabsf(check_uniform());
    const struct htp_glu_params params = {s->form == SWAPPED, alpha, limit};
    const uint32_t rows = htp_rows(&a.view);
    double *expected = malloc((size_t)rows * length * 3 * sizeof(double)), *e = expected;
    for (uint32_t r = 0; expected != NULL && r < rows; r++) {
        for (uint32_t i = 0; i < length; i++, e += 3) {
            const uint32_t i1 = r % s->ne[1], i2 = r / s->ne[1] % s->ne[2], i3 = r / s->ne[1] / s->ne[2];
            double x = check_get(&a.view, i, i1, i2, i3);
            double y = halves ? check_get(&a.view, i + length, i1, i2, i3) : check_get(&b.view, i, i1, i2, i3);
            if (s->form == SWAPPED) {
                const double swap = x;
                x = y;
                y = swap;
            }
            e[0] = is_settled(x, y) ? reference(op, type, x, y, &params) : 0;
            /* what an error is measured by when the result is small */
            e[1] = op == HTP_OP_GEGLU_ERF ? fabs(x * y) : op == HTP_OP_SWIGLU_OAI ? fabs(x) * 2e-2 : 1e-24 * fabs(y);
            e[2] = is_settled(x, y);
        }
    }
    check_remember(&a);
    check_remember(&b);
    check_remember(&dst);
    struct check_tensor *out = s->form == DST_IS_A ? &a : s->form == DST_IS_B ? &b : &dst;
    struct check_run run;
    check_run_init(&run, op, 1 + check_below(4), s->streams ? 1 << 20 : 64 << 10);
    memcpy(run.params, &params, sizeof(params));
    run.exec.n_src = 2;
    run.exec.src[0] = &a.view;
    run.exec.src[1] = halves ? NULL : &b.view;
    run.exec.dst = &out->view;
    double error = expected == NULL || check_run_op(&run, htp_glu) != HTP_STATUS_OK ? INFINITY : 0;
    for (uint32_t k = 0; expected != NULL && k < rows * length; k++) {
        const uint32_t r = k / length, i1 = r % s->ne[1], i2 = r / s->ne[1] % s->ne[2], i3 = r / s->ne[1] / s->ne[2];
        const double *p = expected + 3 * (size_t)k;
        const double d = ref_error(type, check_get(&out->view, k % length, i1, i2, i3), p[0], GATE, p[1]);
        if (p[2] != 0 && !(d <= error))
            error = d;
    }
    check_case(c, error, 1, "op %u type %u [%u,%u,%u,%u] form %u strides %u to %u, offset %u, scale %g%s", (unsigned)op,
               (unsigned)type, (unsigned)s->ne[0], (unsigned)s->ne[1], (unsigned)s->ne[2], (unsigned)s->ne[3],
               (unsigned)s->form, (unsigned)s->src_form, (unsigned)s->dst_form, (unsigned)s->offset, scale,
               s->special ? " special" : "");
    check_true(c, check_unchanged(&a, out != &a) && check_unchanged(&b, out != &b) && check_unchanged(out, false),
               "op %u type %u [%u,...] wrote beside its output", (unsigned)op, (unsigned)type, (unsigned)length);
    check_true(c, check_vtcm_intact(&run) && (!s->streams || check_vtcm_used(&run)),
               "op %u type %u [%u,...] does not pass through VTCM as it should", (unsigned)op, (unsigned)type,
               (unsigned)length);
    free(expected);
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&dst);
}

static void refuses(struct check *c) {
    struct check_tensor a, b, h;
    const uint32_t ne[4] = {32, 2, 1, 1}, half[4] = {16, 2, 1, 1};
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, half, NULL, 0);
    check_make(&h, HTP_TYPE_F16, HTP_LAYOUT_ROWS, ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_SWIGLU, 1, 4096);
    run.exec.n_src = 2;
    run.exec.src[0] = run.exec.dst = &a.view;
    run.exec.src[1] = &b.view;
    check_true(c, check_run_op(&run, htp_glu) == HTP_STATUS_BAD_OP, "other shape of src1");
    run.exec.src[1] = &h.view;
    check_true(c, check_run_op(&run, htp_glu) == HTP_STATUS_UNSUPPORTED, "f16 src1");
    run.exec.src[1] = NULL;
    check_true(c, check_run_op(&run, htp_glu) == HTP_STATUS_BAD_OP, "dst as wide as both halves");
    run.exec.dst = &b.view;
    check_true(c, check_run_op(&run, htp_glu) == HTP_STATUS_OK, "halves");
    run.exec.op = HTP_OP_SILU;
    check_true(c, check_run_op(&run, htp_glu) == HTP_STATUS_UNSUPPORTED, "an op of another family");
    run.exec.op = HTP_OP_SWIGLU;
    run.exec.src[0] = NULL;
    check_true(c, check_run_op(&run, htp_glu) == HTP_STATUS_BAD_OP, "no source");
    struct htp_view empty = a.view, empty_dst = b.view;
    empty.ne[2] = empty_dst.ne[2] = 0;
    run.exec.src[0] = &empty;
    run.exec.dst = &empty_dst;
    check_remember(&b);
    check_true(c, check_run_op(&run, htp_glu) == HTP_STATUS_OK && check_unchanged(&b, true), "no rows");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&h);
}

void check_glu(struct check *c) {
    static const struct shape shapes[] = {
        {{1, 1, 1, 1}, APART, 0, 0, 0, false, false},      {{31, 1, 1, 1}, HALVES, 0, 0, 0, true, false},
        {{64, 3, 1, 1}, APART, 0, 0, 0, true, false},      {{65, 2, 3, 2}, SWAPPED, 1, 0, 0, true, false},
        {{97, 3, 2, 2}, DST_IS_A, 1, 1, 3, true, false},   {{256, 5, 1, 1}, DST_IS_B, 0, 0, 32, false, false},
        {{128, 2, 2, 2}, APART, 2, 0, 0, false, false},    {{33, 7, 3, 1}, HALVES, 3, 0, 0, true, false},
        {{33, 7, 3, 1}, APART, 0, 4, 5, false, false},     {{200, 3, 2, 1}, DST_IS_A, 5, 5, 0, true, false},
        {{300, 3, 1, 1}, SWAPPED, 5, 0, 7, true, false},   {{5, 7, 11, 3}, HALVES, 0, 0, 1, false, false},
        {{1030, 11, 1, 1}, APART, 1, 1, 0, false, false},  {{9000, 2, 1, 1}, DST_IS_A, 0, 0, 0, true, false},
        {{2048, 4, 1, 1}, HALVES, 0, 2, 0, false, false},  {{9000, 2, 1, 1}, DST_IS_B, 5, 0, 0, true, false},
        {{8192, 3, 1, 1}, APART, 0, 0, 0, false, false},
    };
    static const struct shape large[] = {
        {{2048, 70, 1, 1}, APART, 0, 0, 0, true, true},    {{1030, 31, 3, 2}, HALVES, 1, 0, 3, true, true},
        {{700, 90, 3, 1}, DST_IS_A, 1, 1, 1, true, true},  {{70000, 2, 1, 1}, DST_IS_B, 0, 0, 0, true, true},
        {{9001, 17, 1, 1}, SWAPPED, 0, 0, 0, false, true},
    };
    static const uint32_t types[] = {HTP_TYPE_F32, HTP_TYPE_F16, HTP_TYPE_BF16};
    static const float scales[] = {1e-3f, 1, 6, 30, 150};
    for (uint32_t op = HTP_OP_SWIGLU; op <= HTP_OP_SWIGLU_CLAMP; op++) {
        for (uint32_t t = 0; t < 3; t++) {
            for (uint32_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
                run_shape(c, op, types[t], &shapes[s], scales[(s + t) % 5]);
        }
        for (uint32_t s = 0; op <= HTP_OP_SWIGLU + 1 && s < 2 * sizeof(large) / sizeof(large[0]); s++)
            run_shape(c, op, types[s % 3], &large[s / 2], 6);
    }
    refuses(c);
}
