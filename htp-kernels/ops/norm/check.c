/* RMS_NORM, NORM and L2_NORM, with and without weight and addend, against their definitions in f64. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "htp/params.h"

uint32_t htp_norm(struct htp_exec *exec);

#define APART 0 /* where dst lies */
#define IN_SRC 1
#define IN_ADDEND 2

struct shape {
    uint32_t ne[4];
    uint32_t step;                /* of elements of src; 4: side by side */
    uint32_t gap;                 /* bytes between rows of src */
    uint32_t offset;              /* of src, dst and the others from a 128-byte boundary */
    uint32_t where;               /* dst */
    uint32_t extra;               /* sources behind src */
    uint32_t weight[4], addend[4]; /* by what their sizes are divided, 0: as 1 */
    bool special;                 /* infinities, NaN and rows of zeros */
    bool streams;                 /* large enough to pass through VTCM */
};

struct scene {
    struct check_tensor src, weight, addend, dst, *out;
    uint32_t rows;
    double *expected;
};

static void strides(const struct shape *s, uint32_t *nb) {
    nb[0] = s->step;
    nb[1] = nb[0] * s->ne[0] + s->gap;
    nb[2] = nb[1] * s->ne[1];
    nb[3] = nb[2] * s->ne[2];
}

static double at(const struct htp_view *v, uint32_t row, const uint32_t *ne, uint32_t i) {
    const uint32_t i1 = row % ne[1], i2 = row / ne[1] % ne[2], i3 = row / ne[1] / ne[2];
    return check_get(v, i % v->ne[0], i1 % v->ne[1], i2 % v->ne[2], i3 % v->ne[3]);
}

/* The definition, with ggml's rules for what is not finite; all of it in f64 except that squares round to f32. */
static void reference(const struct scene *c, uint32_t op, const struct shape *s, float eps) {
    const uint32_t length = s->ne[0];
    for (uint32_t r = 0; r < c->rows; r++) {
        double mean = 0, sum = 0;
        for (uint32_t i = 0; i < length; i++)
            mean += op == HTP_OP_NORM ? at(&c->src.view, r, s->ne, i) / length : 0;
        for (uint32_t i = 0; i < length; i++) {
            const double d = at(&c->src.view, r, s->ne, i) - mean;
            sum += (float)(d * d);
        }
        double scale = 1 / sqrt(sum / length + eps);
        if (op == HTP_OP_L2_NORM)
            scale = 1 / fmax(sqrt(sum), eps); /* the larger of NaN and eps is eps */
        for (uint32_t i = 0; i < length; i++) {
            double y = (at(&c->src.view, r, s->ne, i) - mean) * scale;
            y = s->extra > 0 ? y * at(&c->weight.view, r, s->ne, i) : y;
            c->expected[(size_t)r * length + i] = s->extra > 1 ? y + at(&c->addend.view, r, s->ne, i) : y;
        }
    }
}

static float source_value(const struct shape *s, uint32_t row, float scale) {
    static const float values[] = {INFINITY, -INFINITY, NAN, 1e20f};
    if (s->special && row % 3 == 1)
        return 0;
    if (s->special && row % 3 == 2 && check_below(s->ne[0]) == 0)
        return values[check_below(4)];
    return check_uniform() * scale * (row % 5 == 3 ? 1e-3f : 1);
}

static void fill(const struct htp_view *v, const struct shape *s, float scale, bool is_source) {
    for (uint32_t r = 0; r < htp_rows(v); r++) {
        const uint32_t i1 = r % v->ne[1], i2 = r / v->ne[1] % v->ne[2], i3 = r / v->ne[1] / v->ne[2];
        for (uint32_t i = 0; i < v->ne[0]; i++)
            check_set(v, i, i1, i2, i3, is_source ? source_value(s, r, scale) : check_uniform() * 2);
    }
}

/* NMSE of the finite results; a result of another kind is an error of 1 */
static double compare(const struct scene *c, const struct shape *s) {
    double error = 0, sum = 0;
    for (uint32_t r = 0; r < c->rows; r++) {
        for (uint32_t i = 0; i < s->ne[0]; i++) {
            const double e = c->expected[(size_t)r * s->ne[0] + i], x = at(&c->out->view, r, s->ne, i);
            if (isnan(x) != isnan(e) || ((isinf(x) || isinf(e)) && x != e))
                return 1;
            error += isfinite(e) ? (x - e) * (x - e) : 0;
            sum += isfinite(e) ? e * e : 0;
        }
    }
    return sum > 0 ? error / sum : error;
}

static void make_extra(struct check_tensor *t, const struct shape *s, const uint32_t *divide, uint32_t offset) {
    uint32_t ne[4], nb[4] = {s->step == 12 ? 8 : 4};
    for (uint32_t i = 0; i < 4; i++)
        ne[i] = s->ne[i] / (divide[i] == 0 ? 1 : divide[i]);
    nb[1] = nb[0] * ne[0] + s->gap;
    nb[2] = nb[1] * ne[1];
    nb[3] = nb[2] * ne[2];
    check_make(t, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, nb, offset);
    fill(&t->view, s, 2, false);
}

static void run_shape(struct check *check, uint32_t op, const struct shape *s, uint32_t threads, float scale,
                      float eps) {
    struct scene c = {.rows = s->ne[1] * s->ne[2] * s->ne[3]};
    uint32_t nb[4];
    strides(s, nb);
    check_make(&c.src, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s->ne, nb, s->offset);
    check_make(&c.dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s->ne, NULL, s->offset / 2 / 4 * 4);
    make_extra(&c.weight, s, s->weight, s->offset);
    make_extra(&c.addend, s, s->addend, s->offset);
    fill(&c.src.view, s, scale, true);
    c.out = s->where == IN_SRC ? &c.src : s->where == IN_ADDEND ? &c.addend : &c.dst;
    c.expected = malloc(((size_t)c.rows * s->ne[0] + 1) * sizeof(double));
    if (c.expected != NULL)
        reference(&c, op, s, eps);
    struct check_run run;
    check_run_init(&run, op, threads, s->streams ? 1 << 20 : 1 << 16);
    const struct htp_norm_params params = {.eps = eps};
    memcpy(run.params, &params, sizeof(params));
    run.exec.n_src = 3;
    run.exec.src[0] = &c.src.view;
    run.exec.src[1] = s->extra > 0 ? &c.weight.view : NULL;
    run.exec.src[2] = s->extra > 1 ? &c.addend.view : NULL;
    run.exec.dst = &c.out->view;
    struct check_tensor *const all[] = {&c.src, &c.weight, &c.addend, &c.dst};
    for (uint32_t i = 0; i < 4; i++)
        check_remember(all[i]);
    const uint32_t status = check_run_op(&run, htp_norm);
    const bool ran = status == HTP_STATUS_OK && c.expected != NULL;
    check_case(check, ran ? compare(&c, s) : 1, 1e-10,
               "norm op %u [%u,%u,%u,%u] step %u gap %u offset %u extra %u by %u, where %u, eps %g%s", (unsigned)op,
               (unsigned)s->ne[0], (unsigned)s->ne[1], (unsigned)s->ne[2], (unsigned)s->ne[3], (unsigned)s->step,
               (unsigned)s->gap, (unsigned)s->offset, (unsigned)s->extra, (unsigned)s->weight[0], (unsigned)s->where,
               eps, s->special ? " special" : "");
    bool unchanged = true;
    for (uint32_t i = 0; i < 4; i++)
        unchanged = unchanged && check_unchanged(all[i], all[i] != c.out);
    check_true(check, unchanged, "norm op %u [%u,...] wrote beside its output", (unsigned)op, (unsigned)s->ne[0]);
    check_true(check, check_vtcm_intact(&run) && (!s->streams || check_vtcm_used(&run)),
               "norm op %u [%u,...] does not pass through VTCM as it should", (unsigned)op, (unsigned)s->ne[0]);
    free(c.expected);
    check_run_free(&run);
    for (uint32_t i = 0; i < 4; i++)
        check_free(all[i]);
}

static void refuses(struct check *c) {
    struct check_tensor a, b, h;
    const uint32_t ne[4] = {32, 2, 1, 1}, other[4] = {32, 3, 1, 1};
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, other, NULL, 0);
    check_make(&h, HTP_TYPE_F16, HTP_LAYOUT_ROWS, ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_RMS_NORM, 1, 4096);
    run.exec.n_src = 1;
    run.exec.src[0] = &a.view;
    run.exec.dst = &b.view;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "other shape of dst");
    run.exec.dst = &h.view;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_UNSUPPORTED, "f16 dst");
    run.exec.dst = &a.view;
    run.exec.n_src = 3;
    run.exec.src[2] = &a.view;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "an addend without a weight");
    run.exec.src[1] = &b.view;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "a weight that does not repeat to src");
    run.exec.src[1] = &h.view;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_UNSUPPORTED, "f16 weight");
    run.exec.src[1] = &a.view;
    run.exec.op = HTP_OP_L2_NORM;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "L2_NORM with a weight");
    run.exec.op = HTP_OP_RMS_NORM;
    run.exec.n_src = 1;
    const struct htp_norm_params params = {.eps = NAN};
    memcpy(run.params, &params, sizeof(params));
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "NaN eps");
    run.exec.src[0] = NULL;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "no source");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&h);
}

#define FORMS 6
static const uint32_t ops[] = {HTP_OP_RMS_NORM, HTP_OP_NORM, HTP_OP_L2_NORM};

/* lengths around vectors and blocks of them; strides, offsets, in place */
static void plain(struct check *c) {
    static const uint32_t lengths[] = {1, 2, 31, 32, 33, 63, 64, 96, 127, 128, 129, 576, 1000, 2048, 4097};
    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint32_t form = 0; form < 3 * FORMS; form++) {
            const uint32_t kind = form % FORMS;
            const struct shape s = {
                .ne = {lengths[i], 1 + check_below(5), 1 + check_below(2), 1 + check_below(2)},
                .step = kind == 4 ? 8 : kind == 5 ? 12 : 4,
                .gap = kind == 0 ? 0 : 4 * check_below(40),
                .offset = kind < 2 ? 0 : 4 * check_below(32),
                .where = kind == 3 || kind == 5 ? IN_SRC : APART,
            };
            /* a row of one element has no variance, and 1e-6 is lost in a mean of squares of 1e6 */
            run_shape(c, ops[form / FORMS], &s, 1 + check_below(4), kind == 2 ? 1e6f : 3, kind == 1 ? 0.1f : 1e-6f);
        }
    }
    const struct shape big = {.ne = {2048, 67, 1, 1}, .step = 4, .streams = true};
    for (uint32_t i = 0; i < 3; i++)
        run_shape(c, ops[i], &big, 4, 1, 1e-5f);
}

/* weights and addends: whole, a row for all, one that repeats in each dimension, strided; dst in place of a source */
static void weighted(struct check *c) {
    static const uint32_t lengths[] = {2, 32, 34, 256, 416, 576, 1002, 2048};
    static const uint32_t divide[][4] = {{1, 1, 1, 1}, {1, 6, 2, 2}, {1, 2, 1, 2}, {2, 3, 2, 1}, {1, 1, 2, 2}};
    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint32_t form = 0; form < 2 * 2 * FORMS; form++) {
            const uint32_t kind = form % FORMS, extra = 1 + form / FORMS % 2;
            struct shape s = {.ne = {lengths[i], 6, 2, 2}, .step = kind == 5 ? 12 : 4, .extra = extra};
            s.gap = kind == 3 ? 4 * check_below(40) : kind == 4 ? 128 : 0;
            s.offset = kind == 3 ? 4 * check_below(32) : 0;
            s.where = kind == 1 ? IN_SRC : kind == 2 && extra == 2 ? IN_ADDEND : APART;
            memcpy(s.weight, divide[check_below(5)], sizeof(s.weight));
            if (s.where != IN_ADDEND)
                memcpy(s.addend, divide[check_below(5)], sizeof(s.addend));
            run_shape(c, ops[form / FORMS / 2], &s, 1 + check_below(4), 3, 1e-6f);
        }
    }
}

/* rows enough to pass through VTCM: strided, of any length, in place, weights of each kind */
static void large(struct check *c) {
    static const struct shape shapes[] = {
        {.ne = {1000, 41, 3, 2}, .step = 4, .gap = 20, .offset = 12, .where = IN_SRC, .streams = true},
        {.ne = {576, 150, 2, 1}, .step = 4, .extra = 1, .weight = {1, 150, 2, 1}, .where = IN_SRC, .streams = true},
        {.ne = {130, 90, 4, 3}, .step = 4, .gap = 4, .extra = 2, .weight = {1, 90, 1, 3}, .addend = {1, 1, 4, 3},
         .special = true, .streams = true},
        {.ne = {2050, 30, 2, 1}, .step = 4, .extra = 2, .weight = {1, 30, 2, 1}, .where = IN_ADDEND, .streams = true},
        {.ne = {1024, 64, 3, 1}, .step = 4, .extra = 2, .weight = {1, 1, 3, 1}, .addend = {1, 64, 1, 1},
         .streams = true},
        {.ne = {300, 120, 3, 1}, .step = 4, .extra = 1, .weight = {1, 4, 1, 1}}, /* stays: repeats with a period */
        {.ne = {300, 120, 3, 1}, .step = 4, .extra = 1, .weight = {2, 1, 3, 1}}, /* stays: repeats within rows */
    };
    for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        run_shape(c, HTP_OP_RMS_NORM, &shapes[i], 1 + i % 4, 3, 1e-6f);
        run_shape(c, HTP_OP_NORM, &shapes[i], 4 - i % 4, 3, 1e-6f);
    }
}

/* rows of zeros, infinities, NaN, squares beyond f32; eps 0 */
static void special(struct check *c) {
    static const float eps[] = {0, 1e-12f, 1e-6f, 10};
    for (uint32_t i = 0; i < 3 * 4; i++) {
        struct shape s = {.ne = {100 + check_below(60), 9, 1, 1}, .step = 4, .special = true};
        s.extra = ops[i / 4] == HTP_OP_L2_NORM ? 0 : check_below(2);
        run_shape(c, ops[i / 4], &s, 2, 3, eps[i % 4]);
    }
}

/* groups of planes, with gaps between rows or planes or without, the last group smaller */
static void group(struct check *c, const uint32_t *ne, uint32_t groups, uint32_t row_gap, uint32_t plane_gap) {
    const uint32_t row = ne[0] * 4 + row_gap, plane = row * ne[1] + plane_gap;
    const uint32_t nb[4] = {4, row, plane, plane * ne[2] + row_gap};
    struct check_tensor x, y;
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, nb, row_gap);
    check_make(&y, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, nb, plane_gap);
    const struct shape s = {.step = 4};
    fill(&x.view, &s, 3, true);
    struct check_run run;
    check_run_init(&run, HTP_OP_GROUP_NORM, 1 + check_below(4), 1024);
    const struct htp_norm_params params = {1e-6f, groups};
    memcpy(run.params, &params, sizeof(params));
    run.exec.n_src = 1;
    run.exec.src[0] = &x.view;
    run.exec.dst = &y.view;
    check_remember(&y);
    const uint32_t status = check_run_op(&run, htp_norm), channels = htp_div_up(ne[2], groups);
    double error = 0, all = 1e-30;
    for (uint32_t g = 0; g < groups * ne[3]; g++) {
        const uint32_t n = g / groups, c0 = g % groups * channels, end = htp_min_u32(c0 + channels, ne[2]);
        if (c0 >= ne[2])
            continue;
        const uint32_t count = (end - c0) * ne[1] * ne[0];
        double sum = 0, squares = 0;
        for (uint32_t pass = 0; pass < 3; pass++) {
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t i0 = i % ne[0], i1 = i / ne[0] % ne[1], i2 = c0 + i / ne[0] / ne[1];
                const double d = check_get(&x.view, i0, i1, i2, n) - (pass == 0 ? 0 : sum / count);
                if (pass == 0) {
                    sum += d;
                } else if (pass == 1) {
                    squares += d * d;
                } else {
                    const double e = d / sqrt(squares / count + 1e-6), diff = check_get(&y.view, i0, i1, i2, n) - e;
                    error += diff * diff;
                    all += e * e;
                }
            }
        }
    }
    check_case(c, status != HTP_STATUS_OK ? 1 : error / all, 1e-10, "group_norm [%u,%u,%u,%u] in %u, gaps %u %u",
               (unsigned)ne[0], (unsigned)ne[1], (unsigned)ne[2], (unsigned)ne[3], (unsigned)groups, (unsigned)row_gap,
               (unsigned)plane_gap);
    check_true(c, check_unchanged(&y, false), "group_norm wrote beside its output");
    run.params[1] = 0;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "no groups");
    check_run_free(&run);
    check_free(&x);
    check_free(&y);
}

static void grouped(struct check *c) {
    for (uint32_t i = 0; i < 40; i++) {
        const uint32_t ne[4] = {2 + check_below(i % 2 == 0 ? 200 : 20), 1 + check_below(9), 1 + check_below(20),
                                1 + check_below(3)};
        /* one after the other: compilers differ in the order of arguments, and builds are to see the same shapes */
        const uint32_t groups = 1 + check_below(8);
        const uint32_t row_gap = i % 3 == 0 ? 4 * check_below(9) : 0;
        const uint32_t plane_gap = i % 4 == 0 ? 4 * check_below(9) : 0;
        group(c, ne, groups, row_gap, plane_gap);
    }
}

void check_norm(struct check *c) {
    grouped(c);
    plain(c);
    weighted(c);
    large(c);
    special(c);
    refuses(c);
}
