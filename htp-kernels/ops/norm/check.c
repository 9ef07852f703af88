/* RMS_NORM against its definition in f64. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "htp/params.h"

uint32_t htp_norm(struct htp_exec *exec);

struct shape {
    uint32_t ne[4];
    uint32_t step;   /* of elements of src; 4: side by side */
    uint32_t gap;    /* bytes between rows of src */
    uint32_t offset; /* of src and dst from a 128-byte boundary */
    bool in_place;
};

static void strides(const struct shape *s, uint32_t *nb) {
    nb[0] = s->step;
    nb[1] = nb[0] * s->ne[0] + s->gap;
    nb[2] = nb[1] * s->ne[1];
    nb[3] = nb[2] * s->ne[2];
}

static void run_shape(struct check *c, const struct shape *s, uint32_t threads, float scale, float eps) {
    struct check_tensor src, dst;
    uint32_t nb[4];
    strides(s, nb);
    check_make(&src, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s->ne, nb, s->offset);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s->ne, s->in_place ? nb : NULL, s->offset / 2 / 4 * 4);
    const struct htp_view *v = &src.view;
    const uint32_t rows = htp_rows(v), length = s->ne[0];
    double *expected = malloc((size_t)rows * length * sizeof(double));
    for (uint32_t r = 0; expected != NULL && r < rows; r++) {
        const uint32_t i1 = r % s->ne[1], i2 = r / s->ne[1] % s->ne[2], i3 = r / s->ne[1] / s->ne[2];
        double sum = 0;
        for (uint32_t i = 0; i < length; i++) {
            const float x = check_uniform() * scale * (r % 5 == 3 ? 1e-3f : 1);
            check_set(v, i, i1, i2, i3, x);
            sum += (double)x * x;
        }
        for (uint32_t i = 0; i < length; i++)
            expected[(size_t)r * length + i] = check_get(v, i, i1, i2, i3) / sqrt(sum / length + eps);
    }
    struct check_run run;
    check_run_init(&run, HTP_OP_RMS_NORM, threads, 1 << 16);
    const struct htp_norm_params params = {eps};
    memcpy(run.params, &params, sizeof(params));
    run.exec.n_src = 1;
    run.exec.src[0] = &src.view;
    struct check_tensor *out = s->in_place ? &src : &dst;
    run.exec.dst = &out->view;
    check_remember(&src);
    check_remember(&dst);
    const uint32_t status = check_run_op(&run, htp_norm);
    double error = 0, sum = 0;
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < length; i++) {
            const double e = expected[(size_t)r * length + i];
            const double d =
                check_get(&out->view, i, r % s->ne[1], r / s->ne[1] % s->ne[2], r / s->ne[1] / s->ne[2]) - e;
            error += d * d;
            sum += e * e;
        }
    }
    check_case(c, status != HTP_STATUS_OK ? 1 : error / sum, 1e-10, "rms_norm [%u,%u,%u,%u] step %u gap %u offset %u%s",
               (unsigned)s->ne[0], (unsigned)s->ne[1], (unsigned)s->ne[2], (unsigned)s->ne[3], (unsigned)s->step,
               (unsigned)s->gap, (unsigned)s->offset, s->in_place ? " in place" : "");
    check_true(c, check_unchanged(out, false) && (s->in_place || check_unchanged(&src, true)),
               "rms_norm [%u,...] wrote beside its output", (unsigned)s->ne[0]);
    free(expected);
    check_run_free(&run);
    check_free(&src);
    check_free(&dst);
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
    const struct htp_norm_params params = {NAN};
    memcpy(run.params, &params, sizeof(params));
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "NaN eps");
    run.exec.src[0] = NULL;
    check_true(c, check_run_op(&run, htp_norm) == HTP_STATUS_BAD_OP, "no source");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&h);
}

void check_norm(struct check *c) {
    static const uint32_t lengths[] = {1, 2, 31, 32, 33, 63, 64, 96, 127, 128, 129, 576, 1000, 2048, 4097};
    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint32_t form = 0; form < 6; form++) {
            const struct shape s = {
                .ne = {lengths[i], 1 + check_below(5), 1 + check_below(2), 1 + check_below(2)},
                .step = form == 4 ? 8 : form == 5 ? 12 : 4,
                .gap = form == 0 ? 0 : 4 * check_below(40),
                .offset = form < 2 ? 0 : 4 * check_below(32),
                .in_place = form == 3 || form == 5,
            };
            run_shape(c, &s, 1 + check_below(4), form == 2 ? 1e6f : 3, form == 1 ? 0.1f : 1e-6f);
        }
    }
    const struct shape big = {.ne = {2048, 67, 1, 1}, .step = 4};
    run_shape(c, &big, 4, 1, 1e-5f);
    refuses(c);
}
