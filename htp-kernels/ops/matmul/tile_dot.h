/*
 * Dot products of quantised column tiles with quantised activation rows: what tile_gemv.h (1 activation row, several
 * column tiles) and tile_gemm.h (2 to 4 rows, 1 tile) share. TILE_DOT_KERNELS instantiates both for a type (q4_0.c and
 * its neighbours).
 *
 * Weight rows (outputs) stay in lanes: a weight vector is the vector operand of vrmpy as it is stored, the activation
 * bytes sit in scalar registers, 8 of them (one double word) for one 4-bit vector. Nothing is reduced across lanes, so
 * a short K costs no more than a long one.
 *
 *   zero point   weights are unsigned; the accumulator starts at -zero * sum(activations) of the block
 *   nibbles      MXFP4, IQ4_NL: looked up. Others, GEMV: high nibbles masked but not shifted, in an accumulator of
 *                their own, which vasracc adds at the end of the block (exact: it is a multiple of 16). GEMM, and types
 *                with a fifth bit, which is set under a predicate: shifted, in GEMM once for all rows
 *   scales       f16 scales of the weights of two blocks times f16 scales of a narrow row, in one multiplication,
 *                exact; the row's unit comes in when all is summed up (matmul.c). Wide rows (GEMV only): times 1, then
 *                times the row's f32 scale. An exponent byte (MXFP4) moves to its place in an f32; times the row's f32
 *                scale. Then one multiplication and one addition for a block. Sums stay in qf32 until the end
 *   minima       Q4_1, Q5_1: times scale * sum(activations) of the block, one more multiplication and addition, in qf32
 *
 * Compilers place instructions of such loops rather differently when the source is put in another order, at the same
 * arithmetic: by up to a tenth of the packets. The orders here were found by counting (cargo xtask packets matmul).
 */
#ifndef MATMUL_TILE_DOT_H
#define MATMUL_TILE_DOT_H

#include "ops/matmul/kernels.h"
#include "ops/matmul/matmul.h"

#define TILE_DOT_STEPS 4 /* of 8 k in a block */

/* A double word of activation bytes. */
typedef int64_t tile_dot_bytes __attribute__((may_alias));
typedef const struct activation_record __attribute__((may_alias)) *tile_dot_records;

/* ---- nibbles ---- */

/*
 * Tables for vlut32, entry i in byte 2i. Its index is the low 5 bits of a byte: with a low nibble the lowest bit of the
 * high one comes along, so the 16 entries are there twice. Values have the type's zero added.
 */
#define TILE_DOT_16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    a, 0, b, 0, c, 0, d, 0, e, 0, f, 0, g, 0, h, 0, i, 0, j, 0, k, 0, l, 0, m, 0, n, 0, o, 0, p, 0
/* 2 * (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives) */
#define TILE_DOT_MXFP4 TILE_DOT_16(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0)
/* -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 */
#define TILE_DOT_IQ4_NL TILE_DOT_16(0, 23, 44, 62, 78, 92, 105, 117, 128, 140, 152, 165, 180, 196, 216, 240)
static const uint8_t tile_dot_mxfp4[HVX_BYTES] __attribute__((aligned(128))) = {TILE_DOT_MXFP4, TILE_DOT_MXFP4};
static const uint8_t tile_dot_iq4_nl[HVX_BYTES] __attribute__((aligned(128))) = {TILE_DOT_IQ4_NL, TILE_DOT_IQ4_NL};

HVX_INLINE bool tile_dot_has_table(uint32_t type) {
    return type == HTP_TYPE_MXFP4 || type == HTP_TYPE_IQ4_NL || type == HTP_TYPE_IQ4_XS;
}
HVX_INLINE bool tile_dot_has_fifth_bits(uint32_t type) {
    return type == HTP_TYPE_Q5_0 || type == HTP_TYPE_Q5_1 || type == HTP_TYPE_Q5_K;
}
/* f16 minima, one a K-block */
HVX_INLINE bool tile_dot_has_minima(uint32_t type) { return type == HTP_TYPE_Q4_1 || type == HTP_TYPE_Q5_1; }

/* anything for types without a table */
HVX_INLINE HVX_Vector tile_dot_table(uint32_t type) {
    if (!tile_dot_has_table(type))
        return hvx_zero();
    return *(const HVX_Vector *)(const void *)(type == HTP_TYPE_MXFP4 ? tile_dot_mxfp4 : tile_dot_iq4_nl);
}

/* Adds `value` to the bytes of quants that have bit i (a constant) in the bytes of bits. */
HVX_INLINE HVX_Vector tile_dot_add_bit(HVX_Vector quants, HVX_Vector bits, int i, int value) {
    return Q6_V_vandor_VQR(quants, Q6_Q_vand_VR(bits, 0x01010101 << i), value * 0x01010101);
}

/* Operand i, positions 4i .. 4i+3, of a K-block of nibbles x; with a fifth bit of each where the type has one. */
HVX_INLINE HVX_Vector tile_dot_operand(uint32_t type, const HVX_Vector *x, int i, HVX_Vector table) {
    const HVX_Vector v = x[i / 2];
    if (tile_dot_has_table(type))
        return Q6_Vb_vlut32_VbVbR_nomatch(i % 2 ? Q6_Vub_vlsr_VubR(v, 4) : v, table, 0);
    const HVX_Vector nibbles = i % 2 ? Q6_Vub_vlsr_VubR(v, 4) : Q6_V_vand_VV(v, Q6_Vb_vsplat_R(0x0f));
    return tile_dot_has_fifth_bits(type) ? tile_dot_add_bit(nibbles, x[4], i, 16) : nibbles;
}

/* ---- scales ---- */

/* What the scale vectors of a group hold; which member is used depends on the type. */
struct tile_dot_scales {
    HVX_VectorPair pair, minima; /* qf32: of the even and of the odd block */
    HVX_Vector exponents;        /* MXFP4: bytes */
};

/* Whether the scales of weights and of activations are multiplied as f16, in pairs. */
HVX_INLINE bool tile_dot_in_pairs(uint32_t type, bool wide) { return !wide && type != HTP_TYPE_MXFP4; }

/* factor: f16, of the even and the odd block */
HVX_INLINE void tile_dot_load_scales(uint32_t type, const HVX_Vector *v, HVX_Vector factor, struct tile_dot_scales *s) {
    if (type == HTP_TYPE_MXFP4) {
        s->exponents = v[0];
        return;
    }
    s->pair = hvx_mul_f16_qf32(v[0], factor);
    if (tile_dot_has_minima(type))
        s->minima = hvx_mul_f16_qf32(v[1], hvx_splat_i32(HVX_HALF_ONE));
}

/* f32 */
HVX_INLINE HVX_Vector tile_dot_half(HVX_VectorPair pair, int b) {
    return hvx_qf32_to_f32(b ? Q6_V_hi_W(pair) : Q6_V_lo_W(pair));
}

/*
 * The scales of block b of a group, f32. MXFP4: ggml's rule is 2^(byte - 128) for every byte, with a table of doubled
 * values. Here it is 2^(byte - 127), and the row's scale has the half: so the byte is the exponent field as it is, but
 * for 0, a subnormal, and 255, which an f32 does not reach; the largest f32 is within rounding of it.
 */
HVX_INLINE HVX_Vector tile_dot_weight_scale(uint32_t type, const struct tile_dot_scales *s, int b) {
    if (type != HTP_TYPE_MXFP4)
        return tile_dot_half(s->pair, b);
    const HVX_Vector word = s->exponents;
    const HVX_Vector moved = b == 3 ? Q6_Vuw_vlsr_VuwR(word, 1) : Q6_Vw_vasl_VwR(word, 23 - 8 * b);
    const HVX_Vector e = Q6_V_vand_VV(moved, hvx_splat_i32(0x7f800000));
    const HVX_Vector at_least = Q6_Vw_vmax_VwVw(e, hvx_splat_i32(0x00400000));
    return Q6_Vw_vmin_VwVw(at_least, hvx_splat_i32(0x7f7fffff));
}

HVX_INLINE HVX_Vector tile_dot_add(HVX_Vector sum, HVX_Vector dot, HVX_Vector scale) {
    return hvx_add_qf32(sum, hvx_mul_f32_qf32(hvx_i32_to_f32(dot), scale));
}

/* Two blocks; a last odd block has a partner of zeros. */
HVX_INLINE HVX_Vector tile_dot_add_minima(HVX_Vector sum, HVX_VectorPair minima, tile_dot_records record) {
    sum = hvx_add_qf32(sum, hvx_mul_qf32(Q6_V_lo_W(minima), hvx_splat_i32(record->scaled_sum[0])));
    return hvx_add_qf32(sum, hvx_mul_qf32(Q6_V_hi_W(minima), hvx_splat_i32(record->scaled_sum[1])));
}

#endif
