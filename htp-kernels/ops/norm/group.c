/*
 * GROUP_NORM: y = (x - mean) / sqrt(mean((x - mean)^2) + eps) over the elements of several planes of an image, a group.
 *
 * Planes without gaps are one row as long as the group, others go row by row. Three passes, as NORM has: a group of a
 * usual image stays in the L2 cache from the first to the last. Threads divide groups.
 *
 * detail of a failure: 34 groups, 35 rows whose elements lie apart
 */
#include "ops/norm/root.h"

#define THREAD_BYTES (16u << 10)

struct groups {
    const struct htp_view *src, *dst;
    uint32_t groups, channels; /* channels: of a group, the last may have fewer */
    uint32_t length, rows;     /* of a plane's rows; 1 row where a plane has no gaps */
    bool dense;                /* planes follow each other without gaps as well */
    float eps;
};

struct part {
    uint32_t first, channels, image, length; /* length: of a row */
};

HVX_INLINE HVX_Vector sum_part(enum hvx_summand what, const struct groups *t, const struct part *p, HVX_Vector mean) {
    HVX_Vector sum = hvx_zero();
    for (uint32_t c = 0; c < (t->dense ? 1 : p->channels); c++) {
        for (uint32_t r = 0; r < t->rows; r++) {
            const uint8_t *x = htp_row(t->src, r, p->first + c, p->image);
            sum = hvx_add_qf32(sum, (uintptr_t)x % HVX_BYTES == 0 ? hvx_sum_row(what, true, x, p->length, mean)
                                                                  : hvx_sum_row(what, false, x, p->length, mean));
        }
    }
    return hvx_sum_qf32(sum);
}

HVX_INLINE HVX_Vector normalise(HVX_Vector x, HVX_Vector mean, HVX_Vector scale) {
    return hvx_qf32_to_f32(hvx_mul_qf32(hvx_sub_f32_qf32(x, mean), scale));
}

/* scale: in qf32 */
static void write_row(uint8_t *y, const uint8_t *x, uint32_t length, HVX_Vector mean, HVX_Vector scale) {
    HVX_ROLLED
    for (; length >= 4 * HVX_WORDS; length -= 4 * HVX_WORDS, x += 4 * HVX_BYTES, y += 4 * HVX_BYTES) {
        HVX_UNROLL
        for (uint32_t i = 0; i < 4; i++)
            hvx_store(y + i * HVX_BYTES, normalise(hvx_load(x + i * HVX_BYTES), mean, scale));
    }
    HVX_ROLLED
    for (; length >= HVX_WORDS; length -= HVX_WORDS, x += HVX_BYTES, y += HVX_BYTES)
        hvx_store(y, normalise(hvx_load(x), mean, scale));
    if (length > 0)
        hvx_store_bytes(y, length * 4, normalise(hvx_load_bytes(x, length * 4), mean, scale));
}

static void run_part(const struct groups *t, const struct part *p) {
    const float count = (float)t->src->ne[0] * (float)t->src->ne[1] * (float)p->channels;
    const HVX_Vector inverse = hvx_splat_f32(1.0f / count);
    const HVX_Vector mean = hvx_mul_f32(sum_part(HVX_SUM_VALUES, t, p, hvx_zero()), inverse);
    const HVX_Vector variance = hvx_mul_f32(sum_part(HVX_SUM_DISTANCES, t, p, mean), inverse);
    const HVX_Vector root = norm_inverse_root(hvx_add_f32(variance, hvx_splat_f32(t->eps)));
    const HVX_Vector scale = hvx_f32_to_qf32(root);
    for (uint32_t c = 0; c < (t->dense ? 1 : p->channels); c++) {
        for (uint32_t r = 0; r < t->rows; r++)
            write_row(htp_row(t->dst, r, p->first + c, p->image), htp_row(t->src, r, p->first + c, p->image), p->length,
                      mean, scale);
    }
}

static void run_groups(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct groups *t = arg;
    const uint32_t used = htp_div_up(t->src->ne[2], t->channels); /* groups with a channel */
    for (uint32_t i = thread; i < used * t->src->ne[3]; i += n_threads) {
        struct part p = {.first = i % used * t->channels, .image = i / used};
        p.channels = htp_min_u32(t->channels, t->src->ne[2] - p.first);
        p.length = t->dense ? t->length * p.channels : t->length;
        run_part(t, &p);
    }
}

uint32_t norm_groups(struct htp_exec *exec, const struct htp_norm_params *params) {
    struct groups t = {.src = exec->src[0], .dst = exec->dst, .groups = params->groups, .eps = params->eps};
    const struct htp_view *x = t.src, *y = t.dst;
    if (t.groups == 0)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 34);
    if (x->nb[0] != 4 || y->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 35);
    const uint32_t rows = htp_rows(x);
    if (rows == 0 || x->ne[0] == 0)
        return HTP_STATUS_OK;
    t.channels = htp_div_up(x->ne[2], t.groups);
    t.length = x->ne[0];
    t.rows = x->ne[1];
    /* a plane without gaps lies in one buffer, so its elements are counted by 32 bits */
    if (t.rows == 1 || (x->nb[1] == (uint64_t)t.length * 4 && y->nb[1] == x->nb[1])) {
        t.length *= t.rows;
        t.rows = 1;
        t.dense = t.channels == 1 || (x->nb[2] == (uint64_t)t.length * 4 && y->nb[2] == x->nb[2]);
    }
    const uint64_t worth = (uint64_t)rows * x->ne[0] * 4 / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, htp_div_up(x->ne[2], t.channels) * x->ne[3]);
    n = worth < n ? (uint32_t)worth : n;
    htp_parallel(exec, n, run_groups, &t);
    return HTP_STATUS_OK;
}
