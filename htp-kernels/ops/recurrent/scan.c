/*
 * SSM_SCAN. Element i of a head's x has a row of the state; s = softplus(dt) is a number of the head:
 *   row = row * exp(s * decay) + b * (x[i] * s);  result[i] = row . c
 * decay is a number of the head (Mamba-2) or a vector (Mamba-1). b and c belong to a group of heads, whose rows are
 * numbered through: a strip may hold rows of several heads, as many as 32 where heads have a single element (Mamba-1).
 */
#include "ops/recurrent/rows.h"
#include "ops/unary/functions.h"

/* lane i: the number, in a table with one a head, of the head that row `row` + i belongs to; n rows of `size` a head */
static HVX_Vector by_head(const uint8_t *table, uint32_t size, uint32_t row, uint32_t n) {
    if (size == 1)
        return row_vector(table + (size_t)row * 4, 0, n);
    const int32_t *const number = (const int32_t *)(const void *)table;
    const uint32_t first = row / size;
    uint32_t head = (row + n - 1) / size;
    HVX_Vector all = hvx_splat_i32(number[head]);
    while (head-- > first) {
        const HVX_VectorPred before = Q6_Q_vsetq_R((int32_t)(((head + 1) * size - row) * 4));
        all = Q6_V_vmux_QVV(before, hvx_splat_i32(number[head]), all);
    }
    return all;
}

/*
 * As update_strip, with a vector of decays for each row. The powers are most of the work, so nothing else is done about
 * heads of 16 elements, which Mamba-1 has and which fill half a vector.
 */
static HVX_NOINLINE HVX_Vector update_decaying_strip(const struct recurrent *r, uint32_t row, uint32_t n,
                                                     HVX_Vector *state, const HVX_Vector *key, const HVX_Vector *query,
                                                     const int32_t *c, const int32_t *soft) {
    HVX_Vector quad[STRIP_QUADS];
    clear_quads(quad, 0);
    for (uint32_t q = 0; q < n; q += QUAD) {
        HVX_Vector sum[QUAD];
        for (uint32_t i = 0; i < QUAD; i++) {
            sum[i] = hvx_zero();
            if (q + i >= n)
                continue;
            const uint8_t *const decay = htp_row(r->src[3], (row + q + i) / r->src[1]->ne[0], 0, 0);
            const HVX_Vector by_c = hvx_splat_i32(c[q + i]), by_soft = hvx_splat_i32(soft[q + i]);
            for (uint32_t v = 0; v < r->vectors; v++, state++) {
                const HVX_Vector power = hvx_exp_exact(hvx_mul_f32(row_vector(decay, v, r->length), by_soft));
                const HVX_Vector added = hvx_mul_f32_qf32(key[v], by_c);
                *state = hvx_qf32_to_f32(hvx_add_qf32(hvx_mul_f32_qf32(*state, power), added));
                sum[i] = hvx_add_qf32(sum[i], hvx_mul_f32_qf32(*state, query[v]));
            }
        }
        quad[q / QUAD] = fold_quad(sum);
    }
    return fold_strip(quad);
}

HVX_INLINE void run_token(uint32_t vectors, const struct recurrent *r, const struct part *p, uint32_t t, HVX_Vector *state,
                      HVX_Vector *scratch) {
    HVX_Vector *const key = scratch, *const query = key + vectors;
    const uint8_t *const b = htp_row(r->src[4], p->unit, t, p->sequence);
    const uint8_t *const c = htp_row(r->src[5], p->unit, t, p->sequence);
    HVX_ROLLED
    for (uint32_t i = 0; i < vectors; i++) {
        key[i] = row_vector(b, i, r->length);
        query[i] = row_vector(c, i, r->length);
    }
    uint32_t row = p->unit * r->unit_rows + p->first; /* of all heads */
    const uint32_t size = r->src[1]->ne[0];
    const uint8_t *x = htp_row(r->src[1], 0, t, p->sequence) + (size_t)row * 4;
    const uint8_t *const dt = htp_row(r->src[2], t, p->sequence, 0), *const decay = r->src[3]->data;
    const bool same = r->src[3]->ne[0] == 1;
    uint8_t *result = result_row(r, p, t);
    for (uint32_t left = p->count, n; left > 0; left -= n) {
        n = htp_min_u32(left, STRIP);
        int32_t by_c[STRIP] __attribute__((aligned(128))), by_decay[STRIP] __attribute__((aligned(128)));
        const HVX_Vector soft = softplus(by_head(dt, size, row, n));
        HVX_Vector sums;
        hvx_store_aligned(by_c, hvx_mul_f32(row_vector(x, 0, n), soft));
        if (same) {
            hvx_store_aligned(by_decay, hvx_exp_exact(hvx_mul_f32(soft, by_head(decay, size, row, n))));
            const struct strip_update u = {
                .key = key, .query = query, .row_decay = HVX_APART(&by_decay[0]), .c = HVX_APART(&by_c[0])};
            sums = update_strip(vectors, true, false, quads_of(n), state, &u);
        } else {
            hvx_store_aligned(by_decay, soft);
            sums = update_decaying_strip(r, row, n, state, key, query, HVX_APART(&by_c[0]), HVX_APART(&by_decay[0]));
        }
        store_floats(result, n, hvx_qf32_to_f32(sums));
        state += STRIP * vectors;
        row += n;
        x += HVX_BYTES;
        result += HVX_BYTES;
    }
}
DEFINE_TOKEN(run_token)

token_fn *scan_token(const struct recurrent *r) { return CHOOSE_TOKEN(run_token, r); }
