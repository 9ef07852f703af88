/*
 * ACC, SET: dst is src0, but in a region of it src1 is added, or stands in its place. The region has the shape of src1,
 * strides and an offset of its own. f32, SET also i32. dst and src0 lie side by side; they may be the same.
 *
 * Regions begin anywhere, so loads and stores are for any address: a packet each, where aligned ones would share one.
 */
#include "ops/pattern/pattern.h"

struct put {
    const uint8_t *from; /* src0 */
    struct htp_view dst; /* the region */
    const struct htp_view *src;
    bool adds;
    uint8_t *to; /* the whole of dst */
    size_t bytes;
};

static bool is_contiguous(const struct htp_view *v) {
    uint64_t step = htp_type_bytes(v->type);
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        if (v->ne[d] != 1 && v->nb[d] != step)
            return false;
        step *= v->ne[d]; /* lies in memory, so this fits */
    }
    return true;
}

static void copy_share(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct put *t = arg;
    const struct htp_share share = htp_share_of((uint32_t)(t->bytes / HVX_BYTES), thread, n_threads);
    const size_t begin = (size_t)share.begin * HVX_BYTES;
    const bool is_last = thread + 1 == n_threads;
    htp_row_copy(t->to + begin, t->from + begin, is_last ? t->bytes - begin : (size_t)share.count * HVX_BYTES);
}

static void add_row(uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t rest = count % HVX_WORDS * 4;
    HVX_UNROLL_COUNT(4)
    for (uint32_t i = 0; i < count / HVX_WORDS; i++) {
        const size_t at = (size_t)i * HVX_BYTES;
        hvx_store(dst + at, hvx_add_f32(hvx_load(dst + at), hvx_load(src + at)));
    }
    dst += (size_t)(count / HVX_WORDS) * HVX_BYTES;
    src += (size_t)(count / HVX_WORDS) * HVX_BYTES;
    if (rest != 0)
        hvx_store_bytes(dst, rest, hvx_add_f32(hvx_load_bytes(dst, rest), hvx_load_bytes(src, rest)));
}

static void put_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct put *t = arg;
    const uint32_t *const ne = t->src->ne;
    const struct htp_share share = htp_share_of(htp_rows(t->src), thread, n_threads);
    struct htp_place at = htp_place_of(ne, share.begin);
    HVX_ROLLED
    for (uint32_t i = share.count; i > 0; i--) {
        uint8_t *const dst = htp_row(&t->dst, at.i1, at.i2, at.i3);
        const uint8_t *const src = htp_row(t->src, at.i1, at.i2, at.i3);
        if (t->adds)
            add_row(dst, src, ne[0]);
        else
            htp_row_copy(dst, src, (size_t)ne[0] * 4);
        htp_place_advance(&at, ne, 1);
    }
}

/* Whether the region, which is not empty, lies in dst: sums of products of 32 bits each, far below 2^64. */
static bool fits(const struct htp_put_params *p, const uint32_t *ne, size_t bytes) {
    uint64_t end = (uint64_t)p->offset + (uint64_t)ne[0] * 4;
    uint32_t bits = p->offset;
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        const uint64_t span = (uint64_t)(ne[d] - 1) * p->nb[d - 1];
        if (span > UINT64_MAX / 4 - end)
            return false;
        end += span;
        bits |= ne[d] > 1 ? p->nb[d - 1] : 0;
    }
    return end <= bytes && bits % 4 == 0;
}

uint32_t pattern_put(struct htp_exec *exec) {
    const uint32_t types = 1u << HTP_TYPE_F32 | (exec->op == HTP_OP_SET ? 1u << HTP_TYPE_I32 : 0);
    const struct htp_view *const dst = exec->dst;
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    const struct htp_view *const whole = exec->src[0], *const part = exec->src[1];
    if (!pattern_takes(whole, types) || !is_contiguous(whole))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (!pattern_takes(part, types) || part->type != whole->type)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    if (!pattern_takes(dst, types) || dst->type != whole->type || !is_contiguous(dst))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        if (whole->ne[d] != dst->ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_SHAPE + d);
    }
    struct htp_put_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    struct put t = {.from = whole->data, .dst = *part, .src = part, .adds = exec->op == HTP_OP_ACC, .to = dst->data};
    t.bytes = (size_t)htp_rows(dst) * dst->ne[0] * 4;
    const uint32_t rows = htp_rows(part);
    const bool is_empty = rows == 0 || part->ne[0] == 0;
    if (!is_empty && !fits(&params, part->ne, t.bytes))
        return htp_fail(exec, HTP_STATUS_BAD_OP, PATTERN_DETAIL_PARAMS);
    if (t.bytes != 0 && t.from != t.to) {
        const uint32_t vectors = (uint32_t)(t.bytes / HVX_BYTES);
        htp_parallel(exec, pattern_threads(exec, t.bytes, vectors == 0 ? 1 : vectors), copy_share, &t);
    }
    if (is_empty)
        return HTP_STATUS_OK;
    t.dst.data = dst->data + params.offset;
    __builtin_memcpy(t.dst.nb + 1, params.nb, sizeof(params.nb));
    htp_parallel(exec, pattern_threads(exec, (uint64_t)rows * part->ne[0] * 4, rows), put_rows, &t);
    return HTP_STATUS_OK;
}
