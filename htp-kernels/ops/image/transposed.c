/*
 * CONV_TRANSPOSE_1D and _2D: each element of the image adds the kernel, times itself, to the result,
 *
 *   dst[x, y, o, n] = sum over i, j, c of image[(x - i) / s, (y - j) / s, c, n] * kernel[i, j, o, c]
 *
 * where both quotients are whole. So results that are s apart see the same elements of the kernel, every s-th, and are
 * sums over windows of stride 1: as CONV_2D, once for each remainder of x by s. With a stride above 1 the results of a
 * vector are stored one by one, once for all channels and elements of the kernel.
 *
 * detail of a failure: see image.c
 */
#include "ops/image/blocks.h"

struct transposed {
    const struct htp_view *src, *dst;
    struct image_blocks blocks;
    uint32_t stride[2];
    uint32_t size[2], out[2]; /* of an image and of a result, width and height */
    uint32_t images;
    uint32_t src_nb[3], dst_nb[3]; /* line, channel, image */
    uint32_t taps;                 /* elements of a kernel's line that a result sees, at most */
};

/* what 64 results, a stride apart, see of a line of the image */
struct view {
    uint32_t first;     /* of the results, in strides */
    uint32_t low, high; /* elements of the kernel, in strides; none when high < low */
};

static void run_results(const struct transposed *t, const struct image_room *room, uint32_t n_terms,
                        const struct view *v, uint32_t oy, uint32_t image) {
    const struct image_blocks *b = &t->blocks;
    const uint32_t s = t->stride[0];
    for (uint32_t rest = 0; rest < s && v->first * s + rest < t->out[0]; rest++) {
        const uint32_t results = htp_min_u32(htp_div_up(t->out[0] - rest, s) - v->first, LINE_WINDOWS);
        uint32_t taps = rest < b->width ? htp_div_up(b->width - rest, s) : 0; /* of this remainder */
        taps = htp_min_u32(taps, v->high + 1);
        taps = taps > v->low ? taps - v->low : 0;
        for (uint32_t block = 0; block < b->block_count; block++) {
            const uint32_t first = (b->block_first + block) * BLOCK_OUTPUTS;
            const uint32_t outputs = htp_min_u32(b->out - first, BLOCK_OUTPUTS);
            const float *weights = image_block_weights(b, block) + (size_t)(rest + s * v->low) * BLOCK_OUTPUTS;
            HVX_Vector sum[2 * BLOCK_OUTPUTS];
            for (uint32_t i = 0; i < 2 * BLOCK_OUTPUTS; i++)
                sum[i] = hvx_zero();
            image_sum(sum, room->terms, taps == 0 ? 0 : n_terms, weights, room->offsets, taps, s * BLOCK_OUTPUTS,
                      BLOCK_OUTPUTS, 2);
            uint8_t *dst = t->dst->data + (size_t)oy * t->dst_nb[0] + (size_t)first * t->dst_nb[1] +
                           (size_t)image * t->dst_nb[2] + ((size_t)v->first * s + rest) * 4;
            for (uint32_t o = 0; o < outputs; o++, dst += t->dst_nb[1]) {
                image_store_sums(b, dst, (size_t)s * 4, htp_min_u32(results, HVX_WORDS), sum[2 * o]);
                if (results > HVX_WORDS)
                    image_store_sums(b, dst + (size_t)HVX_WORDS * s * 4, (size_t)s * 4, results - HVX_WORDS,
                                     sum[2 * o + 1]);
            }
        }
    }
}

/* Makes the lines ready that results of line oy see; how many. */
static uint32_t make_lines(const struct transposed *t, const struct image_room *room, const struct view *v, uint32_t oy,
                           uint32_t image) {
    const struct image_blocks *b = &t->blocks;
    struct image_lines lines = {.taps = 1, .stride = 1, .dilation = 1, .phases = 1, .width = t->size[0], .step = 4};
    lines.padding = v->high;
    lines.pitch = htp_div_up(LINE_WINDOWS + v->high - v->low, HVX_WORDS) * HVX_BYTES;
    for (uint32_t k = 0; k <= v->high - v->low; k++)
        room->offsets[k] = (int32_t)(v->high - v->low - k) * 4;
    const uint8_t *source = t->src->data + (size_t)image * t->src_nb[2] + (size_t)b->in_first * t->src_nb[1];
    uint32_t n = 0;
    for (uint32_t c = 0; c < b->in_count; c++, source += t->src_nb[1]) {
        for (uint32_t j = oy % t->stride[1], up = oy / t->stride[1]; j < b->height; j += t->stride[1], up--) {
            if (up < t->size[1]) {
                uint8_t *to = room->lines + (size_t)n * b->line_bytes;
                room->terms[n].line = image_line(&lines, to, source + (size_t)up * t->src_nb[0], v->first);
                room->terms[n++].weights = (c * b->height + j) * b->width * BLOCK_OUTPUTS;
            }
            if (up == 0)
                break;
        }
    }
    return n;
}

static void run(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct transposed *t = arg;
    const struct image_room room = image_room_of(&t->blocks, thread);
    const uint32_t parts = htp_div_up(htp_div_up(t->out[0], t->stride[0]), LINE_WINDOWS);
    const struct htp_share share = htp_share_of(parts * t->out[1] * t->images, thread, n_threads);
    for (uint32_t i = share.begin; i < share.begin + share.count; i++) {
        const uint32_t oy = i / parts % t->out[1], image = i / parts / t->out[1];
        struct view v = {.first = i % parts * LINE_WINDOWS};
        v.low = v.first >= t->size[0] ? v.first - (t->size[0] - 1) : 0;
        v.high = htp_min_u32(t->taps - 1, v.first + LINE_WINDOWS - 1);
        const uint32_t n = v.high < v.low ? 0 : make_lines(t, &room, &v, oy, image);
        run_results(t, &room, n, &v, oy, image);
    }
}

static void describe(struct transposed *t, bool line) {
    struct image_blocks *b = &t->blocks;
    const struct htp_view *k = b->kernel, *x = t->src, *y = t->dst;
    const uint32_t c = line ? 1 : 2; /* the dimension of channels */
    b->width = k->ne[0];
    b->height = line ? 1 : k->ne[1];
    b->out = k->ne[c];
    b->in = k->ne[c + 1];
    b->nb[0] = k->nb[0];
    b->nb[1] = line ? 0 : k->nb[1];
    b->nb[2] = k->nb[c + 1];
    b->nb[3] = k->nb[c];
    t->images = x->ne[c + 1];
    for (uint32_t d = 0; d < 3; d++) {
        t->src_nb[d] = line && d == 0 ? 0 : x->nb[c - 1 + d];
        t->dst_nb[d] = line && d == 0 ? 0 : y->nb[c - 1 + d];
    }
    for (uint32_t d = 0; d < 2; d++) {
        t->size[d] = d < c ? x->ne[d] : 1;
        t->out[d] = d < c ? y->ne[d] : 1;
    }
}

static uint32_t check(struct htp_exec *exec, const struct transposed *t, const struct htp_window_params *p, bool line) {
    const struct image_blocks *b = &t->blocks;
    const uint32_t c = line ? 1 : 2;
    if (!image_is_rows(b->kernel, HTP_TYPE_F32) && !image_is_rows(b->kernel, HTP_TYPE_F16))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (!image_is_rows(t->src, HTP_TYPE_F32) || t->src->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 17);
    if (!image_is_rows(t->dst, HTP_TYPE_F32) || t->dst->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    if (b->in != t->src->ne[c] || b->in == 0 || b->width == 0 || b->height == 0)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 40);
    if (b->out != t->dst->ne[c])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + c);
    if (t->images != t->dst->ne[c + 1] || (line && (t->src->ne[3] != 1 || t->dst->ne[3] != 1)))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + c + 1);
    for (uint32_t d = 0; d < c; d++) { /* results are where the windows over an image like them would be */
        if (!image_positions_fit(p, d, t->size[d], b->kernel->ne[d], t->out[d]))
            return htp_fail(exec, HTP_STATUS_BAD_OP, 2);
    }
    return HTP_STATUS_OK;
}

uint32_t image_transposed(struct htp_exec *exec, const struct htp_window_params *p) {
    struct transposed t = {.src = exec->src[1], .dst = exec->dst};
    struct image_blocks *b = &t.blocks;
    const bool line = exec->op == HTP_OP_CONV_TRANSPOSE_1D;
    b->kernel = exec->src[0];
    describe(&t, line);
    for (uint32_t d = 0; d < 2; d++)
        t.stride[d] = line && d == 1 ? 1 : (uint32_t)p->stride[d];
    const uint32_t status = check(exec, &t, p, line);
    if (status != HTP_STATUS_OK)
        return status;
    const uint64_t outputs = (uint64_t)htp_rows(t.dst) * t.dst->ne[0];
    if (outputs == 0)
        return HTP_STATUS_OK;
    if (t.size[0] == 0 || t.size[1] == 0)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 41); /* sums of nothing: no graph has them */
    t.taps = htp_div_up(b->width, t.stride[0]);
    /* no result sees more of a kernel's line than the image is wide, with the 63 results beside it */
    b->offsets = htp_min_u32(t.taps, t.size[0] + LINE_WINDOWS);
    b->line_bytes = htp_div_up(LINE_WINDOWS + b->offsets, HVX_WORDS) * HVX_BYTES;
    b->lines = htp_div_up(b->height, t.stride[1]);
    const uint64_t items = (uint64_t)htp_div_up(htp_div_up(t.out[0], t.stride[0]), LINE_WINDOWS) * t.out[1] * t.images;
    if (!image_blocks_plan(b, exec, image_threads(exec, items, outputs * b->in / HVX_WORDS * b->lines)))
        return htp_fail(exec, HTP_STATUS_NO_VTCM, 1);
    image_blocks_run(b, exec, run, &t);
    return HTP_STATUS_OK;
}
