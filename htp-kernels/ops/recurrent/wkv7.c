/*
 * RWKV_WKV7. Row i of a head's state:  row = row * decay + k * v[i] + b * (row . a);  result[i] = row . r
 */
#include "ops/recurrent/rows.h"

HVX_INLINE void run_token(uint32_t vectors, const struct recurrent *r, const struct part *p, uint32_t t, HVX_Vector *state,
                      HVX_Vector *scratch) {
    const uint32_t at = p->sequence * r->tokens + t; /* of all sequences' tokens, which fit 32 bits */
    HVX_Vector *const query = scratch, *const decay = query + vectors, *const key = decay + vectors;
    HVX_Vector *const probe = key + vectors, *const second = probe + vectors;
    const uint8_t *row[RECURRENT_SOURCES - 1];
    for (uint32_t i = 0; i < RECURRENT_SOURCES - 1; i++)
        row[i] = htp_row(r->src[i], p->unit, at, 0);
    HVX_ROLLED
    for (uint32_t i = 0; i < vectors; i++) {
        query[i] = row_vector(row[0], i, r->length);
        decay[i] = row_vector(row[1], i, r->length);
        key[i] = row_vector(row[2], i, r->length);
        probe[i] = row_vector(row[4], i, r->length);
        second[i] = row_vector(row[5], i, r->length);
    }
    const uint8_t *v = row[3] + (size_t)p->first * 4;
    uint8_t *result = result_row(r, p, t);
    for (uint32_t left = p->count, n; left > 0; left -= n) {
        n = htp_min_u32(left, STRIP);
        int32_t c[STRIP] __attribute__((aligned(128))), e[STRIP] __attribute__((aligned(128)));
        hvx_store_aligned(c, row_vector(v, 0, n));
        hvx_store_aligned(e, hvx_qf32_to_f32(probe_strip(vectors, quads_of(n), state, probe)));
        const struct strip_update u = {
            .decay = decay, .key = key, .second = second, .query = query, .c = HVX_APART(&c[0]), .e = HVX_APART(&e[0])};
        store_floats(result, n, hvx_qf32_to_f32(update_strip(vectors, false, true, quads_of(n), state, &u)));
        state += STRIP * vectors;
        v += HVX_BYTES;
        result += HVX_BYTES;
    }
}
DEFINE_TOKEN(run_token)

token_fn *wkv7_token(const struct recurrent *r) { return CHOOSE_TOKEN(run_token, r); }
