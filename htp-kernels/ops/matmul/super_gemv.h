/* GEMV for superblocks: 1 activation row, several column tiles a pass, which share the activations. See super_dot.h. */
#ifndef MATMUL_SUPER_GEMV_H
#define MATMUL_SUPER_GEMV_H

#include "ops/matmul/super_dot.h"

struct super_gemv_sums {
    HVX_Vector total, sum, least; /* qf32: of all superblocks so far; of the current one */
};

/* K-block b (a constant) of a superblock of one tile; x: its quants; s: the scale vectors of the superblock. */
HVX_INLINE void super_gemv_block(uint32_t type, const HVX_Vector *x, const HVX_Vector *s, int b,
                                 const tile_dot_bytes *q, tile_dot_records record, HVX_Vector scale, HVX_Vector first,
                                 HVX_Vector table, struct super_gemv_sums *sums) {
    const bool unshifted = type == HTP_TYPE_Q4_K; /* high nibbles 16 times, in an accumulator of their own */
    HVX_Vector dot[2];
    HVX_UNROLL
    for (int i = 0; i < 2 * TILE_DOT_STEPS; i++) {
        const int half = unshifted ? i % 2 : super_dot_is_16(type) ? i / 4 : 0;
        const bool begins = unshifted ? i < 2 : super_dot_is_16(type) ? i % 4 == 0 : i == 0;
        const int64_t a = q[i / 2];
        const int32_t bytes = i % 2 ? (int32_t)(a >> 32) : (int32_t)a;
        const HVX_Vector operand = unshifted && i % 2 ? Q6_V_vand_VV(x[i / 2], super_dot_bytes(0xf0))
                                                      : super_dot_operand(type, x, i, table);
        if (!begins)
            dot[half] = Q6_Vw_vrmpyacc_VwVubRb(dot[half], operand, bytes);
        else if (type == HTP_TYPE_IQ4_XS)
            dot[half] = Q6_Vw_vrmpyacc_VwVubRb(first, operand, bytes);
        else
            dot[half] = Q6_Vw_vrmpy_VubRb(operand, bytes);
    }
    if (unshifted)
        dot[0] = Q6_Vw_vasracc_VwVwR(dot[0], dot[1], 4);
    const int32_t minus_sums = record->minus_sums[b % 2];
    const HVX_Vector scaled = super_dot_scaled(type, super_dot_scale(type, s, b), dot[0],
                                               super_dot_is_16(type) ? dot[1] : dot[0], minus_sums);
    sums->sum = super_dot_add(type, sums->sum, scaled, scale);
    if (super_dot_has_minima(type))
        sums->least = hvx_add_qf32(sums->least, hvx_mul_f32_qf32(super_dot_minimum(s, b), first));
    if (type == HTP_TYPE_Q2_K)
        sums->least = super_dot_add(type, sums->least, Q6_Vw_vdmpy_VhRh_sat(super_dot_minima_16(s, b), minus_sums), scale);
}

HVX_INLINE void super_gemv_pass(uint32_t type, int n, const uint8_t *data, size_t tile_bytes, uint32_t blocks,
                                const struct activation_slice *a, HVX_Vector *results) {
    const int vectors = (int)htp_tile_quant_vectors(type);
    const uint32_t group = htp_tile_scale_group(type);
    const HVX_Vector *w[KERNEL_MAX_TILES];
    struct super_gemv_sums sums[KERNEL_MAX_TILES];
    const HVX_Vector table = tile_dot_table(type);
    const tile_dot_bytes *q = (const tile_dot_bytes *)(const void *)a->quants;
    tile_dot_records record = (tile_dot_records)(const void *)a->records;
    HVX_UNROLL
    for (int t = 0; t < n; t++) {
        w[t] = (const HVX_Vector *)(const void *)(data + t * tile_bytes);
        sums[t].total = hvx_zero();
    }
    HVX_ROLLED
    for (uint32_t left = blocks; left > 0;) {
        const uint32_t count = htp_min_u32(left, group);
        HVX_ROLLED
        for (uint32_t i = 0; i < count / SUPER_BLOCKS; i++) {
            HVX_UNROLL
            for (int t = 0; t < n; t++)
                sums[t].sum = sums[t].least = hvx_zero();
            HVX_UNROLL
            for (int b = 0; b < SUPER_BLOCKS; b++) {
                const HVX_Vector scale = hvx_splat_f32(record[b / 2].scale[b % 2]);
                const HVX_Vector first = hvx_splat_i32(record[b / 2].start[b % 2]);
                HVX_UNROLL
                for (int t = 0; t < n; t++)
                    super_gemv_block(type, w[t] + (i * SUPER_BLOCKS + b) * vectors,
                                     super_dot_scales(type, w[t], count, i), b, q + TILE_DOT_STEPS * b, record + b / 2,
                                     scale, first, table, &sums[t]);
            }
            HVX_UNROLL
            for (int t = 0; t < n; t++)
                sums[t].total = super_dot_close(type, sums[t].total, super_dot_d(type, w[t], count, i), sums[t].sum,
                                                sums[t].least);
            q += TILE_DOT_STEPS * SUPER_BLOCKS;
            record += SUPER_BLOCKS / 2;
        }
        HVX_UNROLL
        for (int t = 0; t < n; t++)
            w[t] += htp_tile_group_vectors(type);
        left -= count;
    }
    HVX_UNROLL
    for (int t = 0; t < n; t++)
        results[t] = hvx_qf32_to_f32(sums[t].total);
}

/* `tiles` column tiles, pass_tiles (a constant) at a time */
HVX_INLINE void super_gemv_tiles(uint32_t type, uint32_t pass_tiles, const uint8_t *weights, size_t tile_bytes,
                                 uint32_t tiles, uint32_t blocks, const struct activation_slice *a, HVX_Vector *sums) {
    uint32_t t = 0;
    for (; t + pass_tiles <= tiles; t += pass_tiles)
        super_gemv_pass(type, (int)pass_tiles, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
    for (; t < tiles; t++)
        super_gemv_pass(type, 1, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
}

#endif
