/*
 * Rows of quantised blocks, to f32 and back. A block has 32 elements, as many as a vector has words, and is computed as
 * one vector. The formulas are ggml's; row.h has them.
 */
#include "hvx/row.h"

#include "htp/type_list.h"
#include "hvx/emul/half.h"
#include "hvx/half.h"
#include "runtime/types.h"

#define BLOCK 32

/* ---- blocks in memory ---- */

static uint16_t load_half(const uint8_t *p) {
    uint16_t h;
    __builtin_memcpy(&h, __builtin_assume_aligned(p, 2), 2);
    return h;
}

static void store_half(uint8_t *p, uint16_t h) { __builtin_memcpy(__builtin_assume_aligned(p, 2), &h, 2); }

/* bytes in front of a block's quants */
HVX_INLINE uint32_t head_bytes(uint32_t type) { return type == HTP_TYPE_MXFP4 ? 1 : type == HTP_TYPE_Q4_1 ? 4 : 2; }

/* ---- quants to f32 ---- */

/* Tables of vlut32: entry i in byte 2i. */
#define TABLE(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)                                          \
    { a, 0, b, 0, c, 0, d, 0, e, 0, f, 0, g, 0, h, 0, i, 0, j, 0, k, 0, l, 0, m, 0, n, 0, o, 0, p, 0 }
static const int8_t mxfp4_values[HVX_BYTES] __attribute__((aligned(128))) =
    TABLE(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12); /* twice those of the type */
static const int8_t iq4_nl_values[HVX_BYTES] __attribute__((aligned(128))) =
    TABLE(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

/* what the stored quants stand for, as signed bytes; Q8_0 with the 128 that tiles add */
HVX_INLINE HVX_Vector quant_values(uint32_t type, HVX_Vector stored) {
    const HVX_Vector top = hvx_splat_i32((int32_t)0x80808080u);
    switch (type) {
    case HTP_TYPE_Q8_0:
        return Q6_V_vxor_VV(stored, top);
    case HTP_TYPE_Q4_0: /* with the top bit set no borrow leaves a byte; then it is turned over, which is the sign */
        return Q6_V_vxor_VV(Q6_Vw_vsub_VwVw(Q6_V_vor_VV(stored, top), hvx_splat_i32(0x08080808)), top);
    case HTP_TYPE_MXFP4:
        return Q6_Vb_vlut32_VbVbR_nomatch(stored, hvx_load(mxfp4_values), 0);
    case HTP_TYPE_IQ4_NL:
        return Q6_Vb_vlut32_VbVbR_nomatch(stored, hvx_load(iq4_nl_values), 0);
    default:
        return stored;
    }
}

/* the first 32 of signed bytes, times the scale */
HVX_INLINE HVX_Vector scaled(HVX_Vector bytes, float scale) {
    const HVX_Vector halves = Q6_V_lo_W(Q6_W_vshuff_VVR(bytes, hvx_zero(), -1)); /* each byte at the top of a half */
    const HVX_Vector words = Q6_V_lo_W(Q6_W_vshuff_VVR(halves, hvx_zero(), -2)); /* ... of a word */
    return hvx_mul_f32(hvx_i32_to_f32(Q6_Vw_vasr_VwR(words, 24)), hvx_splat_f32(scale));
}

HVX_INLINE void store_block(uint32_t type, uint8_t *dst, HVX_Vector bytes, float scale, float minimum) {
    HVX_Vector x = scaled(bytes, scale);
    if (type == HTP_TYPE_Q4_1)
        x = hvx_add_f32(x, hvx_splat_f32(minimum));
    hvx_store(dst, x);
}

void htp_row_expand(uint32_t type, uint8_t *dst, const uint8_t *quants, float scale, float minimum) {
    store_block(type, dst, quant_values(type, hvx_load_bytes(quants, BLOCK)), scale, minimum);
}

/* 2^(byte - 128): half of what the byte says, as the table has the values twice */
float htp_row_mxfp4_scale(uint8_t byte) {
    return hvx_bits_float(byte < 2 ? 0x00200000u << byte : (uint32_t)(byte - 1) << 23);
}

/* low nibbles are elements 0..15, high nibbles 16..31 */
HVX_INLINE HVX_Vector load_nibbles(const uint8_t *p) {
    const HVX_Vector nibble = hvx_splat_i32(0x0f0f0f0f), quants = hvx_load_bytes(p, BLOCK / 2); /* zeros behind them */
    const HVX_Vector high = Q6_V_vand_VV(Q6_Vub_vlsr_VubR(quants, 4), nibble);
    return Q6_V_vor_VV(Q6_V_vand_VV(quants, nibble), Q6_V_vror_VR(high, -(BLOCK / 2)));
}

HVX_INLINE void dequantize(uint32_t type, uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t head = head_bytes(type);
    for (uint32_t i = count / BLOCK; i > 0; i--, src += htp_type_bytes(type), dst += HVX_BYTES) {
        const float scale = type == HTP_TYPE_MXFP4 ? htp_row_mxfp4_scale(src[0]) : hvx_half_to_float(load_half(src));
        const float minimum = type == HTP_TYPE_Q4_1 ? hvx_half_to_float(load_half(src + 2)) : 0;
        const HVX_Vector bytes = type == HTP_TYPE_Q8_0 ? hvx_load_bytes(src + head, BLOCK)
                                                       : quant_values(type, load_nibbles(src + head));
        store_block(type, dst, bytes, scale, minimum);
    }
}

#define DEQUANTIZE(name, type)                                           \
    static void name(uint8_t *dst, const uint8_t *src, uint32_t count) { \
        dequantize(HTP_TYPE_##type, dst, src, count);                    \
    }
DEQUANTIZE(from_q4_0, Q4_0)
DEQUANTIZE(from_q8_0, Q8_0)
DEQUANTIZE(from_q4_1, Q4_1)
DEQUANTIZE(from_mxfp4, MXFP4)
DEQUANTIZE(from_iq4_nl, IQ4_NL)

htp_row_fn htp_row_dequantizer(uint32_t from) {
    switch (from) {
    case HTP_TYPE_Q4_0:
        return from_q4_0;
    case HTP_TYPE_Q8_0:
        return from_q8_0;
    case HTP_TYPE_Q4_1:
        return from_q4_1;
    case HTP_TYPE_MXFP4:
        return from_mxfp4;
    case HTP_TYPE_IQ4_NL:
        return from_iq4_nl;
    default:
        return NULL;
    }
}

/* ---- f32, f16, bf16 to quants ---- */

HVX_INLINE HVX_Vector load_block(uint32_t type, const uint8_t *src) {
    if (type == HTP_TYPE_F32)
        return hvx_load(src);
    const HVX_Vector halves = hvx_load_bytes(src, BLOCK * 2);
    return Q6_V_lo_W(type == HTP_TYPE_F16 ? hvx_f16_to_f32_exact(halves) : hvx_bf16_to_f32(halves));
}

HVX_INLINE uint32_t first_word(HVX_Vector v) {
    uint32_t words[HVX_WORDS] __attribute__((aligned(128)));
    hvx_store(words, v);
    return words[0];
}

HVX_INLINE HVX_Vector magnitude(HVX_Vector x) { return Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff)); }

/* f32 as integers of the same order, and back */
HVX_INLINE HVX_Vector ordered(HVX_Vector x) {
    return Q6_V_vxor_VV(x, Q6_Vuw_vlsr_VuwR(Q6_Vw_vasr_VwR(x, 31), 1));
}

/* of all lanes, in every lane */
HVX_INLINE HVX_Vector max_lane(HVX_Vector v) {
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        v = Q6_Vw_vmax_VwVw(v, Q6_V_vror_VR(v, bytes));
    return v;
}

HVX_INLINE HVX_Vector min_lane(HVX_Vector v) {
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        v = Q6_Vw_vmin_VwVw(v, Q6_V_vror_VR(v, bytes));
    return v;
}

/* |y| * 2^fraction cut off, for |y| below 2^(24 - fraction) and fraction 0 or 1: nothing is rounded before */
HVX_INLINE HVX_Vector cut_to_fixed(HVX_Vector y, int32_t fraction) {
    const HVX_Vector mantissa = Q6_V_vor_VV(Q6_V_vand_VV(y, hvx_splat_i32(0x007fffff)), hvx_splat_i32(0x00800000));
    const HVX_Vector exponent = Q6_Vuw_vlsr_VuwR(magnitude(y), 23);
    HVX_Vector shift = Q6_Vw_vsub_VwVw(hvx_splat_i32(150 - fraction), exponent);
    shift = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(shift, hvx_zero()), hvx_splat_i32(31));
    return Q6_Vw_vlsr_VwVw(mantissa, shift);
}

/* the low bytes of 32 words in the first 32 bytes */
HVX_INLINE HVX_Vector pack_bytes(HVX_Vector words) {
    const HVX_Vector halves = Q6_Vh_vpacke_VwVw(words, words);
    return Q6_Vb_vpacke_VhVh(halves, halves);
}

HVX_INLINE float inverse(float d) { return d != 0 ? 1.0f / d : 0.0f; }

HVX_INLINE void to_q8_0(uint8_t *dst, HVX_Vector x) {
    const float d = hvx_bits_float(first_word(max_lane(magnitude(x)))) / 127.0f;
    const HVX_Vector y = hvx_mul_f32(x, hvx_splat_f32(inverse(d)));
    /* halves away from zero: one binary place more, plus one, cut off */
    const HVX_Vector q = Q6_Vuw_vlsr_VuwR(Q6_Vw_vadd_VwVw(cut_to_fixed(y, 1), hvx_splat_i32(1)), 1);
    const HVX_Vector sign = Q6_Vw_vasr_VwR(y, 31);
    store_half(dst, hvx_float_to_half(d));
    hvx_store_bytes(dst + 2, BLOCK, pack_bytes(Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(q, sign), sign)));
}

/* y: not negative */
HVX_INLINE void store_nibbles(uint8_t *dst, HVX_Vector y) {
    const HVX_Vector q = pack_bytes(Q6_Vw_vmin_VwVw(cut_to_fixed(y, 0), hvx_splat_i32(15)));
    const HVX_Vector high = Q6_Vw_vasl_VwR(Q6_V_vror_VR(q, BLOCK / 2), 4);
    hvx_store_bytes(dst, BLOCK / 2, Q6_V_vor_VV(q, high));
}

static const int32_t lane_numbers[HVX_WORDS] __attribute__((aligned(128))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

HVX_INLINE void to_q4_0(uint8_t *dst, HVX_Vector x) {
    /* twice the lane number, plus one where x is negative: the smallest names the first lane and its sign */
    const HVX_Vector names = Q6_V_vor_VV(Q6_Vw_vasl_VwR(hvx_load(lane_numbers), 1), Q6_Vuw_vlsr_VuwR(x, 31));
    const HVX_Vector largest = max_lane(magnitude(x));
    const HVX_VectorPred is_largest = Q6_Q_vcmp_eq_VwVw(magnitude(x), largest);
    const uint32_t first = first_word(min_lane(Q6_V_vmux_QVV(is_largest, names, hvx_splat_i32(64))));
    const float absmax = hvx_bits_float(first_word(largest)), d = (first & 1 ? -absmax : absmax) / -8.0f;
    store_half(dst, hvx_float_to_half(d));
    store_nibbles(dst + 2, hvx_add_f32(hvx_mul_f32(x, hvx_splat_f32(inverse(d))), hvx_splat_f32(8.5f)));
}

HVX_INLINE void to_q4_1(uint8_t *dst, HVX_Vector x) {
    const HVX_Vector smallest = ordered(min_lane(ordered(x)));
    const float min = hvx_bits_float(first_word(smallest));
    const float max = hvx_bits_float(first_word(ordered(max_lane(ordered(x)))));
    const float d = (max - min) / 15.0f;
    store_half(dst, hvx_float_to_half(d));
    store_half(dst + 2, hvx_float_to_half(min));
    const HVX_Vector y = hvx_mul_f32(hvx_sub_f32(x, smallest), hvx_splat_f32(inverse(d)));
    store_nibbles(dst + 4, hvx_add_f32(y, hvx_splat_f32(0.5f)));
}

HVX_INLINE void quantize(uint32_t from, uint32_t to, uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t step = BLOCK * htp_type_bytes(from);
    for (uint32_t i = count / BLOCK; i > 0; i--, src += step, dst += htp_type_bytes(to)) {
        const HVX_Vector x = load_block(from, src);
        if (to == HTP_TYPE_Q8_0)
            to_q8_0(dst, x);
        else if (to == HTP_TYPE_Q4_0)
            to_q4_0(dst, x);
        else
            to_q4_1(dst, x);
    }
}

#define QUANTIZE(name, from, to)                                         \
    static void name(uint8_t *dst, const uint8_t *src, uint32_t count) { \
        quantize(HTP_TYPE_##from, HTP_TYPE_##to, dst, src, count);       \
    }
QUANTIZE(f32_to_q8_0, F32, Q8_0)
QUANTIZE(f16_to_q8_0, F16, Q8_0)
QUANTIZE(bf16_to_q8_0, BF16, Q8_0)
QUANTIZE(f32_to_q4_0, F32, Q4_0)
QUANTIZE(f16_to_q4_0, F16, Q4_0)
QUANTIZE(bf16_to_q4_0, BF16, Q4_0)
QUANTIZE(f32_to_q4_1, F32, Q4_1)
QUANTIZE(f16_to_q4_1, F16, Q4_1)
QUANTIZE(bf16_to_q4_1, BF16, Q4_1)

htp_row_fn htp_row_quantizer(uint32_t from, uint32_t to) {
    if (from != HTP_TYPE_F32 && from != HTP_TYPE_F16 && from != HTP_TYPE_BF16)
        return NULL;
#define BY_SOURCE(to) (from == HTP_TYPE_F32 ? f32_to_##to : from == HTP_TYPE_F16 ? f16_to_##to : bf16_to_##to)
    switch (to) {
    case HTP_TYPE_Q8_0:
        return BY_SOURCE(q8_0);
    case HTP_TYPE_Q4_0:
        return BY_SOURCE(q4_0);
    case HTP_TYPE_Q4_1:
        return BY_SOURCE(q4_1);
    default:
        return NULL;
    }
#undef BY_SOURCE
}
