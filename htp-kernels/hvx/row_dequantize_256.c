/*
 * Rows of blocks of 256 to f32. The formulas are ggml's; row.h has them.
 *
 * All types keep the quants of several runs of 32 in the same bytes, so two vectors of bytes hold the quants of a
 * block, and each has four of its eight runs, in an order of the type's.
 */
#include "hvx/row_blocks.h"
#include "runtime/types.h"

#define RUNS 8 /* of 32 in a block */

/* four runs of 32 bytes, each the same word over and over */
#define EIGHT(x) x, x, x, x, x, x, x, x
#define FOUR_RUNS(a, b, c, d) \
    { EIGHT(a##u * 0x01010101u), EIGHT(b##u * 0x01010101u), EIGHT(c##u * 0x01010101u), EIGHT(d##u * 0x01010101u) }
typedef uint32_t run_words[HVX_WORDS] __attribute__((aligned(HVX_BYTES)));

/* ---- scales ---- */

static uint32_t word_at(const uint8_t *p) { return (uint32_t)load_half(p) | (uint32_t)load_half(p + 2) << 16; }

/* 12 bytes of Q4_K and Q5_K as two words of four scales and two of four minima, six bits each in a byte of its own */
static void six_bits_4_k(const uint8_t *bytes, uint32_t *scales, uint32_t *minima) {
    const uint32_t a = word_at(bytes), b = word_at(bytes + 4), c = word_at(bytes + 8);
    scales[0] = a & 0x3f3f3f3f;
    minima[0] = b & 0x3f3f3f3f;
    scales[1] = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030);
    minima[1] = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
}

/* 12 bytes of Q3_K as four words of four scales */
static void six_bits_3_k(const uint8_t *bytes, uint32_t *scales) {
    const uint32_t a = word_at(bytes), b = word_at(bytes + 4), c = word_at(bytes + 8);
    scales[0] = (a & 0x0f0f0f0f) | (c << 4 & 0x30303030);
    scales[1] = (b & 0x0f0f0f0f) | (c << 2 & 0x30303030);
    scales[2] = (a >> 4 & 0x0f0f0f0f) | (c & 0x30303030);
    scales[3] = (b >> 4 & 0x0f0f0f0f) | (c >> 2 & 0x30303030);
}

static uint32_t byte_of(const uint32_t *words, uint32_t i) { return words[i / 4] >> i % 4 * 8 & 255; }

void htp_row_scales(uint32_t type, uint32_t halves, const uint8_t *bytes, struct htp_row_scales *to) {
    const float d = hvx_scale_from_half((uint16_t)halves), dmin = hvx_scale_from_half((uint16_t)(halves >> 16));
    uint32_t scales[4], minima[2];
    if (type == HTP_TYPE_Q4_K || type == HTP_TYPE_Q5_K)
        six_bits_4_k(bytes, scales, minima);
    else if (type == HTP_TYPE_Q3_K)
        six_bits_3_k(bytes, scales);
    for (uint32_t i = 0; i < HTP_ROW_SCALES; i++) {
        const uint32_t run = i / 2;
        int32_t scale, minimum = 0;
        switch (type) {
        case HTP_TYPE_Q4_K:
        case HTP_TYPE_Q5_K:
            scale = (int32_t)byte_of(scales, run);
            minimum = (int32_t)byte_of(minima, run);
            break;
        case HTP_TYPE_Q2_K:
            scale = bytes[i] & 15;
            minimum = bytes[i] >> 4;
            break;
        case HTP_TYPE_Q3_K:
            scale = (int32_t)byte_of(scales, i) - 32;
            break;
        case HTP_TYPE_IQ4_XS:
            scale = (int32_t)((bytes[run / 2] >> run % 2 * 4 & 15u) | (halves >> 16 >> 2 * run & 3) << 4) - 32;
            break;
        default:
            scale = (int8_t)bytes[i];
            break;
        }
        to->scale[i] = d * (float)scale;
        to->minimum[i] = -(dmin * (float)minimum);
    }
    if (type != HTP_TYPE_Q2_K && type != HTP_TYPE_Q4_K && type != HTP_TYPE_Q5_K) { /* no dmin: something else there */
        for (uint32_t i = 0; i < HTP_ROW_SCALES; i++)
            to->minimum[i] = 0;
    }
}

static void block_scales(uint32_t type, const uint8_t *block, struct htp_row_scales *to) {
    switch (type) {
    case HTP_TYPE_Q2_K:
        htp_row_scales(type, word_at(block + 80), block, to);
        break;
    case HTP_TYPE_Q3_K:
        htp_row_scales(type, load_half(block + 108), block + 96, to);
        break;
    case HTP_TYPE_Q6_K:
        htp_row_scales(type, load_half(block + 208), block + 192, to);
        break;
    default:
        htp_row_scales(type, word_at(block), block + 4, to);
        break;
    }
}

/* ---- quants: 256 bytes in two vectors ---- */

HVX_INLINE HVX_Vector low_nibbles(HVX_Vector v) { return Q6_V_vand_VV(v, hvx_splat_i32(0x0f0f0f0f)); }
HVX_INLINE HVX_Vector high_nibbles(HVX_Vector v) { return Q6_Vub_vlsr_VubR(v, 4); }
HVX_INLINE HVX_Vector pairs_of(HVX_Vector v) { return Q6_V_vand_VV(v, hvx_splat_i32(0x03030303)); }

/* the bit of each byte that a mask names, as bit `place`. x - max(x - 1, 0) is 0 or 1. */
HVX_INLINE HVX_Vector bits_to(HVX_Vector v, const uint32_t *mask, int32_t place) {
    const HVX_Vector some = Q6_V_vand_VV(v, hvx_load_aligned(mask));
    const HVX_Vector one = Q6_Vub_vsub_VubVub_sat(some, Q6_Vub_vsub_VubVub_sat(some, hvx_splat_i32(0x01010101)));
    return Q6_Vw_vasl_VwR(one, place);
}

/* the first 32 bytes four times */
HVX_INLINE HVX_Vector four_times(HVX_Vector v) {
    const HVX_Vector one = Q6_V_vand_QV(Q6_Q_vsetq_R(32), v);
    const HVX_Vector two = Q6_V_vor_VV(one, Q6_V_vror_VR(one, -32));
    return Q6_V_vor_VV(two, Q6_V_vror_VR(two, -64));
}

/* runs a b c d and e f g h -> a b e f */
HVX_INLINE HVX_Vector two_and_two(HVX_Vector a, HVX_Vector e) {
    return Q6_V_vmux_QVV(Q6_Q_vsetq_R(64), a, Q6_V_vror_VR(e, -64));
}

/* 64 bytes in front, two runs of which each byte has pairs of four: runs 0 4 1 5, and 2 6 3 7 as the result's pair */
HVX_INLINE HVX_VectorPair shared_pairs(HVX_Vector v) {
    const HVX_Vector first = two_and_two(v, Q6_Vub_vlsr_VubR(v, 2));
    return Q6_W_vcombine_VV(pairs_of(Q6_Vub_vlsr_VubR(first, 4)), pairs_of(first));
}

HVX_INLINE HVX_VectorPair quants_q3_k(const uint8_t *block) {
    static const run_words masks[2] = {FOUR_RUNS(1, 16, 2, 32), FOUR_RUNS(4, 64, 8, 128)};
    const HVX_Vector v = hvx_load_bytes(block, 96), bits = four_times(v);
    const HVX_VectorPair pairs = shared_pairs(Q6_V_vror_VR(v, 32));
    return Q6_W_vcombine_VV(Q6_V_vor_VV(Q6_V_hi_W(pairs), bits_to(bits, masks[1], 2)),
                            Q6_V_vor_VV(Q6_V_lo_W(pairs), bits_to(bits, masks[0], 2)));
}

HVX_INLINE HVX_VectorPair quants_q5_k(const uint8_t *block) {
    static const run_words masks[2] = {FOUR_RUNS(1, 4, 16, 64), FOUR_RUNS(2, 8, 32, 128)};
    const HVX_Vector v = hvx_load(block + 48), bits = four_times(hvx_load(block + 16));
    return Q6_W_vcombine_VV(Q6_V_vor_VV(high_nibbles(v), bits_to(bits, masks[1], 4)),
                            Q6_V_vor_VV(low_nibbles(v), bits_to(bits, masks[0], 4)));
}

HVX_INLINE HVX_VectorPair quants_q6_k(const uint8_t *block) {
    const HVX_Vector v = hvx_load(block), upper = Q6_V_vror_VR(hvx_load(block + 82), 128 - 82); /* 64 bytes of pairs */
    /* of the runs A and B of pairs: A, A >> 2, B, B >> 2, and these once more shifted by 4 */
    const HVX_Vector later = Q6_Vub_vlsr_VubR(upper, 2);
    const HVX_VectorPair mixed = Q6_W_vshuff_VVR(later, upper, -32);
    const HVX_Vector first = Q6_V_lo_W(mixed), second = Q6_Vub_vlsr_VubR(first, 4);
    return Q6_W_vcombine_VV(Q6_V_vor_VV(high_nibbles(v), Q6_Vw_vasl_VwR(pairs_of(second), 4)),
                            Q6_V_vor_VV(low_nibbles(v), Q6_Vw_vasl_VwR(pairs_of(first), 4)));
}

/* what they stand for, but for the scale; signed bytes */
HVX_INLINE HVX_VectorPair block_quants(uint32_t type, const uint8_t *block) {
    HVX_VectorPair q;
    HVX_Vector v;
    switch (type) {
    case HTP_TYPE_Q2_K:
        return shared_pairs(hvx_load_bytes(block + 16, 64));
    case HTP_TYPE_Q3_K:
        q = quants_q3_k(block);
        break;
    case HTP_TYPE_Q5_K:
        return quants_q5_k(block);
    case HTP_TYPE_Q6_K:
        q = quants_q6_k(block);
        break;
    case HTP_TYPE_IQ4_XS:
        v = hvx_load(block + 8);
        q = Q6_W_vshuff_VVR(high_nibbles(v), low_nibbles(v), -16);
        break;
    default:
        v = hvx_load(block + 16);
        return Q6_W_vcombine_VV(high_nibbles(v), low_nibbles(v));
    }
    return Q6_W_vcombine_VV(hvx_row_signed(type, Q6_V_hi_W(q)), hvx_row_signed(type, Q6_V_lo_W(q)));
}

/* run `place` of vector `half` */
HVX_INLINE uint32_t run_at(uint32_t type, uint32_t half, uint32_t place) {
    switch (type) {
    case HTP_TYPE_Q2_K:
    case HTP_TYPE_Q3_K:
        return place % 2 * 4 + place / 2 + 2 * half;
    case HTP_TYPE_Q6_K:
        return place + place / 2 * 2 + 2 * half;
    case HTP_TYPE_IQ4_XS:
        return place + 4 * half;
    default:
        return 2 * place + half;
    }
}

/* ---- blocks ---- */

HVX_INLINE void expand_block(uint32_t type, uint8_t *restrict dst, const uint8_t *restrict block) {
    const HVX_VectorPair quants = block_quants(type, block);
    const HVX_VectorPred first = Q6_Q_vsetq_R(64);
    struct htp_row_scales s;
    block_scales(type, block, &s);
    HVX_UNROLL
    for (uint32_t half = 0; half < 2; half++) {
        const HVX_VectorPair halves =
            Q6_W_vshuff_VVR(half == 0 ? Q6_V_lo_W(quants) : Q6_V_hi_W(quants), hvx_zero(), -1);
        const HVX_VectorPair a = Q6_W_vshuff_VVR(Q6_V_lo_W(halves), hvx_zero(), -2);
        const HVX_VectorPair b = Q6_W_vshuff_VVR(Q6_V_hi_W(halves), hvx_zero(), -2);
        const HVX_Vector words[4] = {Q6_V_lo_W(a), Q6_V_hi_W(a), Q6_V_lo_W(b), Q6_V_hi_W(b)};
        HVX_UNROLL
        for (uint32_t place = 0; place < 4; place++) {
            const uint32_t run = run_at(type, half, place);
            hvx_store(dst + run * HVX_BYTES,
                      hvx_row_scaled(type, Q6_Vw_vasr_VwR(words[place], 24), s.scale + 2 * run, s.minimum + 2 * run,
                                     first));
        }
    }
}

HVX_INLINE void dequantize(uint32_t type, uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t bytes = htp_type_bytes(type);
    HVX_ROLLED
    for (uint32_t i = count / (RUNS * BLOCK); i > 0; i--, src += bytes, dst += RUNS * HVX_BYTES)
        expand_block(type, dst, src);
}

#define DEQUANTIZE(name, type)                                           \
    static void name(uint8_t *dst, const uint8_t *src, uint32_t count) { \
        dequantize(HTP_TYPE_##type, dst, src, count);                    \
    }
DEQUANTIZE(from_q2_k, Q2_K)
DEQUANTIZE(from_q3_k, Q3_K)
DEQUANTIZE(from_q4_k, Q4_K)
DEQUANTIZE(from_q5_k, Q5_K)
DEQUANTIZE(from_q6_k, Q6_K)
DEQUANTIZE(from_iq4_xs, IQ4_XS)

htp_row_fn htp_row_dequantizer_256(uint32_t from) {
    switch (from) {
    case HTP_TYPE_Q2_K:
        return from_q2_k;
    case HTP_TYPE_Q3_K:
        return from_q3_k;
    case HTP_TYPE_Q4_K:
        return from_q4_k;
    case HTP_TYPE_Q5_K:
        return from_q5_k;
    case HTP_TYPE_Q6_K:
        return from_q6_k;
    case HTP_TYPE_IQ4_XS:
        return from_iq4_xs;
    default:
        return NULL;
    }
}
