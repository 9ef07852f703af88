/* SSM_CONV against sums in f64. Errors are relative to the terms of a sum: values of both signs may leave little of it. */
#include "check/check.h"

#include <math.h>

uint32_t htp_conv(struct htp_exec *exec);

static void run_shape(struct check *c, uint32_t taps, uint32_t channels, uint32_t tokens, uint32_t sequences,
                      uint32_t gap) {
    const uint32_t x_ne[4] = {tokens + taps - 1, channels, sequences, 1}, w_ne[4] = {taps, channels, 1, 1};
    const uint32_t dst_ne[4] = {channels, tokens, sequences, 1};
    const uint32_t row = x_ne[0] * 4 + gap, x_nb[4] = {4, row, row * channels + gap, row * channels * sequences};
    const uint32_t w_nb[4] = {4, taps * 4 + gap, (taps * 4 + gap) * channels, (taps * 4 + gap) * channels};
    const uint32_t out = channels * 4 + gap, dst_nb[4] = {4, out, out * tokens + gap, out * tokens * sequences};
    struct check_tensor x, w, dst;
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, x_ne, x_nb, gap);
    check_make(&w, HTP_TYPE_F32, HTP_LAYOUT_ROWS, w_ne, w_nb, gap * 2);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, dst_ne, dst_nb, gap);
    for (uint32_t i = 0; i < x_ne[0] * channels * sequences; i++)
        check_set(&x.view, i % x_ne[0], i / x_ne[0] % channels, i / x_ne[0] / channels, 0, check_uniform());
    for (uint32_t i = 0; i < taps * channels; i++)
        check_set(&w.view, i % taps, i / taps, 0, 0, check_uniform());
    struct check_run run;
    check_run_init(&run, HTP_OP_SSM_CONV, 1 + check_below(4), 40 << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = &x.view;
    run.exec.src[1] = &w.view;
    run.exec.dst = &dst.view;
    check_remember(&dst);
    const uint32_t status = check_run_op(&run, htp_conv);
    double error = 0, sum = 0;
    for (uint32_t s = 0; s < sequences; s++) {
        for (uint32_t t = 0; t < tokens; t++) {
            for (uint32_t i = 0; i < channels; i++) {
                double expected = 0, terms = 0;
                for (uint32_t k = 0; k < taps; k++) {
                    const double term = check_get(&x.view, t + k, i, s, 0) * check_get(&w.view, k, i, 0, 0);
                    expected += term;
                    terms += fabs(term);
                }
                const double d = check_get(&dst.view, i, t, s, 0) - expected;
                error += d * d;
                sum += terms * terms;
            }
        }
    }
    check_case(c, status != HTP_STATUS_OK ? 1 : error / sum, 1e-13, "%u taps, %u channels, %u tokens, %u sequences, gap %u",
               (unsigned)taps, (unsigned)channels, (unsigned)tokens, (unsigned)sequences, (unsigned)gap);
    check_true(c, check_unchanged(&dst, false) && check_vtcm_intact(&run), "%u taps, %u channels: wrote beside",
               (unsigned)taps, (unsigned)channels);
    check_run_free(&run);
    check_free(&x);
    check_free(&w);
    check_free(&dst);
}

static void refuses(struct check *c) {
    static const uint32_t x_ne[4] = {7, 32, 2, 1}, w_ne[4] = {4, 32, 1, 1}, dst_ne[4] = {32, 4, 2, 1};
    struct check_tensor x, w, dst;
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, x_ne, NULL, 0);
    check_make(&w, HTP_TYPE_F32, HTP_LAYOUT_ROWS, w_ne, NULL, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, dst_ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_SSM_CONV, 1, 20 << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = &x.view;
    run.exec.src[1] = &w.view;
    run.exec.dst = &dst.view;
    w.view.ne[0] = 3;
    check_true(c, check_run_op(&run, htp_conv) == HTP_STATUS_BAD_OP, "taps that do not fit the tokens");
    w.view.ne[0] = 4;
    w.view.ne[1] = 31;
    check_true(c, check_run_op(&run, htp_conv) == HTP_STATUS_BAD_OP, "fewer filters than channels");
    w.view.ne[1] = 32;
    w.view.type = HTP_TYPE_I32;
    check_true(c, check_run_op(&run, htp_conv) == HTP_STATUS_UNSUPPORTED, "filters that are not f32");
    w.view.type = HTP_TYPE_F32;
    run.exec.vtcm_size = 4096;
    check_true(c, check_run_op(&run, htp_conv) == HTP_STATUS_NO_VTCM, "no VTCM");
    run.exec.n_src = 1;
    check_true(c, check_run_op(&run, htp_conv) == HTP_STATUS_BAD_OP, "no filters");
    check_run_free(&run);
    check_free(&x);
    check_free(&w);
    check_free(&dst);
}

void check_conv(struct check *c) {
    static const uint32_t taps[] = {1, 2, 3, 4, 9, 31, 32, 33, 40};
    for (uint32_t i = 0; i < sizeof(taps) / sizeof(taps[0]); i++) {
        run_shape(c, taps[i], 1, 1, 1, 0);
        run_shape(c, taps[i], 32, 1, 2, 0);
        run_shape(c, taps[i], 31, 5, 1, 4);
        run_shape(c, taps[i], 100, 64, 3, 12);
        run_shape(c, taps[i], 256, 29, 1, 0);
    }
    run_shape(c, 4, 1024, 130, 2, 0);
    refuses(c);
}
