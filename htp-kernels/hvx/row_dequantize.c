/* Rows of blocks of 32 to f32, a block at a time. The formulas are ggml's; row.h has them. */
#include "hvx/row_blocks.h"
#include "runtime/types.h"

static const int8_t mxfp4_values[HVX_BYTES] __attribute__((aligned(128))) =
    NIBBLE_TABLE(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12); /* twice those of the type */

/* unsigned quants as bytes -> what they stand for as words; Q8_0: with 128 added to a quant, as tiles have it */
HVX_INLINE HVX_Vector quant_values(uint32_t type, HVX_Vector stored) {
    switch (type) {
    case HTP_TYPE_Q8_0:
        return widen(Q6_V_vxor_VV(stored, hvx_splat_i32((int32_t)0x80808080u)));
    case HTP_TYPE_Q4_0:
        return Q6_Vw_vsub_VwVw(widen(stored), hvx_splat_i32(8));
    case HTP_TYPE_Q5_0:
        return Q6_Vw_vsub_VwVw(widen(stored), hvx_splat_i32(16));
    case HTP_TYPE_MXFP4:
        return widen(Q6_Vb_vlut32_VbVbR_nomatch(stored, hvx_load_aligned(mxfp4_values), 0));
    case HTP_TYPE_IQ4_NL:
        return widen(Q6_Vb_vlut32_VbVbR_nomatch(stored, hvx_load_aligned(iq4_nl_values), 0));
    case HTP_TYPE_IQ4_XS:
    case HTP_TYPE_Q3_K:
    case HTP_TYPE_Q6_K:
        return widen(hvx_row_signed(type, stored));
    default:
        return widen(stored);
    }
}

HVX_INLINE void store_block(uint32_t type, uint8_t *dst, HVX_Vector values, float scale, float minimum) {
    HVX_Vector x = hvx_mul_f32(hvx_i32_to_f32(values), hvx_splat_f32(scale));
    if (has_minimum(type))
        x = hvx_add_f32(x, hvx_splat_f32(minimum));
    hvx_store(dst, x);
}

void htp_row_expand(uint32_t type, uint8_t *dst, const uint8_t *quants, const float *scale, const float *minimum) {
    const HVX_Vector values = quant_values(type, hvx_load_bytes(quants, BLOCK));
    hvx_store(dst, hvx_row_scaled(type, values, scale, minimum, Q6_Q_vsetq_R(64)));
}

/* 2^(byte - 128): half of what the byte says, as the table has the values twice */
float htp_row_mxfp4_scale(uint8_t byte) {
    return hvx_bits_float(byte < 2 ? 0x00200000u << byte : (uint32_t)(byte - 1) << 23);
}

HVX_INLINE float load_scale(uint32_t type, const uint8_t *block) {
    return type == HTP_TYPE_MXFP4 ? htp_row_mxfp4_scale(block[0]) : hvx_scale_from_half(load_half(block));
}

/* bytes: a block's quants in front. Low nibbles are elements 0..15, high ones 16..31. */
HVX_INLINE HVX_Vector nibbles(HVX_Vector bytes) {
    const HVX_Vector low = Q6_V_vand_VV(bytes, hvx_splat_i32(0x0f0f0f0f));
    const HVX_Vector high = Q6_V_vror_VR(Q6_Vub_vlsr_VubR(bytes, 4), -(BLOCK / 2));
    return Q6_V_vmux_QVV(Q6_Q_vsetq_R(BLOCK / 2), low, high);
}

/* bit i of the word as 0 or 16 in lane i */
HVX_INLINE HVX_Vector fifth_bits(const uint8_t *p) {
    const uint32_t bits = (uint32_t)load_half(p + 2) << 16 | load_half(p);
    const HVX_Vector moved = Q6_Vw_vlsr_VwVw(hvx_splat_i32((int32_t)bits), hvx_load_aligned(lane_numbers));
    return Q6_V_vand_VV(Q6_Vw_vasl_VwR(moved, 4), hvx_splat_i32(16));
}

/* bytes: a vector whose first bytes are the block's quants */
HVX_INLINE HVX_Vector block_values(uint32_t type, const uint8_t *block, HVX_Vector bytes) {
    if (type == HTP_TYPE_Q8_0)
        return widen(bytes);
    const HVX_Vector values = quant_values(type, nibbles(bytes));
    return has_fifth_bits(type) ? Q6_Vw_vadd_VwVw(values, fifth_bits(block + head_bytes(type) - 4)) : values;
}

HVX_INLINE float load_minimum(uint32_t type, const uint8_t *block) {
    return has_minimum(type) ? hvx_scale_from_half(load_half(block + 2)) : 0;
}

/* Blocks of one step. Each is a chain of instructions that wait for one another; compilers leave loops over blocks as
 * they are, so each stage is a loop over the blocks of the step. */
#define STEP 4

HVX_INLINE void expand_step(uint32_t type, uint8_t *dst, const uint8_t *src) {
    const uint32_t head = head_bytes(type), bytes = htp_type_bytes(type);
    const uint8_t *heads = HVX_APART(src);
    HVX_Vector v[STEP];
    float scale[STEP], minimum[STEP];
    HVX_UNROLL
    for (uint32_t i = 0; i < STEP; i++) {
        v[i] = hvx_load(src + i * bytes + head);
        scale[i] = load_scale(type, heads + i * bytes);
        minimum[i] = load_minimum(type, heads + i * bytes);
    }
    HVX_UNROLL
    for (uint32_t i = 0; i < STEP; i++)
        v[i] = block_values(type, heads + i * bytes, v[i]);
    HVX_UNROLL
    for (uint32_t i = 0; i < STEP; i++)
        v[i] = hvx_mul_f32(hvx_i32_to_f32(v[i]), hvx_splat_f32(scale[i]));
    HVX_UNROLL
    for (uint32_t i = 0; i < STEP; i++)
        hvx_store(dst + i * HVX_BYTES, has_minimum(type) ? hvx_add_f32(v[i], hvx_splat_f32(minimum[i])) : v[i]);
}

HVX_INLINE void dequantize(uint32_t type, uint8_t *restrict dst, const uint8_t *restrict src, uint32_t count) {
    const uint32_t head = head_bytes(type), bytes = htp_type_bytes(type);
    const uint32_t ahead = (head + HVX_BYTES) / bytes + STEP; /* whole vectors may be read while so many are left */
    uint32_t i = count / BLOCK;
    HVX_ROLLED
    for (; i >= ahead; i -= STEP, src += STEP * bytes, dst += STEP * HVX_BYTES)
        expand_step(type, dst, src);
    HVX_ROLLED
    for (; i > 0; i--, src += bytes, dst += HVX_BYTES) {
        const HVX_Vector values = block_values(type, src, hvx_load_bytes(src + head, bytes - head));
        store_block(type, dst, values, load_scale(type, src), load_minimum(type, src));
    }
}

#define DEQUANTIZE(name, type)                                           \
    static void name(uint8_t *dst, const uint8_t *src, uint32_t count) { \
        dequantize(HTP_TYPE_##type, dst, src, count);                    \
    }
DEQUANTIZE(from_q4_0, Q4_0)
DEQUANTIZE(from_q4_1, Q4_1)
DEQUANTIZE(from_q5_0, Q5_0)
DEQUANTIZE(from_q5_1, Q5_1)
DEQUANTIZE(from_q8_0, Q8_0)
DEQUANTIZE(from_mxfp4, MXFP4)
DEQUANTIZE(from_iq4_nl, IQ4_NL)

htp_row_fn htp_row_dequantizer(uint32_t from) {
    switch (from) {
    case HTP_TYPE_Q4_0:
        return from_q4_0;
    case HTP_TYPE_Q4_1:
        return from_q4_1;
    case HTP_TYPE_Q5_0:
        return from_q5_0;
    case HTP_TYPE_Q5_1:
        return from_q5_1;
    case HTP_TYPE_Q8_0:
        return from_q8_0;
    case HTP_TYPE_MXFP4:
        return from_mxfp4;
    case HTP_TYPE_IQ4_NL:
        return from_iq4_nl;
    default:
        return htp_row_dequantizer_256(from);
    }
}
