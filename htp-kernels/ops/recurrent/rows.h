/*
 * States whose rows give a result each: a row m becomes m * decay + key * c (+ second * e), its result is then the
 * product of the row and `query`; c and e may depend on its product with `probe` before.
 *
 * Four rows at a time share the loads of the operands, and their partial sums are folded into one vector; eight of those
 * are folded to the results of a strip. That is two instructions a row, where a sum of a vector's lanes takes ten.
 *
 * Per vector: two instructions for the product with probe; six for the row and its result (eight with `second`).
 */
#ifndef RECURRENT_ROWS_H
#define RECURRENT_ROWS_H

#include "ops/recurrent/recurrent.h"

#define QUAD 4
#define STRIP_QUADS (STRIP / QUAD)

/* neighbours' sums of two vectors of partial sums: first those of a, then those of b; all in qf32 */
HVX_INLINE HVX_Vector fold(HVX_Vector a, HVX_Vector b) {
    const HVX_VectorPair w = hvx_deal_words(a, b);
    return hvx_add_qf32(Q6_V_lo_W(w), Q6_V_hi_W(w));
}

HVX_INLINE HVX_Vector fold_quad(const HVX_Vector *sum) { return fold(fold(sum[0], sum[1]), fold(sum[2], sum[3])); }

/* lane i: the product of row i; in qf32 */
HVX_INLINE HVX_Vector fold_strip(const HVX_Vector *quad) {
    return fold(fold(fold(quad[0], quad[1]), fold(quad[2], quad[3])),
                fold(fold(quad[4], quad[5]), fold(quad[6], quad[7])));
}

HVX_INLINE void clear_quads(HVX_Vector *quad, uint32_t from) {
    for (uint32_t i = from; i < STRIP_QUADS; i++)
        quad[i] = hvx_zero();
}

/* the products of a strip's rows with probe, in qf32; vectors: of a row */
HVX_INLINE HVX_Vector probe_strip(uint32_t vectors, uint32_t quads, const HVX_Vector *state, const HVX_Vector *probe) {
    HVX_Vector quad[STRIP_QUADS];
    if (quads < STRIP_QUADS)
        clear_quads(quad, quads);
    HVX_ROLLED
    for (uint32_t q = 0; q < quads; q++, state += QUAD * vectors) {
        HVX_Vector sum[QUAD];
        HVX_UNROLL
        for (uint32_t i = 0; i < QUAD; i++)
            sum[i] = hvx_mul_f32_qf32(state[i * vectors], probe[0]);
        for (uint32_t v = 1; v < vectors; v++) {
            HVX_UNROLL
            for (uint32_t i = 0; i < QUAD; i++)
                sum[i] = hvx_add_qf32(sum[i], hvx_mul_f32_qf32(state[i * vectors + v], probe[v]));
        }
        quad[q] = fold_quad(sum);
    }
    return fold_strip(quad);
}

struct strip_update {
    const HVX_Vector *decay; /* of all rows; NULL: a number for each */
    const HVX_Vector *key, *second, *query;
    const int32_t *row_decay, *c, *e; /* bits of floats, one a row; e: with second only */
};

/* Updates a strip's rows; their products with query, in qf32. each_decays, has_second: constants, as in u */
HVX_INLINE HVX_Vector update_strip(uint32_t vectors, bool each_decays, bool has_second, uint32_t quads,
                                   HVX_Vector *restrict state, const struct strip_update *u) {
    const HVX_Vector *const restrict decay = u->decay, *const restrict key = u->key;
    const HVX_Vector *const restrict second = u->second, *const restrict query = u->query;
    const int32_t *c = u->c, *e = u->e, *row_decay = u->row_decay;
    HVX_Vector quad[STRIP_QUADS];
    if (quads < STRIP_QUADS)
        clear_quads(quad, quads);
    HVX_ROLLED
    for (uint32_t q = 0; q < quads; q++, state += QUAD * vectors) {
        HVX_Vector sum[QUAD], by_c[QUAD], by_e[QUAD], by_decay[QUAD];
        HVX_UNROLL
        for (uint32_t i = 0; i < QUAD; i++) {
            sum[i] = hvx_zero();
            by_c[i] = hvx_splat_i32(c[q * QUAD + i]);
            by_e[i] = has_second ? hvx_splat_i32(e[q * QUAD + i]) : hvx_zero();
            by_decay[i] = each_decays ? hvx_splat_i32(row_decay[q * QUAD + i]) : hvx_zero();
        }
        for (uint32_t v = 0; v < vectors; v++) {
            const HVX_Vector k = key[v], w = each_decays ? k : decay[v], b = has_second ? second[v] : k, r = query[v];
            HVX_UNROLL
            for (uint32_t i = 0; i < QUAD; i++) {
                HVX_Vector m = hvx_mul_f32_qf32(state[i * vectors + v], each_decays ? by_decay[i] : w);
                m = hvx_add_qf32(m, hvx_mul_f32_qf32(k, by_c[i]));
                if (has_second)
                    m = hvx_add_qf32(m, hvx_mul_f32_qf32(b, by_e[i]));
                m = hvx_qf32_to_f32(m);
                state[i * vectors + v] = m;
                sum[i] = hvx_add_qf32(sum[i], hvx_mul_f32_qf32(m, r));
            }
        }
        quad[q] = fold_quad(sum);
    }
    return fold_strip(quad);
}

/* quads of what is left of a part */
static inline uint32_t quads_of(uint32_t rows) { return htp_div_up(htp_min_u32(rows, STRIP), QUAD); }

/* One copy of a token function for each usual number of vectors in a row (heads of 64 and 128), and one for others. */
#define DEFINE_TOKEN(name)                                                                                           \
    static void name##_2(const struct recurrent *r, const struct part *part, uint32_t token, HVX_Vector *state,      \
                         HVX_Vector *scratch) {                                                                      \
        name(2, r, part, token, state, scratch);                                                                     \
    }                                                                                                                \
    static void name##_4(const struct recurrent *r, const struct part *part, uint32_t token, HVX_Vector *state,      \
                         HVX_Vector *scratch) {                                                                      \
        name(4, r, part, token, state, scratch);                                                                     \
    }                                                                                                                \
    static void name##_any(const struct recurrent *r, const struct part *part, uint32_t token, HVX_Vector *state,    \
                           HVX_Vector *scratch) {                                                                    \
        name(r->vectors, r, part, token, state, scratch);                                                            \
    }
#define CHOOSE_TOKEN(name, r) ((r)->vectors == 2 ? name##_2 : (r)->vectors == 4 ? name##_4 : name##_any)

#endif
