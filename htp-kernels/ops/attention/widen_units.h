/*
 * 64 elements of every type that keys and values are widened from, to f16. A unit of a quantised type is two blocks.
 *
 * Quants become f16 without a conversion: 0x6400 + u are the bits of 1024 + u. So scale * (1024 + u), less scale *
 * (1024 + zero), both exact in the widening multiplication, rounds once, to f16. Loads begin at the unit and may go
 * beyond it by less than a vector.
 */
#ifndef ATTENTION_WIDEN_UNITS_H
#define ATTENTION_WIDEN_UNITS_H

#include "hvx/exp2.h" /* hvx_multiply_high_u16 */
#include "ops/attention/attention.h"

/* bytes of a block of 32: f16 scale, (f16 minimum), (32 high bits), quants; byte j of nibbles: elements j and j+16 */
#define Q4_0_BYTES 18
#define Q4_1_BYTES 20
#define Q5_0_BYTES 22
#define Q5_1_BYTES 24
#define Q8_0_BYTES 34
#define IQ4_NL_BYTES 18

#define HALF_1024 0x6400
#define IQ4_NL_ZERO 127 /* added to the table's entries, so that none is negative */

/*
 * Controls of the delta network: byte i of the output comes from byte i ^ control[i]. That works where no two paths ask
 * a stage for different things, which the check of the op would show.
 */
#define EACH8(X, i, a, b) X(i, a, b), X(i + 1, a, b), X(i + 2, a, b), X(i + 3, a, b), X(i + 4, a, b), X(i + 5, a, b), \
                          X(i + 6, a, b), X(i + 7, a, b)
#define EACH32(X, i, a, b) EACH8(X, i, a, b), EACH8(X, i + 8, a, b), EACH8(X, i + 16, a, b), EACH8(X, i + 24, a, b)
#define CONTROL(name, X, a, b)                                   \
    static const uint8_t name[HVX_BYTES] __attribute__((aligned(128))) = { \
        EACH32(X, 0, a, b), EACH32(X, 32, a, b), EACH32(X, 64, a, b), EACH32(X, 96, a, b)}
/* the half-word at `at` of each block, 32 times */
#define HALF_OF_BLOCK(i, bytes, at) (uint8_t)((i) ^ (((i) < 64 ? 0 : (bytes)) + (at) + ((i)&1)))
/* byte k/8 of the high bits for element k, in bytes; only bytes 0..63 are used */
#define HIGH_BITS(i, bytes, at) (uint8_t)((i) ^ (((i) / 32 & 1) * (bytes) + (at) + (i) % 32 / 8))

CONTROL(scales_18, HALF_OF_BLOCK, 18, 0);
CONTROL(scales_20, HALF_OF_BLOCK, 20, 0);
CONTROL(scales_22, HALF_OF_BLOCK, 22, 0);
CONTROL(scales_24, HALF_OF_BLOCK, 24, 0);
CONTROL(scales_34, HALF_OF_BLOCK, 34, 0);
CONTROL(minima_20, HALF_OF_BLOCK, 20, 2);
CONTROL(minima_24, HALF_OF_BLOCK, 24, 2);
CONTROL(high_bits_22, HIGH_BITS, 22, 2);
CONTROL(high_bits_24, HIGH_BITS, 24, 4);
#undef EACH8
#undef EACH32
#undef CONTROL
#undef HALF_OF_BLOCK
#undef HIGH_BITS

HVX_INLINE HVX_Vector take(HVX_Vector blocks, const uint8_t *control) {
    return Q6_V_vdelta_VV(blocks, *(const HVX_Vector *)(const void *)control);
}

/* quants: 64 bytes, unsigned, the one that stands for zero is `zero`; in qf32, even and odd elements */
HVX_INLINE HVX_VectorPair scale_quants(HVX_Vector quants, HVX_Vector scales, int32_t zero) {
    const HVX_Vector wide = Q6_V_lo_W(Q6_Wuh_vunpack_Vub(quants));
    const HVX_VectorPair x = hvx_mul_f16_qf32(Q6_V_vor_VV(wide, Q6_Vh_vsplat_R(HALF_1024)), scales);
    const HVX_VectorPair y = hvx_mul_f16_qf32(Q6_Vh_vsplat_R(HALF_1024 + zero), scales);
    return Q6_W_vcombine_VV(hvx_sub_qf32(Q6_V_hi_W(x), Q6_V_hi_W(y)), hvx_sub_qf32(Q6_V_lo_W(x), Q6_V_lo_W(y)));
}
HVX_INLINE HVX_Vector add_minima(HVX_VectorPair x, HVX_Vector minima) {
    const HVX_VectorPair m = hvx_mul_f16_qf32(minima, hvx_splat_i32(HVX_HALF_ONE));
    return Q6_Vhf_equals_Wqf32(
        Q6_W_vcombine_VV(hvx_add_qf32(Q6_V_hi_W(x), Q6_V_hi_W(m)), hvx_add_qf32(Q6_V_lo_W(x), Q6_V_lo_W(m))));
}

/* 64 nibbles as bytes; the 16 bytes of the blocks begin at first and second */
HVX_INLINE HVX_Vector nibbles(HVX_Vector x, int32_t first, int32_t second) {
    const HVX_VectorPred q16 = Q6_Q_vsetq_R(16), q32 = Q6_Q_vsetq_R(32), q48 = Q6_Q_vsetq_R(48);
    /* each block's bytes twice: at 0 and 16, at 32 and 48 */
    const HVX_Vector a = Q6_V_vmux_QVV(q16, Q6_V_vror_VR(x, first), Q6_V_vror_VR(x, first - 16));
    const HVX_Vector b = Q6_V_vmux_QVV(q48, Q6_V_vror_VR(x, second - 32), Q6_V_vror_VR(x, second - 48));
    const HVX_Vector both = Q6_V_vmux_QVV(q32, a, b), low = Q6_V_vand_VV(both, Q6_Vb_vsplat_R(0x0f));
    const HVX_Vector high = Q6_Vub_vlsr_VubR(both, 4);
    return Q6_V_vmux_QVV(q32, Q6_V_vmux_QVV(q16, low, high), Q6_V_vmux_QVV(q48, low, high));
}

/* quants of 5 bits, bytes; bits: the byte with the high bit of each element */
HVX_INLINE HVX_Vector add_high_bits(HVX_Vector quants, HVX_Vector bits) {
    /* a bit k becomes 16: times 2^(12-k), of the 8 bits in the upper half of a half-word */
    static const uint16_t factors[HVX_HALVES] __attribute__((aligned(128))) = {
#define EIGHT_FACTORS 0x1000, 0x800, 0x400, 0x200, 0x100, 0x80, 0x40, 0x20
        EIGHT_FACTORS, EIGHT_FACTORS, EIGHT_FACTORS, EIGHT_FACTORS,
        EIGHT_FACTORS, EIGHT_FACTORS, EIGHT_FACTORS, EIGHT_FACTORS,
#undef EIGHT_FACTORS
    };
    static const uint8_t masks[HVX_BYTES] __attribute__((aligned(128))) = {
#define MASKS 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128
        MASKS, MASKS, MASKS, MASKS,
#undef MASKS
    };
    const HVX_Vector own = Q6_V_vand_VV(bits, *(const HVX_Vector *)(const void *)masks);
    const HVX_Vector upper = Q6_Vw_vasl_VwR(Q6_V_lo_W(Q6_Wuh_vunpack_Vub(own)), 8);
    const HVX_Vector sixteens = hvx_multiply_high_u16(upper, *(const HVX_Vector *)(const void *)factors);
    return Q6_V_vor_VV(quants, Q6_Vb_vpacke_VhVh(sixteens, sixteens));
}

HVX_INLINE HVX_Vector unit_q4_0(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    return Q6_Vhf_equals_Wqf32(scale_quants(nibbles(x, 2, Q4_0_BYTES + 2), take(x, scales_18), 8));
}

HVX_INLINE HVX_Vector unit_q4_1(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    return add_minima(scale_quants(nibbles(x, 4, Q4_1_BYTES + 4), take(x, scales_20), 0), take(x, minima_20));
}

HVX_INLINE HVX_Vector unit_q5_0(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    const HVX_Vector quants = add_high_bits(nibbles(x, 6, Q5_0_BYTES + 6), take(x, high_bits_22));
    return Q6_Vhf_equals_Wqf32(scale_quants(quants, take(x, scales_22), 16));
}

HVX_INLINE HVX_Vector unit_q5_1(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    const HVX_Vector quants = add_high_bits(nibbles(x, 8, Q5_1_BYTES + 8), take(x, high_bits_24));
    return add_minima(scale_quants(quants, take(x, scales_24), 0), take(x, minima_24));
}

HVX_INLINE HVX_Vector unit_q8_0(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    const HVX_Vector quants = Q6_V_vmux_QVV(Q6_Q_vsetq_R(32), Q6_V_vror_VR(x, 2), Q6_V_vror_VR(x, 4));
    return Q6_Vhf_equals_Wqf32(
        scale_quants(Q6_V_vxor_VV(quants, Q6_Vb_vsplat_R(0x80)), take(x, scales_34), 128));
}

HVX_INLINE HVX_Vector unit_iq4_nl(const uint8_t *from) {
    /* entry i, plus IQ4_NL_ZERO, in byte 2i */
    static const uint8_t table[HVX_BYTES] __attribute__((aligned(128))) = {
        0,   0, 23,  0, 44,  0, 62,  0, 78,  0, 92,  0, 105, 0, 117, 0,
        128, 0, 140, 0, 152, 0, 165, 0, 180, 0, 196, 0, 216, 0, 240, 0,
    };
    const HVX_Vector x = hvx_load(from);
    const HVX_Vector quants = Q6_Vb_vlut32_VbVbR_nomatch(nibbles(x, 2, IQ4_NL_BYTES + 2),
                                                         *(const HVX_Vector *)(const void *)table, 0);
    return Q6_Vhf_equals_Wqf32(scale_quants(quants, take(x, scales_18), IQ4_NL_ZERO));
}

HVX_INLINE HVX_Vector unit_f32(const uint8_t *from) {
    const HVX_VectorPair split = hvx_deal_words(hvx_load(from), hvx_load(from + HVX_BYTES));
    return hvx_f32_to_f16(Q6_V_lo_W(split), Q6_V_hi_W(split));
}

HVX_INLINE HVX_Vector unit_bf16(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    return hvx_f32_to_f16(Q6_Vw_vasl_VwR(x, 16), Q6_V_vand_VV(x, hvx_splat_i32((int32_t)0xffff0000u)));
}

#endif
