/* SUM, SUM_ROWS, MEAN, ARGMAX and CUMSUM against plain loops. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t htp_reduce(struct htp_exec *exec);

struct shape {
    uint32_t ne[4];
    uint32_t step, gap, offset; /* of src: bytes from element to element, between rows, from a 128-byte boundary */
    uint32_t dst_step;
    uint32_t special; /* ARGMAX: 0 any values, 1 few different ones, 2 and infinities, 3 and NaN, 4 NaN only */
    bool in_place;    /* CUMSUM */
    bool streams;     /* large enough to pass through VTCM */
};

static float value(const struct shape *s) {
    static const float few[] = {1, -2, 0.0f, -0.0f, 3, 3, -INFINITY, INFINITY, NAN, -NAN};
    switch (s->special) {
    case 0:
        return check_uniform();
    case 4:
        return NAN;
    default:
        return few[check_below(4 + 2 * s->special)];
    }
}

static float source(const struct check_tensor *t, uint32_t i, uint32_t row) {
    const uint32_t *ne = t->view.ne;
    return (float)check_get(&t->view, i, row % ne[1], row / ne[1] % ne[2], row / ne[1] / ne[2]);
}

static void fill(struct check_tensor *t, const struct shape *s) {
    const uint32_t *ne = t->view.ne;
    for (uint32_t r = 0; r < htp_rows(&t->view); r++)
        for (uint32_t i = 0; i < ne[0]; i++)
            check_set(&t->view, i, r % ne[1], r / ne[1] % ne[2], r / ne[1] / ne[2], value(s));
}

/* What the CPU does: element after element, the larger of the two is the new one unless the old one is above it. */
static int32_t argmax(const struct check_tensor *t, uint32_t row) {
    float largest = -INFINITY;
    int32_t index = 0;
    for (uint32_t i = 0; i < t->view.ne[0]; i++) {
        const float x = source(t, i, row);
        if (isnan(largest) || isnan(x) || x >= largest) /* of !(largest > x) compilers make a maximum without NaN */
            largest = x;
        if (largest == x)
            index = (int32_t)i;
    }
    return index;
}

static void make(struct check_tensor *t, uint32_t type, const uint32_t *ne, uint32_t step, uint32_t gap,
                 uint32_t offset) {
    uint32_t nb[4] = {step, step * ne[0] + gap};
    nb[2] = nb[1] * ne[1];
    nb[3] = nb[2] * ne[2];
    check_make(t, type, HTP_LAYOUT_ROWS, ne, nb, offset);
}

/* SUM_ROWS, MEAN and CUMSUM: the largest error as a part of the sum of the row's magnitudes */
static double sums_error(uint32_t op, const struct check_tensor *src, const double *values,
                         const struct htp_view *dst) {
    const uint32_t length = src->view.ne[0], *ne = src->view.ne;
    double worst = 0;
    for (uint32_t r = 0; r < htp_rows(&src->view); r++) {
        double sum = 0, magnitude = 1e-30;
        for (uint32_t i = 0; i < length; i++) {
            sum += values[(size_t)r * length + i];
            magnitude += fabs(values[(size_t)r * length + i]);
            if (op != HTP_OP_CUMSUM && i + 1 < length)
                continue;
            const uint32_t at = op == HTP_OP_CUMSUM ? i : 0;
            const double factor = op == HTP_OP_MEAN ? length : 1;
            const double d = check_get(dst, at, r % ne[1], r / ne[1] % ne[2], r / ne[1] / ne[2]) * factor - sum;
            worst = fmax(worst, fabs(d) / magnitude);
            worst = isnan(d) ? 1 : worst;
        }
    }
    return worst;
}

static double argmax_error(const int32_t *expected, const struct htp_view *dst) {
    uint32_t wrong = 0;
    for (uint32_t r = 0; r < dst->ne[0]; r++) {
        int32_t found;
        memcpy(&found, dst->data + (size_t)r * dst->nb[0], 4);
        wrong += found != expected[r];
    }
    return wrong;
}

static void run_shape(struct check *c, uint32_t op, const struct shape *s) {
    struct check_tensor src, dst;
    uint32_t ne[4];
    memcpy(ne, s->ne, sizeof(ne));
    if (op == HTP_OP_ARGMAX)
        ne[2] = ne[3] = 1;
    make(&src, HTP_TYPE_F32, ne, s->step, s->gap, s->offset);
    const uint32_t dst_ne[4] = {op == HTP_OP_ARGMAX ? ne[1] : op == HTP_OP_CUMSUM ? ne[0] : 1,
                                op == HTP_OP_ARGMAX ? 1 : ne[1], ne[2], ne[3]};
    make(&dst, op == HTP_OP_ARGMAX ? HTP_TYPE_I32 : HTP_TYPE_F32, dst_ne, s->dst_step, s->gap / 2 / 4 * 4, s->offset);
    fill(&src, s);
    const uint32_t rows = htp_rows(&src.view), length = ne[0];
    double *values = malloc(((size_t)rows * length + 1) * sizeof(double));
    int32_t *indices = malloc((size_t)rows * sizeof(int32_t));
    struct check_run run;
    check_run_init(&run, op, 1 + check_below(4), s->streams ? 1 << 20 : 4096);
    if (values != NULL && indices != NULL) {
        for (uint32_t r = 0; r < rows; r++) {
            indices[r] = argmax(&src, r);
            for (uint32_t i = 0; i < length; i++)
                values[(size_t)r * length + i] = source(&src, i, r);
        }
        struct check_tensor *out = s->in_place && op == HTP_OP_CUMSUM ? &src : &dst;
        run.exec.n_src = 1;
        run.exec.src[0] = &src.view;
        run.exec.dst = &out->view;
        check_remember(&src);
        check_remember(&dst);
        const uint32_t status = check_run_op(&run, htp_reduce);
        const bool is_index = op == HTP_OP_ARGMAX;
        double error = is_index ? argmax_error(indices, &dst.view) : sums_error(op, &src, values, &out->view);
        error = status == HTP_STATUS_OK ? error : 1;
        /* an f32 sum is off by a few last places of what has been summed */
        check_case(c, error, is_index ? 0.5 : 1e-6, "op %u [%u,%u,%u,%u] steps %u %u gap %u offset %u special %u%s",
                   (unsigned)op, (unsigned)ne[0], (unsigned)ne[1], (unsigned)ne[2], (unsigned)ne[3], (unsigned)s->step,
                   (unsigned)s->dst_step, (unsigned)s->gap, (unsigned)s->offset, (unsigned)s->special,
                   s->in_place ? " in place" : "");
        check_true(c, check_unchanged(out, false) && (out == &src || check_unchanged(&src, true)),
                   "op %u [%u,...] wrote beside its output", (unsigned)op, (unsigned)ne[0]);
        check_true(c, check_vtcm_intact(&run) && (!s->streams || check_vtcm_used(&run)),
                   "op %u [%u,...] does not pass through VTCM as it should", (unsigned)op, (unsigned)ne[0]);
    }
    free(values);
    free(indices);
    check_run_free(&run);
    check_free(&src);
    check_free(&dst);
}

/* infinities and NaN in sums, as a plain loop has them; an empty row */
static void sums_of_specials(struct check *c) {
    static const float rows[][3] = {{INFINITY, 1, 2}, {1, INFINITY, -INFINITY}, {1, NAN, 2}, {-INFINITY, 3, 4}};
    for (uint32_t op = HTP_OP_SUM_ROWS; op <= HTP_OP_CUMSUM; op += 2) {
        for (uint32_t k = 0; k < 4; k++) {
            struct check_tensor src, dst;
            const uint32_t ne[4] = {70, 1, 1, 1}, one[4] = {1, 1, 1, 1};
            check_make(&src, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
            check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, op == HTP_OP_SUM_ROWS ? one : ne, NULL, 0);
            for (uint32_t i = 0; i < 70; i++)
                check_set(&src.view, i, 0, 0, 0, i % 25 == 10 ? rows[k][i / 25] : 1);
            struct check_run run;
            check_run_init(&run, op, 1, 4096);
            run.exec.n_src = 1;
            run.exec.src[0] = &src.view;
            run.exec.dst = &dst.view;
            bool same = check_run_op(&run, htp_reduce) == HTP_STATUS_OK;
            float sum = 0;
            for (uint32_t i = 0; i < 70; i++) {
                sum += (float)check_get(&src.view, i, 0, 0, 0);
                if (op == HTP_OP_SUM_ROWS && i < 69)
                    continue;
                const float x = (float)check_get(&dst.view, op == HTP_OP_SUM_ROWS ? 0 : i, 0, 0, 0);
                same = same && (isnan(sum) ? isnan(x) : x == sum);
            }
            check_true(c, same, "op %u of infinities, row %u", (unsigned)op, (unsigned)k);
            check_run_free(&run);
            check_free(&src);
            check_free(&dst);
        }
    }
}

static void refuses(struct check *c) {
    struct check_tensor a, b, h;
    const uint32_t ne[4] = {32, 2, 2, 1}, sums[4] = {1, 2, 2, 1}, flat[4] = {2, 1, 1, 1};
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, sums, NULL, 0);
    check_make(&h, HTP_TYPE_I32, HTP_LAYOUT_ROWS, flat, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_SUM_ROWS, 1, 4096);
    run.exec.n_src = 1;
    run.exec.src[0] = &a.view;
    run.exec.dst = &a.view;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_BAD_OP, "a sum as long as its row");
    run.exec.dst = &h.view;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_UNSUPPORTED, "i32 sums");
    run.exec.op = HTP_OP_SUM;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_UNSUPPORTED, "i32 sum of all");
    run.exec.dst = &b.view;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_BAD_OP, "more than one sum of all");
    struct htp_view empty = a.view, word = b.view;
    empty.ne[1] = 0;
    word.ne[1] = word.ne[2] = 1;
    run.exec.src[0] = &empty;
    run.exec.dst = &word;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_OK && check_get(&word, 0, 0, 0, 0) == 0, "sum of nothing");
    run.exec.src[0] = &a.view;
    run.exec.dst = &h.view;
    run.exec.op = HTP_OP_ARGMAX;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_BAD_OP, "argmax of three dimensions");
    run.exec.dst = &b.view;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_UNSUPPORTED, "f32 indices");
    run.exec.op = HTP_OP_CUMSUM;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_BAD_OP, "running sums of another shape");
    run.exec.src[0] = NULL;
    check_true(c, check_run_op(&run, htp_reduce) == HTP_STATUS_BAD_OP, "no source");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&h);
}

/* SUM: everything, whatever the strides */
static void run_sum(struct check *c, const struct shape *s) {
    struct check_tensor src, dst;
    const uint32_t one[4] = {1, 1, 1, 1};
    make(&src, HTP_TYPE_F32, s->ne, s->step, s->gap, s->offset);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, one, NULL, s->offset);
    fill(&src, s);
    check_remember(&src);
    check_remember(&dst);
    struct check_run run;
    check_run_init(&run, HTP_OP_SUM, 1 + check_below(4), 4096);
    run.exec.n_src = 1;
    run.exec.src[0] = &src.view;
    run.exec.dst = &dst.view;
    const uint32_t status = check_run_op(&run, htp_reduce);
    double sum = 0, magnitude = 1e-30;
    for (uint32_t r = 0; r < htp_rows(&src.view); r++) {
        for (uint32_t i = 0; i < s->ne[0]; i++) {
            sum += source(&src, i, r);
            magnitude += fabs(source(&src, i, r));
        }
    }
    const double error = status == HTP_STATUS_OK ? fabs(check_get(&dst.view, 0, 0, 0, 0) - sum) / magnitude : 1;
    check_case(c, error, 1e-6, "sum of [%u,%u,%u,%u] step %u gap %u offset %u", (unsigned)s->ne[0], (unsigned)s->ne[1],
               (unsigned)s->ne[2], (unsigned)s->ne[3], (unsigned)s->step, (unsigned)s->gap, (unsigned)s->offset);
    check_true(c, check_unchanged(&dst, false) && check_unchanged(&src, true), "sum of [%u,...] wrote beside its output",
               (unsigned)s->ne[0]);
    check_run_free(&run);
    check_free(&src);
    check_free(&dst);
}

static void sums(struct check *c, const uint32_t *lengths, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t form = 0; form < 4; form++) {
            const struct shape s = {
                .ne = {lengths[i], 1 + check_below(7), 1 + check_below(3), 1 + check_below(2)},
                .step = form == 3 ? 12 : 4,
                .gap = form == 2 ? 4 * check_below(40) : 0,
                .offset = form == 0 ? 0 : 4 * check_below(32),
            };
            run_sum(c, &s);
        }
    }
    static const struct shape large[] = {
        {.ne = {100000, 1, 1, 1}, .step = 4},
        {.ne = {40000, 3, 1, 1}, .step = 4, .gap = 12},
        {.ne = {7, 3000, 2, 1}, .step = 4, .gap = 4},
    };
    for (uint32_t i = 0; i < 3; i++)
        run_sum(c, &large[i]);
}

void check_reduce(struct check *c) {
    static const uint32_t lengths[] = {1, 2, 10, 31, 32, 33, 64, 127, 128, 129, 255, 256, 300, 576, 1000, 2048, 5438};
    static const uint32_t ops[] = {HTP_OP_SUM_ROWS, HTP_OP_ARGMAX, HTP_OP_CUMSUM, HTP_OP_MEAN};
    for (uint32_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
        const uint32_t op = ops[k];
        for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            for (uint32_t form = 0; form < 6; form++) {
                const struct shape s = {
                    .ne = {lengths[i], 1 + check_below(7), 1 + check_below(2), 1 + check_below(2)},
                    .step = form == 4 ? 8 : form == 5 ? 12 : 4,
                    .gap = form < 2 ? 0 : 4 * check_below(40),
                    .offset = form < 2 ? 0 : 4 * check_below(32),
                    .dst_step = form == 3 || form == 5 ? 8 : 4,
                    .special = op == HTP_OP_ARGMAX ? check_below(5) : 0,
                    .in_place = form == 1 || form == 4,
                };
                run_shape(c, op, &s);
            }
        }
        const struct shape large = {.ne = {40000, 3, 1, 1}, .step = 4, .dst_step = 4};
        run_shape(c, op, &large);
        const struct shape streams[] = {
            {.ne = {2048, 80, 1, 1}, .step = 4, .dst_step = 4, .streams = true},
            {.ne = {333, 450, 2, 1}, .step = 4, .gap = 12, .offset = 8, .dst_step = 4, .in_place = true,
             .streams = true},
            {.ne = {5001, 37, 1, 1}, .step = 4, .dst_step = 4, .special = op == HTP_OP_ARGMAX ? 3 : 0,
             .streams = true},
        };
        for (uint32_t i = 0; i < 3; i++)
            run_shape(c, op, &streams[i]);
    }
    sums(c, lengths, sizeof(lengths) / sizeof(lengths[0]));
    sums_of_specials(c);
    refuses(c);
}
