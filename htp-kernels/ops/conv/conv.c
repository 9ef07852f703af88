/*
 * SSM_CONV: dst[c, t, s] = sum over k of src0[t + k, c, s] * src1[k, c]: a short filter along the tokens of each channel.
 *
 * src0 has tokens side by side, dst channels. So 32 channels by 32 tokens are turned over in VTCM, then every vector is
 * 32 channels and the filter is products and sums; the filter's weights are turned over once for each 32 channels. A
 * tile of 32 tokens gives 33 - K outputs. Filters longer than 32, and few products for a channel, go one output at a
 * time. A model that answers has one token and filters of 4 in contiguous tensors: a vector is 8 channels then, and two
 * rounds of sums of neighbours give the outputs of 32.
 *
 * detail of a failure: 0 sources missing, 16 + operand (0, 1 src, 2 dst) whose type or row is not taken, 32 + dimension
 * of dst whose size does not fit
 */
#include <stdbool.h>

#include "hvx/transpose.h"
#include "runtime/exec.h"

#define TILE 32
#define TILE_BYTES (TILE * HVX_BYTES)
#define THREAD_VTCM (4 * TILE_BYTES) /* weights and tokens, each with a second tile to turn over into */
#define FEW_PRODUCTS 8               /* for each channel: not worth turning tiles over */
#define THREAD_WORK (16u << 10)      /* a thread more is worth waking for this many products */

uint32_t htp_conv(struct htp_exec *exec);

struct conv {
    const struct htp_view *x, *w, *dst;
    uint32_t taps, channels, tokens, groups; /* groups: of 32 channels */
    bool quads; /* run_quads can do it */
    uint8_t *vtcm;
};

/* Rows `first` and following of `count` f32 each, from column `column` on, turned over: out[j] has lane i = row i. */
static void load_turned(HVX_Vector *out, HVX_Vector *scratch, const uint8_t *row, uint32_t step, uint32_t rows,
                        uint32_t count) {
    for (uint32_t i = 0; i < rows; i++, row += step)
        scratch[i] = count == TILE ? hvx_load(row) : hvx_load_bytes(row, count * 4);
    for (uint32_t i = rows; i < TILE; i++)
        scratch[i] = hvx_zero();
    hvx_transpose(scratch, out, 4);
}

static void run_group(const struct conv *v, uint32_t group, uint32_t sequence, HVX_Vector *vtcm) {
    HVX_Vector *weights = vtcm, *tokens = vtcm + TILE, *scratch = vtcm + 2 * TILE;
    const uint32_t first = group * TILE, rows = htp_min_u32(v->channels - first, TILE);
    load_turned(weights, scratch, htp_row(v->w, first, 0, 0), v->w->nb[1], rows, v->taps);
    const uint8_t *x = htp_row(v->x, first, sequence, 0);
    for (uint32_t t = 0; t < v->tokens;) {
        const uint32_t n = htp_min_u32(v->tokens - t, TILE + 1 - v->taps);
        load_turned(tokens, scratch, x + (size_t)t * 4, v->x->nb[1], rows, n + v->taps - 1);
        for (uint32_t i = 0; i < n; i++, t++) {
            HVX_Vector sum = hvx_mul_f32_qf32(tokens[i], weights[0]);
            for (uint32_t k = 1; k < v->taps; k++)
                sum = hvx_add_qf32(sum, hvx_mul_f32_qf32(tokens[i + k], weights[k]));
            uint8_t *out = htp_row(v->dst, t, sequence, 0) + (size_t)first * 4;
            if (rows == TILE)
                hvx_store(out, hvx_qf32_to_f32(sum));
            else
                hvx_store_bytes(out, rows * 4, hvx_qf32_to_f32(sum));
        }
    }
}

/* one token, 4 taps, channels side by side in both sources: 32 of them */
static void run_quads(const struct conv *v, uint32_t first, uint32_t sequence) {
    const uint8_t *x = htp_row(v->x, first, sequence, 0), *w = htp_row(v->w, first, 0, 0);
    HVX_Vector product[4];
    HVX_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        product[i] = hvx_mul_f32_qf32(hvx_load(x + i * HVX_BYTES), hvx_load(w + i * HVX_BYTES));
    const HVX_VectorPair a = hvx_deal_words(product[0], product[1]), b = hvx_deal_words(product[2], product[3]);
    const HVX_VectorPair halves = hvx_deal_words(hvx_add_qf32(Q6_V_lo_W(a), Q6_V_hi_W(a)),
                                                 hvx_add_qf32(Q6_V_lo_W(b), Q6_V_hi_W(b)));
    hvx_store(htp_row(v->dst, 0, sequence, 0) + (size_t)first * 4,
              hvx_qf32_to_f32(hvx_add_qf32(Q6_V_lo_W(halves), Q6_V_hi_W(halves))));
}

static float load_f32(const uint8_t *row, uint32_t i) { return ((const float *)(const void *)row)[i]; }

static void run_each(const struct conv *v, uint32_t group, uint32_t sequence) {
    const uint32_t first = group * TILE, end = first + htp_min_u32(v->channels - first, TILE);
    for (uint32_t t = 0; t < v->tokens; t++) {
        float *out = (float *)(void *)htp_row(v->dst, t, sequence, 0);
        for (uint32_t c = first; c < end; c++) {
            const uint8_t *x = htp_row(v->x, c, sequence, 0), *w = htp_row(v->w, c, 0, 0);
            float sum = 0;
            for (uint32_t k = 0; k < v->taps; k++)
                sum += load_f32(x, t + k) * load_f32(w, k);
            out[c] = sum;
        }
    }
}

static void run_groups(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct conv *v = arg;
    const uint32_t items = v->groups * v->dst->ne[2]; /* no more than 32 bits: groups are fewer than channels */
    HVX_Vector *vtcm = (HVX_Vector *)(void *)(v->vtcm + (size_t)thread * THREAD_VTCM);
    for (uint32_t i = thread; i < items; i += n_threads) {
        const uint32_t group = i % v->groups, sequence = i / v->groups;
        if (v->quads && v->channels - group * TILE >= TILE)
            run_quads(v, group * TILE, sequence);
        else if (v->taps > TILE || v->tokens * v->taps <= FEW_PRODUCTS)
            run_each(v, group, sequence);
        else
            run_group(v, group, sequence, vtcm);
    }
}

static bool is_f32_rows(const struct htp_view *v) {
    return v->type == HTP_TYPE_F32 && v->layout == HTP_LAYOUT_ROWS && v->nb[0] == 4;
}

static uint32_t check(struct htp_exec *exec, const struct conv *v) {
    if (!is_f32_rows(v->x))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (!is_f32_rows(v->w))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 17);
    if (!is_f32_rows(v->dst))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    if (v->channels != v->x->ne[1] || v->channels != v->w->ne[1])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    if (v->taps == 0 || (uint64_t)v->tokens + v->taps - 1 != v->x->ne[0])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 33);
    if (v->dst->ne[2] != v->x->ne[2])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 34);
    if (v->x->ne[3] != 1 || v->w->ne[2] != 1 || v->w->ne[3] != 1 || v->dst->ne[3] != 1)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 35);
    return HTP_STATUS_OK;
}

uint32_t htp_conv(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (exec->op != HTP_OP_SSM_CONV)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct conv v = {.x = exec->src[0], .w = exec->src[1], .dst = exec->dst, .vtcm = exec->vtcm};
    v.taps = v.w->ne[0];
    v.channels = v.dst->ne[0];
    v.tokens = v.dst->ne[1];
    v.groups = htp_div_up(v.channels, TILE);
    v.quads = v.taps == 4 && v.tokens == 1 && v.x->nb[1] == 16 && v.w->nb[1] == 16;
    const uint32_t status = check(exec, &v);
    if (status != HTP_STATUS_OK)
        return status;
    const uint64_t items = (uint64_t)v.groups * v.dst->ne[2];
    if (items == 0 || v.tokens == 0)
        return HTP_STATUS_OK;
    const size_t room = exec->vtcm_size / THREAD_VTCM;
    if (room == 0) {
        exec->detail = THREAD_VTCM;
        return HTP_STATUS_NO_VTCM;
    }
    const uint64_t worth = items * TILE * v.tokens / THREAD_WORK + 1;
    uint32_t n = exec->n_threads;
    n = items < n ? (uint32_t)items : n;
    n = room < n ? (uint32_t)room : n;
    n = worth < n ? (uint32_t)worth : n;
    htp_parallel(exec, n, run_groups, &v);
    return HTP_STATUS_OK;
}
