/*
 * GATED_DELTA_NET. Row j of a head's state is what it remembers for element j of the values:
 *   row = row * exp(gate);  d = (v[j] - row . k) * beta;  row += k * d;  result[j] = row . q / sqrt(size)
 * exp(gate) is a number or a vector. The first product is taken with k * exp(gate), so the row is written once.
 */
#include "hvx/exact.h"
#include "ops/recurrent/rows.h"

HVX_INLINE void run_token(uint32_t vectors, const struct recurrent *r, const struct part *p, uint32_t t, HVX_Vector *state,
                      HVX_Vector *scratch) {
    HVX_Vector *const decay = scratch, *const key = decay + vectors, *const probe = key + vectors;
    HVX_Vector *const query = probe + vectors;
    const struct htp_view *const q = r->src[0], *const k = r->src[1], *const v = r->src[2], *const g = r->src[3];
    /* heads of q and k repeat one after the other, their sequences each several times */
    const uint8_t *const q_row =
        htp_row(q, p->unit % q->ne[1], t, p->sequence / (r->sequences / q->ne[3]));
    const uint8_t *const k_row =
        htp_row(k, p->unit % k->ne[1], t, p->sequence / (r->sequences / k->ne[3]));
    const uint8_t *const g_row = htp_row(g, p->unit, t, p->sequence);
    const bool same = g->ne[0] == 1;
    const HVX_Vector scale = hvx_splat_f32(r->scale);
    HVX_Vector power = hvx_zero();
    if (same)
        power = hvx_exp_exact(hvx_splat_i32(*(const int32_t *)(const void *)g_row));
    HVX_ROLLED
    for (uint32_t i = 0; i < vectors; i++) {
        if (!same)
            power = hvx_exp_exact(row_vector(g_row, i, r->length));
        const HVX_Vector k_i = row_vector(k_row, i, r->length);
        decay[i] = power;
        key[i] = k_i;
        probe[i] = hvx_mul_f32(k_i, power);
        query[i] = hvx_mul_f32(row_vector(q_row, i, r->length), scale);
    }
    const HVX_Vector beta =
        hvx_splat_i32(*(const int32_t *)(const void *)htp_row(r->src[4], p->unit, t, p->sequence));
    const uint8_t *v_row = htp_row(v, p->unit, t, p->sequence) + (size_t)p->first * 4;
    uint8_t *result = result_row(r, p, t);
    for (uint32_t left = p->count, n; left > 0; left -= n) {
        n = htp_min_u32(left, STRIP);
        int32_t c[STRIP] __attribute__((aligned(128)));
        const HVX_Vector known = hvx_qf32_to_f32(probe_strip(vectors, quads_of(n), state, probe));
        hvx_store_aligned(c, hvx_mul_f32(hvx_sub_f32(row_vector(v_row, 0, n), known), beta));
        const struct strip_update u = {.decay = decay, .key = key, .query = query, .c = HVX_APART(&c[0])};
        store_floats(result, n, hvx_qf32_to_f32(update_strip(vectors, false, false, quads_of(n), state, &u)));
        state += STRIP * vectors;
        v_row += HVX_BYTES;
        result += HVX_BYTES;
    }
}
DEFINE_TOKEN(run_token)

token_fn *delta_net_token(const struct recurrent *r) { return CHOOSE_TOKEN(run_token, r); }
