/* Pools and other sizes of images, whole ops. */
#include <string.h>

#include "htp/params.h"
#include "packets/packets.h"

uint32_t htp_resample(struct htp_exec *exec);

static struct htp_view tensor(uint32_t n0, uint32_t n1, uint32_t n2) {
    struct htp_view v = packets_tensor(HTP_TYPE_F32, n0, n1 * n2);
    v.ne[1] = n1;
    v.ne[2] = n2;
    v.nb[2] = v.nb[1] * n1;
    v.nb[3] = v.nb[2] * n2;
    return v;
}

static void run(const char *name, uint32_t op, const void *p, size_t size, const struct htp_view *image,
                const struct htp_view *dst) {
    int32_t params[HTP_MAX_PARAMS] = {0};
    memcpy(params, p, size);
    struct htp_exec exec;
    packets_exec(&exec, op, params, image, NULL, dst);
    packets_begin();
    packets_run(&exec, htp_resample);
    packets_end("1024 elements", (double)dst->ne[0] * dst->ne[1] * dst->ne[2] / 1024.0, "%s", name);
}

void packets_resample(void) {
    const struct htp_view image = tensor(64, 32, 4), half = tensor(32, 16, 4), twice = tensor(128, 64, 4);
    const struct htp_view line = tensor(1024, 8, 1), halved = tensor(512, 8, 1), padded = tensor(1040, 8, 1);
    const struct htp_pool_params largest = {1, {2, 2}, {2, 2}, {0, 0}}, mean = {0, {3, 1}, {2, 1}, {1, 0}};
    run("pool_2d max 2x2", HTP_OP_POOL_2D, &largest, sizeof(largest), &image, &half);
    run("pool_1d mean 3", HTP_OP_POOL_1D, &mean, sizeof(mean), &line, &halved);
    const struct htp_upscale_params nearest = {HTP_UPSCALE_NEAREST, 0, 0}, bilinear = {HTP_UPSCALE_BILINEAR, 0, 0};
    const struct htp_upscale_params bicubic = {HTP_UPSCALE_BICUBIC, 0, 0};
    run("upscale nearest x2", HTP_OP_UPSCALE, &nearest, sizeof(nearest), &image, &twice);
    run("upscale bilinear x2", HTP_OP_UPSCALE, &bilinear, sizeof(bilinear), &image, &twice);
    run("upscale bicubic x2", HTP_OP_UPSCALE, &bicubic, sizeof(bicubic), &image, &twice);
    const struct htp_reflect_params reflect = {8, 8};
    run("pad_reflect 8", HTP_OP_PAD_REFLECT_1D, &reflect, sizeof(reflect), &line, &padded);
}
