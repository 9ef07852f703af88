/*
 * POOL_1D, POOL_2D: the largest element of each window, or the mean. Windows of a line are vectors (ops/image/lines.h).
 * The mean of two dimensions counts the padding, that of one does not. With a stride above 1 lines are gathered word by
 * word, which is nearly all that a pool costs, and far above its floor of a load for each element: no layer pools for a
 * token.
 */
#include "ops/image/lines.h"
#include "ops/resample/resample.h"

#define LEAST (-0x1.fffffep127f) /* the maximum of nothing is the least finite f32 */

struct pool {
    const struct htp_view *src, *dst;
    struct htp_window_params window;
    struct image_lines lines;
    uint32_t width, height;
    bool largest, counts_inside;
    uint8_t *vtcm;
    size_t thread_bytes;
};

/* ox + i: windows; how many of their elements lie in the image, and at least 1 */
static HVX_Vector inverse_counts(const struct pool *t, uint32_t ox) {
    int32_t starts[HVX_WORDS] __attribute__((aligned(128)));
    for (uint32_t i = 0; i < HVX_WORDS; i++)
        starts[i] = (int32_t)(ox + i) * t->window.stride[0] - t->window.padding[0];
    const HVX_Vector start = hvx_load_aligned(starts);
    const HVX_Vector end = Q6_Vw_vmin_VwVw(Q6_Vw_vadd_VwVw(start, hvx_splat_i32((int32_t)t->width)),
                                           hvx_splat_i32((int32_t)t->src->ne[0]));
    const HVX_Vector count = Q6_Vw_vsub_VwVw(end, Q6_Vw_vmax_VwVw(start, hvx_zero()));
    return hvx_reciprocal_f32(hvx_wide_i32_to_f32(Q6_Vw_vmax_VwVw(count, hvx_splat_i32(1))));
}

HVX_INLINE HVX_Vector fold(const struct pool *t, const uint8_t **line, uint32_t n, uint32_t at, bool largest) {
    HVX_Vector all = largest ? hvx_splat_f32(LEAST) : hvx_zero();
    for (uint32_t j = 0; j < n; j++) {
        HVX_ROLLED
        for (uint32_t i = 0; i < t->width; i++) {
            const HVX_Vector x = hvx_load(line[j] + at + t->lines.offset[i]);
            all = largest ? Q6_Vsf_vmax_VsfVsf(all, x) : hvx_add_qf32_f32(all, x);
        }
    }
    return largest ? all : hvx_qf32_to_f32(all);
}

static void run(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct pool *t = arg;
    const struct htp_view *x = t->src, *y = t->dst;
    uint8_t *room = t->vtcm + thread * t->thread_bytes;
    const uint8_t **line = (const uint8_t **)(void *)(room + (size_t)t->height * t->lines.bytes);
    const HVX_Vector inverse = hvx_splat_f32(1.0f / ((float)t->width * (float)t->height));
    const struct htp_share share = htp_share_of(htp_rows(y), thread, n_threads);
    struct htp_place at = htp_place_of(y->ne, share.begin);
    for (uint32_t left = share.count; left > 0; left--, htp_place_advance(&at, y->ne, 1)) {
        const int32_t iy = (int32_t)at.i1 * t->window.stride[1] - t->window.padding[1];
        const struct image_range rows = image_inside(iy, 1, t->height, x->ne[1]);
        uint8_t *dst = htp_row(y, at.i1, at.i2, at.i3);
        for (uint32_t ox = 0; ox < y->ne[0]; ox += LINE_WINDOWS) {
            uint32_t n = 0;
            for (uint32_t j = rows.begin; j < rows.end; j++, n++) {
                const uint8_t *source = htp_row(x, (uint32_t)(iy + (int32_t)j), at.i2, at.i3);
                line[n] = image_line(&t->lines, room + (size_t)n * t->lines.bytes, source, ox);
            }
            const uint32_t windows = htp_min_u32(y->ne[0] - ox, LINE_WINDOWS);
            for (uint32_t i = 0; i < windows; i += HVX_WORDS) {
                HVX_Vector all = t->largest ? fold(t, line, n, i * 4, true) : fold(t, line, n, i * 4, false);
                if (!t->largest)
                    all = hvx_mul_f32(all, t->counts_inside ? inverse_counts(t, ox + i) : inverse);
                hvx_store_bytes(dst + (size_t)(ox + i) * 4, htp_min_u32(windows - i, HVX_WORDS) * 4, all);
            }
        }
    }
}

uint32_t resample_pool(struct htp_exec *exec, const struct htp_pool_params *p) {
    struct pool t = {.src = exec->src[0], .dst = exec->dst, .largest = p->largest != 0};
    t.window = (struct htp_window_params){
        {p->stride[0], p->stride[1], 1}, {p->padding[0], p->padding[1], 0}, {1, 1, 1}, 2, 0};
    t.counts_inside = exec->op == HTP_OP_POOL_1D;
    t.width = p->window[0];
    t.height = p->window[1];
    if (!image_window_fits(&t.window) || t.width == 0 || t.height == 0)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 1);
    for (uint32_t d = 0; d < 2; d++) {
        if (!image_positions_fit(&t.window, d, t.dst->ne[d], p->window[d], t.src->ne[d]))
            return htp_fail(exec, HTP_STATUS_BAD_OP, 2);
    }
    for (uint32_t d = 2; d < HTP_MAX_DIMS; d++) {
        if (t.dst->ne[d] != t.src->ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
    }
    const uint64_t outputs = (uint64_t)htp_rows(t.dst) * t.dst->ne[0];
    if (outputs == 0)
        return HTP_STATUS_OK;
    const uint64_t room = exec->vtcm_size;
    if (!image_lines_plan(&t.lines, &t.window, t.width, t.src->ne[0], t.src->nb[0]) || t.width > room / 8 ||
        (uint64_t)t.height * (t.lines.bytes + sizeof(uint8_t *)) > room)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, 0);
    t.lines.outside = t.largest ? LEAST : 0;
    t.thread_bytes = htp_round_up((size_t)t.height * (t.lines.bytes + sizeof(uint8_t *)), HVX_BYTES);
    const size_t offsets = htp_round_up((size_t)t.width * 4, HVX_BYTES);
    if (offsets + t.thread_bytes > room)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, (uint32_t)(offsets + t.thread_bytes));
    t.lines.offset = (int32_t *)(void *)exec->vtcm;
    t.vtcm = exec->vtcm + offsets;
    image_lines_offsets(&t.lines);
    const uint32_t n = image_threads(exec, htp_rows(t.dst), outputs * t.height / 4);
    htp_parallel(exec, htp_min_u32(n, (uint32_t)((room - offsets) / t.thread_bytes)), run, &t);
    return HTP_STATUS_OK;
}
