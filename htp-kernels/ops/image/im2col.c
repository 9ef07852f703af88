/*
 * IM2COL: the elements that a window covers, as a row, for each place of the window; zeros where it is outside of the
 * image. A row has the window's elements of channel 0, then those of channel 1, ...
 *
 * Neighbours in a row lie far apart in the image, or are runs as short as the window is wide. But the same element of
 * windows that follow each other lies side by side. So 32 windows by 32 words of their rows are fetched as vectors
 * along the windows and turned over in VTCM: 80 shuffles for 1024 words, where element by element would take four packets
 * each. f16 results are two elements a word. Windows more than two elements apart, few windows in a line and images of
 * f16 take the other way: run by run, as vectors where runs are long (patches that do not overlap).
 */
#include "hvx/row.h"
#include "hvx/transpose.h"
#include "ops/image/image.h"

#define TILE HVX_TRANSPOSE_ROWS
#define THREAD_VTCM (2 * TILE * HVX_BYTES)
#define MIN_WINDOWS 6 /* in a line: fewer are not worth a tile of 32 */
#define MAX_STRIDE 2  /* that tiles are fetched with */

struct im2col {
    const struct htp_view *src, *dst;
    const struct htp_window_params *p;
    uint32_t kernel[3], size[3], step[3]; /* window and image, width first; bytes between elements of the image */
    uint32_t channels, channel_step, images;
    size_t image_step;
    uint32_t out[3];          /* windows */
    uint32_t out_step[3];     /* bytes between their rows; the third: planes, of all images */
    uint32_t length, element; /* of a row; bytes */
    uint32_t lines;           /* of windows: out[1] * out[2] * images */
    uint8_t *vtcm;
};

/* where a line of windows starts */
struct origin {
    const uint8_t *image;
    int32_t y, z; /* of the windows' first elements, less than zero in the padding */
    uint8_t *dst;
};

static struct origin origin_of(const struct im2col *t, uint32_t line) {
    const uint32_t oy = line % t->out[1], plane = line / t->out[1];
    struct origin o;
    o.image = t->src->data + plane / t->out[2] * t->image_step;
    o.y = (int32_t)oy * t->p->stride[1] - t->p->padding[1];
    o.z = (int32_t)(plane % t->out[2]) * t->p->stride[2] - t->p->padding[2];
    o.dst = t->dst->data + (size_t)oy * t->out_step[1] + (size_t)plane * t->out_step[2];
    return o;
}

/* an element of a row */
struct place {
    uint32_t channel, k[3];
};

static struct place place_of(const struct im2col *t, uint32_t e) {
    struct place at;
    at.k[0] = e % t->kernel[0];
    e /= t->kernel[0];
    at.k[1] = e % t->kernel[1];
    e /= t->kernel[1];
    at.k[2] = e % t->kernel[2];
    at.channel = e / t->kernel[2];
    return at;
}

/* to the first element of the window's next line */
static void next_line(const struct im2col *t, struct place *at) {
    at->k[0] = 0;
    if (++at->k[1] < t->kernel[1])
        return;
    at->k[1] = 0;
    if (++at->k[2] < t->kernel[2])
        return;
    at->k[2] = 0;
    at->channel++;
}

/* The image's line that an element comes from, NULL outside. */
static const uint8_t *line_at(const struct im2col *t, const struct origin *o, const struct place *at) {
    const int32_t y = o->y + (int32_t)at->k[1] * t->p->dilation[1], z = o->z + (int32_t)at->k[2] * t->p->dilation[2];
    if (y < 0 || z < 0 || (uint32_t)y >= t->size[1] || (uint32_t)z >= t->size[2])
        return NULL;
    return o->image + (size_t)at->channel * t->channel_step + (size_t)y * t->step[1] + (size_t)z * t->step[2];
}

/* ---- tiles: f32 side by side, stride 1 or 2 ---- */

struct source {
    const uint8_t *line; /* NULL: zeros */
    int32_t x;           /* of the first window of the line */
};

/* one element of 32 windows */
HVX_INLINE HVX_Vector fetch(const struct source *s, int32_t first, int32_t width, bool every_second) {
    if (s->line == NULL)
        return hvx_zero();
    const HVX_Vector v = image_fetch(s->line, s->x + first, width);
    if (!every_second)
        return v;
    return Q6_V_lo_W(hvx_deal_words(v, image_fetch(s->line, s->x + first + HVX_WORDS, width)));
}

/* Elements `e` and following, no more than a tile has, of all windows of a line. */
HVX_INLINE void run_tiles(const struct im2col *t, const struct origin *o, uint32_t e, HVX_Vector *tile,
                          bool every_second, bool half) {
    const uint32_t words = TILE, elements = htp_min_u32(t->length - e, half ? 2 * words : words);
    const int32_t width = (int32_t)t->size[0];
    HVX_Vector *const other = tile + TILE;
    struct source sources[2 * TILE] = {{NULL, 0}};
    struct place at = place_of(t, e);
    const uint8_t *line = line_at(t, o, &at);
    for (uint32_t i = 0; i < elements; i++) {
        sources[i] = (struct source){line, (int32_t)at.k[0] * t->p->dilation[0] - t->p->padding[0]};
        if (++at.k[0] == t->kernel[0]) {
            next_line(t, &at);
            if (i + 1 < elements)
                line = line_at(t, o, &at);
        }
    }
    const uint32_t bytes = elements * t->element;
    uint8_t *dst = o->dst + (size_t)e * t->element;
    for (uint32_t ow = 0; ow < t->out[0]; ow += TILE) {
        const int32_t first = (int32_t)ow * (every_second ? 2 : 1);
        HVX_ROLLED
        for (uint32_t i = 0; i < TILE; i++) {
            if (half)
                tile[i] = hvx_f32_to_f16(fetch(&sources[2 * i], first, width, every_second),
                                         fetch(&sources[2 * i + 1], first, width, every_second));
            else
                tile[i] = fetch(&sources[i], first, width, every_second);
        }
        hvx_transpose(tile, other, 4);
        const uint32_t windows = htp_min_u32(t->out[0] - ow, TILE);
        HVX_ROLLED
        for (uint32_t i = 0; i < windows; i++, dst += t->out_step[0]) {
            if (bytes == HVX_BYTES)
                hvx_store(dst, other[i]);
            else
                hvx_store_bytes(dst, bytes, other[i]);
        }
    }
}

static void tiled(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct im2col *t = arg;
    HVX_Vector *tile = (HVX_Vector *)(void *)(t->vtcm + (size_t)thread * THREAD_VTCM);
    const bool half = t->element == 2, by_line = t->lines >= 4 * n_threads; /* else each line is divided */
    const uint32_t step = half ? 2 * TILE : TILE;
    for (uint32_t line = by_line ? thread : 0; line < t->lines; line += by_line ? n_threads : 1) {
        const struct origin o = origin_of(t, line);
        const uint32_t blocks = htp_div_up(t->length, step);
        for (uint32_t b = by_line ? 0 : thread; b < blocks; b += by_line ? 1 : n_threads) {
            if (t->p->stride[0] == 1) {
                if (half)
                    run_tiles(t, &o, b * step, tile, false, true);
                else
                    run_tiles(t, &o, b * step, tile, false, false);
            } else {
                if (half)
                    run_tiles(t, &o, b * step, tile, true, true);
                else
                    run_tiles(t, &o, b * step, tile, true, false);
            }
        }
    }
}

/* ---- runs: a line of a window at a time ---- */

static void put(uint8_t *dst, uint32_t to, const uint8_t *src, uint32_t from) {
    if (to == 4) {
        __builtin_memcpy(__builtin_assume_aligned(dst, 4), __builtin_assume_aligned(src, 4), 4);
        return;
    }
    uint16_t h;
    if (from == HTP_TYPE_F16) {
        __builtin_memcpy(&h, __builtin_assume_aligned(src, 2), 2);
    } else {
        float f;
        __builtin_memcpy(&f, __builtin_assume_aligned(src, 4), 4);
        h = hvx_scale_to_half(f);
    }
    __builtin_memcpy(__builtin_assume_aligned(dst, 2), &h, 2);
}

/* x: of the window's first element */
static void run_line(const struct im2col *t, uint8_t *dst, const uint8_t *line, int32_t x) {
    const uint32_t taps = t->kernel[0], dilation = (uint32_t)t->p->dilation[0], type = t->src->type;
    const struct image_range in = image_inside(x, dilation, taps, line == NULL ? 0 : t->size[0]);
    const uint32_t first = in.begin, end = in.end;
    __builtin_memset(dst, 0, (size_t)first * t->element);
    __builtin_memset(dst + (size_t)end * t->element, 0, (size_t)(taps - end) * t->element);
    if (first == end)
        return;
    const size_t step = (size_t)dilation * t->step[0];
    const uint8_t *from = line + (x + (int32_t)(first * dilation)) * (ptrdiff_t)t->step[0];
    uint8_t *to = dst + (size_t)first * t->element;
    if (step == t->element && type == t->dst->type && (end - first) * t->element >= 32) {
        htp_row_copy(to, from, (size_t)(end - first) * t->element);
        return;
    }
    for (uint32_t i = first; i < end; i++, from += step, to += t->element)
        put(to, t->element, from, type);
}

static void by_runs(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct im2col *t = arg;
    const struct htp_share share = htp_share_of(t->lines * t->out[0], thread, n_threads);
    for (uint32_t i = share.begin; i < share.begin + share.count; i++) {
        const struct origin o = origin_of(t, i / t->out[0]);
        const uint32_t ow = i % t->out[0], step = t->kernel[0] * t->element;
        const int32_t x = (int32_t)ow * t->p->stride[0] - t->p->padding[0];
        uint8_t *dst = o.dst + (size_t)ow * t->out_step[0];
        struct place at = {0, {0, 0, 0}};
        for (; at.channel < t->channels; next_line(t, &at), dst += step)
            run_line(t, dst, line_at(t, &o, &at), x);
    }
}

/* ---- arguments ---- */

/* Sizes and strides by dimension; false when a dimension that is not there has a size. */
static bool describe(struct im2col *t, const struct htp_view *kernel, uint32_t dims) {
    const struct htp_view *x = t->src, *y = t->dst;
    for (uint32_t d = 0; d < 3; d++) {
        t->kernel[d] = d < dims ? kernel->ne[d] : 1;
        t->size[d] = d < dims ? x->ne[d] : 1;
        t->step[d] = d < dims ? x->nb[d] : 0;
        t->out[d] = d < dims ? y->ne[d + 1] : 1;
        t->out_step[d] = d < dims ? y->nb[d + 1] : 0;
    }
    if (dims == 3) { /* channels of an image follow each other in dimension 3, and so do planes of all images; channels
                        that make no whole image are left alone */
        t->channels = t->p->channels;
        t->channel_step = x->nb[3];
        if (t->channels == 0)
            return false;
        t->images = x->ne[3] / t->channels;
        t->image_step = (size_t)x->nb[3] * t->channels;
        t->out[2] = t->images == 0 ? 0 : y->ne[3] / t->images;
        return t->images == 0 || y->ne[3] % t->images == 0;
    }
    t->channels = x->ne[dims];
    t->channel_step = x->nb[dims];
    t->images = x->ne[dims + 1];
    t->image_step = x->nb[dims + 1];
    t->out_step[2] = y->nb[dims + 1];
    if (kernel->ne[dims] != t->channels || y->ne[dims + 1] != t->images)
        return false;
    return dims == 2 || (x->ne[3] == 1 && y->ne[3] == 1);
}

uint32_t image_im2col(struct htp_exec *exec, const struct htp_window_params *p) {
    const struct htp_view *kernel = exec->src[0];
    struct im2col t = {.src = exec->src[1], .dst = exec->dst, .p = p, .vtcm = exec->vtcm};
    const bool from_half = t.src->type == HTP_TYPE_F16, to_half = t.dst->type == HTP_TYPE_F16;
    t.element = to_half ? 2 : 4;
    if (!image_is_rows(t.src, from_half ? HTP_TYPE_F16 : HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 17);
    if (!image_is_rows(t.dst, to_half ? HTP_TYPE_F16 : HTP_TYPE_F32) || t.dst->nb[0] != t.element ||
        (from_half && !to_half))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    const uint32_t dims = exec->op == HTP_OP_IM2COL_3D ? 3 : p->dims;
    if (dims < 1 || dims > 3 || (dims == 3) != (exec->op == HTP_OP_IM2COL_3D) || !describe(&t, kernel, dims))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 40);
    uint64_t length = t.channels;
    for (uint32_t d = 0; d < 3; d++) {
        if (!image_positions_fit(p, d, t.out[d], t.kernel[d], t.size[d]))
            return htp_fail(exec, HTP_STATUS_BAD_OP, 2);
        if (length > UINT32_MAX)
            break;
        length *= t.kernel[d];
    }
    if (length != t.dst->ne[0])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    const uint32_t rows = htp_rows(t.dst);
    if (rows == 0 || length == 0)
        return HTP_STATUS_OK;
    t.length = (uint32_t)length;
    t.lines = rows / t.out[0];
    const size_t room = exec->vtcm_size / THREAD_VTCM;
    const bool in_tiles = !from_half && t.step[0] == 4 && p->stride[0] <= MAX_STRIDE && t.out[0] >= MIN_WINDOWS;
    if (in_tiles && room > 0) {
        const uint64_t blocks = (uint64_t)t.lines * htp_div_up(t.length, TILE);
        const uint32_t n = image_threads(exec, blocks, (uint64_t)rows * t.length / 4);
        htp_parallel(exec, room < n ? (uint32_t)room : n, tiled, &t);
        return HTP_STATUS_OK;
    }
    htp_parallel(exec, image_threads(exec, rows, (uint64_t)rows * t.length), by_runs, &t);
    return HTP_STATUS_OK;
}
