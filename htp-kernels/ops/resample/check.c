/* The family's ops against their definitions in f64. */
#include "check/check.h"

#include <math.h>
#include <string.h>

#include "htp/params.h"
#include "ops/image/check_image.h"

uint32_t htp_resample(struct htp_exec *exec);

struct scene {
    struct check_tensor x, y;
    struct check_run run;
    uint32_t status;
};

static void begin(struct scene *s, uint32_t op, const uint32_t *x_ne, const uint32_t *y_ne, uint32_t gap, bool permuted,
                  size_t vtcm) {
    check_make_gapped(&s->x, HTP_TYPE_F32, x_ne, gap, permuted);
    check_make_gapped(&s->y, HTP_TYPE_F32, y_ne, gap, false);
    check_run_init(&s->run, op, 1 + check_below(4), vtcm);
    s->run.exec.n_src = 1;
    s->run.exec.src[0] = &s->x.view;
    s->run.exec.dst = &s->y.view;
}

static void run(struct scene *s, const void *params, size_t size) {
    memcpy(s->run.params, params, size);
    check_remember(&s->y);
    s->status = check_run_op(&s->run, htp_resample);
}

static void end(struct check *c, struct scene *s) {
    check_true(c, check_unchanged(&s->y, false) && check_vtcm_intact(&s->run), "op %u wrote beside",
               (unsigned)s->run.exec.op);
    check_run_free(&s->run);
    check_free(&s->x);
    check_free(&s->y);
}

/* value(s, i, arg): what element i[] of the result is */
static double error_of(const struct scene *s, double (*value)(const struct scene *, const uint32_t *, const void *),
                       const void *arg) {
    const struct htp_view *y = &s->y.view;
    double error = 0, sum = 1e-30;
    for (uint32_t r = 0; r < htp_rows(y); r++) {
        for (uint32_t i = 0; i < y->ne[0]; i++) {
            const uint32_t at[4] = {i, r % y->ne[1], r / y->ne[1] % y->ne[2], r / y->ne[1] / y->ne[2]};
            const double e = value(s, at, arg), d = check_get(y, at[0], at[1], at[2], at[3]) - e;
            error += d * d;
            sum += e * e;
        }
    }
    return s->status != HTP_STATUS_OK ? 1 : error / sum;
}

/* ---- POOL ---- */

static double pooled(const struct scene *s, const uint32_t *at, const void *arg) {
    const struct htp_pool_params *p = arg;
    double sum = 0, most = -3.4028234663852886e38;
    uint32_t count = 0;
    for (uint32_t j = 0; j < p->window[1]; j++) {
        for (uint32_t i = 0; i < p->window[0]; i++) {
            const uint32_t x = at[0] * (uint32_t)p->stride[0] + i - (uint32_t)p->padding[0];
            const uint32_t y = at[1] * (uint32_t)p->stride[1] + j - (uint32_t)p->padding[1];
            if (x >= s->x.view.ne[0] || y >= s->x.view.ne[1])
                continue;
            const double v = check_get(&s->x.view, x, y, at[2], at[3]);
            sum += v;
            most = fmax(most, v);
            count++;
        }
    }
    if (p->largest)
        return most;
    if (s->run.exec.op == HTP_OP_POOL_2D)
        return sum / (p->window[0] * p->window[1]);
    return count == 0 ? 0 : sum / count;
}

static void pools(struct check *c) {
    for (uint32_t i = 0; i < 80; i++) {
        const bool line = i % 2 == 0;
        struct htp_pool_params p = {i / 2 % 2, {1 + check_below(5), 1}, {1 + (int32_t)check_below(3), 1},
                                    {(int32_t)check_below(3), 0}};
        const uint32_t x_ne[4] = {1 + check_below(150), 1 + check_below(7), 1 + check_below(3), 1 + check_below(2)};
        if (!line) {
            p.window[1] = 1 + check_below(4);
            p.stride[1] = 1 + (int32_t)check_below(3);
            p.padding[1] = (int32_t)check_below(3);
        }
        uint32_t y_ne[4];
        for (uint32_t d = 0; d < 4; d++) {
            const int32_t size = (int32_t)x_ne[d];
            const int32_t room = d < 2 ? size + 2 * p.padding[d] - (int32_t)p.window[d] : size - 1;
            y_ne[d] = room < 0 ? 1 : (uint32_t)(room / (d < 2 ? p.stride[d] : 1)) + 1;
        }
        struct scene s;
        begin(&s, line ? HTP_OP_POOL_1D : HTP_OP_POOL_2D, x_ne, y_ne, i % 3 == 0 ? 4 * check_below(6) : 0, i % 7 == 6,
              32 << 10);
        run(&s, &p, sizeof(p));
        check_case(c, error_of(&s, pooled, &p), 1e-13, "pool %u of %ux%u: window %ux%u, stride %d %d, padding %d %d",
                   (unsigned)s.run.exec.op, (unsigned)x_ne[0], (unsigned)x_ne[1], (unsigned)p.window[0],
                   (unsigned)p.window[1], (int)p.stride[0], (int)p.stride[1], (int)p.padding[0], (int)p.padding[1]);
        p.stride[0] = 0;
        run(&s, &p, sizeof(p));
        check_true(c, s.status == HTP_STATUS_BAD_OP, "stride 0");
        p.stride[0] = 1;
        p.padding[0] = INT32_MAX;
        run(&s, &p, sizeof(p));
        check_true(c, s.status == HTP_STATUS_BAD_OP, "padding that overflows");
        p.padding[0] = 0;
        p.window[1] = 1u << 29;
        run(&s, &p, sizeof(p));
        check_true(c, s.status == HTP_STATUS_NO_VTCM, "windows that no VTCM holds");
        end(c, &s);
    }
}

/* ---- UPSCALE: every source's weight, summed up over all of them ---- */

static double cubic(double x) {
    x = fabs(x);
    return x <= 1 ? (1.25 * x - 2.25) * x * x + 1 : x < 2 ? ((-0.75 * x + 3.75) * x - 6) * x + 3 : 0;
}

/* of source j, which stands at the edge for what is beyond */
static double weight_of(const struct htp_upscale_params *p, uint32_t in, uint32_t out, uint32_t i, uint32_t j) {
    const bool align = p->align_corners != 0;
    const double offset = align ? 0 : 0.5;
    const float scale = align && in > 1 && out > 1 ? (float)(out - 1) / (float)(in - 1) : (float)out / (float)in;
    if (p->mode == HTP_UPSCALE_NEAREST)
        return (uint32_t)((float)i / scale) == j;
    const double x = (i + offset) / scale - offset;
    if (p->antialias) {
        const double support = fmax(1, 1 / scale);
        double total = 0;
        for (uint32_t k = 0; k < in; k++)
            total += fmax(0, 1 - fabs(k - x) / support);
        return fmax(0, 1 - fabs(j - x) / support) / total;
    }
    double sum = 0;
    for (int32_t k = (int32_t)floor(x) - 1; k <= (int32_t)floor(x) + 2; k++) {
        const int32_t at = k < 0 ? 0 : k >= (int32_t)in ? (int32_t)in - 1 : k;
        if (at == (int32_t)j)
            sum += p->mode == HTP_UPSCALE_BICUBIC ? cubic(k - x) : fmax(0, 1 - fabs(k - x));
    }
    return sum;
}

static double upscaled(const struct scene *s, const uint32_t *at, const void *arg) {
    const struct htp_upscale_params *p = arg;
    const struct htp_view *x = &s->x.view, *y = &s->y.view;
    const uint32_t i2 = (uint32_t)((float)at[2] / ((float)y->ne[2] / (float)x->ne[2]));
    const uint32_t i3 = (uint32_t)((float)at[3] / ((float)y->ne[3] / (float)x->ne[3]));
    double sum = 0;
    for (uint32_t j = 0; j < x->ne[1]; j++) {
        const double w = weight_of(p, x->ne[1], y->ne[1], at[1], j);
        for (uint32_t i = 0; i < x->ne[0] && w != 0; i++)
            sum += w * weight_of(p, x->ne[0], y->ne[0], at[0], i) * check_get(x, i, j, i2, i3);
    }
    return sum;
}

static void upscales(struct check *c) {
    static const struct htp_upscale_params kinds[] = {
        {HTP_UPSCALE_NEAREST, 0, 0},  {HTP_UPSCALE_BILINEAR, 0, 0}, {HTP_UPSCALE_BILINEAR, 1, 0},
        {HTP_UPSCALE_BILINEAR, 0, 1}, {HTP_UPSCALE_BICUBIC, 0, 0},  {HTP_UPSCALE_BICUBIC, 1, 0},
    };
    for (uint32_t i = 0; i < 60; i++) {
        const struct htp_upscale_params *p = &kinds[i % 6];
        const uint32_t x_ne[4] = {1 + check_below(70), 1 + check_below(7), 1 + check_below(3), 1 + check_below(2)};
        uint32_t y_ne[4] = {1 + check_below(100), 1 + check_below(12), 1 + check_below(4), 1 + check_below(3)};
        if (i % 4 == 0)
            y_ne[0] = 2 * x_ne[0];
        struct scene s;
        const uint32_t gap = i % 3 == 0 ? 4 * check_below(6) : 0;
        begin(&s, HTP_OP_UPSCALE, x_ne, y_ne, gap, i % 5 == 4, i % 9 == 1 ? 1600 : 32 << 10);
        run(&s, p, sizeof(*p));
        /* positions are f32: weights are off by as much as a position is */
        check_case(c, error_of(&s, upscaled, p), 1e-9, "upscale %u %u %u: %ux%u to %ux%u (%u)", (unsigned)p->mode,
                   (unsigned)p->align_corners, (unsigned)p->antialias, (unsigned)x_ne[0], (unsigned)x_ne[1],
                   (unsigned)y_ne[0], (unsigned)y_ne[1], (unsigned)s.status);
        const struct htp_upscale_params unknown = {3, 0, 0}, sharp = {HTP_UPSCALE_BICUBIC, 0, 1};
        run(&s, &unknown, sizeof(unknown));
        check_true(c, s.status == HTP_STATUS_BAD_OP, "an unknown mode");
        run(&s, &sharp, sizeof(sharp));
        check_true(c, s.status == HTP_STATUS_BAD_OP, "an antialiased cubic");
        end(c, &s);
    }
}

/* ---- PAD_REFLECT_1D ---- */

static double reflected(const struct scene *s, const uint32_t *at, const void *arg) {
    const struct htp_reflect_params *p = arg;
    const int32_t length = (int32_t)s->x.view.ne[0];
    int32_t i = (int32_t)at[0] - (int32_t)p->before;
    i = i < 0 ? -i : i >= length ? 2 * (length - 1) - i : i;
    return check_get(&s->x.view, (uint32_t)i, at[1], at[2], at[3]);
}

static void reflections(struct check *c) {
    for (uint32_t i = 0; i < 40; i++) {
        const uint32_t x_ne[4] = {1 + check_below(150), 1 + check_below(7), 1 + check_below(3), 1 + check_below(2)};
        struct htp_reflect_params p = {check_below(x_ne[0]), check_below(x_ne[0])};
        const uint32_t y_ne[4] = {x_ne[0] + p.before + p.behind, x_ne[1], x_ne[2], x_ne[3]};
        struct scene s;
        begin(&s, HTP_OP_PAD_REFLECT_1D, x_ne, y_ne, i % 3 == 0 ? 4 * check_below(6) : 0, false, 1024);
        run(&s, &p, sizeof(p));
        check_case(c, error_of(&s, reflected, &p), 0, "pad_reflect %u + %u + %u", (unsigned)p.before, (unsigned)x_ne[0],
                   (unsigned)p.behind);
        p.before = x_ne[0];
        run(&s, &p, sizeof(p));
        check_true(c, s.status == HTP_STATUS_BAD_OP, "more than there is to reflect");
        end(c, &s);
    }
}

void check_resample(struct check *c) {
    pools(c);
    upscales(c);
    reflections(c);
}
