#include "hvx/row.h"

#include "htp/type_list.h"
#include "hvx/emul/half.h"
#include "hvx/half.h"

#define BLOCK 32 /* elements of a quantised block: as many as a vector has words */
#define Q8_0_BYTES 34
#define Q4_0_BYTES 18

/* ---- bytes ---- */

void htp_row_copy(uint8_t *dst, const uint8_t *src, size_t bytes) {
    HVX_ROLLED
    for (; bytes >= HVX_BYTES; bytes -= HVX_BYTES, dst += HVX_BYTES, src += HVX_BYTES)
        hvx_store(dst, hvx_load(src));
    if (bytes >= 32)
        hvx_store_bytes(dst, (uint32_t)bytes, hvx_load_bytes(src, (uint32_t)bytes));
    else
        __builtin_memcpy(dst, src, bytes);
}

void htp_row_clear(uint8_t *dst, size_t bytes) {
    HVX_ROLLED
    for (; bytes >= HVX_BYTES; bytes -= HVX_BYTES, dst += HVX_BYTES)
        hvx_store(dst, hvx_zero());
    if (bytes != 0)
        hvx_store_bytes(dst, (uint32_t)bytes, hvx_zero());
}

HVX_INLINE HVX_Vector load_up_to(const uint8_t *src, uint32_t bytes) {
    return bytes == 0 ? hvx_zero() : bytes >= HVX_BYTES ? hvx_load(src) : hvx_load_bytes(src, bytes);
}

/* ---- f32 <-> f16 ---- */

static void f32_to_f16(uint8_t *dst, const uint8_t *src, uint32_t count) {
    HVX_ROLLED
    for (; count >= HVX_HALVES; count -= HVX_HALVES, dst += HVX_BYTES, src += 2 * HVX_BYTES)
        hvx_store(dst, hvx_f32_to_f16_exact(hvx_load(src), hvx_load(src + HVX_BYTES)));
    if (count != 0) {
        const uint32_t second = count > HVX_WORDS ? count - HVX_WORDS : 0;
        const HVX_Vector low = load_up_to(src, count * 4), high = load_up_to(src + HVX_BYTES, second * 4);
        hvx_store_bytes(dst, count * 2, hvx_f32_to_f16_exact(low, high));
    }
}

static void f16_to_f32(uint8_t *dst, const uint8_t *src, uint32_t count) {
    HVX_ROLLED
    for (; count >= HVX_HALVES; count -= HVX_HALVES, dst += 2 * HVX_BYTES, src += HVX_BYTES) {
        const HVX_VectorPair f = hvx_f16_to_f32_exact(hvx_load(src));
        hvx_store(dst, Q6_V_lo_W(f));
        hvx_store(dst + HVX_BYTES, Q6_V_hi_W(f));
    }
    if (count != 0) {
        const HVX_VectorPair f = hvx_f16_to_f32_exact(hvx_load_bytes(src, count * 2));
        hvx_store_bytes(dst, count < HVX_WORDS ? count * 4 : HVX_BYTES, Q6_V_lo_W(f));
        if (count > HVX_WORDS)
            hvx_store_bytes(dst + HVX_BYTES, (count - HVX_WORDS) * 4, Q6_V_hi_W(f));
    }
}

/* ---- f32 <-> i32: rare, so the scalar unit does it ---- */

static int32_t cut_off(float f) {
    if (!(f == f))
        return 0;
    return f >= 0x1p31f ? INT32_MAX : f <= -0x1p31f ? INT32_MIN : (int32_t)f;
}

static void f32_to_i32(uint8_t *dst, const uint8_t *src, uint32_t count) {
    const float *from = (const float *)(const void *)src;
    int32_t *to = (int32_t *)(void *)dst;
    for (uint32_t i = 0; i < count; i++)
        to[i] = cut_off(from[i]);
}

static void i32_to_f32(uint8_t *dst, const uint8_t *src, uint32_t count) {
    const int32_t *from = (const int32_t *)(const void *)src;
    float *to = (float *)(void *)dst;
    for (uint32_t i = 0; i < count; i++)
        to[i] = (float)from[i];
}

/* ---- quantised blocks to f32 ---- */

static uint16_t load_half(const uint8_t *p) {
    uint16_t h;
    __builtin_memcpy(&h, __builtin_assume_aligned(p, 2), 2);
    return h;
}

static void store_half(uint8_t *p, uint16_t h) { __builtin_memcpy(__builtin_assume_aligned(p, 2), &h, 2); }

/* the first 32 bytes, signed, times the scale */
HVX_INLINE HVX_Vector expand_signed(HVX_Vector bytes, HVX_Vector scale) {
    const HVX_Vector halves = Q6_V_lo_W(Q6_W_vshuff_VVR(bytes, hvx_zero(), -1)); /* each byte at the top of a half */
    const HVX_Vector words = Q6_V_lo_W(Q6_W_vshuff_VVR(halves, hvx_zero(), -2)); /* ... of a word */
    return hvx_mul_f32(hvx_i32_to_f32(Q6_Vw_vasr_VwR(words, 24)), scale);
}

/* 128 is taken off by turning over the sign bit, smaller numbers by a subtraction that stays within a byte */
HVX_INLINE HVX_Vector take_off(HVX_Vector bytes, uint32_t zero) {
    const HVX_Vector z = hvx_splat_i32((int32_t)(zero * 0x01010101u));
    if (zero == 128)
        return Q6_V_vxor_VV(bytes, z);
    /* with the top bit set no borrow leaves a byte; then it is turned over, which is the sign of bytes below 128 */
    const HVX_Vector top = hvx_splat_i32((int32_t)0x80808080u);
    return Q6_V_vxor_VV(Q6_Vw_vsub_VwVw(Q6_V_vor_VV(bytes, top), z), top);
}

void htp_row_expand(uint8_t *dst, const uint8_t *quants, uint32_t zero, uint16_t scale) {
    const HVX_Vector d = hvx_splat_f32(hvx_half_to_float(scale));
    hvx_store(dst, expand_signed(take_off(hvx_load_bytes(quants, BLOCK), zero), d));
}

static void q8_0_to_f32(uint8_t *dst, const uint8_t *src, uint32_t count) {
    for (uint32_t i = count / BLOCK; i > 0; i--, src += Q8_0_BYTES, dst += HVX_BYTES) {
        const HVX_Vector d = hvx_splat_f32(hvx_half_to_float(load_half(src)));
        hvx_store(dst, expand_signed(hvx_load_bytes(src + 2, BLOCK), d));
    }
}

/* low nibbles are elements 0..15, high nibbles 16..31 */
static void q4_0_to_f32(uint8_t *dst, const uint8_t *src, uint32_t count) {
    const HVX_Vector nibble = hvx_splat_i32(0x0f0f0f0f);
    for (uint32_t i = count / BLOCK; i > 0; i--, src += Q4_0_BYTES, dst += HVX_BYTES) {
        const HVX_Vector d = hvx_splat_f32(hvx_half_to_float(load_half(src)));
        const HVX_Vector quants = hvx_load_bytes(src + 2, BLOCK / 2); /* zeros behind them */
        const HVX_Vector high = Q6_V_vand_VV(Q6_Vub_vlsr_VubR(quants, 4), nibble);
        const HVX_Vector bytes = Q6_V_vor_VV(Q6_V_vand_VV(quants, nibble), Q6_V_vror_VR(high, -(BLOCK / 2)));
        hvx_store(dst, expand_signed(take_off(bytes, 8), d));
    }
}

/* ---- f32 and f16 to quantised blocks ---- */

HVX_INLINE HVX_Vector load_block(uint32_t type, const uint8_t *src) {
    if (type == HTP_TYPE_F32)
        return hvx_load(src);
    return Q6_V_lo_W(hvx_f16_to_f32_exact(hvx_load_bytes(src, BLOCK * 2)));
}

HVX_INLINE int32_t first_word(HVX_Vector v) {
    int32_t words[HVX_WORDS] __attribute__((aligned(128)));
    hvx_store(words, v);
    return words[0];
}

HVX_INLINE HVX_Vector magnitude(HVX_Vector x) { return Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff)); }

/* in every lane; the bits of f32 magnitudes are ordered as they are */
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

HVX_INLINE void to_q8_0(uint32_t type, uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t step = type == HTP_TYPE_F32 ? BLOCK * 4 : BLOCK * 2;
    for (uint32_t i = count / BLOCK; i > 0; i--, src += step, dst += Q8_0_BYTES) {
        const HVX_Vector x = load_block(type, src);
        const float d = hvx_bits_float((uint32_t)first_word(max_lane(magnitude(x)))) / 127.0f;
        const HVX_Vector y = hvx_mul_f32(x, hvx_splat_f32(inverse(d)));
        /* halves away from zero: one binary place more, plus one, cut off */
        const HVX_Vector doubled = cut_to_fixed(y, 1);
        const HVX_Vector q = Q6_Vuw_vlsr_VuwR(Q6_Vw_vadd_VwVw(doubled, hvx_splat_i32(1)), 1);
        const HVX_Vector sign = Q6_Vw_vasr_VwR(y, 31);
        store_half(dst, hvx_float_to_half(d));
        hvx_store_bytes(dst + 2, BLOCK, pack_bytes(Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(q, sign), sign)));
    }
}

static const int32_t lane_numbers[HVX_WORDS] __attribute__((aligned(128))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

HVX_INLINE void to_q4_0(uint32_t type, uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t step = type == HTP_TYPE_F32 ? BLOCK * 4 : BLOCK * 2;
    /* twice the lane number, plus one where x is negative: the smallest names the first lane and its sign */
    const HVX_Vector lanes = Q6_Vw_vasl_VwR(hvx_load(lane_numbers), 1);
    for (uint32_t i = count / BLOCK; i > 0; i--, src += step, dst += Q4_0_BYTES) {
        const HVX_Vector x = load_block(type, src);
        const HVX_Vector largest = max_lane(magnitude(x));
        const HVX_Vector named = Q6_V_vor_VV(lanes, Q6_Vuw_vlsr_VuwR(x, 31));
        const HVX_VectorPred is_largest = Q6_Q_vcmp_eq_VwVw(magnitude(x), largest);
        const uint32_t first = (uint32_t)first_word(min_lane(Q6_V_vmux_QVV(is_largest, named, hvx_splat_i32(64))));
        const float absmax = hvx_bits_float((uint32_t)first_word(largest));
        const float d = (first & 1 ? -absmax : absmax) / -8.0f;
        const HVX_Vector y = hvx_mul_f32(x, hvx_splat_f32(inverse(d)));
        HVX_Vector q = cut_to_fixed(hvx_add_f32(y, hvx_splat_f32(8.5f)), 0);
        q = pack_bytes(Q6_Vw_vmin_VwVw(q, hvx_splat_i32(15)));
        /* elements 16..31 go into the high nibbles */
        const HVX_Vector high = Q6_Vw_vasl_VwR(Q6_V_vror_VR(q, BLOCK / 2), 4);
        store_half(dst, hvx_float_to_half(d));
        hvx_store_bytes(dst + 2, BLOCK / 2, Q6_V_vor_VV(q, high));
    }
}

static void f32_to_q8_0(uint8_t *dst, const uint8_t *src, uint32_t count) { to_q8_0(HTP_TYPE_F32, dst, src, count); }
static void f16_to_q8_0(uint8_t *dst, const uint8_t *src, uint32_t count) { to_q8_0(HTP_TYPE_F16, dst, src, count); }
static void f32_to_q4_0(uint8_t *dst, const uint8_t *src, uint32_t count) { to_q4_0(HTP_TYPE_F32, dst, src, count); }
static void f16_to_q4_0(uint8_t *dst, const uint8_t *src, uint32_t count) { to_q4_0(HTP_TYPE_F16, dst, src, count); }

/* ---- which conversion ---- */

#define PAIR(from, to) ((from) << 16 | (to))

htp_row_fn htp_row_converter(uint32_t from, uint32_t to) {
    if (from > 0xffff || to > 0xffff)
        return NULL;
    switch (PAIR(from, to)) {
    case PAIR(HTP_TYPE_F32, HTP_TYPE_F16):
        return f32_to_f16;
    case PAIR(HTP_TYPE_F16, HTP_TYPE_F32):
        return f16_to_f32;
    case PAIR(HTP_TYPE_F32, HTP_TYPE_I32):
        return f32_to_i32;
    case PAIR(HTP_TYPE_I32, HTP_TYPE_F32):
        return i32_to_f32;
    case PAIR(HTP_TYPE_F32, HTP_TYPE_Q8_0):
        return f32_to_q8_0;
    case PAIR(HTP_TYPE_F16, HTP_TYPE_Q8_0):
        return f16_to_q8_0;
    case PAIR(HTP_TYPE_F32, HTP_TYPE_Q4_0):
        return f32_to_q4_0;
    case PAIR(HTP_TYPE_F16, HTP_TYPE_Q4_0):
        return f16_to_q4_0;
    case PAIR(HTP_TYPE_Q8_0, HTP_TYPE_F32):
        return q8_0_to_f32;
    case PAIR(HTP_TYPE_Q4_0, HTP_TYPE_F32):
        return q4_0_to_f32;
    default:
        return NULL;
    }
}
