#include <math.h>
#include <string.h>

#include "ops/image/check_image.h"

struct shape {
    uint32_t dims, kernel[3], size[3], channels, images;
    struct htp_window_params p;
    uint32_t type, result; /* of elements */
    uint32_t gap;          /* bytes between rows */
    bool permuted;         /* channels lie innermost */
};

static uint32_t outputs(const struct shape *s, uint32_t d) {
    const int32_t span = (int32_t)s->size[d] + 2 * s->p.padding[d] - s->p.dilation[d] * ((int32_t)s->kernel[d] - 1) - 1;
    return span < 0 ? 0 : (uint32_t)(span / s->p.stride[d]) + 1;
}

static double image_at(const struct shape *s, const struct htp_view *x, uint32_t c, uint32_t n, const int32_t *at) {
    for (uint32_t d = 0; d < 3; d++) {
        if (at[d] < 0 || at[d] >= (int32_t)s->size[d])
            return 0;
    }
    const uint32_t a = (uint32_t)at[0], b = (uint32_t)at[1], e = (uint32_t)at[2];
    if (s->dims == 1)
        return check_get(x, a, c, n, 0);
    return s->dims == 2 ? check_get(x, a, b, c, n) : check_get(x, a, b, e, n * s->channels + c);
}

/* whether every element of the result is what the definition says; f16 may be rounded either way */
static bool is_right(const struct shape *s, const struct htp_view *x, const struct htp_view *y, const uint32_t *out) {
    const uint32_t k0 = s->kernel[0], k1 = s->kernel[1], k2 = s->kernel[2];
    for (uint32_t r = 0; r < htp_rows(y); r++) {
        const uint32_t o[3] = {r % out[0], r / out[0] % out[1], r / out[0] / out[1] % out[2]};
        const uint32_t n = r / out[0] / out[1] / out[2];
        for (uint32_t e = 0; e < y->ne[0]; e++) {
            const uint32_t k[3] = {e % k0, e / k0 % k1, e / k0 / k1 % k2};
            int32_t at[3];
            for (uint32_t d = 0; d < 3; d++)
                at[d] = (int32_t)o[d] * s->p.stride[d] + (int32_t)k[d] * s->p.dilation[d] - s->p.padding[d];
            const double expected = image_at(s, x, e / k0 / k1 / k2, n, at);
            const double got = check_get(y, e, r % y->ne[1], r / y->ne[1] % y->ne[2], r / y->ne[1] / y->ne[2]);
            if (!(fabs(got - expected) <= (s->result == HTP_TYPE_F16 ? 0x1p-11 * fabs(expected) + 0x1p-24 : 0)))
                return false;
        }
    }
    return true;
}

static void run_shape(struct check *c, const struct shape *s, size_t vtcm) {
    const uint32_t out[3] = {outputs(s, 0), s->dims > 1 ? outputs(s, 1) : 1, s->dims > 2 ? outputs(s, 2) : 1};
    if (out[0] == 0 || out[1] == 0 || out[2] == 0)
        return;
    const uint32_t length = s->kernel[0] * s->kernel[1] * s->kernel[2] * s->channels;
    const uint32_t ne[3][3][4] = {
        {{s->kernel[0], s->channels, 1, 1}, {s->size[0], s->channels, s->images, 1}, {length, out[0], s->images, 1}},
        {{s->kernel[0], s->kernel[1], s->channels, 1},
         {s->size[0], s->size[1], s->channels, s->images},
         {length, out[0], out[1], s->images}},
        {{s->kernel[0], s->kernel[1], s->kernel[2], s->channels},
         {s->size[0], s->size[1], s->size[2], s->channels * s->images},
         {length, out[0], out[1], out[2] * s->images}},
    };
    struct check_tensor k, x, y;
    check_make_gapped(&k, HTP_TYPE_F16, ne[s->dims - 1][0], 0, false);
    check_make_gapped(&x, s->type, ne[s->dims - 1][1], s->gap, s->permuted);
    check_make_gapped(&y, s->result, ne[s->dims - 1][2], s->gap, false);
    struct check_run run;
    check_run_init(&run, s->dims == 3 ? HTP_OP_IM2COL_3D : HTP_OP_IM2COL, 1 + check_below(4), vtcm);
    struct htp_window_params p = s->p;
    p.dims = s->dims;
    p.channels = s->channels;
    memcpy(run.params, &p, sizeof(p));
    run.exec.n_src = 2;
    run.exec.src[0] = &k.view;
    run.exec.src[1] = &x.view;
    run.exec.dst = &y.view;
    check_remember(&y);
    const bool ok = check_run_op(&run, htp_image) == HTP_STATUS_OK && is_right(s, &x.view, &y.view, out);
    check_true(c, ok,
               "im2col of %u: image %ux%ux%u x%u x%u, window %ux%ux%u, stride %d, padding %d, dilation %d, types %u %u",
               (unsigned)s->dims, (unsigned)s->size[0], (unsigned)s->size[1], (unsigned)s->size[2],
               (unsigned)s->channels, (unsigned)s->images, (unsigned)s->kernel[0], (unsigned)s->kernel[1], (unsigned)s->kernel[2],
               (int)p.stride[0], (int)p.padding[0], (int)p.dilation[0], (unsigned)s->type, (unsigned)s->result);
    check_true(c, check_unchanged(&y, false) && check_vtcm_intact(&run), "im2col wrote beside");
    check_run_free(&run);
    check_free(&k);
    check_free(&x);
    check_free(&y);
}

static void refuses(struct check *c) {
    static const uint32_t k_ne[4] = {3, 3, 2, 1}, x_ne[4] = {20, 10, 2, 2}, y_ne[4] = {18, 18, 8, 2};
    struct check_tensor k, x, y;
    check_make_gapped(&k, HTP_TYPE_F32, k_ne, 0, false);
    check_make_gapped(&x, HTP_TYPE_F32, x_ne, 0, false);
    check_make_gapped(&y, HTP_TYPE_F32, y_ne, 0, false);
    struct check_run run;
    check_run_init(&run, HTP_OP_IM2COL, 1, 16 << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = &k.view;
    run.exec.src[1] = &x.view;
    run.exec.dst = &y.view;
    const struct htp_window_params good = {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 2, 0};
    struct htp_window_params p = good;
#define EXPECT(status, what)                                                      \
    do {                                                                          \
        memcpy(run.params, &p, sizeof(p));                                        \
        check_true(c, check_run_op(&run, htp_image) == HTP_STATUS_##status, what); \
        p = good;                                                                 \
    } while (0)
    EXPECT(OK, "what is right");
    p.stride[0] = 0;
    EXPECT(BAD_OP, "stride 0");
    p.dilation[1] = -1;
    EXPECT(BAD_OP, "a negative dilation");
    p.padding[0] = -1;
    EXPECT(BAD_OP, "negative padding");
    p.padding[1] = INT32_MAX;
    EXPECT(BAD_OP, "positions that overflow by padding");
    p.stride[1] = INT32_MAX;
    EXPECT(BAD_OP, "positions that overflow by stride");
    p.dilation[0] = INT32_MAX;
    EXPECT(BAD_OP, "positions that overflow by dilation");
    p.dims = 1;
    EXPECT(BAD_OP, "two dimensions as one");
    p.dims = 3;
    EXPECT(BAD_OP, "three dimensions of the op for two");
    run.exec.op = HTP_OP_IM2COL_3D;
    EXPECT(BAD_OP, "no channels");
    run.exec.op = HTP_OP_IM2COL;
    y.view.ne[0] = 17;
    EXPECT(BAD_OP, "a row that is not the window");
    y.view.ne[0] = 18;
    y.view.ne[3] = 1;
    EXPECT(BAD_OP, "fewer images");
    y.view.ne[3] = 2;
    y.view.type = HTP_TYPE_I32;
    EXPECT(UNSUPPORTED, "integers");
    y.view.type = HTP_TYPE_F32;
    x.view.type = HTP_TYPE_F16;
    EXPECT(UNSUPPORTED, "f16 to f32");
    x.view.type = HTP_TYPE_F32;
    run.exec.n_src = 1;
    EXPECT(BAD_OP, "no image");
#undef EXPECT
    check_run_free(&run);
    check_free(&k);
    check_free(&x);
    check_free(&y);
}

void check_im2col(struct check *c) {
    static const uint32_t types[][2] = {
        {HTP_TYPE_F32, HTP_TYPE_F32}, {HTP_TYPE_F32, HTP_TYPE_F16}, {HTP_TYPE_F16, HTP_TYPE_F16}};
    for (uint32_t i = 0; i < 240; i++) {
        struct shape s = {.dims = 1 + i % 3, .channels = 1 + check_below(i % 5 == 0 ? 40 : 4)};
        s.images = 1 + check_below(3);
        for (uint32_t d = 0; d < 3; d++) {
            const bool used = d < s.dims;
            s.kernel[d] = used ? 1 + check_below(i % 7 == 0 && d == 0 ? 40 : 4) : 1;
            s.size[d] = used ? 1 + check_below(d == 0 ? 120 : s.dims == 2 ? 12 : 6) : 1;
            s.p.stride[d] = used ? 1 + (int32_t)check_below(3) : 1;
            s.p.padding[d] = used ? (int32_t)check_below(i % 11 == 0 ? 50 : 4) : 0;
            s.p.dilation[d] = used ? 1 + (int32_t)check_below(3) : 1;
        }
        s.type = types[i / 3 % 3][0];
        s.result = types[i / 3 % 3][1];
        s.gap = i % 4 == 0 ? 4 * check_below(20) : 0;
        s.permuted = i % 13 == 0;
        run_shape(c, &s, i % 17 == 0 ? 1024 : 32 << 10);
    }
    refuses(c);
}
