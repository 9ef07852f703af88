/* Rows of f32, f16 and bf16 to quantised blocks, a block at a time. The formulas are ggml's; row.h has them. */
#include "hvx/half.h"
#include "hvx/row_blocks.h"
#include "runtime/types.h"

HVX_INLINE HVX_Vector load_block(uint32_t type, const uint8_t *src) {
    if (type == HTP_TYPE_F32)
        return hvx_load(src);
    const HVX_Vector halves = hvx_load_bytes(src, BLOCK * 2);
    return Q6_V_lo_W(type == HTP_TYPE_F16 ? hvx_f16_to_f32_exact(halves) : hvx_bf16_to_f32(halves));
}

/* ---- across lanes ---- */

HVX_INLINE uint32_t first_word(HVX_Vector v) {
    uint32_t words[HVX_WORDS] __attribute__((aligned(128)));
    hvx_store_aligned(words, v);
    return words[0];
}

HVX_INLINE float first_float(HVX_Vector v) { return hvx_bits_float(first_word(v)); }

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

HVX_INLINE HVX_Vector or_lanes(HVX_Vector v) {
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        v = Q6_V_vor_VV(v, Q6_V_vror_VR(v, bytes));
    return v;
}

/* ---- f32 as integers ---- */

HVX_INLINE HVX_Vector magnitude(HVX_Vector x) { return Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff)); }

/* f32 as integers of the same order, and back */
HVX_INLINE HVX_Vector ordered(HVX_Vector x) {
    return Q6_V_vxor_VV(x, Q6_Vuw_vlsr_VuwR(Q6_Vw_vasr_VwR(x, 31), 1));
}

HVX_INLINE HVX_Vector mantissa_of(HVX_Vector y) {
    return Q6_V_vor_VV(Q6_V_vand_VV(y, hvx_splat_i32(0x007fffff)), hvx_splat_i32(0x00800000));
}

/* by how much a mantissa moves down to become |y| cut off, at most `most` */
HVX_INLINE HVX_Vector mantissa_shift(HVX_Vector y, int32_t most) {
    const HVX_Vector shift = Q6_Vw_vsub_VwVw(hvx_splat_i32(150), Q6_Vuw_vlsr_VuwR(magnitude(y), 23));
    return Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(shift, hvx_zero()), hvx_splat_i32(most));
}

/* |y| below 2^24, cut off */
HVX_INLINE HVX_Vector cut_off(HVX_Vector y) { return Q6_Vw_vlsr_VwVw(mantissa_of(y), mantissa_shift(y, 31)); }

/* |y| below 2^22, to nearest, halves to even; 25 places down nothing is left of any mantissa */
HVX_INLINE HVX_Vector to_nearest(HVX_Vector y) {
    const HVX_Vector mantissa = mantissa_of(y), shift = mantissa_shift(y, 25), one = hvx_splat_i32(1);
    const HVX_Vector odd = Q6_V_vand_VV(Q6_Vw_vlsr_VwVw(mantissa, shift), one);
    const HVX_Vector below_half = Q6_Vw_vsub_VwVw(Q6_Vw_vasl_VwVw(one, Q6_Vw_vsub_VwVw(shift, one)), one);
    return Q6_Vw_vlsr_VwVw(Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(mantissa, below_half), odd), shift);
}

/* In each lane, how many of the thresholds the ordered number is above: strictly, as integers. */
HVX_INLINE HVX_Vector count_above(HVX_Vector number, const int32_t *thresholds, uint32_t n) {
    HVX_Vector count = hvx_zero();
    HVX_UNROLL
    for (uint32_t i = 0; i < n; i++) {
        const HVX_VectorPred above = Q6_Q_vcmp_gt_VwVw(number, hvx_splat_i32(thresholds[i]));
        count = Q6_Vw_vadd_VwVw(count, Q6_V_vand_QV(above, hvx_splat_i32(1)));
    }
    return count;
}

/* ---- quants into memory ---- */

/* the low bytes of 32 words in the first 32 bytes */
HVX_INLINE HVX_Vector pack_bytes(HVX_Vector words) {
    const HVX_Vector halves = Q6_Vh_vpacke_VwVw(words, words);
    return Q6_Vb_vpacke_VhVh(halves, halves);
}

/* q: words below 16 */
HVX_INLINE void store_nibbles(uint8_t *dst, HVX_Vector q) {
    const HVX_Vector bytes = pack_bytes(q);
    const HVX_Vector high = Q6_Vw_vasl_VwR(Q6_V_vror_VR(bytes, BLOCK / 2), 4);
    hvx_store_bytes(dst, BLOCK / 2, Q6_V_vor_VV(bytes, high));
}

/* q: words below 32; dst: where the fifth bits begin */
HVX_INLINE void store_five_bits(uint8_t *dst, HVX_Vector q) {
    const HVX_Vector fifth = Q6_Vw_vasl_VwVw(Q6_Vuw_vlsr_VuwR(q, 4), hvx_load_aligned(lane_numbers));
    const uint32_t bits = first_word(or_lanes(fifth));
    store_half(dst, (uint16_t)bits);
    store_half(dst + 2, (uint16_t)(bits >> 16));
    store_nibbles(dst + 4, Q6_V_vand_VV(q, hvx_splat_i32(15)));
}

/* y: not negative; cut off, at most `most`, which is 15 or 31 */
HVX_INLINE void store_quants(uint8_t *dst, HVX_Vector y, int32_t most) {
    const HVX_Vector q = Q6_Vw_vmin_VwVw(cut_off(y), hvx_splat_i32(most));
    if (most == 31)
        store_five_bits(dst, q);
    else
        store_nibbles(dst, q);
}

/* ---- the types ---- */

HVX_INLINE float inverse(float d) { return d != 0 ? 1.0f / d : 0.0f; }

HVX_INLINE void to_q8_0(uint8_t *dst, HVX_Vector x) {
    const float absmax = first_float(max_lane(magnitude(x)));
    const HVX_Vector y = hvx_mul_f32(x, hvx_splat_f32(absmax != 0 ? 127.0f / absmax : 0.0f));
    const HVX_Vector sign = Q6_Vw_vasr_VwR(y, 31);
    store_half(dst, hvx_scale_to_half(absmax / 127.0f));
    hvx_store_bytes(dst + 2, BLOCK, pack_bytes(Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(to_nearest(y), sign), sign)));
}

/* the element of largest magnitude, the first of several */
HVX_INLINE float extreme_of(HVX_Vector x) {
    /* twice the lane number, plus one where x is negative: the smallest names the first lane and its sign */
    const HVX_Vector names = Q6_V_vor_VV(Q6_Vw_vasl_VwR(hvx_load_aligned(lane_numbers), 1), Q6_Vuw_vlsr_VuwR(x, 31));
    const HVX_Vector largest = max_lane(magnitude(x));
    const HVX_VectorPred is_largest = Q6_Q_vcmp_eq_VwVw(magnitude(x), largest);
    const uint32_t first = first_word(min_lane(Q6_V_vmux_QVV(is_largest, names, hvx_splat_i32(64))));
    return hvx_bits_float(first_word(largest) | first << 31);
}

/* Q4_0, Q5_0: `half` is 8 or 16 */
HVX_INLINE void to_symmetric(uint8_t *dst, HVX_Vector x, int32_t half) {
    const float d = extreme_of(x) / -(float)half;
    const HVX_Vector y = hvx_mul_f32(x, hvx_splat_f32(inverse(d)));
    store_half(dst, hvx_scale_to_half(d));
    store_quants(dst + 2, hvx_add_f32(y, hvx_splat_f32((float)half + 0.5f)), 2 * half - 1);
}

/* Q4_1, Q5_1: `most` is 15 or 31 */
HVX_INLINE void to_offset(uint8_t *dst, HVX_Vector x, int32_t most) {
    const HVX_Vector smallest = ordered(min_lane(ordered(x)));
    const float min = first_float(smallest), max = first_float(ordered(max_lane(ordered(x))));
    const float d = (max - min) / (float)most;
    store_half(dst, hvx_scale_to_half(d));
    store_half(dst + 2, hvx_scale_to_half(min));
    const HVX_Vector y = hvx_mul_f32(hvx_sub_f32(x, smallest), hvx_splat_f32(inverse(d)));
    store_quants(dst + 4, hvx_add_f32(y, hvx_splat_f32(0.5f)), most);
}

HVX_INLINE void to_mxfp4(uint8_t *dst, HVX_Vector x) {
    static const float middles[] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10}; /* between magnitudes, twice those of the type */
    const HVX_Vector size = magnitude(x);
    const uint32_t exponent = first_word(max_lane(size)) >> 23, byte = exponent > 2 ? exponent - 2 : 0;
    int32_t thresholds[7];
    HVX_UNROLL
    for (uint32_t i = 0; i < 7; i++)
        thresholds[i] = hvx_f32_bits(middles[i] * htp_row_mxfp4_scale((uint8_t)byte));
    const HVX_Vector q = count_above(size, thresholds, 7);
    const HVX_Vector sign = Q6_V_vand_VV(Q6_Vw_vasr_VwR(x, 31), hvx_splat_i32(8));
    const HVX_VectorPred some = Q6_Q_vcmp_gt_VwVw(q, hvx_zero());
    dst[0] = (uint8_t)byte;
    store_nibbles(dst + 1, Q6_V_vor_VV(q, Q6_V_vand_QV(some, sign)));
}

HVX_INLINE void to_iq4_nl(uint8_t *dst, HVX_Vector x) {
    static const float middles[] = {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101};
    int32_t thresholds[15]; /* a number in the middle goes up */
    HVX_UNROLL
    for (uint32_t i = 0; i < 15; i++) {
        const int32_t bits = hvx_f32_bits(middles[i]);
        thresholds[i] = (bits < 0 ? bits ^ 0x7fffffff : bits) - 1;
    }
    const float extreme = extreme_of(x), d = extreme / -127.0f;
    const bool none = extreme > -1e-15f && extreme < 1e-15f; /* as ggml has it */
    const HVX_Vector y = hvx_mul_f32(x, hvx_splat_f32(none ? 0 : 1.0f / d));
    const HVX_Vector q = count_above(ordered(y), thresholds, 15);
    const HVX_Vector bytes = Q6_Vb_vlut32_VbVbR_nomatch(pack_bytes(q), hvx_load_aligned(iq4_nl_values), 0);
    const HVX_Vector value = hvx_i32_to_f32(widen(bytes));
    /* the scale with the least error, squares weighted by squares */
    const HVX_Vector weighted = hvx_mul_f32(hvx_mul_f32(x, x), value);
    const float sum_x = first_float(hvx_sum_qf32(hvx_mul_f32_qf32(weighted, x)));
    const float sum_value = first_float(hvx_sum_qf32(hvx_mul_f32_qf32(weighted, value)));
    store_half(dst, hvx_scale_to_half(!none && sum_value > 0 ? sum_x / sum_value : 0));
    store_nibbles(dst + 2, q);
}

/* ---- rows ---- */

HVX_INLINE void quantize_block(uint32_t to, uint8_t *dst, HVX_Vector x) {
    switch (to) {
    case HTP_TYPE_Q4_0:
        to_symmetric(dst, x, 8);
        break;
    case HTP_TYPE_Q5_0:
        to_symmetric(dst, x, 16);
        break;
    case HTP_TYPE_Q4_1:
        to_offset(dst, x, 15);
        break;
    case HTP_TYPE_Q5_1:
        to_offset(dst, x, 31);
        break;
    case HTP_TYPE_MXFP4:
        to_mxfp4(dst, x);
        break;
    case HTP_TYPE_IQ4_NL:
        to_iq4_nl(dst, x);
        break;
    default:
        to_q8_0(dst, x);
    }
}

HVX_INLINE void quantize(uint32_t from, uint32_t to, uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t step = BLOCK * htp_type_bytes(from);
    HVX_ROLLED
    for (uint32_t i = count / BLOCK; i > 0; i--, src += step, dst += htp_type_bytes(to))
        quantize_block(to, dst, load_block(from, src));
}

#define QUANTIZE(name, from, to)                                         \
    static void name(uint8_t *dst, const uint8_t *src, uint32_t count) { \
        quantize(HTP_TYPE_##from, HTP_TYPE_##to, dst, src, count);       \
    }
#define QUANTIZE_TO(name, to)       \
    QUANTIZE(f32_to_##name, F32, to) \
    QUANTIZE(f16_to_##name, F16, to) \
    QUANTIZE(bf16_to_##name, BF16, to)
QUANTIZE_TO(q8_0, Q8_0)
QUANTIZE_TO(q4_0, Q4_0)
QUANTIZE_TO(q4_1, Q4_1)
QUANTIZE_TO(q5_0, Q5_0)
QUANTIZE_TO(q5_1, Q5_1)
QUANTIZE_TO(mxfp4, MXFP4)
QUANTIZE_TO(iq4_nl, IQ4_NL)

htp_row_fn htp_row_quantizer(uint32_t from, uint32_t to) {
    if (from != HTP_TYPE_F32 && from != HTP_TYPE_F16 && from != HTP_TYPE_BF16)
        return NULL;
    switch (to) {
#define CASE(name, TYPE)   \
    case HTP_TYPE_##TYPE: \
        return from == HTP_TYPE_F32 ? f32_to_##name : from == HTP_TYPE_F16 ? f16_to_##name : bf16_to_##name;
        CASE(q8_0, Q8_0)
        CASE(q4_0, Q4_0)
        CASE(q4_1, Q4_1)
        CASE(q5_0, Q5_0)
        CASE(q5_1, Q5_1)
        CASE(mxfp4, MXFP4)
        CASE(iq4_nl, IQ4_NL)
#undef CASE
    default:
        return NULL;
    }
}
