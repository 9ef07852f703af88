/*
 * PAD_REFLECT_1D: rows with their first and last elements mirrored in front of them and behind. The mirrored elements
 * go one by one: they are few beside the row.
 */
#include "hvx/row.h"
#include "ops/resample/resample.h"

struct reflect {
    const struct htp_view *src, *dst;
    uint32_t before, behind;
};

static void run(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct reflect *t = arg;
    const uint32_t length = t->src->ne[0];
    const struct htp_share share = htp_share_of(htp_rows(t->dst), thread, n_threads);
    struct htp_place at = htp_place_of(t->dst->ne, share.begin);
    for (uint32_t left = share.count; left > 0; left--, htp_place_advance(&at, t->dst->ne, 1)) {
        const float *x = (const float *)(const void *)htp_row(t->src, at.i1, at.i2, at.i3);
        float *y = (float *)(void *)htp_row(t->dst, at.i1, at.i2, at.i3) + t->before;
        htp_row_copy((uint8_t *)y, (const uint8_t *)x, (size_t)length * 4);
        for (uint32_t i = 1; i <= t->before; i++)
            *(y - i) = x[i];
        for (uint32_t i = 1; i <= t->behind; i++)
            y[length - 1 + i] = x[length - 1 - i];
    }
}

uint32_t resample_reflect(struct htp_exec *exec, const struct htp_reflect_params *p) {
    struct reflect t = {.src = exec->src[0], .dst = exec->dst, .before = p->before, .behind = p->behind};
    const uint32_t length = t.src->ne[0];
    if (t.before >= length || t.behind >= length)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 1);
    if (t.src->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if ((uint64_t)length + t.before + t.behind != t.dst->ne[0])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        if (t.dst->ne[d] != t.src->ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
    }
    const uint32_t rows = htp_rows(t.dst);
    if (rows > 0)
        htp_parallel(exec, image_threads(exec, rows, (uint64_t)rows * t.dst->ne[0] / 8), run, &t);
    return HTP_STATUS_OK;
}
