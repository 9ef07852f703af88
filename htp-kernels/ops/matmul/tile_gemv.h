/*
 * GEMV: 1 activation row, several column tiles a pass, which share the loads of activations. See tile_dot.h.
 *
 * The float part of a block is done one block late, beside the integer part of the next: it hides the latency of the
 * conversions. All loops over tiles and blocks of a group have constant counts and are unrolled.
 */
#ifndef MATMUL_TILE_GEMV_H
#define MATMUL_TILE_GEMV_H

#include "ops/matmul/tile_dot.h"

struct gemv_sum {
    HVX_Vector sum;        /* qf32 */
    HVX_Vector dot, scale; /* of a block that sum does not hold yet: i32, f32 */
};

/* acc = NULL: nothing is there yet */
HVX_INLINE HVX_Vector gemv_multiply(const HVX_Vector *acc, HVX_Vector weights, int32_t bytes) {
    return acc == NULL ? Q6_Vw_vrmpy_VubRb(weights, bytes) : Q6_Vw_vrmpyacc_VwVubRb(*acc, weights, bytes);
}

/* 8 k of a tile: low, high are the accumulators (high: 16 times its value) */
HVX_INLINE void gemv_step(uint32_t type, const HVX_Vector *x, int g, int64_t a, HVX_Vector table, HVX_Vector *low,
                          HVX_Vector *high) {
    const int32_t a0 = (int32_t)a, a1 = (int32_t)(a >> 32);
    if (type == HTP_TYPE_Q8_0) {
        *low = gemv_multiply(low, x[2 * g], a0);
        *low = gemv_multiply(low, x[2 * g + 1], a1);
        return;
    }
    *low = gemv_multiply(tile_dot_has_minima(type) && g == 0 ? NULL : low, tile_dot_operand(type, x, 2 * g, table), a0);
    if (tile_dot_has_table(type) || tile_dot_has_fifth_bits(type))
        *low = gemv_multiply(low, tile_dot_operand(type, x, 2 * g + 1, table), a1);
    else
        *high = gemv_multiply(g == 0 ? NULL : high, Q6_V_vand_VV(x[g], Q6_Vb_vsplat_R(0xf0)), a1);
}

/* Block b of a group, n tiles; q, record, scales: of the group. */
HVX_INLINE void gemv_block(uint32_t type, bool wide, int n, const HVX_Vector *const *w, int b,
                           const struct tile_dot_scales *scales, const tile_dot_bytes *q, tile_dot_records record,
                           HVX_Vector table, struct gemv_sum *s) {
    const int at = b * (int)htp_tile_quant_vectors(type), pair = b / 2, half = b % 2;
    const bool in_pairs = tile_dot_in_pairs(type, wide);
    const HVX_Vector start = tile_dot_has_minima(type) ? hvx_zero() : hvx_splat_i32(record[pair].start[half]);
    const HVX_Vector row_scale = in_pairs ? hvx_zero() : hvx_splat_f32(record[pair].scale[half]);
    HVX_UNROLL
    for (int t = 0; t < n; t++) {
        HVX_Vector low = start, high = hvx_zero(), scale = tile_dot_weight_scale(type, &scales[t], b);
        if (!in_pairs)
            scale = hvx_mul_f32(scale, row_scale);
        s[t].sum = tile_dot_add(s[t].sum, s[t].dot, s[t].scale);
        HVX_UNROLL
        for (int g = 0; g < TILE_DOT_STEPS; g++)
            gemv_step(type, w[t] + at, g, q[TILE_DOT_STEPS * b + g], table, &low, &high);
        if (type == HTP_TYPE_Q4_0 || type == HTP_TYPE_Q4_1)
            low = Q6_Vw_vasracc_VwVwR(low, high, 4);
        s[t].dot = low;
        s[t].scale = scale;
    }
}

HVX_INLINE void gemv_minima(uint32_t type, const struct tile_dot_scales *scales, tile_dot_records record,
                            struct gemv_sum *s) {
    if (tile_dot_has_minima(type))
        s->sum = tile_dot_add_minima(s->sum, scales->minima, record);
}

/* The scales of a group, `at` vectors behind its beginning; minima are done with at once, a tile late. */
HVX_INLINE void gemv_scales(uint32_t type, bool wide, int n, const HVX_Vector *const *w, int at,
                            tile_dot_records record, struct tile_dot_scales *scales, struct gemv_sum *s) {
    const HVX_Vector factor = hvx_splat_i32(tile_dot_in_pairs(type, wide) ? (int32_t)record->halves : HVX_HALF_ONE);
    HVX_UNROLL
    for (int t = 0; t < n; t++) {
        if (t > 0)
            gemv_minima(type, &scales[t - 1], record, &s[t - 1]);
        tile_dot_load_scales(type, w[t] + at, factor, &scales[t]);
    }
    gemv_minima(type, &scales[n - 1], record, &s[n - 1]);
}

HVX_INLINE void gemv_pass(uint32_t type, bool wide, int n, const uint8_t *data, size_t tile_bytes, uint32_t blocks,
                          const struct activation_slice *a, HVX_Vector *sums) {
    const int vectors = (int)htp_tile_quant_vectors(type), group = (int)htp_tile_scale_group(type);
    const HVX_Vector *w[KERNEL_MAX_TILES];
    struct tile_dot_scales scales[KERNEL_MAX_TILES];
    struct gemv_sum s[KERNEL_MAX_TILES];
    const HVX_Vector table = tile_dot_table(type);
    const tile_dot_bytes *q = (const tile_dot_bytes *)(const void *)a->quants;
    tile_dot_records record = (tile_dot_records)(const void *)a->records;
    HVX_UNROLL
    for (int t = 0; t < n; t++) {
        w[t] = (const HVX_Vector *)(const void *)(data + t * tile_bytes);
        s[t].sum = s[t].dot = s[t].scale = hvx_zero();
    }
    HVX_ROLLED
    for (uint32_t i = blocks / (uint32_t)group; i > 0; i--) {
        gemv_scales(type, wide, n, w, group * vectors, record, scales, s);
        HVX_UNROLL
        for (int b = 0; b < group; b++)
            gemv_block(type, wide, n, w, b, scales, q, record, table, s);
        HVX_UNROLL
        for (int t = 0; t < n; t++)
            w[t] += htp_tile_group_vectors(type);
        q += TILE_DOT_STEPS * group;
        record += group / 2;
    }
    const int rest = (int)(blocks % (uint32_t)group);
    if (rest != 0) {
        gemv_scales(type, wide, n, w, rest * vectors, record, scales, s);
        HVX_UNROLL
        for (int b = 0; b < group - 1; b++) {
            if (b < rest)
                gemv_block(type, wide, n, w, b, scales, q, record, table, s);
        }
    }
    HVX_UNROLL
    for (int t = 0; t < n; t++)
        sums[t] = hvx_qf32_to_f32(tile_dot_add(s[t].sum, s[t].dot, s[t].scale));
}

/* `tiles` column tiles, pass_tiles (a constant) at a time */
HVX_INLINE void gemv_tiles(uint32_t type, bool wide, uint32_t pass_tiles, const uint8_t *weights, size_t tile_bytes,
                           uint32_t tiles, uint32_t blocks, const struct activation_slice *a, HVX_Vector *sums) {
    uint32_t t = 0;
    for (; t + pass_tiles <= tiles; t += pass_tiles)
        gemv_pass(type, wide, (int)pass_tiles, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
    for (; t < tiles; t++)
        gemv_pass(type, wide, 1, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
}

#endif
