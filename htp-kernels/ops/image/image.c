/*
 * Windows that slide over images: arguments and which op.
 *
 * detail of a failure: 0 a source is missing, 1 stride, padding or dilation, 2 positions beyond 31 bits, 16 + operand
 * (0, 1 src, 2 dst) whose type or row is not taken, 32 + dimension of dst whose size does not fit, 40 channels or
 * an empty kernel, 41 an empty image
 */
#include "ops/image/image.h"

bool image_window_fits(const struct htp_window_params *p) {
    bool fits = true;
    for (uint32_t d = 0; d < 3; d++)
        fits = fits && p->stride[d] >= 1 && p->padding[d] >= 0 && p->dilation[d] >= 1;
    return fits;
}

bool image_positions_fit(const struct htp_window_params *p, uint32_t d, uint32_t outputs, uint32_t taps,
                         uint32_t size) {
    /* each product is below 2^63, and neither is added before it is known to be small */
    const uint64_t limit = IMAGE_MAX_POSITION;
    const uint64_t start = (uint64_t)(outputs == 0 ? 0 : outputs - 1) * (uint32_t)p->stride[d];
    const uint64_t inside = (uint64_t)(taps == 0 ? 0 : taps - 1) * (uint32_t)p->dilation[d];
    return size <= limit && start <= limit && inside <= limit && start + inside + (uint32_t)p->padding[d] <= limit;
}

uint32_t image_threads(const struct htp_exec *exec, uint64_t items, uint64_t work) {
    const uint64_t worth = work / IMAGE_THREAD_WORK + 1;
    uint32_t n = exec->n_threads;
    n = items < n ? (uint32_t)items : n;
    return worth < n ? (uint32_t)worth : n;
}

uint32_t htp_image(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    struct htp_window_params p;
    __builtin_memcpy(&p, exec->params, sizeof(p));
    if (!image_window_fits(&p))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 1);
    switch (exec->op) {
    case HTP_OP_IM2COL:
    case HTP_OP_IM2COL_3D:
        return image_im2col(exec, &p);
    case HTP_OP_CONV_2D:
        return image_conv_2d(exec, &p);
    case HTP_OP_CONV_2D_DW:
        return image_depthwise(exec, &p);
    case HTP_OP_CONV_TRANSPOSE_1D:
    case HTP_OP_CONV_TRANSPOSE_2D:
        return image_transposed(exec, &p);
    default:
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    }
}
