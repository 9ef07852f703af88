/*
 * Dot products of quantised column tiles with quantised activation rows; instantiated for a type by q4_0.c, q8_0.c.
 *
 * Weight rows (outputs) stay in lanes: a weight vector is the vector operand of vrmpy as it is stored, the activation
 * bytes sit in scalar registers, 8 of them (one double word) for one 4-bit vector. Nothing is reduced across lanes, so
 * a short K costs no more than a long one.
 *
 *   zero point   weights are unsigned; the accumulator starts at -zero * sum(activations) of the block
 *   high nibbles GEMV: masked but not shifted, in an accumulator of their own, which vasracc adds at the end of the
 *                block (exact: it is a multiple of 16). GEMM: shifted once for all rows
 *   scales       f16 weight scales of two blocks become two f32 vectors at once; times the row's f32 scale. Then one
 *                multiplication and one addition for a block. Sums stay in qf32 until the end
 *
 * GEMV: 1 activation row, several column tiles a pass share the activation loads.
 * GEMM: 2 to 4 activation rows, a column tile a pass: loads and unpacking of weights are shared by the rows.
 *
 * The float part of a block is done one block late in GEMV, beside the integer part of the next: it hides the latency
 * of the conversions. All loops over tiles, rows and groups have constant counts and are unrolled.
 */
#ifndef MATMUL_TILE_DOT_H
#define MATMUL_TILE_DOT_H

#include "ops/matmul/activations.h"
#include "ops/matmul/matmul.h"

#define TILE_DOT_GROUPS 4 /* of 8 k in a block */
#define TILE_DOT_MAX_TILES 4
#define TILE_DOT_MAX_ROWS 4

/* A double word of activation bytes. */
typedef int64_t tile_dot_bytes __attribute__((may_alias));
typedef const struct activation_record __attribute__((may_alias)) *tile_dot_records;

struct tile_dot_sum {
    HVX_Vector sum;        /* qf32 */
    HVX_Vector dot, scale; /* of a block that sum does not hold yet: i32, f32 */
};

HVX_INLINE HVX_Vector tile_dot_low(HVX_Vector v) { return Q6_V_vand_VV(v, Q6_Vb_vsplat_R(0x0f)); }

/* f32 scales of the weights in block b (0 or 1) of a pair; pair: qf32 */
HVX_INLINE HVX_Vector tile_dot_weight_scale(HVX_VectorPair pair, int b) {
    return hvx_qf32_to_f32(b ? Q6_V_hi_W(pair) : Q6_V_lo_W(pair));
}

HVX_INLINE HVX_VectorPair tile_dot_weight_scales(HVX_Vector halves) {
    return hvx_mul_f16_qf32(halves, hvx_splat_i32(HVX_HALF_ONE));
}

HVX_INLINE HVX_Vector tile_dot_add(HVX_Vector sum, HVX_Vector dot, HVX_Vector scale) {
    return hvx_add_qf32(sum, hvx_mul_f32_qf32(hvx_i32_to_f32(dot), scale));
}

/* ---- GEMV ---- */

/* 8 k of a tile: low, high are the accumulators (high: 16 times its value) */
HVX_INLINE void gemv_group(uint32_t type, const HVX_Vector *x, int g, int64_t a, HVX_Vector *low, HVX_Vector *high) {
    const int32_t a0 = (int32_t)a, a1 = (int32_t)(a >> 32);
    if (type == HTP_TYPE_Q8_0) {
        *low = Q6_Vw_vrmpyacc_VwVubRb(*low, x[2 * g], a0);
        *low = Q6_Vw_vrmpyacc_VwVubRb(*low, x[2 * g + 1], a1);
        return;
    }
    const HVX_Vector upper = Q6_V_vand_VV(x[g], Q6_Vb_vsplat_R(0xf0));
    *low = Q6_Vw_vrmpyacc_VwVubRb(*low, tile_dot_low(x[g]), a0);
    *high = g == 0 ? Q6_Vw_vrmpy_VubRb(upper, a1) : Q6_Vw_vrmpyacc_VwVubRb(*high, upper, a1);
}

/* one or two blocks of n tiles; w[t] moves on */
HVX_INLINE void gemv_pair(uint32_t type, int n, int blocks, const HVX_Vector **w, const tile_dot_bytes *q,
                          tile_dot_records record, struct tile_dot_sum *s) {
    const int vectors = (int)htp_tile_quant_vectors(type);
    HVX_VectorPair scales[TILE_DOT_MAX_TILES];
    HVX_UNROLL
    for (int t = 0; t < n; t++)
        scales[t] = tile_dot_weight_scales(w[t][blocks * vectors]);
    HVX_UNROLL
    for (int b = 0; b < blocks; b++) {
        const HVX_Vector start = hvx_splat_i32(record->start[b]), row_scale = hvx_splat_f32(record->scale[b]);
        HVX_UNROLL
        for (int t = 0; t < n; t++) {
            HVX_Vector low = start, high = hvx_zero();
            HVX_UNROLL
            for (int g = 0; g < TILE_DOT_GROUPS; g++)
                gemv_group(type, w[t] + b * vectors, g, q[TILE_DOT_GROUPS * b + g], &low, &high);
            if (type == HTP_TYPE_Q4_0)
                low = Q6_Vw_vasracc_VwVwR(low, high, 4);
            s[t].sum = tile_dot_add(s[t].sum, s[t].dot, s[t].scale);
            s[t].dot = low;
            s[t].scale = hvx_mul_f32(tile_dot_weight_scale(scales[t], b), row_scale);
        }
    }
    HVX_UNROLL
    for (int t = 0; t < n; t++)
        w[t] += blocks * vectors + 1;
}

HVX_INLINE void gemv_pass(uint32_t type, int n, const uint8_t *data, size_t tile_bytes, uint32_t blocks,
                          const struct activation_slice *a, HVX_Vector *sums) {
    const HVX_Vector *w[TILE_DOT_MAX_TILES];
    struct tile_dot_sum s[TILE_DOT_MAX_TILES];
    HVX_UNROLL
    for (int t = 0; t < n; t++) {
        w[t] = (const HVX_Vector *)(const void *)(data + t * tile_bytes);
        s[t].sum = s[t].dot = s[t].scale = hvx_zero();
    }
    const tile_dot_bytes *q = (const tile_dot_bytes *)(const void *)a->quants;
    tile_dot_records record = (tile_dot_records)(const void *)a->records;
    HVX_ROLLED
    for (uint32_t i = blocks / 2; i > 0; i--) {
        gemv_pair(type, n, 2, w, q, record, s);
        q += 2 * TILE_DOT_GROUPS;
        record++;
    }
    if (blocks % 2 != 0)
        gemv_pair(type, n, 1, w, q, record, s);
    HVX_UNROLL
    for (int t = 0; t < n; t++)
        sums[t] = hvx_qf32_to_f32(tile_dot_add(s[t].sum, s[t].dot, s[t].scale));
}

/* ---- GEMM ---- */

/* integer dot products of a block with n rows; q: double words of each row */
HVX_INLINE void gemm_block(uint32_t type, int n, const HVX_Vector *x, const tile_dot_bytes *const *q, int first,
                           HVX_Vector *dot) {
    HVX_UNROLL
    for (int g = 0; g < TILE_DOT_GROUPS; g++) {
        HVX_Vector low, high;
        if (type == HTP_TYPE_Q8_0) {
            low = x[2 * g];
            high = x[2 * g + 1];
        } else {
            low = tile_dot_low(x[g]);
            high = Q6_Vub_vlsr_VubR(x[g], 4);
        }
        HVX_UNROLL
        for (int r = 0; r < n; r++) {
            const int64_t a = q[r][first + g];
            dot[r] = Q6_Vw_vrmpyacc_VwVubRb(dot[r], low, (int32_t)a);
            dot[r] = Q6_Vw_vrmpyacc_VwVubRb(dot[r], high, (int32_t)(a >> 32));
        }
    }
}

/* one or two blocks */
HVX_INLINE void gemm_pair(uint32_t type, int n, int blocks, const HVX_Vector *w, const tile_dot_bytes *const *q,
                          const tile_dot_records *record, HVX_Vector *sum) {
    const int vectors = (int)htp_tile_quant_vectors(type);
    const HVX_VectorPair scales = tile_dot_weight_scales(w[blocks * vectors]);
    HVX_UNROLL
    for (int b = 0; b < blocks; b++) {
        const HVX_Vector scale = tile_dot_weight_scale(scales, b);
        HVX_Vector dot[TILE_DOT_MAX_ROWS];
        HVX_UNROLL
        for (int r = 0; r < n; r++)
            dot[r] = hvx_splat_i32(record[r]->start[b]);
        gemm_block(type, n, w + b * vectors, q, TILE_DOT_GROUPS * b, dot);
        HVX_UNROLL
        for (int r = 0; r < n; r++)
            sum[r] = tile_dot_add(sum[r], dot[r], hvx_mul_f32(scale, hvx_splat_f32(record[r]->scale[b])));
    }
}

HVX_INLINE void gemm_pass(uint32_t type, int n, const uint8_t *data, uint32_t blocks, const struct activation_slice *a,
                          HVX_Vector *sums) {
    const int pair_vectors = (int)matmul_unit_vectors(type);
    const HVX_Vector *w = (const HVX_Vector *)(const void *)data;
    const tile_dot_bytes *q[TILE_DOT_MAX_ROWS];
    tile_dot_records record[TILE_DOT_MAX_ROWS];
    HVX_Vector sum[TILE_DOT_MAX_ROWS];
    HVX_UNROLL
    for (int r = 0; r < n; r++) {
        q[r] = (const tile_dot_bytes *)(const void *)(a->quants + r * a->row_bytes);
        record[r] = (tile_dot_records)(const void *)(a->records + r * a->row_bytes);
        sum[r] = hvx_zero();
    }
    HVX_ROLLED
    for (uint32_t i = blocks / 2; i > 0; i--) {
        gemm_pair(type, n, 2, w, q, record, sum);
        w += pair_vectors;
        HVX_UNROLL
        for (int r = 0; r < n; r++) {
            q[r] += 2 * TILE_DOT_GROUPS;
            record[r]++;
        }
    }
    if (blocks % 2 != 0)
        gemm_pair(type, n, 1, w, q, record, sum);
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        sums[r] = hvx_qf32_to_f32(sum[r]);
}

#endif
