/*
 * Dot products of column tiles whose ggml block has 256 weights (K-quants, IQ4_XS) with quantised activation rows: what
 * super_gemv.h and super_gemm.h share. SUPER_DOT_KERNELS instantiates both for a type. Operands, lanes and activations
 * are as in tile_dot.h; what differs are the scales.
 *
 * A weight is d * scale * quant, less dmin * minimum (Q2_K, Q4_K, Q5_K): d and dmin, f16, belong to the superblock of
 * 256, scale and minimum, integers of 4 to 8 bits, to 32 or 16 weights. So for a K-block
 *
 *   dot    = scale * sum(quant * q)                  integer, exact; of 16-weight scales both halves together
 *   sum   += f32(dot) * the activations' scale       f32, since that scale changes from K-block to K-block
 *   least += minimum * the activations' scaled sum   the same
 *
 * and d * sum - dmin * least only at the end of a superblock. Both sums stay in qf32. Activation scales are f32.
 *
 *   scales of 16   the record holds minus the sums of both halves: with the pair of scales one vdmpy gives what the zero
 *                  point (Q6_K, Q3_K) or the minima (Q2_K) contribute, as an integer
 *   exactness      |dot| is below 2^24 for every type: 2 * 16 * 32 * 127 * 128 for Q6_K is the largest
 */
#ifndef MATMUL_SUPER_DOT_H
#define MATMUL_SUPER_DOT_H

#include "ops/matmul/tile_dot.h"

#define SUPER_BLOCKS 8 /* K-blocks of a superblock */

HVX_INLINE bool super_dot_is(uint32_t type) { return htp_tile_scale_group(type) >= SUPER_BLOCKS; }
/* a scale for 16 weights, else for 32 */
HVX_INLINE bool super_dot_is_16(uint32_t type) {
    return type == HTP_TYPE_Q2_K || type == HTP_TYPE_Q3_K || type == HTP_TYPE_Q6_K;
}
/* minima of 32 weights */
HVX_INLINE bool super_dot_has_minima(uint32_t type) { return type == HTP_TYPE_Q4_K || type == HTP_TYPE_Q5_K; }
/* dmin beside d; others have the d of the next superblock there */
HVX_INLINE bool super_dot_has_dmin(uint32_t type) { return super_dot_has_minima(type) || type == HTP_TYPE_Q2_K; }

/* ---- operands ---- */

HVX_INLINE HVX_Vector super_dot_bytes(int byte) { return hvx_splat_i32(byte * 0x01010101); }

/* Pair p (a constant) of the bits of each byte, moved to bit `to`: shifted as words, so what crosses bytes is masked. */
HVX_INLINE HVX_Vector super_dot_pair(HVX_Vector v, int p, int to) {
    const int down = 2 * p - to;
    if (down > 0)
        v = Q6_Vuw_vlsr_VuwR(v, down);
    else if (down < 0)
        v = Q6_Vw_vasl_VwR(v, -down);
    return Q6_V_vand_VV(v, super_dot_bytes(3 << to));
}

/* Operand i, positions 4i .. 4i+3, of K-block x. */
HVX_INLINE HVX_Vector super_dot_operand(uint32_t type, const HVX_Vector *x, int i, HVX_Vector table) {
    switch (type) {
    case HTP_TYPE_Q2_K:
        return super_dot_pair(x[i / 4], i % 4, 0);
    case HTP_TYPE_Q3_K:
        return tile_dot_add_bit(super_dot_pair(x[i / 4], i % 4, 0), x[2], i, 4);
    case HTP_TYPE_Q6_K:
        return Q6_V_vor_VV(tile_dot_operand(type, x, i, table), super_dot_pair(x[4 + i / 4], i % 4, 4));
    default:
        return tile_dot_operand(type, x, i, table);
    }
}

/* ---- scales ---- */

/*
 * The integer scale of a K-block of 32: a half-word of each lane, the odd or the even one. Of 16: both, those of the
 * first and of the last 16 weights.
 */
struct super_scale {
    HVX_Vector halves;
    bool odd;
};

HVX_INLINE HVX_Vector super_dot_low(HVX_Vector v) { return Q6_V_vand_VV(v, super_dot_bytes(0x0f)); }
HVX_INLINE HVX_Vector super_dot_high(HVX_Vector v) { return Q6_Vub_vlsr_VubR(v, 4); }

/* Q4_K, Q5_K: four 6-bit numbers, of K-blocks 4 * half on, from the words that hold their like (ggml's packing). */
HVX_INLINE HVX_Vector super_dot_six_bits(HVX_Vector own, HVX_Vector tail, int half, bool minima) {
    if (half == 0)
        return Q6_V_vand_VV(own, super_dot_bytes(0x3f));
    return Q6_V_vor_VV(minima ? super_dot_high(tail) : super_dot_low(tail), super_dot_pair(own, 3, 4));
}

/* Byte b % 4 of each lane as a half-word: even bytes in the low vector of a pair, odd ones in the high one. */
HVX_INLINE struct super_scale super_dot_unsigned(HVX_Vector bytes, int b) {
    const HVX_VectorPair halves = Q6_Wuh_vzxt_Vub(bytes);
    return (struct super_scale){b % 2 ? Q6_V_hi_W(halves) : Q6_V_lo_W(halves), b % 4 / 2 == 1};
}

/*
 * IQ4_XS: the upper two bits of scales 2i and 2i+1 are the low and the high pair of bits of nibble i of v0's high half.
 * Spread to byte i of the word, they join the low (even K-block) and the high (odd) nibbles of v1's byte i.
 */
HVX_INLINE struct super_scale super_dot_iq4_xs(const HVX_Vector *s, int b) {
    const HVX_Vector upper = Q6_Vuw_vlsr_VuwR(s[0], 16);
    const HVX_Vector two = Q6_V_vor_VV(Q6_V_vand_VV(upper, hvx_splat_i32(0xff)),
                                       Q6_Vw_vasl_VwR(Q6_V_vand_VV(upper, hvx_splat_i32(0xff00)), 8));
    const HVX_Vector four = super_dot_low(Q6_V_vor_VV(two, Q6_Vw_vasl_VwR(two, 4)));
    const HVX_Vector nibbles = b % 2 ? super_dot_high(s[1]) : super_dot_low(s[1]);
    const HVX_Vector six = Q6_V_vor_VV(nibbles, super_dot_pair(four, b % 2, 4));
    const HVX_VectorPair halves = Q6_Wh_vsxt_Vb(Q6_Vb_vsub_VbVb(six, super_dot_bytes(32)));
    return (struct super_scale){b / 2 % 2 ? Q6_V_hi_W(halves) : Q6_V_lo_W(halves), b / 4 == 1};
}

/* Four scales of 16 weights, as signed bytes: those of K-blocks 2i and 2i+1. */
HVX_INLINE HVX_Vector super_dot_four(uint32_t type, const HVX_Vector *s, int i) {
    if (type == HTP_TYPE_Q6_K)
        return s[i];
    if (type == HTP_TYPE_Q2_K)
        return super_dot_low(s[1 + i]);
    /* Q3_K: low nibbles of two words, then their high nibbles; the upper two bits are pair i of the third word */
    const HVX_Vector nibbles = i < 2 ? super_dot_low(s[i % 2]) : super_dot_high(s[i % 2]);
    return Q6_Vb_vsub_VbVb(Q6_V_vor_VV(nibbles, super_dot_pair(s[2], i, 4)), super_dot_bytes(32));
}

/* Bytes 0 and 1 of a word as its half-words, or bytes 2 and 3. */
HVX_INLINE HVX_Vector super_dot_neighbours(HVX_VectorPair halves, int last) {
    const HVX_VectorPair pairs = Q6_Wh_vshuffoe_VhVh(Q6_V_hi_W(halves), Q6_V_lo_W(halves));
    return last ? Q6_V_hi_W(pairs) : Q6_V_lo_W(pairs);
}

/* Scale of K-block b (a constant) of a superblock, whose scale vectors are s. */
HVX_INLINE struct super_scale super_dot_scale(uint32_t type, const HVX_Vector *s, int b) {
    if (super_dot_is_16(type))
        return (struct super_scale){super_dot_neighbours(Q6_Wh_vsxt_Vb(super_dot_four(type, s, b / 2)), b % 2), false};
    if (type == HTP_TYPE_IQ4_XS)
        return super_dot_iq4_xs(s, b);
    return super_dot_unsigned(super_dot_six_bits(s[1], s[3], b / 4, false), b);
}

/* The minimum of K-block b in f32. Q4_K, Q5_K. */
HVX_INLINE HVX_Vector super_dot_minimum(const HVX_Vector *s, int b) {
    const struct super_scale m = super_dot_unsigned(super_dot_six_bits(s[2], s[3], b / 4, true), b);
    return hvx_i32_to_f32(m.odd ? Q6_Vuw_vlsr_VuwR(m.halves, 16) : Q6_V_vand_VV(m.halves, hvx_splat_i32(0xffff)));
}

/* Minima of both halves of K-block b of Q2_K, as half-words. */
HVX_INLINE HVX_Vector super_dot_minima_16(const HVX_Vector *s, int b) {
    return super_dot_neighbours(Q6_Wuh_vzxt_Vub(super_dot_high(s[1 + b / 2])), b % 2);
}

/* log2 of the type's zero: 5 for 32, 2 for 4. Types with scales of 16 and no minima. */
HVX_INLINE int super_dot_zero_bits(uint32_t type) { return type == HTP_TYPE_Q6_K ? 5 : 2; }

/* dot (of both halves of a K-block, or the first of two that are the same) times its scale, zero point included. */
HVX_INLINE HVX_Vector super_dot_scaled(uint32_t type, struct super_scale scale, HVX_Vector first, HVX_Vector last,
                                       int32_t minus_sums) {
    if (!super_dot_is_16(type)) {
        if (scale.odd)
            return Q6_Vw_vmpyio_VwVh(first, scale.halves);
        return type == HTP_TYPE_IQ4_XS ? Q6_Vw_vmpyieacc_VwVwVh(hvx_zero(), first, scale.halves)
                                       : Q6_Vw_vmpyie_VwVuh(first, scale.halves);
    }
    const HVX_Vector dot = Q6_Vw_vmpyieacc_VwVwVh(Q6_Vw_vmpyio_VwVh(last, scale.halves), first, scale.halves);
    if (type == HTP_TYPE_Q2_K)
        return dot;
    return Q6_Vw_vaslacc_VwVwR(dot, Q6_Vw_vdmpy_VhRh_sat(scale.halves, minus_sums), super_dot_zero_bits(type));
}

/* sum + dot * scale, qf32. Every type but these two keeps dot below 2^22, where the conversion costs nothing extra. */
HVX_INLINE HVX_Vector super_dot_add(uint32_t type, HVX_Vector sum, HVX_Vector dot, HVX_Vector scale) {
    const bool small = type == HTP_TYPE_Q4_K || type == HTP_TYPE_Q3_K || type == HTP_TYPE_Q2_K;
    return hvx_add_qf32(sum, hvx_mul_f32_qf32(small ? hvx_i32_to_f32(dot) : hvx_wide_i32_to_f32(dot), scale));
}

/* ---- superblocks ---- */

/* Where superblock i of a scale group of `blocks` K-blocks has its scale vectors, w being the group's first vector. */
HVX_INLINE const HVX_Vector *super_dot_scales(uint32_t type, const HVX_Vector *w, uint32_t blocks, uint32_t i) {
    const uint32_t own = type == HTP_TYPE_Q6_K ? 4 : type == HTP_TYPE_Q3_K ? 3 : 0; /* others have one superblock */
    return w + blocks * htp_tile_quant_vectors(type) + i * own;
}
/* d in the low vector, in qf32; in the high one dmin, where the type has it. */
HVX_INLINE HVX_VectorPair super_dot_d(uint32_t type, const HVX_Vector *w, uint32_t blocks, uint32_t i) {
    const HVX_Vector *scales = w + blocks * htp_tile_quant_vectors(type);
    HVX_Vector d = scales[type == HTP_TYPE_Q6_K ? 8 : type == HTP_TYPE_Q3_K ? 6 : 0];
    if (type == HTP_TYPE_IQ4_XS) /* what stands beside d is no float */
        d = Q6_V_vand_VV(d, hvx_splat_i32(0xffff));
    else if (i != 0)
        d = Q6_Vuw_vlsr_VuwR(d, 16);
    return hvx_mul_f16_qf32(d, hvx_splat_i32(HVX_HALF_ONE));
}

/* total + d * sum - dmin * least, all qf32; least counts minima of Q2_K negative, as the record's sums are. */
HVX_INLINE HVX_Vector super_dot_close(uint32_t type, HVX_Vector total, HVX_VectorPair d, HVX_Vector sum,
                                      HVX_Vector least) {
    total = hvx_add_qf32(total, hvx_mul_qf32(Q6_V_lo_W(d), sum));
    if (!super_dot_has_dmin(type))
        return total;
    const HVX_Vector product = hvx_mul_qf32(Q6_V_hi_W(d), least);
    return type == HTP_TYPE_Q2_K ? hvx_add_qf32(total, product) : hvx_sub_qf32(total, product);
}

#endif
