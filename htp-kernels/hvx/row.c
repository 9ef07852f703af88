/*
 * Runs of elements: copies, and conversions between types without blocks. row_quantize.c and row_dequantize.c have
 * those with blocks.
 */
#include "hvx/row.h"

#include "htp/type_list.h"
#include "hvx/half.h"

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

/* ---- f32, f16, bf16: 64 elements a step, as two vectors of f32 ---- */

HVX_INLINE HVX_Vector load_up_to(const uint8_t *src, uint32_t bytes) {
    return bytes == 0 ? hvx_zero() : bytes >= HVX_BYTES ? hvx_load(src) : hvx_load_bytes(src, bytes);
}

HVX_INLINE void store_up_to(uint8_t *dst, uint32_t bytes, HVX_Vector v) {
    if (bytes >= HVX_BYTES)
        hvx_store(dst, v);
    else if (bytes != 0)
        hvx_store_bytes(dst, bytes, v);
}

/* n: 1 .. 64 elements */
HVX_INLINE HVX_VectorPair load_64(uint32_t type, const uint8_t *src, uint32_t n) {
    if (type == HTP_TYPE_F16)
        return hvx_f16_to_f32_exact(load_up_to(src, n * 2));
    if (type == HTP_TYPE_BF16)
        return hvx_bf16_to_f32(load_up_to(src, n * 2));
    const uint32_t second = n > HVX_WORDS ? n - HVX_WORDS : 0;
    return Q6_W_vcombine_VV(load_up_to(src + HVX_BYTES, second * 4), load_up_to(src, n * 4));
}

HVX_INLINE void store_64(uint32_t type, uint8_t *dst, uint32_t n, HVX_VectorPair x) {
    const HVX_Vector first = Q6_V_lo_W(x), second = Q6_V_hi_W(x);
    if (type == HTP_TYPE_F16) {
        store_up_to(dst, n * 2, hvx_f32_to_f16_exact(first, second));
    } else if (type == HTP_TYPE_BF16) {
        store_up_to(dst, n * 2, hvx_f32_to_bf16(first, second));
    } else {
        store_up_to(dst, n * 4, first);
        store_up_to(dst + HVX_BYTES, n > HVX_WORDS ? (n - HVX_WORDS) * 4 : 0, second);
    }
}

HVX_INLINE void convert(uint32_t from, uint32_t to, uint8_t *dst, const uint8_t *src, uint32_t count) {
    const uint32_t in = HVX_HALVES * (from == HTP_TYPE_F32 ? 4 : 2), out = HVX_HALVES * (to == HTP_TYPE_F32 ? 4 : 2);
    HVX_ROLLED
    for (; count >= HVX_HALVES; count -= HVX_HALVES, dst += out, src += in)
        store_64(to, dst, HVX_HALVES, load_64(from, src, HVX_HALVES));
    if (count != 0)
        store_64(to, dst, count, load_64(from, src, count));
}

#define CONVERT(name, from, to)                                                \
    static void name(uint8_t *dst, const uint8_t *src, uint32_t count) {       \
        convert(HTP_TYPE_##from, HTP_TYPE_##to, dst, src, count);              \
    }
CONVERT(f32_to_f16, F32, F16)
CONVERT(f16_to_f32, F16, F32)
CONVERT(f32_to_bf16, F32, BF16)
CONVERT(bf16_to_f32, BF16, F32)
CONVERT(f16_to_bf16, F16, BF16)
CONVERT(bf16_to_f16, BF16, F16)

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

/* ---- which conversion ---- */

#define PAIR(from, to) (HTP_TYPE_##from << 16 | HTP_TYPE_##to)

htp_row_fn htp_row_converter(uint32_t from, uint32_t to) {
    if (from > 0xffff || to > 0xffff)
        return NULL;
    switch (from << 16 | to) {
    case PAIR(F32, F16):
        return f32_to_f16;
    case PAIR(F16, F32):
        return f16_to_f32;
    case PAIR(F32, BF16):
        return f32_to_bf16;
    case PAIR(BF16, F32):
        return bf16_to_f32;
    case PAIR(F16, BF16):
        return f16_to_bf16;
    case PAIR(BF16, F16):
        return bf16_to_f16;
    case PAIR(F32, I32):
        return f32_to_i32;
    case PAIR(I32, F32):
        return i32_to_f32;
    default:
        break;
    }
    const htp_row_fn quantize = htp_row_quantizer(from, to);
    return quantize != NULL || to != HTP_TYPE_F32 ? quantize : htp_row_dequantizer(from);
}
