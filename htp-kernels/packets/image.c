/* Windows over images, whole ops. */
#include <string.h>

#include "htp/params.h"
#include "packets/packets.h"

uint32_t htp_image(struct htp_exec *exec);

static struct htp_view tensor(uint32_t type, uint32_t n0, uint32_t n1, uint32_t n2) {
    struct htp_view v = packets_tensor(type, n0, n1 * n2);
    v.ne[1] = n1;
    v.ne[2] = n2;
    v.nb[2] = v.nb[1] * n1;
    v.nb[3] = v.nb[2] * n2;
    return v;
}

static void run(uint32_t op, const struct htp_window_params *p, const struct htp_view *kernel,
                const struct htp_view *image, const struct htp_view *dst) {
    int32_t params[HTP_MAX_PARAMS] = {0};
    memcpy(params, p, sizeof(*p));
    struct htp_exec exec;
    packets_exec(&exec, op, params, kernel, image, dst);
    packets_begin();
    packets_run(&exec, htp_image);
}

/* the first layer of an encoder of speech */
static void im2col(uint32_t type) {
    const struct htp_window_params p = {{1, 1, 1}, {1, 0, 0}, {1, 1, 1}, 1, 0};
    const struct htp_view kernel = tensor(type, 3, 80, 1), image = tensor(HTP_TYPE_F32, 512, 80, 1);
    const struct htp_view dst = tensor(type, 240, 512, 1);
    run(HTP_OP_IM2COL, &p, &kernel, &image, &dst);
    packets_end("1024 elements", 240 * 512 / 1024.0, "im2col %s 3x80", type == HTP_TYPE_F32 ? "f32" : "f16");
}

/* patches of an image that do not overlap */
static void patches(void) {
    const struct htp_window_params p = {{16, 16, 1}, {0, 0, 0}, {1, 1, 1}, 2, 0};
    const struct htp_view kernel = tensor(HTP_TYPE_F32, 16, 16, 3), image = tensor(HTP_TYPE_F32, 224, 32, 3);
    const struct htp_view dst = tensor(HTP_TYPE_F32, 768, 14, 2);
    run(HTP_OP_IM2COL, &p, &kernel, &image, &dst);
    packets_end("1024 elements", 768 * 28 / 1024.0, "im2col f32 16x16x3 patches");
}

/* a layer of a decoder of images */
static void conv(uint32_t stride) {
    const struct htp_window_params p = {{(int32_t)stride, 1, 1}, {1, 1, 0}, {1, 1, 1}, 2, 0};
    struct htp_view kernel = tensor(HTP_TYPE_F16, 3, 3, 32 * 16);
    kernel.ne[2] = 32;
    kernel.ne[3] = 16;
    kernel.nb[3] = kernel.nb[2] * 32;
    const struct htp_view image = tensor(HTP_TYPE_F32, 64 * stride, 8, 32), dst = tensor(HTP_TYPE_F32, 64, 8, 16);
    run(HTP_OP_CONV_2D, &p, &kernel, &image, &dst);
    packets_end("32 products", 64 * 8 * 16 * 9.0, "conv_2d 3x3x32 stride %u", (unsigned)stride);
}

static void depthwise(bool by_channel) {
    const struct htp_window_params p = {{1, 1, 1}, {1, 1, 0}, {1, 1, 1}, 2, 0};
    struct htp_view kernel = tensor(HTP_TYPE_F32, 3, 3, 64);
    kernel.ne[2] = 1;
    kernel.ne[3] = 64;
    kernel.nb[3] = kernel.nb[2];
    struct htp_view image = tensor(HTP_TYPE_F32, 64, 8, 64), dst = tensor(HTP_TYPE_F32, 64, 8, 64);
    if (by_channel) {
        image.nb[2] = dst.nb[2] = 4;
        image.nb[0] = dst.nb[0] = 64 * 4;
        image.nb[1] = dst.nb[1] = 64 * 64 * 4;
    }
    run(HTP_OP_CONV_2D_DW, &p, &kernel, &image, &dst);
    packets_end("32 products", 64 * 8 * 64 * 9 / 32.0, "conv_2d_dw 3x3 %s", by_channel ? "channels" : "lines");
}

/* a decoder of sound */
static void transposed(void) {
    const struct htp_window_params p = {{4, 1, 1}, {0, 0, 0}, {1, 1, 1}, 1, 0};
    const struct htp_view kernel = tensor(HTP_TYPE_F32, 8, 16, 32), image = tensor(HTP_TYPE_F32, 128, 32, 1);
    const struct htp_view dst = tensor(HTP_TYPE_F32, 516, 16, 1);
    run(HTP_OP_CONV_TRANSPOSE_1D, &p, &kernel, &image, &dst);
    packets_end("32 products", 128 * 8 * 16, "conv_transpose_1d 8x32 stride 4");
}

static void transposed_plane(void) {
    const struct htp_window_params p = {{2, 2, 1}, {0, 0, 0}, {1, 1, 1}, 2, 0};
    struct htp_view kernel = tensor(HTP_TYPE_F16, 2, 2, 16 * 32);
    kernel.ne[2] = 16;
    kernel.ne[3] = 32;
    kernel.nb[3] = kernel.nb[2] * 16;
    const struct htp_view image = tensor(HTP_TYPE_F32, 64, 4, 32), dst = tensor(HTP_TYPE_F32, 128, 8, 16);
    run(HTP_OP_CONV_TRANSPOSE_2D, &p, &kernel, &image, &dst);
    packets_end("32 products", 64 * 4 * 4 * 16, "conv_transpose_2d 2x2x32 stride 2");
}

void packets_image(void) {
    im2col(HTP_TYPE_F32);
    im2col(HTP_TYPE_F16);
    patches();
    conv(1);
    conv(2);
    depthwise(false);
    depthwise(true);
    transposed();
    transposed_plane();
}
