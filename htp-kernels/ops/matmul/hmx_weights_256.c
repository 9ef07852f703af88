/*
 * Weights of blocks of 256 -> f16 tiles of the matrix unit.
 *
 * A weight is d * scale * quant, less dmin * minimum, with integers scale, quant and minimum. All but d is computed in
 * 16-bit integers, exactly: bytes of quants times bytes of scales. One conversion and one product with d follow, so a
 * weight has two roundings to f16. What integers are multiples of is d / 2^shift, since quants stay in those bits of a
 * byte where they get with little work; weights become 2^shift times as large.
 *
 *   zero points   Q6_K, Q3_K: bit 7 of the byte stands for the zero: with it turned over, the byte is the signed quant
 *   minima        Q4_K, Q5_K, Q2_K: minimum * dmin / d, rounded, in the same units; the ratio is taken once a block
 *
 * A ratio so large that integers might not fit 16 bits makes weights unfit: the largest scale is then reported as one
 * that is beyond the limit. So is a block without d that has minima.
 */
#include "ops/matmul/hmx_tiles.h"
#include "ops/matmul/super_dot.h"

#if HMX_EXISTS

#define MAGNITUDE_HALVES 0x7fff7fff
#define MAGNITUDE_WORDS 0x7fffffff

/* ---- quants ---- */

/* for vlut32, as in tile_dot.h; signed */
#define IQ4_VALUES TILE_DOT_16(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
static const int8_t iq4_values[HVX_BYTES] __attribute__((aligned(128))) = {IQ4_VALUES, IQ4_VALUES};

/* Moved up by so many bits by additions: shifts share their pipe with the conversions, of which there are many. */
HVX_INLINE HVX_Vector doubled(HVX_Vector v, int times) {
    HVX_UNROLL
    for (int i = 0; i < times; i++)
        v = Q6_Vw_vadd_VwVw(v, v);
    return v;
}

/* Bits of each byte, moved up by `by` places (down if negative): as words, what crosses bytes is masked. */
HVX_INLINE HVX_Vector bits(HVX_Vector v, int by, int mask) {
    if (by > 2)
        v = Q6_Vw_vasl_VwR(v, by);
    else if (by < 0)
        v = Q6_Vuw_vlsr_VuwR(v, -by);
    else
        v = doubled(v, by);
    return Q6_V_vand_VV(v, super_dot_bytes(mask));
}

/* Bit i of each byte as bit 7. */
HVX_INLINE HVX_Vector top_bit(HVX_Vector v, int i) {
    return Q6_V_vand_VV(doubled(v, 7 - i), super_dot_bytes(0x80));
}

/* Vector i, positions 4i .. 4i+3, of a K-block x: quants times 2^shift. Of a type with a zero: signed, less zero. */
HVX_INLINE HVX_Vector operand(uint32_t type, const HVX_Vector *x, int i) {
    const HVX_Vector all = hvx_splat_i32(-1);
    switch (type) {
    case HTP_TYPE_Q4_K:
        return bits(x[i / 2], i % 2 ? 0 : 4, 0xf0);
    case HTP_TYPE_Q5_K:
        return Q6_V_vor_VV(bits(x[i / 2], i % 2 ? -1 : 3, 0x78), top_bit(x[4], i));
    case HTP_TYPE_Q6_K:
        return Q6_V_vor_VV(bits(x[i / 2], i % 2 ? -2 : 2, 0x3c),
                           bits(Q6_V_vxor_VV(x[4 + i / 4], super_dot_bytes(0xaa)), 6 - i % 4 * 2, 0xc0));
    case HTP_TYPE_Q3_K:
        return Q6_V_vor_VV(bits(x[i / 4], 5 - i % 4 * 2, 0x60), top_bit(Q6_V_vxor_VV(x[2], all), i));
    case HTP_TYPE_Q2_K:
        return bits(x[i / 4], 6 - i % 4 * 2, 0xc0);
    default:
        return Q6_Vb_vlut32_VbVbR_nomatch(i % 2 ? super_dot_high(x[i / 2]) : x[i / 2], hvx_load_aligned(iq4_values), 0);
    }
}

/* ---- scales ---- */

/* Byte j (a constant) of each word in all four bytes. */
HVX_INLINE HVX_Vector repeat_byte(HVX_Vector v, int j) {
    static const int32_t moves[4] = {0x03020100, 0x02030001, 0x01000302, 0x00010203};
    return Q6_V_vdelta_VV(v, hvx_splat_i32(moves[j]));
}

/* The integer scales of a block, a byte each: word i / 4, byte i % 4 is scale i; of IQ4_XS word i % 2, byte i / 2. */
struct scale_words {
    HVX_Vector words[4];
};

/* the upper bits of all scales, spread from the high half of v0 so that each is in the byte of its lower bits */
HVX_INLINE void iq4_xs_scales(const HVX_Vector *s, struct scale_words *to) {
    const HVX_Vector upper = Q6_V_vdelta_VV(s[0], hvx_splat_i32(0x00010302));
    const HVX_Vector low = hvx_splat_i32(0x00300030), high = hvx_splat_i32(0x30003000);
    const HVX_Vector up = Q6_Vw_vasl_VwR(upper, 2), down = Q6_Vuw_vlsr_VuwR(upper, 2);
    const HVX_Vector even = Q6_V_vor_VV(Q6_V_vand_VV(Q6_Vw_vasl_VwR(upper, 4), low), Q6_V_vand_VV(upper, high));
    const HVX_Vector odd = Q6_V_vor_VV(Q6_V_vand_VV(up, low), Q6_V_vand_VV(down, high));
    const HVX_Vector zero = super_dot_bytes(32);
    to->words[0] = Q6_Vb_vsub_VbVb(Q6_V_vor_VV(super_dot_low(s[1]), even), zero);
    to->words[1] = Q6_Vb_vsub_VbVb(Q6_V_vor_VV(super_dot_high(s[1]), odd), zero);
}

/* s: scale vectors of the block */
HVX_INLINE struct scale_words block_scales(uint32_t type, const HVX_Vector *s) {
    struct scale_words r;
    if (type == HTP_TYPE_IQ4_XS) {
        iq4_xs_scales(s, &r);
        return r;
    }
    HVX_UNROLL
    for (int i = 0; i < 4; i++) {
        if (super_dot_is_16(type))
            r.words[i] = super_dot_four(type, s, i);
        else if (i < 2)
            r.words[i] = super_dot_six_bits(s[1], s[3], i, false);
    }
    return r;
}

/* of the first (half 0) or the last 16 weights of K-block b, in all bytes of a lane */
HVX_INLINE HVX_Vector scale_of(uint32_t type, const struct scale_words *scales, int b, int half) {
    if (type == HTP_TYPE_IQ4_XS)
        return repeat_byte(scales->words[b % 2], b / 2);
    const int i = super_dot_is_16(type) ? 2 * b + half : b;
    return repeat_byte(scales->words[i / 4], i % 4);
}

/* ---- minima ---- */

/* |dmin / d| up to which integers fit 16 bits, and the ratio itself does, in 1/1024 (Q5_K: 1/512). */
HVX_INLINE float largest_ratio(uint32_t type) {
    return type == HTP_TYPE_Q4_K ? 17 : type == HTP_TYPE_Q5_K ? 33 : 31;
}

/* -dmin / d in 1/1024 (Q5_K: 1/512), in both halves of a lane; first: d and dmin. Too large: `largest` is all ones. */
HVX_INLINE HVX_Vector minus_ratio(uint32_t type, HVX_Vector first, HVX_Vector *largest) {
    const HVX_VectorPair f = hvx_f16_to_f32(first);
    const HVX_Vector d = Q6_V_lo_W(f), dmin = Q6_V_hi_W(f), mask = hvx_splat_i32(MAGNITUDE_WORDS);
    const HVX_Vector size = Q6_V_vand_VV(d, mask);
    const HVX_Vector most = hvx_mul_f32(size, hvx_splat_f32(largest_ratio(type)));
    const HVX_VectorPred bad = Q6_Q_vcmp_gt_VwVw(Q6_V_vand_VV(dmin, mask), most);
    *largest = Q6_Vuh_vmax_VuhVuh(*largest, Q6_V_vand_QV(bad, hvx_splat_i32(MAGNITUDE_HALVES)));
    const HVX_Vector by = Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(size, hvx_zero()), hvx_splat_f32(1), size);
    const HVX_Vector unit = hvx_splat_f32(type == HTP_TYPE_Q5_K ? -512 : -1024);
    const HVX_Vector ratio = hvx_divide_by_f32(hvx_mul_f32(dmin, unit), by);
    const HVX_Vector with_sign = Q6_V_vxor_VV(ratio, Q6_V_vand_VV(d, hvx_splat_i32((int32_t)0x80000000u)));
    /* the last place of the sum is 1: its low half is the integer, rounded */
    const HVX_Vector sum = hvx_add_f32(with_sign, hvx_splat_f32(12582912.0f));
    return Q6_Vh_vshuffe_VhVh(sum, sum);
}

/*
 * What minima of K-block b (the first or the last 16 weights) take from its integers, in both halves of a lane. The
 * minimum is moved so far up that the upper half of twice the product with the ratio is in the units of these.
 */
HVX_INLINE HVX_Vector minus_minimum(uint32_t type, const HVX_Vector *s, HVX_Vector ratio, int b, int half) {
    HVX_Vector minimum;
    if (type == HTP_TYPE_Q2_K) {
        const HVX_Vector bytes = repeat_byte(s[1 + b / 2], b % 2 * 2 + half);
        minimum = Q6_V_vand_VV(Q6_Vuh_vlsr_VuhR(bytes, 1), hvx_splat_i32(0x78007800));
    } else {
        const HVX_Vector bytes = repeat_byte(super_dot_six_bits(s[2], s[3], b / 4, true), b % 4);
        const HVX_Vector upper = Q6_V_vand_VV(bytes, hvx_splat_i32(0x3f003f00));
        minimum = Q6_Vh_vadd_VhVh(upper, upper);
    }
    return Q6_Vh_vmpy_VhVh_s1_rnd_sat(minimum, ratio);
}

/* ---- blocks ---- */

#define TILE_VECTORS (HMX_TILE_BYTES / HVX_BYTES)

/* For each K-block of a block: its scale in all bytes of a lane, what minima take in both halves. 16: two of each. */
struct prepared {
    HVX_Vector scale[2 * SUPER_BLOCKS], least[2 * SUPER_BLOCKS];
};

HVX_INLINE void prepare(uint32_t type, const HVX_Vector *s, struct prepared *to, HVX_Vector *largest) {
    const int halves = super_dot_is_16(type) ? 2 : 1;
    const struct scale_words scales = block_scales(type, s);
    const HVX_Vector ratio = super_dot_has_dmin(type) ? minus_ratio(type, s[0], largest) : hvx_zero();
    HVX_UNROLL
    for (int i = 0; i < SUPER_BLOCKS * halves; i++) {
        to->scale[i] = scale_of(type, &scales, i / halves, i % halves);
        if (super_dot_has_dmin(type))
            to->least[i] = minus_minimum(type, s, ratio, i / halves, i % halves);
    }
}

/*
 * Half of a K-block (a constant): integers of 16 positions, then their tile vectors. The loop computes integers of the
 * next half while it converts those of this one: two kinds of work that need different pipes.
 */
struct half_tile {
    HVX_Vector integers[8];
};

/* scale, least: of the K-block, or of its halves */
HVX_INLINE struct half_tile half_of(uint32_t type, const HVX_Vector *x, const HVX_Vector *scale,
                                    const HVX_Vector *least, int half) {
    const int own = super_dot_is_16(type) ? half : 0;
    struct half_tile t;
    HVX_UNROLL
    for (int i = 0; i < 4; i++) {
        const HVX_Vector quants = operand(type, x, 4 * half + i);
        const HVX_VectorPair by_parity =
            super_dot_has_dmin(type)
                ? Q6_Wh_vmpyacc_WhVubVb(Q6_W_vcombine_VV(least[own], least[own]), quants, scale[own])
                : Q6_Wh_vmpy_VbVb(quants, scale[own]);
        const HVX_VectorPair pairs = Q6_Wh_vshuffoe_VhVh(Q6_V_hi_W(by_parity), Q6_V_lo_W(by_parity));
        t.integers[2 * i] = Q6_V_lo_W(pairs);
        t.integers[2 * i + 1] = Q6_V_hi_W(pairs);
    }
    return t;
}

HVX_INLINE void store_half_tile(struct half_tile t, HVX_Vector d, HVX_Vector *tile) {
    HVX_UNROLL
    for (int i = 0; i < 8; i++)
        tile[i] = Q6_Vhf_equals_Vqf16(Q6_Vqf16_vmpy_VhfVhf(Q6_Vhf_equals_Vh(t.integers[i]), d));
}

/* A block: its quants, its scale vectors, its d in both halves of each lane. */
HVX_INLINE void pack_block(uint32_t type, const HVX_Vector *restrict x, const HVX_Vector *restrict s, HVX_Vector d,
                           HVX_Vector *restrict tile, HVX_Vector *largest) {
    const uint32_t halves = super_dot_is_16(type) ? 2 : 1;
    struct prepared p;
    prepare(type, s, &p, largest);
    const HVX_Vector *scale = p.scale, *least = p.least;
    struct half_tile first = half_of(type, x, scale, least, 0);
    HVX_ROLLED
    for (uint32_t b = SUPER_BLOCKS - 1; b > 0; b--) {
        const struct half_tile second = half_of(type, x, scale, least, 1);
        store_half_tile(first, d, tile);
        x += htp_tile_quant_vectors(type);
        scale += halves;
        least += halves;
        first = half_of(type, x, scale, least, 0);
        store_half_tile(second, d, tile + TILE_VECTORS / 2);
        tile += TILE_VECTORS;
    }
    const struct half_tile second = half_of(type, x, scale, least, 1);
    store_half_tile(first, d, tile);
    store_half_tile(second, d, tile + TILE_VECTORS / 2);
}

HVX_INLINE void pack_column(uint32_t type, const HVX_Vector *restrict column, uint32_t blocks,
                            HVX_Vector *restrict tiles, HVX_Vector *restrict largest) {
    const uint32_t group = htp_tile_scale_group(type);
    const uint32_t d_at = type == HTP_TYPE_Q6_K ? 8 : type == HTP_TYPE_Q3_K ? 6 : 0; /* of the scale vectors */
    HVX_Vector most = *largest;
    HVX_ROLLED
    while (blocks > 0) {
        const uint32_t n = blocks < group ? blocks : group;
        const HVX_Vector *scales = column + n * htp_tile_quant_vectors(type);
        const uint32_t own = group == SUPER_BLOCKS ? 0 : d_at / 2; /* of a block, when two share a group */
        HVX_ROLLED
        for (uint32_t i = 0; i < n / SUPER_BLOCKS; i++) {
            const HVX_Vector v = scales[d_at];
            const HVX_Vector d = i == 0 ? Q6_Vh_vshuffe_VhVh(v, v) : Q6_Vh_vshuffo_VhVh(v, v);
            most = Q6_Vuh_vmax_VuhVuh(most, Q6_V_vand_VV(d, hvx_splat_i32(MAGNITUDE_HALVES)));
            pack_block(type, column, scales + i * own, d, tiles, &most);
            column += SUPER_BLOCKS * htp_tile_quant_vectors(type);
            tiles += SUPER_BLOCKS * TILE_VECTORS;
        }
        column = scales + htp_tile_scale_vectors(type);
        blocks -= n;
    }
    *largest = most;
}

#define DEFINE_KERNEL(TYPE, name, bytes, low, high, shift)                                               \
    void hmx_weights_##name(const HVX_Vector *restrict column, uint32_t blocks, HVX_Vector *restrict tiles, \
                            HVX_Vector *restrict largest) {                                              \
        pack_column(HTP_TYPE_##TYPE, column, blocks, tiles, largest);                                    \
    }
HMX_WEIGHTS_256_LIST(DEFINE_KERNEL)
#undef DEFINE_KERNEL

#endif
