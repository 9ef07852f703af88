/*
 * GEMM: up to 4 narrow activation rows and one column tile a pass, so the rows share loads and unpacking of weights.
 * See tile_dot.h. All loops over rows and blocks of a group have constant counts and are unrolled.
 *
 * Words of a row's records reach all lanes by vsplat. It occupies a multiplication pipe, of which types with minima
 * have none to spare: there an unaligned load of the record and vrdelta do it.
 */
#ifndef MATMUL_TILE_GEMM_H
#define MATMUL_TILE_GEMM_H

#include "ops/matmul/tile_dot.h"

/* vrdelta control "every word takes word 0": byte i holds i & 0x7c. With 4 * w in the bits of each byte: word w. */
static const uint32_t gemm_take_word_0[32] __attribute__((aligned(128))) = {
#define GEMM_FOUR_WORDS(i) (i) * 0x01010101u, (i + 4) * 0x01010101u, (i + 8) * 0x01010101u, (i + 12) * 0x01010101u
    GEMM_FOUR_WORDS(0),  GEMM_FOUR_WORDS(16), GEMM_FOUR_WORDS(32), GEMM_FOUR_WORDS(48),
    GEMM_FOUR_WORDS(64), GEMM_FOUR_WORDS(80), GEMM_FOUR_WORDS(96), GEMM_FOUR_WORDS(112),
#undef GEMM_FOUR_WORDS
};

/* Word w (a constant) of a record in every lane. */
HVX_INLINE HVX_Vector gemm_word(uint32_t type, tile_dot_records record, int w) {
    if (!tile_dot_has_minima(type))
        return hvx_splat_i32(((const int32_t *)(const void *)record)[w]);
    const HVX_Vector control = Q6_V_vxor_VV(*(const HVX_Vector *)(const void *)gemm_take_word_0,
                                            hvx_splat_i32(w * 0x04040404));
    return Q6_V_vrdelta_VV(hvx_load(record), control);
}
#define GEMM_WORD_FIRST 0  /* start or scaled_sum, of two blocks */
#define GEMM_WORD_SCALE 2  /* scale, of two blocks */
#define GEMM_WORD_HALVES 2 /* halves */

/* What the rows of a pass have: activations from the current group on, and sums. */
struct gemm_rows {
    const tile_dot_bytes *q[KERNEL_ROWS];
    tile_dot_records record[KERNEL_ROWS];
    HVX_VectorPair scale[KERNEL_ROWS]; /* of weights and activations of two blocks, qf32; not MXFP4 */
    HVX_Vector sum[KERNEL_ROWS];       /* qf32 */
};

HVX_INLINE void gemm_scales(uint32_t type, int n, const HVX_Vector *v, struct tile_dot_scales *scales,
                            struct gemm_rows *rows) {
    tile_dot_load_scales(type, v, hvx_splat_i32(HVX_HALF_ONE), scales);
    if (!tile_dot_in_pairs(type, false))
        return;
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        rows->scale[r] = hvx_mul_f16_qf32(v[0], gemm_word(type, rows->record[r], GEMM_WORD_HALVES));
}

/* Block b of the current group, n rows; x: its quants; place (a constant): its place in the scales. */
HVX_INLINE void gemm_block(uint32_t type, int n, const HVX_Vector *x, const struct tile_dot_scales *scales, int place,
                           HVX_Vector table, struct gemm_rows *rows, int b) {
    const int pair = b / 2, half = b % 2;
    HVX_Vector dot[KERNEL_ROWS];
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        dot[r] = tile_dot_has_minima(type) ? hvx_zero() : gemm_word(type, rows->record[r] + pair, GEMM_WORD_FIRST + half);
    HVX_UNROLL
    for (int g = 0; g < TILE_DOT_STEPS; g++) {
        const bool bytes = type == HTP_TYPE_Q8_0;
        const HVX_Vector low = bytes ? x[2 * g] : tile_dot_operand(type, x, 2 * g, table);
        const HVX_Vector high = bytes ? x[2 * g + 1] : tile_dot_operand(type, x, 2 * g + 1, table);
        HVX_UNROLL
        for (int r = 0; r < n; r++) {
            const int64_t a = rows->q[r][TILE_DOT_STEPS * b + g];
            dot[r] = tile_dot_has_minima(type) && g == 0 ? Q6_Vw_vrmpy_VubRb(low, (int32_t)a)
                                                     : Q6_Vw_vrmpyacc_VwVubRb(dot[r], low, (int32_t)a);
            dot[r] = Q6_Vw_vrmpyacc_VwVubRb(dot[r], high, (int32_t)(a >> 32));
        }
    }
    const bool in_pairs = tile_dot_in_pairs(type, false);
    const HVX_Vector weight_scale = in_pairs ? hvx_zero() : tile_dot_weight_scale(type, scales, place);
    HVX_UNROLL
    for (int r = 0; r < n; r++) {
        const HVX_Vector scale =
            in_pairs ? tile_dot_half(rows->scale[r], place)
                     : hvx_mul_f32(weight_scale, gemm_word(type, rows->record[r] + pair, GEMM_WORD_SCALE + half));
        rows->sum[r] = tile_dot_add(rows->sum[r], dot[r], scale);
        if (tile_dot_has_minima(type)) {
            const HVX_Vector minimum = place ? Q6_V_hi_W(scales->minima) : Q6_V_lo_W(scales->minima);
            const HVX_Vector scaled_sum = gemm_word(type, rows->record[r], GEMM_WORD_FIRST + half);
            rows->sum[r] = hvx_add_qf32(rows->sum[r], hvx_mul_qf32(minimum, scaled_sum));
        }
    }
}

HVX_INLINE void gemm_pass(uint32_t type, int n, const uint8_t *data, uint32_t blocks, const struct activation_slice *a,
                          HVX_Vector *sums) {
    const int vectors = (int)htp_tile_quant_vectors(type), group = (int)htp_tile_scale_group(type);
    const HVX_Vector table = tile_dot_table(type);
    const HVX_Vector *w = (const HVX_Vector *)(const void *)data;
    struct tile_dot_scales scales;
    struct gemm_rows rows;
    HVX_UNROLL
    for (int r = 0; r < n; r++) {
        rows.q[r] = (const tile_dot_bytes *)(const void *)(a->quants + r * a->row_bytes);
        rows.record[r] = (tile_dot_records)(const void *)(a->records + r * a->row_bytes);
        rows.sum[r] = hvx_zero();
    }
    HVX_ROLLED
    for (uint32_t i = blocks / (uint32_t)group; i > 0; i--) {
        gemm_scales(type, n, w + group * vectors, &scales, &rows);
        HVX_UNROLL
        for (int b = 0; b < group; b++)
            gemm_block(type, n, w + b * vectors, &scales, b, table, &rows, b);
        w += htp_tile_group_vectors(type);
        HVX_UNROLL
        for (int r = 0; r < n; r++) {
            rows.q[r] += TILE_DOT_STEPS * group;
            rows.record[r] += group / 2;
        }
    }
    const int rest = (int)(blocks % (uint32_t)group);
    if (rest != 0) {
        gemm_scales(type, n, w + rest * vectors, &scales, &rows);
        HVX_ROLLED
        for (int b = 0; b < rest; b++) {
            gemm_block(type, n, w, &scales, 0, table, &rows, b);
            w += vectors;
            if (type == HTP_TYPE_MXFP4) /* the next block's byte comes where the first one's was */
                scales.exponents = Q6_Vuw_vlsr_VuwR(scales.exponents, 8);
        }
    }
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        sums[r] = hvx_qf32_to_f32(rows.sum[r]);
}

HVX_INLINE void gemm_tile(uint32_t type, const uint8_t *weights, uint32_t blocks, const struct activation_slice *a,
                          uint32_t rows, HVX_Vector *sums) {
    switch (rows) {
    case 1:
        gemm_pass(type, 1, weights, blocks, a, sums);
        break;
    case 2:
        gemm_pass(type, 2, weights, blocks, a, sums);
        break;
    case 3:
        gemm_pass(type, 3, weights, blocks, a, sums);
        break;
    default:
        gemm_pass(type, KERNEL_ROWS, weights, blocks, a, sums);
        break;
    }
}

#endif
