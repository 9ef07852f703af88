/* CONV_2D, CONV_2D_DW and the transposed ones. Errors are relative to the terms of the sums. */
#include <math.h>
#include <string.h>

#include "ops/image/check_image.h"

struct shape {
    uint32_t op, kernel[2], size[2], in, out, images;
    int32_t stride[2], padding[2], dilation[2];
    uint32_t type; /* of the kernel */
    uint32_t gap;
    bool permuted; /* channels lie innermost */
};

struct scene {
    struct check_tensor k, x, y;
    double error, terms;
};

static bool is_transposed(const struct shape *s) {
    return s->op == HTP_OP_CONV_TRANSPOSE_1D || s->op == HTP_OP_CONV_TRANSPOSE_2D;
}

static uint32_t outputs(const struct shape *s, uint32_t d) {
    if (is_transposed(s))
        return (s->size[d] - 1) * (uint32_t)s->stride[d] + s->kernel[d];
    const int32_t span = (int32_t)s->size[d] + 2 * s->padding[d] - s->dilation[d] * ((int32_t)s->kernel[d] - 1) - 1;
    return span < 0 ? 0 : (uint32_t)(span / s->stride[d]) + 1;
}

static double kernel_at(const struct shape *s, const struct htp_view *k, const uint32_t *t, uint32_t c, uint32_t o) {
    switch (s->op) {
    case HTP_OP_CONV_2D:
        return check_get(k, t[0], t[1], c, o);
    case HTP_OP_CONV_2D_DW:
        return check_get(k, t[0], t[1], 0, o);
    case HTP_OP_CONV_TRANSPOSE_1D:
        return check_get(k, t[0], o, c, 0);
    default:
        return check_get(k, t[0], t[1], o, c);
    }
}

static double element(const struct shape *s, const struct htp_view *v, uint32_t x, uint32_t y, uint32_t c, uint32_t n) {
    return s->op == HTP_OP_CONV_TRANSPOSE_1D ? check_get(v, x, c, 0, 0) : check_get(v, x, y, c, n);
}

/* the position in the image that element t of the kernel is multiplied with in result o; false when there is none */
static bool source(const struct shape *s, uint32_t d, uint32_t o, uint32_t t, uint32_t *at) {
    if (is_transposed(s)) {
        *at = (o - t) / (uint32_t)s->stride[d];
        return o >= t && (o - t) % (uint32_t)s->stride[d] == 0 && *at < s->size[d];
    }
    *at = o * (uint32_t)s->stride[d] + t * (uint32_t)s->dilation[d] - (uint32_t)s->padding[d];
    return *at < s->size[d];
}

static void compare(const struct shape *s, struct scene *c, const uint32_t *o, uint32_t out, uint32_t n) {
    double expected = 0, terms = 0;
    for (uint32_t i = 0; i < s->kernel[0] * s->kernel[1]; i++) {
        const uint32_t t[2] = {i % s->kernel[0], i / s->kernel[0]};
        uint32_t x, y;
        if (!source(s, 0, o[0], t[0], &x) || !source(s, 1, o[1], t[1], &y))
            continue;
        for (uint32_t in = 0; in < (s->op == HTP_OP_CONV_2D_DW ? 1 : s->in); in++) {
            const uint32_t channel = s->op == HTP_OP_CONV_2D_DW ? out : in;
            const double term = kernel_at(s, &c->k.view, t, in, out) * element(s, &c->x.view, x, y, channel, n);
            expected += term;
            terms += fabs(term);
        }
    }
    const double d = element(s, &c->y.view, o[0], o[1], out, n) - expected;
    c->error += d * d;
    c->terms += terms * terms;
}

static void run_shape(struct check *c, const struct shape *s, size_t vtcm) {
    const uint32_t o[2] = {outputs(s, 0), outputs(s, 1)};
    if (o[0] == 0 || o[1] == 0)
        return;
    const bool line = s->op == HTP_OP_CONV_TRANSPOSE_1D;
    const uint32_t x_ne[2][4] = {{s->size[0], s->size[1], s->in, s->images}, {s->size[0], s->in, 1, 1}};
    const uint32_t y_ne[2][4] = {{o[0], o[1], s->out, s->images}, {o[0], s->out, 1, 1}};
    uint32_t k_ne[4] = {s->kernel[0], s->kernel[1], s->in, s->out};
    if (s->op == HTP_OP_CONV_2D_DW)
        k_ne[2] = 1;
    if (s->op == HTP_OP_CONV_TRANSPOSE_2D) {
        k_ne[2] = s->out;
        k_ne[3] = s->in;
    }
    const uint32_t k_line[4] = {s->kernel[0], s->out, s->in, 1};
    struct scene scene = {.terms = 1e-30};
    check_make_gapped(&scene.k, s->type, line ? k_line : k_ne, s->gap, s->permuted);
    check_make_gapped(&scene.x, HTP_TYPE_F32, x_ne[line], s->gap, s->permuted);
    check_make_gapped(&scene.y, HTP_TYPE_F32, y_ne[line], s->gap, s->permuted && s->op == HTP_OP_CONV_2D_DW);
    struct check_run run;
    check_run_init(&run, s->op, 1 + check_below(4), vtcm);
    const struct htp_window_params p = {{s->stride[0], s->stride[1], 1},
                                        {s->padding[0], s->padding[1], 0},
                                        {s->dilation[0], s->dilation[1], 1},
                                        2,
                                        0};
    memcpy(run.params, &p, sizeof(p));
    run.exec.n_src = 2;
    run.exec.src[0] = &scene.k.view;
    run.exec.src[1] = &scene.x.view;
    run.exec.dst = &scene.y.view;
    check_remember(&scene.y);
    const uint32_t status = check_run_op(&run, htp_image);
    for (uint32_t i = 0; i < o[0] * o[1]; i++) {
        const uint32_t at[2] = {i % o[0], i / o[0]};
        for (uint32_t j = 0; j < s->out * s->images; j++)
            compare(s, &scene, at, j % s->out, j / s->out);
    }
    check_case(c, status != HTP_STATUS_OK ? 1 : scene.error / scene.terms, 1e-12,
               "op %u: image %ux%u x%u x%u, kernel %ux%u x%u, stride %d %d, padding %d %d, dilation %d %d, gap %u%s, "
               "type %u (%u)",
               (unsigned)s->op, (unsigned)s->size[0], (unsigned)s->size[1], (unsigned)s->in, (unsigned)s->images,
               (unsigned)s->kernel[0], (unsigned)s->kernel[1], (unsigned)s->out, (int)s->stride[0], (int)s->stride[1],
               (int)s->padding[0], (int)s->padding[1], (int)s->dilation[0], (int)s->dilation[1], (unsigned)s->gap,
               s->permuted ? ", permuted" : "", (unsigned)s->type, (unsigned)status);
    check_true(c, check_unchanged(&scene.y, false) && check_vtcm_intact(&run), "op %u wrote beside", (unsigned)s->op);
    check_run_free(&run);
    check_free(&scene.k);
    check_free(&scene.x);
    check_free(&scene.y);
}

static void random_shapes(struct check *c, uint32_t op, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct shape s = {.op = op, .in = 1 + check_below(i % 4 == 0 ? 70 : 5), .out = 1 + check_below(10)};
        const bool line = op == HTP_OP_CONV_TRANSPOSE_1D;
        s.images = line ? 1 : 1 + check_below(2);
        for (uint32_t d = 0; d < 2; d++) {
            const bool used = d == 0 || !line;
            s.kernel[d] = used ? 1 + check_below(i % 7 == 0 && d == 0 ? 90 : 5) : 1;
            s.size[d] = used ? 1 + check_below(d == 0 ? 150 : 6) : 1;
            s.stride[d] = used ? 1 + (int32_t)check_below(i % 3 == 0 ? 4 : 1) : 1;
            const bool plain = line || op == HTP_OP_CONV_TRANSPOSE_2D;
            s.padding[d] = plain ? 0 : (int32_t)check_below(4);
            s.dilation[d] = plain ? 1 : 1 + (int32_t)check_below(i % 5 == 0 ? 3 : 1);
        }
        if (op == HTP_OP_CONV_TRANSPOSE_2D)
            s.stride[1] = s.stride[0];
        if (op == HTP_OP_CONV_2D_DW)
            s.out = s.in;
        s.type = i % 2 == 0 ? HTP_TYPE_F32 : HTP_TYPE_F16;
        s.gap = i % 4 == 1 ? 4 * check_below(8) : 0;
        s.permuted = i % 6 == 5 && op != HTP_OP_CONV_TRANSPOSE_1D && op != HTP_OP_CONV_TRANSPOSE_2D;
        /* with little room channels and blocks come one after the other */
        run_shape(c, &s, op != HTP_OP_CONV_2D_DW && i % 3 == 1 ? 40 << 10 : 512 << 10);
    }
}

static void refuses(struct check *c) {
    static const uint32_t k_ne[4] = {3, 3, 2, 2}, x_ne[4] = {20, 10, 2, 2}, y_ne[4] = {18, 8, 2, 2};
    static const uint32_t ops[] = {HTP_OP_CONV_2D, HTP_OP_CONV_2D_DW, HTP_OP_CONV_TRANSPOSE_2D};
    struct check_tensor k, x, y;
    check_make_gapped(&k, HTP_TYPE_F32, k_ne, 0, false);
    check_make_gapped(&x, HTP_TYPE_F32, x_ne, 0, false);
    check_make_gapped(&y, HTP_TYPE_F32, y_ne, 0, false);
    struct check_run run;
    check_run_init(&run, 0, 1, 64 << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = &k.view;
    run.exec.src[1] = &x.view;
    run.exec.dst = &y.view;
    const struct htp_window_params good = {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 2, 0};
    struct htp_window_params p = good;
#define EXPECT(status, what)                                                                       \
    do {                                                                                           \
        memcpy(run.params, &p, sizeof(p));                                                         \
        check_true(c, check_run_op(&run, htp_image) == HTP_STATUS_##status, "%s, op %u", what, (unsigned)ops[i]); \
        p = good;                                                                                  \
    } while (0)
    for (uint32_t i = 0; i < 3; i++) {
        run.exec.op = ops[i];
        k.view.ne[2] = ops[i] == HTP_OP_CONV_2D_DW ? 1 : 2;
        EXPECT(OK, "what is right");
        p.stride[0] = 0;
        EXPECT(BAD_OP, "stride 0");
        p.stride[1] = INT32_MAX;
        EXPECT(BAD_OP, "a stride that overflows");
        p.dilation[0] = INT32_MAX;
        EXPECT(BAD_OP, "a dilation that overflows");
        p.padding[0] = INT32_MAX;
        EXPECT(BAD_OP, "padding that overflows");
        if (ops[i] != HTP_OP_CONV_TRANSPOSE_2D) {
            p.dilation[0] = 1 << 28;
            EXPECT(NO_VTCM, "lines that no VTCM holds");
        }
        k.view.ne[3] = 3;
        EXPECT(BAD_OP, "a kernel of other channels");
        k.view.ne[3] = 2;
        k.view.ne[0] = 0;
        EXPECT(BAD_OP, "an empty kernel");
        k.view.ne[0] = 3;
        y.view.ne[3] = 1;
        EXPECT(BAD_OP, "fewer images");
        y.view.ne[3] = 2;
        k.view.type = HTP_TYPE_BF16;
        EXPECT(UNSUPPORTED, "a bf16 kernel");
        k.view.type = HTP_TYPE_F32;
        x.view.type = HTP_TYPE_F16;
        EXPECT(UNSUPPORTED, "an f16 image");
        x.view.type = HTP_TYPE_F32;
        run.exec.vtcm_size = 512;
        EXPECT(NO_VTCM, "too little VTCM");
        run.exec.vtcm_size = 64 << 10;
    }
#undef EXPECT
    check_run_free(&run);
    check_free(&k);
    check_free(&x);
    check_free(&y);
}

void check_products(struct check *c) {
    random_shapes(c, HTP_OP_CONV_2D_DW, 60);
    random_shapes(c, HTP_OP_CONV_2D, 60);
    random_shapes(c, HTP_OP_CONV_TRANSPOSE_1D, 60);
    random_shapes(c, HTP_OP_CONV_TRANSPOSE_2D, 40);
    refuses(c);
}
