/*
 * CONV_2D: dst[x, y, o, n] = sum over i, j, c of image[x * s0 + i * d0 - p0, y * s1 + j * d1 - p1, c, n]
 *                                                * kernel[i, j, c, o]
 *
 * A vector is 32 windows of a line. The lines that 64 windows see, of all channels, are made ready once (lines.h) and
 * used for all results, four at a time (blocks.h): eight sums, two loads and four splats for eight products. The floor
 * is a packet for each product, as its sum takes the same. Counted are four for 3x3 kernels, above twice that: the loop
 * over the three elements of a line starts anew for each line, and weights are laid out first. With a stride of 2 it is
 * eight, as lines are gathered word by word; neither has been optimised.
 *
 * detail of a failure: see image.c; of NO_VTCM nothing
 */
#include "ops/image/blocks.h"

struct conv {
    const struct htp_view *src, *dst;
    const struct htp_window_params *p;
    struct image_lines lines;
    struct image_blocks blocks;
};

static void run_windows(const struct conv *t, const struct image_room *room, uint32_t n_terms, uint32_t ox, uint32_t oy,
                        uint32_t image) {
    const struct image_blocks *b = &t->blocks;
    const uint32_t windows = htp_min_u32(t->dst->ne[0] - ox, LINE_WINDOWS);
    for (uint32_t block = 0; block < b->block_count; block++) {
        const uint32_t first = (b->block_first + block) * BLOCK_OUTPUTS;
        const uint32_t outputs = htp_min_u32(b->out - first, BLOCK_OUTPUTS);
        const float *weights = image_block_weights(b, block);
        HVX_Vector sum[2 * BLOCK_OUTPUTS];
        for (uint32_t i = 0; i < 2 * BLOCK_OUTPUTS; i++)
            sum[i] = hvx_zero();
        uint8_t *dst = htp_row(t->dst, oy, first, image) + (size_t)ox * 4;
        if (windows > HVX_WORDS) {
            image_sum(sum, room->terms, n_terms, weights, room->offsets, b->width, BLOCK_OUTPUTS, BLOCK_OUTPUTS, 2);
            for (uint32_t o = 0; o < outputs; o++, dst += t->dst->nb[2]) {
                image_store_sums(b, dst, 4, HVX_WORDS, sum[2 * o]);
                image_store_sums(b, dst + HVX_BYTES, 4, windows - HVX_WORDS, sum[2 * o + 1]);
            }
        } else {
            image_sum(sum, room->terms, n_terms, weights, room->offsets, b->width, BLOCK_OUTPUTS, BLOCK_OUTPUTS, 1);
            for (uint32_t o = 0; o < outputs; o++, dst += t->dst->nb[2])
                image_store_sums(b, dst, 4, windows, sum[o]);
        }
    }
}

static void run(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct conv *t = arg;
    const struct image_blocks *b = &t->blocks;
    const struct htp_view *x = t->src, *y = t->dst;
    const struct image_room room = image_room_of(b, thread);
    struct image_lines lines = t->lines;
    lines.offset = room.offsets;
    image_lines_offsets(&lines);
    const uint32_t parts = htp_div_up(y->ne[0], LINE_WINDOWS);
    const struct htp_share share = htp_share_of(parts * y->ne[1] * y->ne[3], thread, n_threads);
    for (uint32_t i = share.begin; i < share.begin + share.count; i++) {
        const uint32_t ox = i % parts * LINE_WINDOWS, oy = i / parts % y->ne[1], image = i / parts / y->ne[1];
        const int32_t iy = (int32_t)oy * t->p->stride[1] - t->p->padding[1];
        const struct image_range rows = image_inside(iy, (uint32_t)t->p->dilation[1], b->height, x->ne[1]);
        uint8_t *to = room.lines;
        uint32_t n = 0;
        for (uint32_t c = 0; c < b->in_count; c++) {
            for (uint32_t j = rows.begin; j < rows.end; j++, n++, to += lines.bytes) {
                const uint32_t line = (uint32_t)(iy + (int32_t)j * t->p->dilation[1]);
                room.terms[n].line = image_line(&lines, to, htp_row(x, line, b->in_first + c, image), ox);
                room.terms[n].weights = (c * b->height + j) * b->width * BLOCK_OUTPUTS;
            }
        }
        run_windows(t, &room, n, ox, oy, image);
    }
}

static uint32_t check(struct htp_exec *exec, const struct conv *t) {
    const struct image_blocks *b = &t->blocks;
    if (!image_is_rows(b->kernel, HTP_TYPE_F32) && !image_is_rows(b->kernel, HTP_TYPE_F16))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (!image_is_rows(t->src, HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 17);
    if (!image_is_rows(t->dst, HTP_TYPE_F32) || t->dst->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    if (b->in != t->src->ne[2] || b->in == 0 || b->width == 0 || b->height == 0)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 40);
    if (b->out != t->dst->ne[2])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 34);
    if (t->dst->ne[3] != t->src->ne[3])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 35);
    for (uint32_t d = 0; d < 2; d++) {
        if (!image_positions_fit(t->p, d, t->dst->ne[d], b->kernel->ne[d], t->src->ne[d]))
            return htp_fail(exec, HTP_STATUS_BAD_OP, 2);
    }
    return HTP_STATUS_OK;
}

uint32_t image_conv_2d(struct htp_exec *exec, const struct htp_window_params *p) {
    struct conv t = {.src = exec->src[1], .dst = exec->dst, .p = p};
    struct image_blocks *b = &t.blocks;
    b->kernel = exec->src[0];
    b->width = b->kernel->ne[0];
    b->height = b->kernel->ne[1];
    b->in = b->kernel->ne[2];
    b->out = b->kernel->ne[3];
    __builtin_memcpy(b->nb, b->kernel->nb, sizeof(b->nb));
    const uint32_t status = check(exec, &t);
    if (status != HTP_STATUS_OK)
        return status;
    const uint64_t outputs = (uint64_t)htp_rows(t.dst) * t.dst->ne[0];
    if (outputs == 0)
        return HTP_STATUS_OK;
    if (!image_lines_plan(&t.lines, p, b->width, t.src->ne[0], t.src->nb[0]))
        return htp_fail(exec, HTP_STATUS_NO_VTCM, 0);
    b->lines = b->height;
    b->line_bytes = t.lines.bytes;
    b->offsets = b->width;
    const uint64_t items = (uint64_t)htp_div_up(t.dst->ne[0], LINE_WINDOWS) * t.dst->ne[1] * t.dst->ne[3];
    const uint64_t work = outputs * b->in / HVX_WORDS; /* times the kernel's elements, which may overflow */
    if (!image_blocks_plan(b, exec, image_threads(exec, items, work)))
        return htp_fail(exec, HTP_STATUS_NO_VTCM, 1);
    image_blocks_run(b, exec, run, &t);
    return HTP_STATUS_OK;
}
