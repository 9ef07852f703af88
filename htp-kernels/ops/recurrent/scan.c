/*
 * SSM_SCAN. Element i of a head's x has a row of the state; s = softplus(dt) is a number of the head:
 *   row = row * exp(s * decay) + b * (x[i] * s);  result[i] = row . c
 * decay is a number of the head (Mamba-2) or a vector (Mamba-1). b and c belong to a group of heads, whose rows are
 * numbered through: a strip may hold rows of several heads, as many as 32 where heads have a single element (Mamba-1).
 *
 * With a number, exp and softplus are taken for the 32 rows of a strip together. With vectors there is an exp for each
 * row, which is most of the work; so rows of 16 elements, the only ones that such models have, go two to a vector.
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

#define HALF (HVX_WORDS / 2)
#define PACKED_VECTORS (STRIP / 2) /* of a strip */

bool scan_is_packed(const struct recurrent *r) {
    return r->src[3]->ne[0] == HALF && r->src[1]->ne[0] == 1;
}

/* lanes of the first and of the second half of a vector */
HVX_INLINE HVX_Vector halves(HVX_VectorPred first, const int32_t *bits) {
    return Q6_V_vmux_QVV(first, hvx_splat_i32(bits[0]), hvx_splat_i32(bits[1]));
}

/* `bytes` behind an address, up to a vector; none: zero */
HVX_INLINE HVX_Vector load_up_to(const uint8_t *address, int32_t bytes) {
    if (bytes >= HVX_BYTES)
        return hvx_load(address);
    return bytes <= 0 ? hvx_zero() : hvx_load_bytes(address, (uint32_t)bytes);
}

/*
 * Two rows a vector, four vectors at a time, so that their powers are computed side by side. key and query are the same
 * in both halves; decay: of the first row, those of all rows lie side by side. full: a constant, n is a strip
 */
HVX_INLINE HVX_Vector update_packed(bool full, uint32_t n, HVX_Vector *restrict state, const uint8_t *restrict decay,
                                    HVX_Vector key, HVX_Vector query, const int32_t *restrict c,
                                    const int32_t *restrict soft) {
    const HVX_VectorPred first = Q6_Q_vsetq_R(HVX_BYTES / 2);
    HVX_Vector quad[PACKED_VECTORS / QUAD];
    HVX_ROLLED
    for (uint32_t q = 0; q < PACKED_VECTORS; q += QUAD, state += QUAD) {
        HVX_Vector sum[QUAD];
        HVX_UNROLL
        for (uint32_t i = 0; i < QUAD; i++) {
            const uint32_t at = q + i;
            const int32_t left = (int32_t)n * HALF * 4 - (int32_t)at * HVX_BYTES;
            const uint8_t *const from = decay + at * HVX_BYTES;
            const HVX_Vector factor = full ? hvx_load(from) : load_up_to(from, left);
            const HVX_Vector power = hvx_exp_exact(hvx_mul_f32(factor, halves(first, soft + 2 * at)));
            const HVX_Vector added = hvx_mul_f32_qf32(key, halves(first, c + 2 * at));
            const HVX_Vector m = hvx_qf32_to_f32(hvx_add_qf32(hvx_mul_f32_qf32(state[i], power), added));
            state[i] = m;
            sum[i] = hvx_mul_f32_qf32(m, query);
        }
        quad[q / QUAD] = fold_quad(sum);
    }
    return fold(fold(quad[0], quad[1]), fold(quad[2], quad[3]));
}

HVX_INLINE HVX_Vector twice(const uint8_t *row) {
    const HVX_Vector v = hvx_load_bytes(row, HVX_BYTES / 2);
    return Q6_V_vor_VV(v, Q6_V_vror_VR(v, HVX_BYTES / 2));
}

static void packed_token(const struct recurrent *r, const struct part *p, uint32_t t, HVX_Vector *state,
                         HVX_Vector *scratch) {
    (void)scratch;
    const HVX_Vector key = twice(htp_row(r->src[4], p->unit, t, p->sequence));
    const HVX_Vector query = twice(htp_row(r->src[5], p->unit, t, p->sequence));
    const size_t row = (size_t)p->unit * r->unit_rows + p->first; /* of all heads */
    const uint8_t *x = htp_row(r->src[1], 0, t, p->sequence) + row * 4;
    const uint8_t *dt = htp_row(r->src[2], t, p->sequence, 0) + row * 4;
    const uint8_t *decay = r->src[3]->data + row * HALF * 4;
    uint8_t *result = result_row(r, p, t);
    for (uint32_t left = p->count, n; left > 0; left -= n) {
        n = htp_min_u32(left, STRIP);
        int32_t c[STRIP] __attribute__((aligned(128))), soft[STRIP] __attribute__((aligned(128)));
        const HVX_Vector softened = softplus(row_vector(dt, 0, n));
        hvx_store_aligned(soft, softened);
        hvx_store_aligned(c, hvx_mul_f32(row_vector(x, 0, n), softened));
        const int32_t *const c_bits = HVX_APART(&c[0]), *const soft_bits = HVX_APART(&soft[0]);
        const HVX_Vector sums = n == STRIP ? update_packed(true, n, state, decay, key, query, c_bits, soft_bits)
                                           : update_packed(false, n, state, decay, key, query, c_bits, soft_bits);
        store_floats(result, n, hvx_qf32_to_f32(sums));
        state += PACKED_VECTORS;
        x += HVX_BYTES;
        dt += HVX_BYTES;
        decay += PACKED_VECTORS * HVX_BYTES;
        result += HVX_BYTES;
    }
}

/* As update_strip, with a vector of decays for each row, one row after the other: no model has such sizes. */
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

token_fn *scan_token(const struct recurrent *r) {
    return scan_is_packed(r) ? packed_token : CHOOSE_TOKEN(run_token, r);
}
