/*
 * CONV_2D_DW: a filter of its own for each channel,
 *
 *   dst[x, y, c, n] = sum over i, j of image[x * s0 + i * d0 - p0, y * s1 + j * d1 - p1, c, n] * kernel[i, j, 0, c]
 *
 * Images of channels that lie side by side: a vector is 32 channels, the filters have been laid out that way in VTCM.
 * Others: a vector is 32 windows of a line (lines.h), and a weight is splatted. With filters of 3x3 the lines that are
 * made ready cost more than the nine products: 30 packets a product are counted for lines that touch the padding, 8 for
 * channels, where the floor is 2. Neither has been optimised.
 *
 * detail of a failure: see image.c
 */
#include "ops/image/lines.h"

struct depthwise {
    const struct htp_view *kernel, *src, *dst;
    const struct htp_window_params *p;
    struct image_lines lines;
    uint32_t width, height; /* of the filters */
    uint32_t pitch;         /* floats from weight to weight of a filter: 1, or the channels in whole vectors */
    bool by_channel;        /* a vector is 32 channels */
    float *weights;         /* [channel][weight], or [weight][channel] */
    uint8_t *vtcm;          /* of the threads */
    size_t thread_bytes;
};

static void lay_out(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct depthwise *t = arg;
    const uint32_t size = t->width * t->height;
    for (uint32_t c = thread; c < t->src->ne[2]; c += n_threads) {
        float *to = t->by_channel ? t->weights + c : t->weights + (size_t)c * size;
        for (uint32_t j = 0; j < t->height; j++) {
            for (uint32_t i = 0; i < t->width; i++, to += t->pitch)
                *to = image_weight(t->kernel->type, htp_row(t->kernel, j, 0, c) + (size_t)i * t->kernel->nb[0]);
        }
    }
}

/* ---- channels side by side ---- */

HVX_INLINE void channels_sum(const struct depthwise *t, const uint8_t *window, struct image_range ri,
                             struct image_range rj, uint32_t c, uint32_t bytes, uint8_t *dst) {
    HVX_Vector sum0 = hvx_zero(), sum1 = hvx_zero();
    const uint32_t di = (uint32_t)t->p->dilation[0], dj = (uint32_t)t->p->dilation[1];
    for (uint32_t j = rj.begin; j < rj.end; j++) {
        const uint8_t *x = window + (size_t)j * dj * t->src->nb[1] + (size_t)ri.begin * di * t->src->nb[0];
        const float *w = t->weights + (size_t)(j * t->width + ri.begin) * t->pitch + c;
        HVX_ROLLED
        for (uint32_t i = ri.begin; i < ri.end; i++, x += (size_t)di * t->src->nb[0], w += t->pitch) {
            const HVX_Vector x0 = bytes >= HVX_BYTES ? hvx_load(x) : hvx_load_bytes(x, bytes);
            sum0 = hvx_add_qf32(sum0, hvx_mul_f32_qf32(x0, hvx_load_aligned(w)));
            if (bytes == 2 * HVX_BYTES)
                sum1 = hvx_add_qf32(sum1, hvx_mul_f32_qf32(hvx_load(x + HVX_BYTES), hvx_load_aligned(w + HVX_WORDS)));
        }
    }
    if (bytes < HVX_BYTES) {
        hvx_store_bytes(dst, bytes, hvx_qf32_to_f32(sum0));
        return;
    }
    hvx_store(dst, hvx_qf32_to_f32(sum0));
    if (bytes == 2 * HVX_BYTES)
        hvx_store(dst + HVX_BYTES, hvx_qf32_to_f32(sum1));
}

static void by_channel(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct depthwise *t = arg;
    const struct htp_view *x = t->src, *y = t->dst;
    const uint32_t channels = x->ne[2];
    for (uint32_t i = thread; i < y->ne[1] * y->ne[3]; i += n_threads) {
        const uint32_t oy = i % y->ne[1], n = i / y->ne[1];
        const int32_t iy = (int32_t)oy * t->p->stride[1] - t->p->padding[1];
        const struct image_range rj = image_inside(iy, (uint32_t)t->p->dilation[1], t->height, x->ne[1]);
        for (uint32_t ox = 0; ox < y->ne[0]; ox++) {
            const int32_t ix = (int32_t)ox * t->p->stride[0] - t->p->padding[0];
            const struct image_range ri = image_inside(ix, (uint32_t)t->p->dilation[0], t->width, x->ne[0]);
            /* of its first element, which may lie in front of the image; only those in the image are read */
            const uint8_t *window = x->data + (size_t)n * x->nb[3] + (ptrdiff_t)iy * (ptrdiff_t)x->nb[1] +
                                    (ptrdiff_t)ix * (ptrdiff_t)x->nb[0];
            uint8_t *dst = htp_row(y, oy, 0, n) + (size_t)ox * y->nb[0];
            uint32_t c = 0;
            for (; c + 2 * HVX_WORDS <= channels; c += 2 * HVX_WORDS)
                channels_sum(t, window + c * 4, ri, rj, c, 2 * HVX_BYTES, dst + c * 4);
            for (; c + HVX_WORDS <= channels; c += HVX_WORDS)
                channels_sum(t, window + c * 4, ri, rj, c, HVX_BYTES, dst + c * 4);
            if (c < channels)
                channels_sum(t, window + c * 4, ri, rj, c, (channels - c) * 4, dst + c * 4);
        }
    }
}

/* ---- lines ---- */

static void by_line(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct depthwise *t = arg;
    const struct htp_view *x = t->src, *y = t->dst;
    const uint32_t size = t->width * t->height;
    uint8_t *room = t->vtcm + thread * t->thread_bytes;
    struct image_terms *terms = (struct image_terms *)(void *)(room + (size_t)t->height * t->lines.bytes);
    const struct htp_share share = htp_share_of(htp_rows(y), thread, n_threads);
    struct htp_place at = htp_place_of(y->ne, share.begin);
    for (uint32_t left = share.count; left > 0; left--, htp_place_advance(&at, y->ne, 1)) {
        const int32_t iy = (int32_t)at.i1 * t->p->stride[1] - t->p->padding[1];
        const struct image_range rj = image_inside(iy, (uint32_t)t->p->dilation[1], t->height, x->ne[1]);
        const float *weights = t->weights + (size_t)at.i2 * size;
        for (uint32_t ox = 0; ox < y->ne[0]; ox += LINE_WINDOWS) {
            for (uint32_t j = rj.begin; j < rj.end; j++) {
                const uint32_t line = (uint32_t)(iy + (int32_t)j * t->p->dilation[1]);
                const uint8_t *source = htp_row(x, line, at.i2, at.i3);
                terms[j].line = image_line(&t->lines, room + (size_t)j * t->lines.bytes, source, ox);
                terms[j].weights = j * t->width;
            }
            const uint32_t bytes = htp_min_u32(y->ne[0] - ox, LINE_WINDOWS) * 4, n = rj.end - rj.begin;
            HVX_Vector sum[2] = {hvx_zero(), hvx_zero()};
            uint8_t *dst = htp_row(y, at.i1, at.i2, at.i3) + (size_t)ox * 4;
            if (bytes > HVX_BYTES) {
                image_sum(sum, terms + rj.begin, n, weights, t->lines.offset, t->width, 1, 1, 2);
                hvx_store(dst, hvx_qf32_to_f32(sum[0]));
                hvx_store_bytes(dst + HVX_BYTES, bytes - HVX_BYTES, hvx_qf32_to_f32(sum[1]));
            } else {
                image_sum(sum, terms + rj.begin, n, weights, t->lines.offset, t->width, 1, 1, 1);
                hvx_store_bytes(dst, bytes, hvx_qf32_to_f32(sum[0]));
            }
        }
    }
}

/* ---- arguments ---- */

static uint32_t check(struct htp_exec *exec, const struct depthwise *t) {
    if (!image_is_rows(t->kernel, HTP_TYPE_F32) && !image_is_rows(t->kernel, HTP_TYPE_F16))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (!image_is_rows(t->src, HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 17);
    if (!image_is_rows(t->dst, HTP_TYPE_F32) || !(t->dst->nb[0] == 4 || t->by_channel))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    for (uint32_t d = 2; d < 4; d++) {
        if (t->dst->ne[d] != t->src->ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
    }
    if (t->kernel->ne[2] != 1 || t->kernel->ne[3] != t->src->ne[2] || t->width == 0 || t->height == 0)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 40);
    for (uint32_t d = 0; d < 2; d++) {
        if (!image_positions_fit(t->p, d, t->dst->ne[d], t->kernel->ne[d], t->src->ne[d]))
            return htp_fail(exec, HTP_STATUS_BAD_OP, 2);
    }
    return HTP_STATUS_OK;
}

uint32_t image_depthwise(struct htp_exec *exec, const struct htp_window_params *p) {
    struct depthwise t = {.kernel = exec->src[0], .src = exec->src[1], .dst = exec->dst, .p = p};
    t.width = t.kernel->ne[0];
    t.height = t.kernel->ne[1];
    t.by_channel = t.src->nb[2] == 4 && t.dst->nb[2] == 4 && t.dst->nb[0] != 4;
    const uint32_t status = check(exec, &t);
    if (status != HTP_STATUS_OK)
        return status;
    const uint64_t outputs = (uint64_t)htp_rows(t.dst) * t.dst->ne[0];
    if (outputs == 0)
        return HTP_STATUS_OK;
    if (!image_lines_plan(&t.lines, p, t.width, t.src->ne[0], t.src->nb[0]))
        return htp_fail(exec, HTP_STATUS_NO_VTCM, 0);
    /* the filters, then the offsets of a line's elements, then what each thread has */
    const uint64_t channels = htp_round_up(t.src->ne[2], HVX_WORDS), size = (uint64_t)t.width * t.height;
    t.pitch = t.by_channel ? (uint32_t)channels : 1;
    const uint64_t room = exec->vtcm_size, most = room / 4;
    if (size > most / channels || t.width > most || t.height > most || (uint64_t)t.height * t.lines.bytes > room)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, 1);
    const size_t weights = (size_t)(channels * size * 4), offsets = htp_round_up((size_t)t.width * 4, HVX_BYTES);
    const size_t lines = (size_t)t.height * (t.lines.bytes + sizeof(struct image_terms));
    t.thread_bytes = t.by_channel ? 0 : htp_round_up(lines, HVX_BYTES);
    t.weights = (float *)(void *)exec->vtcm;
    t.lines.offset = (int32_t *)(void *)(exec->vtcm + weights);
    t.vtcm = exec->vtcm + weights + offsets;
    if (weights + offsets + t.thread_bytes > room)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, 2);
    uint32_t n = image_threads(exec, htp_rows(t.dst), outputs * size / HVX_WORDS + outputs);
    if (t.thread_bytes > 0)
        n = htp_min_u32(n, (uint32_t)((room - weights - offsets) / t.thread_bytes));
    image_lines_offsets(&t.lines);
    htp_parallel(exec, n, lay_out, &t);
    htp_parallel(exec, n, t.by_channel ? by_channel : by_line, &t);
    return HTP_STATUS_OK;
}
