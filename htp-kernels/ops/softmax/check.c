/* SOFT_MAX against its definition in f64: shapes, masks, slopes, sinks; infinities, NaN and huge scores as in ggml. */
#include "check/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "htp/params.h"

uint32_t htp_softmax(struct htp_exec *exec);

enum special { PLAIN, MASKED, LARGE, INFINITE, ODD };

struct shape {
    uint32_t ne[4], mask_ne[4];
    uint32_t mask_type; /* of the mask; 0xff: none */
    float scale, max_bias;
    bool sinks, in_place;
    uint32_t gap, offset;
    enum special special;
    uint32_t vtcm;
};
#define NO_MASK 0xffu

static float slope_of(const struct shape *s, uint32_t head) {
    if (s->max_bias <= 0)
        return 1;
    const uint32_t n = 1u << (31 - __builtin_clz(s->ne[2]));
    const float m0 = powf(2, -s->max_bias / (float)n), m1 = powf(2, -s->max_bias / 2 / (float)n);
    return head < n ? powf(m0, (float)head + 1) : powf(m1, (float)(2 * (head - n) + 1));
}

static float mask_value(const struct shape *s, uint32_t i, uint32_t row) {
    static const float odd[] = {INFINITY, NAN, -INFINITY, -60000, 60000};
    if (s->special == ODD && check_below(100) == 0)
        return odd[check_below(5)];
    if (s->special == MASKED && row % 7 == 3)
        return -INFINITY;
    if (s->special != PLAIN && i % 3 == row % 3)
        return -INFINITY;
    return check_uniform() * 8;
}

static float score_value(const struct shape *s, uint32_t row) {
    static const float large[] = {3e38f, -3e38f, 1e30f, -1e10f, 3e9f, -2e9f, 0};
    static const float infinite[] = {-INFINITY, -INFINITY, -INFINITY, 1, 2, INFINITY};
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f};
    switch (s->special) {
    case LARGE:
        return row % 4 == 0 ? check_uniform() * 2e3f : large[check_below(7)];
    case INFINITE:
        return row % 4 == 0 ? -INFINITY : infinite[check_below(row % 4 == 1 ? 6 : 5)];
    case ODD:
        return check_below(200) == 0 ? odd[check_below(4)] : check_uniform() * 10;
    default:
        return check_uniform() * (row % 5 == 4 ? 150.0f : 10.0f);
    }
}

static void fill(const struct shape *s, const struct htp_view *x, const struct htp_view *m) {
    for (uint32_t r = 0; r < htp_rows(x); r++)
        for (uint32_t i = 0; i < s->ne[0]; i++)
            check_set(x, i, r % s->ne[1], r / s->ne[1] % s->ne[2], r / s->ne[1] / s->ne[2], score_value(s, r));
    for (uint32_t r = 0; m != NULL && r < htp_rows(m); r++)
        for (uint32_t i = 0; i < m->ne[0]; i++)
            check_set(m, i, r % m->ne[1], r / m->ne[1] % m->ne[2], r / m->ne[1] / m->ne[2], mask_value(s, i, r));
}

/* ggml's scores are f32; the rest here is f64 */
static void reference_row(const struct shape *s, const struct htp_exec *exec, uint32_t r, double *out) {
    const struct htp_view *x = exec->src[0], *m = exec->src[1], *sinks = exec->src[2];
    const uint32_t i1 = r % s->ne[1], i2 = r / s->ne[1] % s->ne[2], i3 = r / s->ne[1] / s->ne[2];
    double largest = -INFINITY, sum = 0;
    bool valid = true;
    for (uint32_t i = 0; i < s->ne[0]; i++) {
        float t = (float)check_get(x, i, i1, i2, i3) * s->scale;
        if (m != NULL)
            t += slope_of(s, i2) * (float)check_get(m, i, i1, i2 % m->ne[2], i3 % m->ne[3]);
        valid = valid && !isnan(t);
        out[i] = t;
        largest = fmax(largest, t);
    }
    const double sink = sinks == NULL ? -INFINITY : check_get(sinks, i2, 0, 0, 0);
    largest = fmax(largest, sink);
    for (uint32_t i = 0; i < s->ne[0]; i++) {
        out[i] = valid ? exp(out[i] - largest) : NAN; /* infinite - infinite: NaN */
        sum += out[i];
    }
    if (sinks != NULL)
        sum += exp(sink - largest);
    for (uint32_t i = 0; i < s->ne[0]; i++)
        out[i] /= sum;
}

static double *reference(const struct shape *s, const struct htp_exec *exec) {
    const uint32_t rows = htp_rows(exec->src[0]);
    double *all = malloc((size_t)rows * s->ne[0] * sizeof(double));
    for (uint32_t r = 0; all != NULL && r < rows; r++)
        reference_row(s, exec, r, all + (size_t)r * s->ne[0]);
    return all;
}

/* NMSE; 1 when something is NaN that should not be, or the other way round, or not zero though masked */
static double compare(const struct shape *s, const struct htp_view *v, const double *expected) {
    double error = 0, sum = 0;
    for (uint32_t r = 0; r < htp_rows(v); r++)
        for (uint32_t i = 0; i < s->ne[0]; i++) {
            const double e = *expected++;
            const double y = check_get(v, i, r % s->ne[1], r / s->ne[1] % s->ne[2], r / s->ne[1] / s->ne[2]);
            if (isnan(e) != isnan(y) || (e == 0 && y != 0))
                return 1;
            if (isnan(e))
                continue;
            error += (y - e) * (y - e);
            sum += e * e;
        }
    return sum > 0 ? error / sum : error;
}

static struct htp_softmax_params params_of(const struct shape *s) {
    struct htp_softmax_params p = {.scale = s->scale};
    if (s->max_bias > 0) {
        p.slope_heads = 1u << (31 - __builtin_clz(s->ne[2]));
        p.slope_base[0] = powf(2, -s->max_bias / (float)p.slope_heads);
        p.slope_base[1] = powf(2, -s->max_bias / 2 / (float)p.slope_heads);
    }
    return p;
}

static void run_shape(struct check *c, const struct shape *s, uint32_t threads) {
    struct check_tensor x, y, m, sinks;
    const uint32_t sink_ne[4] = {s->ne[2], 1, 1, 1}, row = 4 * s->ne[0] + s->gap;
    const uint32_t nb[4] = {4, row, row * s->ne[1], row * s->ne[1] * s->ne[2]};
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s->ne, nb, s->offset);
    check_make(&y, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s->ne, NULL, s->offset);
    if (s->mask_type != NO_MASK)
        check_make(&m, s->mask_type, HTP_LAYOUT_ROWS, s->mask_ne, NULL, s->offset / 2);
    check_make(&sinks, HTP_TYPE_F32, HTP_LAYOUT_ROWS, sink_ne, NULL, 4);
    fill(s, &x.view, s->mask_type == NO_MASK ? NULL : &m.view);
    for (uint32_t i = 0; i < s->ne[2]; i++)
        check_set(&sinks.view, i, 0, 0, 0, s->special == INFINITE && i % 3 == 2 ? -INFINITY : check_uniform() * 8);
    struct check_run run;
    check_run_init(&run, HTP_OP_SOFT_MAX, threads, s->vtcm);
    const struct htp_softmax_params params = params_of(s);
    memcpy(run.params, &params, sizeof(params));
    struct check_tensor *out = s->in_place ? &x : &y;
    run.exec.n_src = 3;
    run.exec.src[0] = &x.view;
    run.exec.src[1] = s->mask_type == NO_MASK ? NULL : &m.view;
    run.exec.src[2] = s->sinks ? &sinks.view : NULL;
    run.exec.dst = &out->view;
    double *expected = reference(s, &run.exec);
    check_remember(&x);
    check_remember(&y);
    const uint32_t status = check_run_op(&run, htp_softmax);
    /* with a scale, ggml's scores are rounded, and the reference's with them */
    const bool ordered = s->mask_type == NO_MASK && s->ne[0] <= 512 && s->scale == 1;
    check_case(c, status != HTP_STATUS_OK ? 1 : compare(s, &out->view, expected), ordered ? 1e-12 : 2e-9,
               "[%u,%u,%u,%u] mask %x [%u,%u,%u,%u] scale %g bias %g%s%s gap %u offset %u values %u vtcm %u",
               (unsigned)s->ne[0], (unsigned)s->ne[1], (unsigned)s->ne[2], (unsigned)s->ne[3], (unsigned)s->mask_type,
               (unsigned)s->mask_ne[0], (unsigned)s->mask_ne[1], (unsigned)s->mask_ne[2], (unsigned)s->mask_ne[3],
               (double)s->scale, (double)s->max_bias, s->sinks ? " sinks" : "", s->in_place ? " in place" : "",
               (unsigned)s->gap, (unsigned)s->offset, (unsigned)s->special, (unsigned)s->vtcm);
    check_true(c, check_unchanged(out, false) && (s->in_place || check_unchanged(&x, true)) && check_vtcm_intact(&run),
               "softmax [%u,...] wrote beside its output", (unsigned)s->ne[0]);
    free(expected);
    check_run_free(&run);
    check_free(&x);
    check_free(&y);
    if (s->mask_type != NO_MASK)
        check_free(&m);
    check_free(&sinks);
}

static struct shape random_shape(uint32_t length) {
    static const float scales[] = {1, 0.1f, 0.125f, 3, -0.5f, 0, 1e-35f};
    struct shape s = {.mask_type = NO_MASK, .vtcm = check_below(4) == 0 ? 1024 : 1 << 16};
    const uint32_t repeat[2] = {1 + check_below(2), 1 + check_below(2)}, mask_2 = 1 + check_below(3);
    const uint32_t ne[4] = {length, 1 + check_below(4), mask_2 * repeat[0], repeat[1]};
    const uint32_t mask_ne[4] = {length, ne[1] + check_below(2), mask_2, 1};
    memcpy(s.ne, ne, sizeof(ne));
    memcpy(s.mask_ne, mask_ne, sizeof(mask_ne));
    s.scale = scales[check_below(check_below(4) == 0 ? 7 : 4)];
    s.gap = check_below(2) ? 0 : 4 * check_below(40);
    s.offset = check_below(2) ? 0 : 4 * check_below(32);
    s.sinks = check_below(2);
    s.in_place = check_below(3) == 0;
    s.special = (enum special)check_below(5);
    if (check_below(3) != 0) {
        s.mask_type = check_below(2) ? HTP_TYPE_F32 : HTP_TYPE_F16;
        s.max_bias = check_below(2) ? 0 : check_below(4) == 0 ? 40 : 8;
    }
    return s;
}

/* Experts are chosen by the order of probabilities: what is larger stays larger, even by little. */
static void keeps_order(struct check *c, uint32_t elements, float base) {
    struct check_tensor x, y;
    const uint32_t ne[4] = {elements, 1, 1, 1};
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&y, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    for (uint32_t i = 0; i < elements; i++)
        check_set(&x.view, i, 0, 0, 0, base + 4e-6f * (float)i);
    struct check_run run;
    check_run_init(&run, HTP_OP_SOFT_MAX, 1, 4096);
    const struct htp_softmax_params params = {.scale = 1};
    memcpy(run.params, &params, sizeof(params));
    run.exec.n_src = 1;
    run.exec.src[0] = &x.view;
    run.exec.dst = &y.view;
    bool ascends = check_run_op(&run, htp_softmax) == HTP_STATUS_OK;
    for (uint32_t i = 1; i < elements; i++)
        ascends = ascends && check_get(&y.view, i, 0, 0, 0) > check_get(&y.view, i - 1, 0, 0, 0);
    check_true(c, ascends, "%u scores from %g on lose their order", (unsigned)elements, (double)base);
    check_run_free(&run);
    check_free(&x);
    check_free(&y);
}

static void refuses(struct check *c) {
    struct check_tensor x, h, m, k;
    const uint32_t ne[4] = {32, 4, 2, 1}, few[4] = {32, 3, 1, 1}, sinks[4] = {1, 1, 1, 1};
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&h, HTP_TYPE_F16, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&m, HTP_TYPE_F16, HTP_LAYOUT_ROWS, few, NULL, 0);
    check_make(&k, HTP_TYPE_F32, HTP_LAYOUT_ROWS, sinks, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_SOFT_MAX, 1, 4096);
    run.exec.n_src = 3;
    run.exec.src[0] = &h.view;
    run.exec.dst = &x.view;
    check_true(c, check_run_op(&run, htp_softmax) == HTP_STATUS_UNSUPPORTED, "f16 scores");
    run.exec.src[0] = &x.view;
    check_true(c, check_run_op(&run, htp_softmax) == HTP_STATUS_OK, "a good one");
    run.exec.src[1] = &m.view;
    check_true(c, check_run_op(&run, htp_softmax) == HTP_STATUS_BAD_OP, "a mask of too few rows");
    run.exec.src[1] = NULL;
    run.exec.src[2] = &k.view;
    check_true(c, check_run_op(&run, htp_softmax) == HTP_STATUS_BAD_OP, "too few sinks");
    run.exec.src[2] = NULL;
    run.exec.dst = &m.view;
    check_true(c, check_run_op(&run, htp_softmax) == HTP_STATUS_UNSUPPORTED, "f16 dst");
    check_run_free(&run);
    check_free(&x);
    check_free(&h);
    check_free(&m);
    check_free(&k);
}

void check_softmax(struct check *c) {
    static const uint32_t lengths[] = {1,   2,   15,  16,  31,  32,  33,   63,   64,   65,
                                       96,  127, 128, 129, 200, 576, 1000, 1024, 2048, 4097};
    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint32_t round = 0; round < 16; round++) {
            const struct shape s = random_shape(lengths[i]);
            run_shape(c, &s, 1 + check_below(4));
        }
    }
    const struct shape vocabulary = {.ne = {151937, 2, 1, 1}, .mask_type = NO_MASK, .scale = 1, .vtcm = 1 << 16};
    run_shape(c, &vocabulary, 2);
    for (int base = -3; base <= 3; base++) {
        keeps_order(c, 512, (float)base * 0.77f);
        keeps_order(c, 60, (float)base * 0.77f);
    }
    refuses(c);
}
