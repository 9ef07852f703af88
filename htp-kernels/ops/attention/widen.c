/*
 * Rows of f32, Q8_0 and Q4_0 to rows of f16, 64 elements at a time; the last vector of a row is filled up with zeros.
 *
 * Quants become f16 without a conversion: 0x6400 + u are the bits of 1024 + u. So scale * (1024 + u), less scale * (1024 +
 * zero), both exact in the widening multiplication, rounds once, to f16. Loads go beyond a row's end by less than a
 * vector, which the plan leaves room for.
 */
#include "ops/attention/attention.h"

#define Q8_0_BLOCK 34 /* bytes: f16 scale, 32 int8 */
#define Q4_0_BLOCK 18 /* bytes: f16 scale, 16 bytes with elements 0..15 in the low and 16..31 in the high nibbles */

#define HALF_1024 0x6400
#define HALF_1024_PLUS_8 0x6408
#define HALF_1024_PLUS_128 0x6480

/*
 * Controls of the delta network: byte i of the output comes from byte i ^ control[i]. Two scales, each for 32 half-words:
 * the first is bytes 0 and 1, the second 34 and 35 (Q8_0) or 18 and 19 (Q4_0). No two paths meet.
 */
#define LOW(i, first) (uint8_t)((i) ^ ((i) < 64 ? ((i)&1) : (first) + ((i)&1)))
#define LOW8(i, s) LOW(i, s), LOW(i + 1, s), LOW(i + 2, s), LOW(i + 3, s), LOW(i + 4, s), LOW(i + 5, s), LOW(i + 6, s), LOW(i + 7, s)
#define LOW32(i, s) LOW8(i, s), LOW8(i + 8, s), LOW8(i + 16, s), LOW8(i + 24, s)
static const uint8_t scales_q8_0[HVX_BYTES] __attribute__((aligned(128))) = {
    LOW32(0, Q8_0_BLOCK), LOW32(32, Q8_0_BLOCK), LOW32(64, Q8_0_BLOCK), LOW32(96, Q8_0_BLOCK)};
static const uint8_t scales_q4_0[HVX_BYTES] __attribute__((aligned(128))) = {
    LOW32(0, Q4_0_BLOCK), LOW32(32, Q4_0_BLOCK), LOW32(64, Q4_0_BLOCK), LOW32(96, Q4_0_BLOCK)};

/* quants: 64 unsigned bytes; zero: f16 bits of 1024 + the quant that stands for 0 */
HVX_INLINE HVX_Vector scale_quants(HVX_Vector quants, HVX_Vector scales, int32_t zero) {
    const HVX_Vector wide = Q6_V_lo_W(Q6_Wuh_vunpack_Vub(quants));
    const HVX_VectorPair x = hvx_mul_f16_qf32(Q6_V_vor_VV(wide, Q6_Vh_vsplat_R(HALF_1024)), scales);
    const HVX_VectorPair y = hvx_mul_f16_qf32(Q6_Vh_vsplat_R(zero), scales);
    const HVX_Vector low = hvx_sub_qf32(Q6_V_lo_W(x), Q6_V_lo_W(y)), high = hvx_sub_qf32(Q6_V_hi_W(x), Q6_V_hi_W(y));
    return Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(high, low));
}

HVX_INLINE HVX_Vector scales_of(HVX_Vector blocks, const uint8_t *control) {
    return Q6_V_vdelta_VV(blocks, *(const HVX_Vector *)(const void *)control);
}

HVX_INLINE HVX_Vector two_q8_0(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    const HVX_Vector first = Q6_V_vror_VR(x, 2), second = Q6_V_vror_VR(x, 4); /* in bytes 0..31, 32..63 */
    const HVX_Vector quants = Q6_V_vmux_QVV(Q6_Q_vsetq_R(32), first, second);
    return scale_quants(Q6_V_vxor_VV(quants, Q6_Vb_vsplat_R(0x80)), scales_of(x, scales_q8_0), HALF_1024_PLUS_128);
}

HVX_INLINE HVX_Vector two_q4_0(const uint8_t *from) {
    const HVX_Vector x = hvx_load(from);
    /* each block's 16 bytes twice: at 0 and 16, at 32 and 48 */
    const HVX_Vector first = Q6_V_vmux_QVV(Q6_Q_vsetq_R(16), Q6_V_vror_VR(x, 2), Q6_V_vror_VR(x, 2 - 16));
    const HVX_Vector second = Q6_V_vmux_QVV(Q6_Q_vsetq_R(48), Q6_V_vror_VR(x, 20 - 32), Q6_V_vror_VR(x, 20 - 48));
    const HVX_Vector both = Q6_V_vmux_QVV(Q6_Q_vsetq_R(32), first, second);
    const HVX_VectorPred third_up = Q6_Q_and_QQn(Q6_Q_vsetq_R(64), Q6_Q_vsetq_R(48));
    const HVX_VectorPred high = Q6_Q_or_QQ(third_up, Q6_Q_and_QQn(Q6_Q_vsetq_R(32), Q6_Q_vsetq_R(16)));
    const HVX_Vector low_nibbles = Q6_V_vand_VV(both, Q6_Vb_vsplat_R(0x0f));
    const HVX_Vector quants = Q6_V_vmux_QVV(high, Q6_Vub_vlsr_VubR(both, 4), low_nibbles);
    return scale_quants(quants, scales_of(x, scales_q4_0), HALF_1024_PLUS_8);
}

HVX_INLINE HVX_Vector from_f32(const uint8_t *from) {
    const HVX_VectorPair split = hvx_deal_words(hvx_load(from), hvx_load(from + HVX_BYTES));
    return hvx_f32_to_f16(Q6_V_lo_W(split), Q6_V_hi_W(split));
}

/* unit_bytes: 64 elements as stored. Two rows at a time, so that one's latency hides the other's. */
HVX_INLINE void widen_two_rows(HVX_Vector (*unit)(const uint8_t *), uint32_t unit_bytes, const uint8_t *a,
                               const uint8_t *b, uint32_t elements, HVX_Vector *to_a, HVX_Vector *to_b) {
    HVX_ROLLED
    for (uint32_t i = elements / HVX_HALVES; i > 0; i--, a += unit_bytes, b += unit_bytes) {
        const HVX_Vector x = unit(a), y = unit(b);
        *to_a++ = x;
        *to_b++ = y;
    }
    if (elements % HVX_HALVES != 0) {
        const HVX_VectorPred used = Q6_Q_vsetq_R((int32_t)(elements % HVX_HALVES * 2));
        const HVX_Vector x = unit(a), y = unit(b);
        *to_a = Q6_V_vand_QV(used, x);
        *to_b = Q6_V_vand_QV(used, y);
    }
}

HVX_INLINE void widen_rows(HVX_Vector (*unit)(const uint8_t *), uint32_t unit_bytes, const uint8_t *raw,
                           size_t raw_step, uint32_t rows, uint32_t elements, HVX_Vector *out) {
    const uint32_t units = htp_div_up(elements, HVX_HALVES);
    HVX_ROLLED
    for (uint32_t r = 0; r < rows; r += 2) {
        const uint32_t second = r + 1 < rows ? r + 1 : r; /* an odd last row is done twice */
        widen_two_rows(unit, unit_bytes, raw + r * raw_step, raw + second * raw_step, elements, out + (size_t)r * units,
                       out + (size_t)second * units);
    }
}

void attention_widen(uint32_t type, const uint8_t *raw, size_t raw_step, uint32_t rows, uint32_t elements,
                     uint8_t *out) {
    HVX_Vector *to = (HVX_Vector *)(void *)out;
    switch (type) {
    case HTP_TYPE_Q8_0:
        widen_rows(two_q8_0, 2 * Q8_0_BLOCK, raw, raw_step, rows, elements, to);
        break;
    case HTP_TYPE_Q4_0:
        widen_rows(two_q4_0, 2 * Q4_0_BLOCK, raw, raw_step, rows, elements, to);
        break;
    default:
        widen_rows(from_f32, 4 * HVX_HALVES, raw, raw_step, rows, elements, to);
        break;
    }
}
