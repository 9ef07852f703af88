/* GEMM for superblocks: up to 4 activation rows and one column tile a pass, which share weights. See super_dot.h. */
#ifndef MATMUL_SUPER_GEMM_H
#define MATMUL_SUPER_GEMM_H

#include "ops/matmul/super_dot.h"

/* What the rows of a pass have: activations from the current superblock on, and sums in qf32. */
struct super_gemm_rows {
    const tile_dot_bytes *q[KERNEL_ROWS];
    tile_dot_records record[KERNEL_ROWS];
    HVX_Vector total[KERNEL_ROWS], sum[KERNEL_ROWS], least[KERNEL_ROWS];
};

/* K-block b (a constant) of a superblock, n rows; x: its quants; s: the scale vectors of the superblock. */
HVX_INLINE void super_gemm_block(uint32_t type, int n, const HVX_Vector *x, const HVX_Vector *s, int b,
                                 HVX_Vector table, struct super_gemm_rows *rows) {
    HVX_Vector dot[2][KERNEL_ROWS];
    if (type == HTP_TYPE_IQ4_XS) {
        HVX_UNROLL
        for (int r = 0; r < n; r++)
            dot[0][r] = hvx_splat_i32(rows->record[r][b / 2].start[b % 2]);
    }
    HVX_UNROLL
    for (int i = 0; i < 2 * TILE_DOT_STEPS; i++) {
        const int half = super_dot_is_16(type) ? i / 4 : 0;
        const bool begins = type != HTP_TYPE_IQ4_XS && (super_dot_is_16(type) ? i % 4 == 0 : i == 0);
        const HVX_Vector operand = super_dot_operand(type, x, i, table);
        HVX_UNROLL
        for (int r = 0; r < n; r++) {
            const int64_t a = rows->q[r][TILE_DOT_STEPS * b + i / 2];
            const int32_t bytes = i % 2 ? (int32_t)(a >> 32) : (int32_t)a;
            dot[half][r] = begins ? Q6_Vw_vrmpy_VubRb(operand, bytes)
                                  : Q6_Vw_vrmpyacc_VwVubRb(dot[half][r], operand, bytes);
        }
    }
    const struct super_scale scale = super_dot_scale(type, s, b);
    const HVX_Vector minimum = super_dot_has_minima(type) ? super_dot_minimum(s, b)
                               : type == HTP_TYPE_Q2_K    ? super_dot_minima_16(s, b)
                                                          : hvx_zero();
    HVX_UNROLL
    for (int r = 0; r < n; r++) {
        tile_dot_records record = rows->record[r] + b / 2;
        const int32_t minus_sums = record->minus_sums[b % 2];
        const HVX_Vector factor = hvx_splat_f32(record->scale[b % 2]);
        const HVX_Vector scaled = super_dot_scaled(type, scale, dot[0][r], dot[super_dot_is_16(type)][r], minus_sums);
        rows->sum[r] = super_dot_add(type, rows->sum[r], scaled, factor);
        if (super_dot_has_minima(type))
            rows->least[r] = hvx_add_qf32(rows->least[r],
                                          hvx_mul_f32_qf32(minimum, hvx_splat_i32(record->scaled_sum[b % 2])));
        if (type == HTP_TYPE_Q2_K)
            rows->least[r] = super_dot_add(type, rows->least[r], Q6_Vw_vdmpy_VhRh_sat(minimum, minus_sums), factor);
    }
}

HVX_INLINE void super_gemm_pass(uint32_t type, int n, const uint8_t *data, uint32_t blocks,
                                const struct activation_slice *a, HVX_Vector *results) {
    const int vectors = (int)htp_tile_quant_vectors(type);
    const uint32_t group = htp_tile_scale_group(type);
    const HVX_Vector table = tile_dot_table(type);
    const HVX_Vector *w = (const HVX_Vector *)(const void *)data;
    struct super_gemm_rows rows;
    HVX_UNROLL
    for (int r = 0; r < n; r++) {
        rows.q[r] = (const tile_dot_bytes *)(const void *)(a->quants + r * a->row_bytes);
        rows.record[r] = (tile_dot_records)(const void *)(a->records + r * a->row_bytes);
        rows.total[r] = hvx_zero();
    }
    HVX_ROLLED
    for (uint32_t left = blocks; left > 0;) {
        const uint32_t count = htp_min_u32(left, group);
        HVX_ROLLED
        for (uint32_t i = 0; i < count / SUPER_BLOCKS; i++) {
            HVX_UNROLL
            for (int r = 0; r < n; r++)
                rows.sum[r] = rows.least[r] = hvx_zero();
            HVX_UNROLL
            for (int b = 0; b < SUPER_BLOCKS; b++)
                super_gemm_block(type, n, w + (i * SUPER_BLOCKS + b) * vectors, super_dot_scales(type, w, count, i), b,
                                 table, &rows);
            const HVX_VectorPair d = super_dot_d(type, w, count, i);
            HVX_UNROLL
            for (int r = 0; r < n; r++) {
                rows.total[r] = super_dot_close(type, rows.total[r], d, rows.sum[r], rows.least[r]);
                rows.q[r] += TILE_DOT_STEPS * SUPER_BLOCKS;
                rows.record[r] += SUPER_BLOCKS / 2;
            }
        }
        w += htp_tile_group_vectors(type);
        left -= count;
    }
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        results[r] = hvx_qf32_to_f32(rows.total[r]);
}

HVX_INLINE void super_gemm_tile(uint32_t type, const uint8_t *weights, uint32_t blocks,
                                const struct activation_slice *a, uint32_t rows, HVX_Vector *sums) {
    switch (rows) {
    case 1:
        super_gemm_pass(type, 1, weights, blocks, a, sums);
        break;
    case 2:
        super_gemm_pass(type, 2, weights, blocks, a, sums);
        break;
    case 3:
        super_gemm_pass(type, 3, weights, blocks, a, sums);
        break;
    default:
        super_gemm_pass(type, KERNEL_ROWS, weights, blocks, a, sums);
        break;
    }
}

#endif
