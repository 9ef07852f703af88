/*
 * RWKV_WKV6 and GATED_LINEAR_ATTN: row i of a head's state belongs to element i of the keys, column j to result j.
 *   RWKV_WKV6           result = sum over i of r[i] * (row i + v * (k[i] * bonus[i]));  row i = row i * decay[i] + v * k[i]
 *   GATED_LINEAR_ATTN   row i = row i * gate[i] + v * k[i];  result = scale * sum over i of q[i] * row i
 * The bonus is v times one number, the sum of r * k * bonus.
 *
 * Columns come 64 at a time, the usual head: per row two vectors with six instructions each, and three numbers that are
 * spread over the lanes. Shorter heads have the second vector computed for nothing.
 */
#include "ops/recurrent/recurrent.h"

static HVX_Vector bonus_factor(const struct recurrent *r, const uint8_t *k, const uint8_t *query, const uint8_t *bonus) {
    HVX_Vector sum = hvx_zero();
    for (uint32_t i = 0; i < htp_div_up(r->length, HVX_WORDS); i++) {
        const HVX_Vector product = hvx_mul_f32(row_vector(k, i, r->length), row_vector(query, i, r->length));
        sum = hvx_add_qf32(sum, hvx_mul_f32_qf32(product, row_vector(bonus, i, r->length)));
    }
    return hvx_sum_qf32(sum);
}

HVX_INLINE void run_token(bool has_bonus, const struct recurrent *r, const struct part *p, uint32_t t,
                          HVX_Vector *restrict state) {
    const uint32_t at = p->sequence * r->tokens + t; /* of all sequences' tokens, which fit 32 bits */
    const uint8_t *const k = htp_row(r->src[0], p->unit, at, 0), *const query = htp_row(r->src[2], p->unit, at, 0);
    const uint8_t *const decay = htp_row(r->src[has_bonus ? 4 : 3], p->unit, at, 0);
    const uint8_t *const v_row = htp_row(r->src[1], p->unit, at, 0) + (size_t)p->first * 4;
    HVX_Vector v[COLUMN_VECTORS], sum[COLUMN_VECTORS];
    v[0] = row_vector(v_row, 0, p->count);
    v[1] = p->count > HVX_WORDS ? row_vector(v_row, 1, p->count) : hvx_zero();
    sum[0] = sum[1] = hvx_zero();
    const int32_t *restrict k_bits = (const int32_t *)(const void *)k;
    const int32_t *restrict query_bits = (const int32_t *)(const void *)query;
    const int32_t *restrict decay_bits = (const int32_t *)(const void *)decay;
    HVX_UNROLL_COUNT(4)
    for (uint32_t i = r->length; i > 0; i--, state += COLUMN_VECTORS) {
        const HVX_Vector k_i = hvx_splat_i32(*k_bits++), decay_i = hvx_splat_i32(*decay_bits++);
        const HVX_Vector query_i = hvx_splat_i32(*query_bits++);
        HVX_UNROLL
        for (uint32_t j = 0; j < COLUMN_VECTORS; j++) {
            const HVX_Vector old = state[j], added = hvx_mul_f32_qf32(v[j], k_i);
            const HVX_Vector row = hvx_qf32_to_f32(hvx_add_qf32(hvx_mul_f32_qf32(old, decay_i), added));
            state[j] = row;
            sum[j] = hvx_add_qf32(sum[j], hvx_mul_f32_qf32(has_bonus ? old : row, query_i));
        }
    }
    const HVX_Vector factor =
        has_bonus ? bonus_factor(r, k, query, htp_row(r->src[3], p->unit, 0, 0)) : hvx_splat_f32(r->scale);
    uint8_t *const result = result_row(r, p, t);
    HVX_UNROLL
    for (uint32_t j = 0; j < COLUMN_VECTORS; j++) {
        if (p->count <= j * HVX_WORDS)
            break;
        const HVX_Vector all = has_bonus ? hvx_qf32_to_f32(hvx_add_qf32(sum[j], hvx_mul_f32_qf32(v[j], factor)))
                                         : hvx_mul_f32(hvx_qf32_to_f32(sum[j]), factor);
        store_floats(result + j * HVX_BYTES, p->count - j * HVX_WORDS, all);
    }
}

static void wkv6(const struct recurrent *r, const struct part *part, uint32_t t, HVX_Vector *state, HVX_Vector *scratch) {
    (void)scratch;
    run_token(true, r, part, t, state);
}

static void linear(const struct recurrent *r, const struct part *part, uint32_t t, HVX_Vector *state,
                   HVX_Vector *scratch) {
    (void)scratch;
    run_token(false, r, part, t, state);
}

token_fn *columns_token(const struct recurrent *r) { return r->op == HTP_OP_RWKV_WKV6 ? wkv6 : linear; }
