/*
 * Weights -> f16 tiles of the matrix unit.
 *
 * Both layouts keep weight row n in word lane n, so nothing crosses lanes. A vector of nibbles holds 8 positions of K
 * and becomes four vectors of a tile, which hold two each: the table look-up turns the low nibbles of all bytes into
 * f16, even and odd bytes apart, and these are paired again. High nibbles the same after one shift. Then times the
 * scale of the block, which is in both halves of a lane. hmx_weights_256.c has the types of larger blocks.
 */
#include "ops/matmul/hmx_tiles.h"
#include "ops/matmul/tile_dot.h"

#if HMX_EXISTS

#define MAGNITUDE_HALVES 0x7fff7fff
#define MXFP4_BIAS (127 - 15 - HMX_MXFP4_SHIFT) /* from an exponent byte to the exponent field of f16 */

/* entry i in half-word 2i */
#define TABLE_16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    {a, 0, b, 0, c, 0, d, 0, e, 0, f, 0, g, 0, h, 0, i, 0, j, 0, k, 0, l, 0, m, 0, n, 0, o, 0, p, 0}
typedef uint16_t half_table[HVX_HALVES] __attribute__((aligned(128)));
/* -8 .. 7 */
static const half_table q4_0_table = TABLE_16(0xc800, 0xc700, 0xc600, 0xc500, 0xc400, 0xc200, 0xc000, 0xbc00, 0, 0x3c00,
                                              0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700);
/* 0 .. 15 */
static const half_table q4_1_table = TABLE_16(0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800, 0x4880,
                                              0x4900, 0x4980, 0x4a00, 0x4a80, 0x4b00, 0x4b80);
/* 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives */
static const half_table mxfp4_table = TABLE_16(0, 0x3800, 0x3c00, 0x3e00, 0x4000, 0x4200, 0x4400, 0x4600, 0x8000,
                                               0xb800, 0xbc00, 0xbe00, 0xc000, 0xc200, 0xc400, 0xc600);
/* -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 */
static const half_table iq4_nl_table = TABLE_16(0xd7f0, 0xd680, 0xd530, 0xd410, 0xd220, 0xd060, 0xcd80, 0xc900, 0x3c00,
                                                0x4a80, 0x4e40, 0x50c0, 0x52a0, 0x5450, 0x5590, 0x5710);

HVX_INLINE HVX_Vector table_of(uint32_t type) {
    const uint16_t *table = type == HTP_TYPE_Q4_0   ? q4_0_table
                            : type == HTP_TYPE_Q4_1 ? q4_1_table
                            : type == HTP_TYPE_MXFP4 ? mxfp4_table
                                                    : iq4_nl_table;
    return hvx_load_aligned(table);
}

/* ---- scales ---- */

HVX_INLINE bool has_minimum(uint32_t type) { return type == HTP_TYPE_Q4_1 || type == HTP_TYPE_Q5_1; }

/* Half `place` of each lane in both halves. */
HVX_INLINE HVX_Vector repeat_half(HVX_Vector v, uint32_t place) {
    return place ? Q6_Vh_vshuffo_VhVh(v, v) : Q6_Vh_vshuffe_VhVh(v, v);
}

/* MXFP4: 2^(byte - 127 + HMX_MXFP4_SHIFT) as f16 from byte `place` of each lane; what is too small becomes 0. */
HVX_INLINE HVX_Vector power_scale(HVX_Vector bytes, uint32_t place) {
    const HVX_Vector fields = Q6_Vub_vsub_VubVub_sat(bytes, Q6_Vb_vsplat_R(MXFP4_BIAS));
    const HVX_Vector two = repeat_half(fields, place / 2);
    const HVX_Vector field = place % 2 ? Q6_Vuh_vlsr_VuhR(two, 8) : Q6_V_vand_VV(two, hvx_splat_i32(0x00ff00ff));
    return Q6_Vw_vasl_VwR(field, 10);
}

HVX_INLINE HVX_Vector block_scale(uint32_t type, const HVX_Vector *scales, uint32_t place) {
    return type == HTP_TYPE_MXFP4 ? power_scale(scales[0], place) : repeat_half(scales[0], place);
}

HVX_INLINE HVX_Vector larger_scales(uint32_t type, const HVX_Vector *scales, HVX_Vector largest) {
    if (type == HTP_TYPE_MXFP4)
        return Q6_Vub_vmax_VubVub(largest, scales[0]);
    const HVX_Vector mask = hvx_splat_i32(MAGNITUDE_HALVES);
    largest = Q6_Vuh_vmax_VuhVuh(largest, Q6_V_vand_VV(scales[0], mask));
    return has_minimum(type) ? Q6_Vuh_vmax_VuhVuh(largest, Q6_V_vand_VV(scales[1], mask)) : largest;
}

/* ---- blocks ---- */

/* minimum: anything where the type has none */
HVX_INLINE HVX_Vector weight(uint32_t type, HVX_Vector quants, HVX_Vector scale, HVX_Vector minimum) {
    const HVX_Vector product = Q6_Vqf16_vmpy_VhfVhf(quants, scale);
    return Q6_Vhf_equals_Vqf16(has_minimum(type) ? Q6_Vqf16_vadd_Vqf16Vhf(product, minimum) : product);
}

HVX_INLINE void pack_nibbles(uint32_t type, const HVX_Vector *quants, HVX_Vector table, HVX_Vector scale,
                             HVX_Vector minimum, HVX_Vector *tile) {
    HVX_UNROLL
    for (uint32_t i = 0; i < 8; i++) {
        const HVX_Vector bytes = i % 2 ? Q6_Vuh_vlsr_VuhR(quants[i / 2], 4) : quants[i / 2];
        const HVX_VectorPair looked_up = Q6_Wh_vlut16_VbVhR_nomatch(bytes, table, 0);
        const HVX_VectorPair pairs = Q6_Wh_vshuffoe_VhVh(Q6_V_hi_W(looked_up), Q6_V_lo_W(looked_up));
        tile[2 * i] = weight(type, Q6_V_lo_W(pairs), scale, minimum);
        tile[2 * i + 1] = weight(type, Q6_V_hi_W(pairs), scale, minimum);
    }
}

/* Quants as bytes: Q8_0, which stores them so, and the Q5 types. */
HVX_INLINE void pack_bytes(uint32_t type, const HVX_Vector *quants, HVX_Vector scale, HVX_Vector minimum,
                           HVX_Vector *tile) {
    const HVX_Vector zero = Q6_Vb_vsplat_R((int32_t)htp_tile_zero(type));
    HVX_UNROLL
    for (uint32_t i = 0; i < 8; i++) {
        const HVX_Vector bytes = type == HTP_TYPE_Q8_0 ? quants[i] : tile_dot_operand(type, quants, (int)i, zero);
        const HVX_VectorPair wide = Q6_Wh_vsub_VubVub(bytes, zero);
        const HVX_Vector even = Q6_V_lo_W(wide), odd = Q6_V_hi_W(wide);
        const HVX_Vector first = Q6_Vhf_equals_Vh(Q6_Vh_vshuffe_VhVh(odd, even));
        const HVX_Vector second = Q6_Vhf_equals_Vh(Q6_Vh_vshuffo_VhVh(odd, even));
        tile[2 * i] = weight(type, first, scale, minimum);
        tile[2 * i + 1] = weight(type, second, scale, minimum);
    }
}

#define TILE_VECTORS (HMX_TILE_BYTES / HVX_BYTES)

/* A block, which is `place` of its scale group. */
HVX_INLINE void pack_block(uint32_t type, const HVX_Vector *quants, const HVX_Vector *scales, uint32_t place,
                           HVX_Vector table, HVX_Vector *tile) {
    const HVX_Vector scale = block_scale(type, scales, place);
    const HVX_Vector minimum = has_minimum(type) ? repeat_half(scales[1], place) : scale;
    if (type == HTP_TYPE_Q8_0 || type == HTP_TYPE_Q5_0 || type == HTP_TYPE_Q5_1) {
        pack_bytes(type, quants, scale, minimum, tile);
        return;
    }
    pack_nibbles(type, quants, table, scale, minimum, tile);
}

HVX_INLINE void pack_column(uint32_t type, const HVX_Vector *restrict column, uint32_t blocks,
                            HVX_Vector *restrict tiles, HVX_Vector *restrict largest) {
    const HVX_Vector table = table_of(type);
    const uint32_t quants = htp_tile_quant_vectors(type), group = htp_tile_scale_group(type);
    HVX_Vector most = *largest;
    HVX_ROLLED
    for (; blocks >= group; blocks -= group) {
        const HVX_Vector *scales = column + group * quants;
        most = larger_scales(type, scales, most);
        HVX_UNROLL
        for (uint32_t place = 0; place < group; place++)
            pack_block(type, column + place * quants, scales, place, table, tiles + place * TILE_VECTORS);
        column += htp_tile_group_vectors(type);
        tiles += group * TILE_VECTORS;
    }
    if (blocks > 0) {
        const HVX_Vector *scales = column + blocks * quants;
        most = larger_scales(type, scales, most);
        HVX_ROLLED
        for (uint32_t place = 0; place < blocks; place++)
            pack_block(type, column + place * quants, scales, place, table, tiles + place * TILE_VECTORS);
    }
    *largest = most;
}

/*
 * X(type, name, bytes of a scale, smallest, largest, log2 of how much larger weights become)
 * Scales of f16: the largest quant times the largest scale is below 65504; for the _1 types the minimum, under the same
 * limit, comes on top. MXFP4: blocks below 2^(MXFP4_BIAS - 127) count as zero, so the largest one has to be 2^8 times
 * as much.
 */
#define HMX_WEIGHTS_32_LIST(X)         \
    X(Q4_0, q4_0, 2, 0, 0x6fd0, 0)     \
    X(Q8_0, q8_0, 2, 0, 0x5fe0, 0)     \
    X(Q4_1, q4_1, 2, 0, 0x6bd0, 0)     \
    X(IQ4_NL, iq4_nl, 2, 0, 0x5fe0, 0) \
    X(Q5_0, q5_0, 2, 0, 0x6bd0, 0)     \
    X(Q5_1, q5_1, 2, 0, 0x67d0, 0)     \
    X(MXFP4, mxfp4, 1, MXFP4_BIAS + 9, MXFP4_BIAS + 26, HMX_MXFP4_SHIFT)

#define DEFINE_KERNEL(TYPE, name, bytes, low, high, shift)                                                   \
    static void hmx_weights_##name(const HVX_Vector *restrict column, uint32_t blocks, HVX_Vector *restrict tiles,   \
                            HVX_Vector *restrict largest) {                                                  \
        pack_column(HTP_TYPE_##TYPE, column, blocks, tiles, largest);                                        \
    }
HMX_WEIGHTS_32_LIST(DEFINE_KERNEL)
#undef DEFINE_KERNEL

const struct hmx_weights *hmx_weights_of(uint32_t type) {
    switch (type) {
#define WEIGHTS_CASE(TYPE, name, bytes, low, high, shift)                                          \
    case HTP_TYPE_##TYPE: {                                                                        \
        static const struct hmx_weights weights = {hmx_weights_##name, bytes, low, high, shift};   \
        return &weights;                                                                           \
    }
        HMX_WEIGHTS_32_LIST(WEIGHTS_CASE)
        HMX_WEIGHTS_256_LIST(WEIGHTS_CASE)
#undef WEIGHTS_CASE
    default:
        return NULL;
    }
}

HVX_Vector hmx_unfit_weights(const struct hmx_weights *w, HVX_Vector largest) {
    /* of a lane: the larger half, and of that the larger byte */
    HVX_Vector most;
    if (w->scale_bytes == 1) {
        most = Q6_Vub_vmax_VubVub(largest, Q6_Vuw_vlsr_VuwR(largest, 16));
        most = Q6_Vub_vmax_VubVub(most, Q6_Vuw_vlsr_VuwR(most, 8));
        most = Q6_V_vand_VV(most, hvx_splat_i32(0xff));
    } else {
        most = Q6_Vuh_vmax_VuhVuh(largest, Q6_Vuw_vlsr_VuwR(largest, 16));
        most = Q6_V_vand_VV(most, hvx_splat_i32(0xffff));
    }
    const HVX_Vector all = hvx_splat_i32(-1);
    const HVX_Vector above = Q6_V_vand_QV(Q6_Q_vcmp_gt_VwVw(most, hvx_splat_i32((int32_t)w->largest)), all);
    const HVX_VectorPred below = Q6_Q_vcmp_gt_VwVw(hvx_splat_i32((int32_t)w->smallest), most);
    return Q6_V_vor_VV(above, Q6_V_vand_QV(below, most)); /* a largest scale of 0 is fine: the row is all zero */
}

/* ---- f16 ---- */

/*
 * Seen as words, a vector of 64 values of each of 32 rows, turned over, is two tiles. Turning over takes five rounds of
 * interleaving vectors i and i + 16 (hvx/transpose.h says why). Three of them stay within the vectors whose numbers end
 * with the same two bits, the other two within those that end with the same three bits: done in registers.
 */
HVX_INLINE void interleave_round(const HVX_Vector *from, uint32_t count, HVX_Vector *to) {
    HVX_UNROLL
    for (uint32_t i = 0; i < count / 2; i++) {
        const HVX_VectorPair pair = hvx_interleave_words(from[i], from[i + count / 2]);
        to[2 * i] = Q6_V_lo_W(pair);
        to[2 * i + 1] = Q6_V_hi_W(pair);
    }
}

static void turn_rows(const uint8_t *restrict rows, size_t row_bytes, HVX_Vector *restrict to) {
    HVX_ROLLED
    for (uint32_t g = 0; g < 4; g++, rows += row_bytes, to += 8) {
        HVX_Vector a[8], b[8];
        HVX_UNROLL
        for (uint32_t i = 0; i < 8; i++)
            a[i] = hvx_load_aligned(rows + 4 * i * row_bytes);
        interleave_round(a, 8, b);
        interleave_round(b, 8, a);
        interleave_round(a, 8, to);
    }
}

/* the first `groups` * 4 vectors of the two tiles */
static void turn_on(const HVX_Vector *restrict from, uint32_t groups, HVX_Vector *restrict tiles) {
    HVX_ROLLED
    for (; groups > 0; groups--, from++, tiles += 4) {
        const HVX_Vector a[4] = {from[0], from[8], from[16], from[24]};
        HVX_Vector b[4];
        interleave_round(a, 4, b);
        interleave_round(b, 4, tiles);
    }
}

void hmx_weights_f16(const uint8_t *rows, size_t row_bytes, uint32_t blocks, HVX_Vector *tiles, HVX_Vector *scratch) {
    for (; blocks > 1; blocks -= 2, rows += HVX_BYTES, tiles += 2 * TILE_VECTORS) {
        turn_rows(rows, row_bytes, scratch);
        turn_on(scratch, 2 * TILE_VECTORS / 4, tiles);
    }
    if (blocks > 0) {
        turn_rows(rows, row_bytes, scratch);
        turn_on(scratch, TILE_VECTORS / 4, tiles);
    }
}

#endif
