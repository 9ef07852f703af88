/*
 * UPSCALE: an image in another size. Every mode is a weighted sum over a few lines, and of that over a few columns:
 *
 *   nearest 1 of each; bilinear 2; bicubic 4; antialiased bilinear all that a triangle covers, which is wider than a
 *   pixel when the image shrinks
 *
 * Lines are summed up as vectors. Columns go one by one, by a table of positions and weights that all lines share: once
 * or twice an image, in no layer that runs for a token. The nearest of twice as many columns, which decoders of images
 * want again and again, are vectors interleaved with themselves.
 */
#include "hvx/strided.h"
#include "ops/resample/resample.h"

#define MAX_SIZE (1u << 24) /* of a dimension: exact as f32 */

struct axis {
    uint32_t mode, in, out;
    uint32_t taps;        /* of a result */
    float scale, offset;  /* out / in; where in a pixel its value is */
    float support;        /* antialiased: half of the triangle */
};

struct upscale {
    const struct htp_view *src, *dst;
    struct axis axis[4];
    bool twice;             /* nearest of twice as many columns */
    uint32_t first, count;  /* columns that the table is of */
    int32_t *position;      /* [column][tap] */
    float *weight;
    uint8_t *vtcm;          /* of the threads */
    size_t thread_bytes, line_bytes;
};

static struct axis axis_of(uint32_t mode, bool align, bool antialias, uint32_t in, uint32_t out) {
    struct axis a = {.mode = mode, .in = in, .out = out, .offset = align ? 0.0f : 0.5f, .taps = 1};
    a.scale = (float)out / (float)in;
    if (align && out > 1 && in > 1)
        a.scale = (float)(out - 1) / (float)(in - 1);
    a.support = a.scale < 1 ? 1.0f / a.scale : 1.0f;
    if (mode == HTP_UPSCALE_BILINEAR)
        a.taps = antialias ? (uint32_t)(2 * a.support) + 2 : 2;
    else if (mode == HTP_UPSCALE_BICUBIC)
        a.taps = 4;
    return a;
}

static int32_t floor_of(float x) {
    const int32_t i = (int32_t)x;
    return (float)i > x ? i - 1 : i;
}

static int32_t clamp(int32_t i, uint32_t size) {
    return i < 0 ? 0 : i >= (int32_t)size ? (int32_t)size - 1 : i;
}

static int32_t nearest(const struct axis *a, uint32_t i) { return clamp((int32_t)((float)i / a->scale), a->in); }

static void triangle(const struct axis *a, uint32_t i, int32_t *position, float *weight) {
    const float x = ((float)i + a->offset) / a->scale;
    const float low = x - a->support + a->offset, high = x + a->support + a->offset;
    const int32_t first = low > 0 ? (int32_t)low : 0, end = high < (float)a->in ? (int32_t)high : (int32_t)a->in;
    float total = 0;
    for (uint32_t t = 0; t < a->taps; t++) {
        const int32_t at = first + (int32_t)t;
        float d = ((float)at - x + a->offset) / a->support;
        d = d < 0 ? 1 + d : 1 - d;
        weight[t] = at < end && d > 0 ? d : 0;
        position[t] = clamp(at, a->in);
        total += weight[t];
    }
    for (uint32_t t = 0; t < a->taps && total > 0; t++)
        weight[t] /= total;
}

/* The cubic of a distance within a pixel, and of one beyond. */
static float near_cubic(float x) { return (1.25f * x - 2.25f) * x * x + 1; }
static float far_cubic(float x) { return ((-0.75f * x + 3.75f) * x - 6) * x + 3; }

/* Where result i comes from. */
static void sources(const struct axis *a, bool antialias, uint32_t i, int32_t *position, float *weight) {
    if (a->mode == HTP_UPSCALE_NEAREST) {
        position[0] = nearest(a, i);
        weight[0] = 1;
        return;
    }
    if (antialias) {
        triangle(a, i, position, weight);
        return;
    }
    const float x = ((float)i + a->offset) / a->scale - a->offset;
    const int32_t whole = floor_of(x);
    float d = x - (float)whole;
    if (a->mode == HTP_UPSCALE_BILINEAR) {
        position[0] = clamp(whole, a->in);
        position[1] = clamp(whole + 1, a->in);
        d = x - (float)position[0];
        d = d < 0 ? 0 : d > 1 ? 1 : d;
        weight[0] = 1 - d;
        weight[1] = d;
        return;
    }
    for (int32_t t = 0; t < 4; t++)
        position[t] = clamp(whole + t - 1, a->in);
    weight[0] = far_cubic(d + 1);
    weight[1] = near_cubic(d);
    weight[2] = near_cubic(1 - d);
    weight[3] = far_cubic(2 - d);
}

static bool is_antialiased(const struct axis *a) { return a->mode == HTP_UPSCALE_BILINEAR && a->taps > 2; }

/* The line that a line of results is made of: where it is, or summed up in `room`. */
static const float *line_of(const struct upscale *t, const struct htp_place *at, uint8_t *room) {
    const struct htp_view *x = t->src;
    const struct axis *a = &t->axis[1];
    const uint32_t i2 = (uint32_t)nearest(&t->axis[2], at->i2), i3 = (uint32_t)nearest(&t->axis[3], at->i3);
    int32_t *position = (int32_t *)(void *)(room + t->line_bytes);
    float *weight = (float *)(void *)(position + a->taps);
    sources(a, is_antialiased(a), at->i1, position, weight);
    if (a->taps == 1 && x->nb[0] == 4)
        return (const float *)(const void *)htp_row(x, (uint32_t)position[0], i2, i3);
    for (uint32_t i = 0; i < x->ne[0]; i += HVX_WORDS) {
        const uint32_t count = htp_min_u32(x->ne[0] - i, HVX_WORDS);
        HVX_Vector sum = hvx_zero();
        for (uint32_t k = 0; k < a->taps; k++) {
            const uint8_t *from = htp_row(x, (uint32_t)position[k], i2, i3) + (size_t)i * x->nb[0];
            const HVX_Vector v = x->nb[0] != 4 ? hvx_gather_words(from, x->nb[0], count)
                                 : count == HVX_WORDS ? hvx_load(from) : hvx_load_bytes(from, count * 4);
            sum = a->taps == 1 ? v : hvx_add_qf32(sum, hvx_mul_f32_qf32(v, hvx_splat_f32(weight[k])));
        }
        hvx_store_aligned(room + (size_t)i * 4, a->taps == 1 ? sum : hvx_qf32_to_f32(sum));
    }
    return (const float *)(const void *)room;
}

/* dst[2 i] = dst[2 i + 1] = x[i] */
static void double_columns(float *dst, const float *x, uint32_t count) {
    for (; count >= HVX_WORDS; count -= HVX_WORDS, x += HVX_WORDS, dst += 2 * HVX_WORDS) {
        const HVX_Vector v = hvx_load(x);
        const HVX_VectorPair both = hvx_interleave_words(v, v);
        hvx_store(dst, Q6_V_lo_W(both));
        hvx_store(dst + HVX_WORDS, Q6_V_hi_W(both));
    }
    for (uint32_t i = 0; i < count; i++)
        dst[2 * i] = dst[2 * i + 1] = x[i];
}

static void run(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct upscale *t = arg;
    const uint32_t taps = t->axis[0].taps;
    uint8_t *room = t->vtcm + thread * t->thread_bytes;
    const struct htp_share share = htp_share_of(htp_rows(t->dst), thread, n_threads);
    struct htp_place at = htp_place_of(t->dst->ne, share.begin);
    for (uint32_t left = share.count; left > 0; left--, htp_place_advance(&at, t->dst->ne, 1)) {
        const float *x = line_of(t, &at, room);
        float *dst = (float *)(void *)htp_row(t->dst, at.i1, at.i2, at.i3) + t->first;
        if (t->twice) {
            double_columns(dst, x, t->src->ne[0]);
            continue;
        }
        const int32_t *position = t->position;
        const float *weight = t->weight;
        for (uint32_t i = 0; i < t->count; i++, position += taps, weight += taps) {
            float sum = x[position[0]] * weight[0];
            for (uint32_t k = 1; k < taps; k++)
                sum += x[position[k]] * weight[k];
            dst[i] = sum;
        }
    }
}

static void fill_table(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct upscale *t = arg;
    const struct axis *a = &t->axis[0];
    for (uint32_t i = thread; i < t->count; i += n_threads)
        sources(a, is_antialiased(a), t->first + i, t->position + (size_t)i * a->taps, t->weight + (size_t)i * a->taps);
}

uint32_t resample_upscale(struct htp_exec *exec, const struct htp_upscale_params *p) {
    struct upscale t = {.src = exec->src[0], .dst = exec->dst};
    const bool antialias = p->antialias != 0;
    if (p->mode > HTP_UPSCALE_BICUBIC || (antialias && p->mode != HTP_UPSCALE_BILINEAR))
        return htp_fail(exec, HTP_STATUS_BAD_OP, 1);
    const uint32_t rows = htp_rows(t.dst);
    if (rows == 0 || t.dst->ne[0] == 0)
        return HTP_STATUS_OK;
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        const uint32_t in = t.src->ne[d], out = t.dst->ne[d];
        if (in == 0 || in > MAX_SIZE || out > MAX_SIZE)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
        t.axis[d] = axis_of(d < 2 ? p->mode : HTP_UPSCALE_NEAREST, d < 2 && p->align_corners != 0, antialias, in, out);
    }
    t.twice = p->mode == HTP_UPSCALE_NEAREST && p->align_corners == 0 && t.dst->ne[0] == 2 * t.src->ne[0];
    /* a thread's line with the sources of a line; then the table, of so many columns at a time as there is room for */
    const size_t column = (size_t)t.axis[0].taps * 8;
    t.line_bytes = htp_round_up((size_t)t.src->ne[0] * 4, HVX_BYTES);
    t.thread_bytes = t.line_bytes + htp_round_up((size_t)t.axis[1].taps * 8, HVX_BYTES);
    const size_t least = t.thread_bytes + column;
    if (least > exec->vtcm_size)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, (uint32_t)least);
    uint32_t n = image_threads(exec, rows, (uint64_t)rows * t.dst->ne[0]);
    n = htp_min_u32(n, (uint32_t)((exec->vtcm_size - column) / t.thread_bytes));
    t.vtcm = exec->vtcm;
    const size_t left = exec->vtcm_size - n * t.thread_bytes;
    const uint32_t step = t.twice ? t.dst->ne[0] : htp_min_u32(t.dst->ne[0], (uint32_t)(left / column));
    t.position = (int32_t *)(void *)(t.vtcm + n * t.thread_bytes);
    t.weight = (float *)(void *)(t.position + (size_t)step * t.axis[0].taps);
    for (t.first = 0; t.first < t.dst->ne[0]; t.first += t.count) {
        t.count = htp_min_u32(t.dst->ne[0] - t.first, step);
        if (!t.twice)
            htp_parallel(exec, n, fill_table, &t);
        htp_parallel(exec, n, run, &t);
    }
    return HTP_STATUS_OK;
}
