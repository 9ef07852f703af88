/*
 * The integer intrinsics for machines without HVX: chunk by chunk with the compiler's vector extensions, the host's
 * own instructions where they pay (wide.h), and the plain versions for the rest (narrow.h). Same results as
 * emul/plain.h, bit for bit.
 */
#ifndef HVX_EMUL_INTEGER_H
#define HVX_EMUL_INTEGER_H

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include <string.h>

#include "hvx/emul/plain.h"
#if HVX_CHUNK_BYTES == 64
#include "hvx/emul/wide.h"
#else
#include "hvx/emul/narrow.h"
#endif

/* expr computes a chunk of the result from chunks u, v, x (cast to type) of the operands */
#define HVX_STEP_V(i, type, expr)           \
    {                                       \
        const type u = (type)u_.c[i];       \
        r.c[i] = (chunk_u32)(expr);         \
    }
#define HVX_STEP_VV(i, type, expr)                                  \
    {                                                               \
        const type u = (type)u_.c[i], v = (type)v_.c[i];            \
        r.c[i] = (chunk_u32)(expr);                                 \
    }
#define HVX_STEP_VVV(i, type, expr)                                           \
    {                                                                         \
        const type x = (type)x_.c[i], u = (type)u_.c[i], v = (type)v_.c[i];   \
        r.c[i] = (chunk_u32)(expr);                                           \
    }
#define HVX_FAST_V(name, type, expr)                     \
    HVX_INLINE HVX_Vector name(HVX_Vector u_) {          \
        HVX_Vector r;                                    \
        HVX_EACH_CHUNK(HVX_STEP_V, type, expr)           \
        return r;                                        \
    }
#define HVX_FAST_VV(name, type, expr)                           \
    HVX_INLINE HVX_Vector name(HVX_Vector u_, HVX_Vector v_) {  \
        HVX_Vector r;                                           \
        HVX_EACH_CHUNK(HVX_STEP_VV, type, expr)                 \
        return r;                                               \
    }
#define HVX_FAST_VR(name, type, expr)                           \
    HVX_INLINE HVX_Vector name(HVX_Vector u_, int32_t t) {      \
        HVX_Vector r;                                           \
        HVX_EACH_CHUNK(HVX_STEP_V, type, expr)                  \
        return r;                                               \
    }
#define HVX_FAST_VVR(name, type, expr)                                      \
    HVX_INLINE HVX_Vector name(HVX_Vector u_, HVX_Vector v_, int32_t t) {   \
        HVX_Vector r;                                                       \
        HVX_EACH_CHUNK(HVX_STEP_VV, type, expr)                             \
        return r;                                                           \
    }
#define HVX_FAST_VVV(name, type, expr)                                          \
    HVX_INLINE HVX_Vector name(HVX_Vector x_, HVX_Vector u_, HVX_Vector v_) {   \
        HVX_Vector r;                                                           \
        HVX_EACH_CHUNK(HVX_STEP_VVV, type, expr)                                \
        return r;                                                               \
    }

/* ---- constants and logic ---- */
#define HVX_SPLAT_CHUNK(t) ((chunk_u32){0} + (uint32_t)(t))
#define HVX_STEP_SPLAT(i, word) r.c[i] = (chunk_u32){0} + (word);
HVX_INLINE HVX_Vector Q6_V_vsplat_R(int32_t t) {
    HVX_Vector r;
    HVX_EACH_CHUNK(HVX_STEP_SPLAT, (uint32_t)t)
    return r;
}
HVX_INLINE HVX_Vector Q6_V_vzero(void) { return Q6_V_vsplat_R(0); }
HVX_INLINE HVX_Vector Q6_Vh_vsplat_R(int32_t t) { return Q6_V_vsplat_R((int32_t)((uint32_t)(uint16_t)t * 0x10001u)); }
HVX_INLINE HVX_Vector Q6_Vb_vsplat_R(int32_t t) { return Q6_V_vsplat_R((int32_t)((uint32_t)(uint8_t)t * 0x1010101u)); }
HVX_FAST_VV(Q6_V_vand_VV, chunk_u32, u & v)
HVX_FAST_VV(Q6_V_vor_VV, chunk_u32, u | v)
HVX_FAST_VV(Q6_V_vxor_VV, chunk_u32, u ^ v)
HVX_FAST_V(Q6_V_vnot_V, chunk_u32, ~u)

/* ---- predicates ---- */
HVX_INLINE HVX_VectorPred hvx_pred(HVX_Vector mask) {
    const HVX_VectorPred q = {mask};
    return q;
}
HVX_FAST_VV(hvx_equal_words, chunk_i32, u == v)
HVX_FAST_VV(hvx_equal_halves, chunk_i16, u == v)
HVX_FAST_VV(hvx_greater_words, chunk_i32, u > v)
HVX_FAST_VV(hvx_greater_unsigned_words, chunk_u32, u > v)
HVX_FAST_VV(hvx_clear_bits, chunk_u32, u & ~v)
HVX_FAST_VVV(hvx_select_bits, chunk_u32, (x & u) | (~x & v))
HVX_INLINE HVX_VectorPred Q6_Q_vsetq_R(int32_t t) { return hvx_pred(plain_Q6_Q_vsetq_R(t)); }
HVX_INLINE HVX_VectorPred Q6_Q_vsetq2_R(int32_t t) { return hvx_pred(plain_Q6_Q_vsetq2_R(t)); }
HVX_INLINE HVX_VectorPred Q6_Q_and_QQ(HVX_VectorPred s, HVX_VectorPred t) {
    return hvx_pred(Q6_V_vand_VV(s.mask, t.mask));
}
HVX_INLINE HVX_VectorPred Q6_Q_and_QQn(HVX_VectorPred s, HVX_VectorPred t) {
    return hvx_pred(hvx_clear_bits(s.mask, t.mask));
}
HVX_INLINE HVX_VectorPred Q6_Q_or_QQ(HVX_VectorPred s, HVX_VectorPred t) {
    return hvx_pred(Q6_V_vor_VV(s.mask, t.mask));
}
HVX_INLINE HVX_VectorPred Q6_Q_not_Q(HVX_VectorPred s) { return hvx_pred(Q6_V_vnot_V(s.mask)); }
HVX_INLINE HVX_VectorPred Q6_Q_vcmp_eq_VwVw(HVX_Vector u, HVX_Vector v) { return hvx_pred(hvx_equal_words(u, v)); }
HVX_INLINE HVX_VectorPred Q6_Q_vcmp_eq_VhVh(HVX_Vector u, HVX_Vector v) { return hvx_pred(hvx_equal_halves(u, v)); }
HVX_INLINE HVX_VectorPred Q6_Q_vcmp_gt_VwVw(HVX_Vector u, HVX_Vector v) { return hvx_pred(hvx_greater_words(u, v)); }
HVX_INLINE HVX_VectorPred Q6_Q_vcmp_gt_VuwVuw(HVX_Vector u, HVX_Vector v) {
    return hvx_pred(hvx_greater_unsigned_words(u, v));
}
HVX_INLINE HVX_VectorPred Q6_Q_vcmp_gtand_QVuwVuw(HVX_VectorPred q, HVX_Vector u, HVX_Vector v) {
    return Q6_Q_and_QQ(q, Q6_Q_vcmp_gt_VuwVuw(u, v));
}
HVX_FAST_VR(hvx_bytes_with_bits, chunk_u8, ~(chunk_u8)((u & (chunk_u8)HVX_SPLAT_CHUNK(t)) == 0))
HVX_INLINE HVX_VectorPred Q6_Q_vand_VR(HVX_Vector u, int32_t t) { return hvx_pred(hvx_bytes_with_bits(u, t)); }
HVX_INLINE HVX_Vector Q6_V_vandor_VQR(HVX_Vector u, HVX_VectorPred q, int32_t t) {
    return Q6_V_vor_VV(u, Q6_V_vand_VV(q.mask, Q6_V_vsplat_R(t)));
}
HVX_INLINE HVX_Vector Q6_V_vand_QV(HVX_VectorPred q, HVX_Vector v) { return Q6_V_vand_VV(q.mask, v); }
HVX_INLINE HVX_Vector Q6_V_vmux_QVV(HVX_VectorPred q, HVX_Vector u, HVX_Vector v) {
    return hvx_select_bits(q.mask, u, v);
}
HVX_INLINE HVX_VectorPair Q6_W_vcombine_VV(HVX_Vector high, HVX_Vector low) {
    const HVX_VectorPair w = {{low, high}};
    return w;
}
HVX_INLINE HVX_Vector Q6_V_lo_W(HVX_VectorPair w) { return w.v[0]; }
HVX_INLINE HVX_Vector Q6_V_hi_W(HVX_VectorPair w) { return w.v[1]; }
HVX_INLINE HVX_VectorPair Q6_Wuw_vmpy_VuhVuh(HVX_Vector u, HVX_Vector v) { return plain_Q6_Wuw_vmpy_VuhVuh(u, v); }
HVX_INLINE HVX_VectorPair Q6_W_vswap_QVV(HVX_VectorPred q, HVX_Vector u, HVX_Vector v) {
    return Q6_W_vcombine_VV(hvx_select_bits(q.mask, v, u), hvx_select_bits(q.mask, u, v));
}

/* ---- arithmetic ---- */
HVX_FAST_VV(Q6_Vw_vadd_VwVw, chunk_u32, u + v)
HVX_FAST_VV(Q6_Vw_vsub_VwVw, chunk_u32, u - v)
HVX_FAST_VV(Q6_Vh_vadd_VhVh, chunk_u16, u + v)
HVX_FAST_VV(Q6_Vh_vsub_VhVh, chunk_u16, u - v)
#if HVX_CHUNK_BYTES == 64
HVX_FAST_VV(Q6_Vh_vadd_VhVh_sat, chunk_u32, _mm512_adds_epi16((__m512i)u, (__m512i)v))
#elif HVX_CHUNK_BYTES == 32
HVX_FAST_VV(Q6_Vh_vadd_VhVh_sat, chunk_u32, _mm256_adds_epi16((__m256i)u, (__m256i)v))
#elif defined(__SSE2__)
HVX_FAST_VV(Q6_Vh_vadd_VhVh_sat, chunk_u32, _mm_adds_epi16((__m128i)u, (__m128i)v))
#else
HVX_INLINE HVX_Vector Q6_Vh_vadd_VhVh_sat(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vh_vadd_VhVh_sat(u, v); }
#endif
HVX_INLINE chunk_i32 chunk_multiply_q15(chunk_i32 u, chunk_i32 v) {
    const chunk_i32 product = (u * v + 0x4000) >> 15, top = (chunk_i32)(product > INT16_MAX); /* -1 times -1 */
    return (product & ~top) | (INT16_MAX & top);
}
HVX_FAST_VV(Q6_Vh_vmpy_VhVh_s1_rnd_sat, chunk_u32,
            ((chunk_u32)chunk_multiply_q15((chunk_i32)u >> 16, (chunk_i32)v >> 16) << 16) |
                ((chunk_u32)chunk_multiply_q15((chunk_i32)(u << 16) >> 16, (chunk_i32)(v << 16) >> 16) & 0xffffu))
HVX_FAST_VV(Q6_Vw_vmax_VwVw, chunk_i32, (u & (u > v)) | (v & ~(u > v)))
HVX_FAST_VV(Q6_Vw_vmin_VwVw, chunk_i32, (u & (u < v)) | (v & ~(u < v)))
HVX_FAST_VV(Q6_Vuh_vmax_VuhVuh, chunk_u16, (u & (chunk_u16)(u > v)) | (v & ~(chunk_u16)(u > v)))
HVX_FAST_VV(Q6_Vub_vmax_VubVub, chunk_u8, (u & (chunk_u8)(u > v)) | (v & ~(chunk_u8)(u > v)))
HVX_FAST_VV(Q6_Vub_vsub_VubVub_sat, chunk_u8, (u - v) & (chunk_u8)(u > v))
HVX_FAST_VV(Q6_Vw_vmpyie_VwVuh, chunk_u32, u * (v & 0xffffu))
HVX_INLINE chunk_u32 chunk_spread_bytes(int32_t t) {
    chunk_u32 r = {0};
    for (int i = 0; i < HVX_CHUNK_BYTES / 4; i++)
        r[i] = plain_byte(t, i);
    return r;
}
HVX_FAST_VR(Q6_Vw_vmpyi_VwRub, chunk_u32, u * chunk_spread_bytes(t))
HVX_FAST_VVV(Q6_Vw_vmpyieacc_VwVwVh, chunk_u32, x + u * (chunk_u32)((chunk_i32)(v << 16) >> 16))
HVX_FAST_VV(Q6_Vw_vmpyio_VwVh, chunk_u32, u * (chunk_u32)((chunk_i32)v >> 16))
HVX_INLINE HVX_Vector Q6_Vw_vdmpy_VhRh_sat(HVX_Vector u, int32_t t) { return plain_Q6_Vw_vdmpy_VhRh_sat(u, t); }
HVX_FAST_VV(Q6_Vb_vsub_VbVb, chunk_u8, u - v)
HVX_INLINE chunk_u32 chunk_multiply_high(chunk_u32 u, chunk_u32 v) {
#if HVX_CHUNK_BYTES == 64
    return (chunk_u32)_mm512_mulhi_epu16((__m512i)u, (__m512i)v);
#elif HVX_CHUNK_BYTES == 32
    return (chunk_u32)_mm256_mulhi_epu16((__m256i)u, (__m256i)v);
#else
    return ((u & 0xffffu) * (v & 0xffffu) >> 16) | ((u >> 16) * (v >> 16) & 0xffff0000u);
#endif
}
HVX_FAST_VV(Q6_Vuh_vmpy_VuhVuh_rs16, chunk_u32, chunk_multiply_high(u, v))
HVX_FAST_VVR(hvx_add_even_products, chunk_u32, u + (chunk_u32)((chunk_i32)(v << 16) >> 16) * (uint32_t)(int16_t)t)
HVX_FAST_VVR(hvx_add_odd_products, chunk_u32, u + (chunk_u32)((chunk_i32)v >> 16) * (uint32_t)(t >> 16))
HVX_INLINE HVX_VectorPair Q6_Ww_vmpyacc_WwVhRh(HVX_VectorPair w, HVX_Vector u, int32_t t) {
    return Q6_W_vcombine_VV(hvx_add_odd_products(Q6_V_hi_W(w), u, t), hvx_add_even_products(Q6_V_lo_W(w), u, t));
}

/*
 * Dot products of 4 bytes. One host instruction where there is one that is exact over the full range of bytes.
 * (pmaddubsw is not: it saturates.) Otherwise even and odd bytes are widened to 16 bits and multiplied in pairs.
 */
HVX_INLINE chunk_u32 chunk_dot_ub_b(chunk_u32 sum, chunk_u32 a, chunk_u32 b) {
#if HVX_CHUNK_BYTES == 64 && defined(__AVX512VNNI__)
    return (chunk_u32)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif HVX_CHUNK_BYTES == 32 && defined(__AVXVNNI__)
    return (chunk_u32)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
#else
    const chunk_i16 even_a = (chunk_i16)(a & 0x00ff00ffu), odd_a = (chunk_i16)((chunk_u16)a >> 8);
    const chunk_i16 even_b = (chunk_i16)((chunk_u16)b << 8) >> 8, odd_b = (chunk_i16)b >> 8;
#if HVX_CHUNK_BYTES == 64
    const __m512i even = _mm512_madd_epi16((__m512i)even_a, (__m512i)even_b);
    const __m512i odd = _mm512_madd_epi16((__m512i)odd_a, (__m512i)odd_b);
    return sum + (chunk_u32)even + (chunk_u32)odd;
#elif HVX_CHUNK_BYTES == 32
    const __m256i even = _mm256_madd_epi16((__m256i)even_a, (__m256i)even_b);
    const __m256i odd = _mm256_madd_epi16((__m256i)odd_a, (__m256i)odd_b);
    return sum + (chunk_u32)even + (chunk_u32)odd;
#elif defined(__SSE2__)
    const __m128i even = _mm_madd_epi16((__m128i)even_a, (__m128i)even_b);
    const __m128i odd = _mm_madd_epi16((__m128i)odd_a, (__m128i)odd_b);
    return sum + (chunk_u32)even + (chunk_u32)odd;
#else
    /* each product fits 16 bits: 255 * -128 = -32640 */
    const chunk_i32 even = (chunk_i32)(even_a * even_b), odd = (chunk_i32)(odd_a * odd_b);
    const chunk_i32 even_low = (chunk_i32)((chunk_u32)even << 16) >> 16;
    const chunk_i32 odd_low = (chunk_i32)((chunk_u32)odd << 16) >> 16;
    return sum + (chunk_u32)(even_low + odd_low + (even >> 16) + (odd >> 16));
#endif
#endif
}
/* signed times signed: with its sign bit turned over, a is 128 more; so 128 times the sum of b goes off again */
HVX_INLINE chunk_u32 chunk_dot_b_b(chunk_u32 sum, chunk_u32 a, chunk_u32 b) {
    const chunk_u32 biased = chunk_dot_ub_b(sum, a ^ 0x80808080u, b);
    return biased - chunk_dot_ub_b((chunk_u32){0}, (chunk_u32){0} + 0x80808080u, b);
}
HVX_FAST_VR(Q6_Vw_vrmpy_VubRb, chunk_u32, chunk_dot_ub_b((chunk_u32){0}, u, HVX_SPLAT_CHUNK(t)))
HVX_FAST_VVR(Q6_Vw_vrmpyacc_VwVubRb, chunk_u32, chunk_dot_ub_b(u, v, HVX_SPLAT_CHUNK(t)))
HVX_FAST_VV(Q6_Vw_vrmpy_VubVb, chunk_u32, chunk_dot_ub_b((chunk_u32){0}, u, v))
HVX_FAST_VVV(Q6_Vw_vrmpyacc_VwVubVb, chunk_u32, chunk_dot_ub_b(x, u, v))
HVX_FAST_VV(Q6_Vw_vrmpy_VbVb, chunk_u32, chunk_dot_b_b((chunk_u32){0}, u, v))
HVX_FAST_VVV(Q6_Vw_vrmpyacc_VwVbVb, chunk_u32, chunk_dot_b_b(x, u, v))

/* ---- shifts ---- */
HVX_FAST_VR(Q6_Vw_vasl_VwR, chunk_u32, u << (t & 31))
HVX_FAST_VR(Q6_Vw_vasr_VwR, chunk_i32, u >> (t & 31))
HVX_FAST_VR(Q6_Vuw_vlsr_VuwR, chunk_u32, u >> (t & 31))
HVX_FAST_VR(Q6_Vuh_vlsr_VuhR, chunk_u16, u >> (t & 15))
HVX_FAST_VR(Q6_Vub_vlsr_VubR, chunk_u32, u >> (t & 7) & (0x01010101u * (0xffu >> (t & 7))))
HVX_FAST_VVR(Q6_Vh_vasr_VwVwR, chunk_i32, ((chunk_u32)(u >> (t & 15)) << 16) | ((chunk_u32)(v >> (t & 15)) & 0xffffu))
HVX_FAST_VVR(Q6_Vw_vaslacc_VwVwR, chunk_u32, u + (v << (t & 31)))
HVX_FAST_VVR(Q6_Vw_vasracc_VwVwR, chunk_i32, (chunk_u32)u + (chunk_u32)(v >> (t & 31)))
HVX_INLINE HVX_Vector Q6_Vuw_vcl0_Vuw(HVX_Vector u) { return plain_Q6_Vuw_vcl0_Vuw(u); }

/* ---- bytes that change place ---- */
HVX_INLINE HVX_Vector hvx_window(HVX_Vector low, HVX_Vector high, uint32_t offset) {
    uint8_t bytes[256] __attribute__((aligned(128)));
    HVX_Vector r;
    memcpy(bytes, &low, 128);
    memcpy(bytes + 128, &high, 128);
    memcpy(&r, bytes + offset, 128);
    return r;
}
HVX_INLINE HVX_Vector Q6_V_vror_VR(HVX_Vector u, int32_t t) {
#if HVX_CHUNK_BYTES == 64
    if ((t & 3) == 0)
        return hvx_rotate_words(u, t >> 2);
#endif
    return hvx_window(u, u, (uint32_t)t & 127);
}
HVX_INLINE HVX_Vector Q6_V_valign_VVR(HVX_Vector u, HVX_Vector v, int32_t t) {
    return hvx_window(v, u, (uint32_t)t & 127);
}
HVX_INLINE HVX_Vector Q6_V_vlalign_VVR(HVX_Vector u, HVX_Vector v, int32_t t) {
    return hvx_window(v, u, 128 - ((uint32_t)t & 127));
}
HVX_FAST_VV(Q6_Vh_vshuffe_VhVh, chunk_u32, (v & 0xffffu) | u << 16)
HVX_FAST_VV(Q6_Vh_vshuffo_VhVh, chunk_u32, v >> 16 | (u & 0xffff0000u))
HVX_FAST_V(hvx_even_bytes, chunk_u16, u & 0xff)
HVX_FAST_V(hvx_odd_bytes, chunk_u16, u >> 8)
HVX_FAST_V(hvx_signed_even_bytes, chunk_i16, (chunk_i16)((chunk_u16)u << 8) >> 8)
HVX_FAST_V(hvx_signed_odd_bytes, chunk_i16, u >> 8)
HVX_INLINE HVX_VectorPair Q6_Wuh_vzxt_Vub(HVX_Vector u) {
    return Q6_W_vcombine_VV(hvx_odd_bytes(u), hvx_even_bytes(u));
}
HVX_INLINE HVX_VectorPair Q6_Wh_vsxt_Vb(HVX_Vector u) {
    return Q6_W_vcombine_VV(hvx_signed_odd_bytes(u), hvx_signed_even_bytes(u));
}
HVX_FAST_VV(hvx_multiply_halves, chunk_u16, u * v)
HVX_FAST_VVV(hvx_add_products, chunk_u16, x + u * v)
HVX_INLINE HVX_VectorPair Q6_Wh_vmpy_VbVb(HVX_Vector u, HVX_Vector v) {
    return Q6_W_vcombine_VV(hvx_multiply_halves(hvx_signed_odd_bytes(u), hvx_signed_odd_bytes(v)),
                            hvx_multiply_halves(hvx_signed_even_bytes(u), hvx_signed_even_bytes(v)));
}
HVX_INLINE HVX_VectorPair Q6_Wh_vmpyacc_WhVubVb(HVX_VectorPair w, HVX_Vector u, HVX_Vector v) {
    return Q6_W_vcombine_VV(hvx_add_products(Q6_V_hi_W(w), hvx_odd_bytes(u), hvx_signed_odd_bytes(v)),
                            hvx_add_products(Q6_V_lo_W(w), hvx_even_bytes(u), hvx_signed_even_bytes(v)));
}
HVX_FAST_VV(hvx_subtract_even_bytes, chunk_u16, (u & 0xff) - (v & 0xff))
HVX_FAST_VV(hvx_subtract_odd_bytes, chunk_u16, (u >> 8) - (v >> 8))
HVX_INLINE HVX_VectorPair Q6_Wh_vsub_VubVub(HVX_Vector u, HVX_Vector v) {
    return Q6_W_vcombine_VV(hvx_subtract_odd_bytes(u, v), hvx_subtract_even_bytes(u, v));
}
HVX_INLINE HVX_VectorPair Q6_Wh_vshuffoe_VhVh(HVX_Vector u, HVX_Vector v) {
    return Q6_W_vcombine_VV(Q6_Vh_vshuffo_VhVh(u, v), Q6_Vh_vshuffe_VhVh(u, v));
}

#if HVX_CHUNK_BYTES == 64
#define HVX_LOOK_UP(chunk, table) (chunk_u32) _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), (__m512i)(chunk))
#elif HVX_CHUNK_BYTES == 32
#define HVX_LOOK_UP(chunk, table) (chunk_u32) _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), (__m256i)(chunk))
#endif
#ifdef HVX_LOOK_UP
/* 16 entries of the table: the low or high bytes of the half-words from `from` on */
HVX_INLINE __m128i hvx_table16(const uint16_t *from, int32_t odd) {
    const __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)(from + 8));
    const __m128i low = _mm_set1_epi16(0xff);
    return odd ? _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8))
               : _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
}
#define HVX_STEP_LOOK_UP(i, from, first, second)                                               \
    {                                                                                          \
        const chunk_u32 index = from.c[i], place = index & 0x0f0f0f0fu;                        \
        const chunk_u32 upper = (index >> 4 & 0x01010101u) * 255u;                             \
        r.c[i] = (HVX_LOOK_UP(place, first) & ~upper) | (HVX_LOOK_UP(place, second) & upper);  \
    }
HVX_INLINE HVX_Vector Q6_Vb_vlut32_VbVbR_nomatch(HVX_Vector u, HVX_Vector v, int32_t t) {
    const union hvx_lanes table = {v};
    const uint16_t *half = table.uh + (t & 1) * 32;
    const __m128i first = hvx_table16(half, t & 2), second = hvx_table16(half + 16, t & 2);
    HVX_Vector r;
    HVX_EACH_CHUNK(HVX_STEP_LOOK_UP, u, first, second)
    return r;
}
#else
HVX_INLINE HVX_Vector Q6_Vb_vlut32_VbVbR_nomatch(HVX_Vector u, HVX_Vector v, int32_t t) {
    return plain_Q6_Vb_vlut32_VbVbR_nomatch(u, v, t);
}
#endif

#ifdef HVX_LOOK_UP
/* low and high bytes of the table's half-words, put together for the even and the odd indices */
#define HVX_STEP_LOOK_UP_HALVES(i, from, low, high)                                     \
    {                                                                                   \
        const chunk_u32 place = from.c[i] & 0x0f0f0f0fu;                                \
        const chunk_u32 l = HVX_LOOK_UP(place, low), h = HVX_LOOK_UP(place, high);      \
        even.c[i] = (l & 0x00ff00ffu) | (chunk_u32)((chunk_u16)h << 8);                 \
        odd.c[i] = (chunk_u32)((chunk_u16)l >> 8) | (h & 0xff00ff00u);                  \
    }
HVX_INLINE HVX_VectorPair Q6_Wh_vlut16_VbVhR_nomatch(HVX_Vector u, HVX_Vector v, int32_t t) {
    const union hvx_lanes table = {v};
    uint16_t entries[16];
    for (int i = 0; i < 16; i++)
        entries[i] = table.uh[2 * (((t & 15) << 4 | i) & 31) + (t >> 1 & 1)];
    const __m128i low = hvx_table16(entries, 0), high = hvx_table16(entries, 1);
    HVX_Vector even, odd;
    HVX_EACH_CHUNK(HVX_STEP_LOOK_UP_HALVES, u, low, high)
    return Q6_W_vcombine_VV(odd, even);
}
#else
HVX_INLINE HVX_VectorPair Q6_Wh_vlut16_VbVhR_nomatch(HVX_Vector u, HVX_Vector v, int32_t t) {
    return plain_Q6_Wh_vlut16_VbVhR_nomatch(u, v, t);
}
#endif

/* One stage of a butterfly network: partner holds, for every byte, the byte of its partner. */
HVX_INLINE HVX_Vector hvx_delta_stage(HVX_Vector u, HVX_Vector partner, HVX_Vector control, uint32_t bit) {
    const HVX_Vector wanted = Q6_V_vand_VV(Q6_Vub_vlsr_VubR(control, (int32_t)bit), Q6_V_vsplat_R(0x01010101));
    /* 1 becomes 0xff: the bytes are 0 or 1, so multiplying the words by 255 carries nothing */
    HVX_Vector mask;
#define HVX_STEP_MASK(i, factor) mask.c[i] = wanted.c[i] * (factor);
    HVX_EACH_CHUNK(HVX_STEP_MASK, 255u)
    return hvx_select_bits(mask, partner, u);
}
HVX_FAST_V(hvx_swap_bytes, chunk_u16, u << 8 | u >> 8)
HVX_FAST_V(hvx_swap_halves, chunk_u32, u << 16 | u >> 16)
HVX_FAST_V(hvx_swap_words, chunk_u64, u << 32 | u >> 32)
HVX_INLINE HVX_Vector hvx_swap_blocks(HVX_Vector u, uint32_t bytes) {
    union {
        HVX_Vector v;
        uint64_t d[16];
    } from = {u}, to;
    for (uint32_t i = 0; i < 16; i++)
        to.d[i] = from.d[i ^ bytes / 8];
    return to.v;
}
HVX_INLINE HVX_Vector Q6_V_vrdelta_VV(HVX_Vector u, HVX_Vector v) {
    u = hvx_delta_stage(u, hvx_swap_bytes(u), v, 0);
    u = hvx_delta_stage(u, hvx_swap_halves(u), v, 1);
    u = hvx_delta_stage(u, hvx_swap_words(u), v, 2);
    u = hvx_delta_stage(u, hvx_swap_blocks(u, 8), v, 3);
    u = hvx_delta_stage(u, hvx_swap_blocks(u, 16), v, 4);
    u = hvx_delta_stage(u, hvx_swap_blocks(u, 32), v, 5);
    return hvx_delta_stage(u, hvx_swap_blocks(u, 64), v, 6);
}
HVX_INLINE HVX_Vector Q6_V_vdelta_VV(HVX_Vector u, HVX_Vector v) {
    u = hvx_delta_stage(u, hvx_swap_blocks(u, 64), v, 6);
    u = hvx_delta_stage(u, hvx_swap_blocks(u, 32), v, 5);
    u = hvx_delta_stage(u, hvx_swap_blocks(u, 16), v, 4);
    u = hvx_delta_stage(u, hvx_swap_blocks(u, 8), v, 3);
    u = hvx_delta_stage(u, hvx_swap_words(u), v, 2);
    u = hvx_delta_stage(u, hvx_swap_halves(u), v, 1);
    return hvx_delta_stage(u, hvx_swap_bytes(u), v, 0);
}

/* Amounts -1, -2, -4 and -8 move whole bytes .. double words: what kernels use. Others take the general way. */
HVX_INLINE HVX_VectorPair Q6_W_vdeal_VVR(HVX_Vector u, HVX_Vector v, int32_t t) {
    return (t & 127) == (-4 & 127) ? hvx_deal(u, v) : plain_Q6_W_vdeal_VVR(u, v, t);
}
HVX_INLINE HVX_VectorPair Q6_W_vshuff_VVR(HVX_Vector u, HVX_Vector v, int32_t t) {
    if ((t & 127) == (-4 & 127))
        return hvx_interleave(u, v, 1);
    if ((t & 127) == (-8 & 127))
        return hvx_interleave(u, v, 2);
    union hvx_lanes r[2];
    const union hvx_lanes high = {u}, low = {v};
    switch (t & 127) {
    case -1 & 127:
        for (int i = 0; i < 128; i++) {
            r[i / 64].ub[2 * i % 128] = low.ub[i];
            r[i / 64].ub[2 * i % 128 + 1] = high.ub[i];
        }
        return Q6_W_vcombine_VV(r[1].v, r[0].v);
    case -2 & 127:
        for (int i = 0; i < 64; i++) {
            r[i / 32].uh[2 * i % 64] = low.uh[i];
            r[i / 32].uh[2 * i % 64 + 1] = high.uh[i];
        }
        return Q6_W_vcombine_VV(r[1].v, r[0].v);
    default:
        return plain_Q6_W_vshuff_VVR(u, v, t);
    }
}

#endif
