/*
 * The float intrinsics for machines without HVX, chunk by chunk. Same model and same results as emul/plain_float.h
 * (of NaN only that they are NaN is the same). Compile with -ffp-contract=off: an operation rounds on its own.
 */
#ifndef HVX_EMUL_FLOAT_H
#define HVX_EMUL_FLOAT_H

#include "hvx/emul/integer.h"
#include "hvx/emul/plain_float.h"

#ifdef HVX_STRICT_QF
HVX_INLINE chunk_u32 chunk_to_qf32(chunk_f32 f) {
    return (chunk_u32)f << HVX_QF32_ROTATE | (chunk_u32)f >> (32 - HVX_QF32_ROTATE);
}
HVX_INLINE chunk_f32 chunk_from_qf32(chunk_u32 q) {
    return (chunk_f32)(q >> HVX_QF32_ROTATE | q << (32 - HVX_QF32_ROTATE));
}
#else
HVX_INLINE chunk_u32 chunk_to_qf32(chunk_f32 f) { return (chunk_u32)f; }
HVX_INLINE chunk_f32 chunk_from_qf32(chunk_u32 q) { return (chunk_f32)q; }
#endif
#define HVX_SF(x) ((chunk_f32)(x))
#define HVX_QF(x) (chunk_from_qf32(x))

HVX_FAST_VV(Q6_Vqf32_vadd_VsfVsf, chunk_u32, chunk_to_qf32(HVX_SF(u) + HVX_SF(v)))
HVX_FAST_VV(Q6_Vqf32_vadd_Vqf32Vsf, chunk_u32, chunk_to_qf32(HVX_QF(u) + HVX_SF(v)))
HVX_FAST_VV(Q6_Vqf32_vadd_Vqf32Vqf32, chunk_u32, chunk_to_qf32(HVX_QF(u) + HVX_QF(v)))
HVX_FAST_VV(Q6_Vqf32_vsub_VsfVsf, chunk_u32, chunk_to_qf32(HVX_SF(u) - HVX_SF(v)))
HVX_FAST_VV(Q6_Vqf32_vsub_Vqf32Vsf, chunk_u32, chunk_to_qf32(HVX_QF(u) - HVX_SF(v)))
HVX_FAST_VV(Q6_Vqf32_vsub_Vqf32Vqf32, chunk_u32, chunk_to_qf32(HVX_QF(u) - HVX_QF(v)))
HVX_FAST_VV(Q6_Vqf32_vmpy_VsfVsf, chunk_u32, chunk_to_qf32(HVX_SF(u) * HVX_SF(v)))
HVX_FAST_VV(Q6_Vqf32_vmpy_Vqf32Vqf32, chunk_u32, chunk_to_qf32(HVX_QF(u) * HVX_QF(v)))
HVX_FAST_V(Q6_Vsf_equals_Vqf32, chunk_u32, HVX_QF(u))
HVX_INLINE chunk_u32 chunk_select(chunk_i32 mask, chunk_u32 u, chunk_u32 v) {
    return ((chunk_u32)mask & u) | (~(chunk_u32)mask & v);
}
HVX_FAST_VV(Q6_Vsf_vmax_VsfVsf, chunk_u32, chunk_select((chunk_i32)(HVX_SF(u) > HVX_SF(v)), u, v))
HVX_FAST_VV(Q6_Vsf_vmin_VsfVsf, chunk_u32, chunk_select((chunk_i32)(HVX_SF(u) < HVX_SF(v)), u, v))
HVX_FAST_V(Q6_Vsf_equals_Vw, chunk_i32, __builtin_convertvector(u, chunk_f32))
HVX_INLINE chunk_i32 chunk_float_to_word(chunk_f32 f) {
    const chunk_i32 above = (chunk_i32)(f >= 2147483648.0f);
    const chunk_i32 inside = (chunk_i32)(f > -2147483648.0f) & ~above; /* not for NaN */
    const chunk_i32 below = (chunk_i32)(f <= -2147483648.0f);
    const chunk_i32 word = __builtin_convertvector((chunk_f32)((chunk_i32)f & inside), chunk_i32);
    return word | (above & INT32_MAX) | (below & INT32_MIN);
}
HVX_FAST_V(Q6_Vw_equals_Vsf, chunk_u32, chunk_float_to_word(HVX_SF(u)))

/* f16 values in the low halves of words, upper halves zero */
HVX_INLINE chunk_f32 chunk_half_to_float(chunk_u32 h) {
#if HVX_CHUNK_BYTES == 64
    return (chunk_f32)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)h));
#elif HVX_CHUNK_BYTES == 32 && defined(__F16C__)
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)h, (__m256i)h), 0x08);
    return (chunk_f32)_mm256_cvtph_ps(_mm256_castsi256_si128(packed));
#else
    const chunk_u32 magnitude = (h & 0x7fffu) << 13; /* exponent too small by 112; the product is exact */
    const chunk_u32 value = (chunk_u32)((chunk_f32)magnitude * 0x1p112f);
    const chunk_u32 special = (chunk_u32)(magnitude >= 0x0f800000u); /* infinity or NaN */
    const chunk_u32 quiet = (chunk_u32)(magnitude > 0x0f800000u) & 0x400000u;
    return (chunk_f32)((value & ~special) | ((magnitude | 0x7f800000u | quiet) & special) | (h & 0x8000u) << 16);
#endif
}
/* f16 values in the low halves of words, upper halves zero */
HVX_INLINE chunk_u32 chunk_float_to_half(chunk_f32 f) {
#if HVX_CHUNK_BYTES == 64
    return (chunk_u32)_mm512_cvtepu16_epi32(_mm512_cvtps_ph((__m512)f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif HVX_CHUNK_BYTES == 32 && defined(__F16C__)
    return (chunk_u32)_mm256_cvtepu16_epi32(_mm256_cvtps_ph((__m256)f, _MM_FROUND_TO_NEAREST_INT));
#else
    const chunk_u32 bits = (chunk_u32)f, x = bits & 0x7fffffffu;
    const chunk_u32 normal = (x + 0xfffu + (x >> 13 & 1u) - 0x38000000u) >> 13;
    /* the sum's last place is 2^-24, the step of f16 subnormals */
    const chunk_u32 subnormal = (chunk_u32)((chunk_f32)x + 0.5f) - 0x3f000000u;
    const chunk_u32 is_small = (chunk_u32)(x < 0x38800000u), is_large = (chunk_u32)(x >= 0x477ff000u);
    const chunk_u32 is_nan = (chunk_u32)(x > 0x7f800000u);
    const chunk_u32 special = 0x7c00u | (is_nan & (0x200u | (x >> 13 & 0x3ffu)));
    const chunk_u32 finite = (subnormal & is_small) | (normal & ~is_small);
    return (finite & ~is_large) | (special & is_large) | (bits >> 16 & 0x8000u);
#endif
}
#if HVX_CHUNK_BYTES == 64
/* all f16 in order first, then every other one: fewer instructions than to narrow words, above all of those in memory */
HVX_INLINE chunk_f32 chunk_every_other_half(chunk_u32 h, uint32_t first) {
    const __m512 low = _mm512_cvtph_ps(wide_half(h, 0)), high = _mm512_cvtph_ps(wide_half(h, 1));
    return (chunk_f32)wide_words((chunk_u32)low, (chunk_u32)high, first, 2);
}
HVX_INLINE chunk_f32 chunk_even_halves(chunk_u32 h) { return chunk_every_other_half(h, 0); }
HVX_INLINE chunk_f32 chunk_odd_halves(chunk_u32 h) { return chunk_every_other_half(h, 1); }
#else
HVX_INLINE chunk_f32 chunk_even_halves(chunk_u32 h) { return chunk_half_to_float(h & 0xffffu); }
HVX_INLINE chunk_f32 chunk_odd_halves(chunk_u32 h) { return chunk_half_to_float(h >> 16); }
#endif
HVX_FAST_VV(hvx_multiply_even_halves, chunk_u32, chunk_to_qf32(chunk_even_halves(u) * chunk_even_halves(v)))
HVX_FAST_VV(hvx_multiply_odd_halves, chunk_u32, chunk_to_qf32(chunk_odd_halves(u) * chunk_odd_halves(v)))
HVX_FAST_VV(hvx_join_halves, chunk_u32, chunk_float_to_half(HVX_QF(u)) | chunk_float_to_half(HVX_QF(v)) << 16)
HVX_INLINE HVX_VectorPair Q6_Wqf32_vmpy_VhfVhf(HVX_Vector u, HVX_Vector v) {
    return Q6_W_vcombine_VV(hvx_multiply_odd_halves(u, v), hvx_multiply_even_halves(u, v));
}
HVX_INLINE HVX_Vector Q6_Vhf_equals_Wqf32(HVX_VectorPair w) { return hvx_join_halves(Q6_V_lo_W(w), Q6_V_hi_W(w)); }

/* 64 values a vector: those of the even and of the odd half-words of a chunk */
#ifdef HVX_STRICT_QF
HVX_INLINE chunk_u32 chunk_to_qf16(chunk_u32 h) {
    return (chunk_u32)((chunk_u16)h << HVX_QF16_ROTATE | (chunk_u16)h >> (16 - HVX_QF16_ROTATE));
}
HVX_INLINE chunk_u32 chunk_from_qf16(chunk_u32 q) {
    return (chunk_u32)((chunk_u16)q >> HVX_QF16_ROTATE | (chunk_u16)q << (16 - HVX_QF16_ROTATE));
}
#else
HVX_INLINE chunk_u32 chunk_to_qf16(chunk_u32 h) { return h; }
HVX_INLINE chunk_u32 chunk_from_qf16(chunk_u32 q) { return q; }
#endif
HVX_INLINE chunk_u32 chunk_join_halves(chunk_f32 even, chunk_f32 odd) {
    return chunk_float_to_half(even) | chunk_float_to_half(odd) << 16;
}
HVX_INLINE chunk_u32 chunk_multiply_halves(chunk_u32 u, chunk_u32 v) {
    return chunk_join_halves(chunk_even_halves(u) * chunk_even_halves(v), chunk_odd_halves(u) * chunk_odd_halves(v));
}
HVX_INLINE chunk_u32 chunk_add_halves(chunk_u32 u, chunk_u32 v) {
    return chunk_join_halves(chunk_even_halves(u) + chunk_even_halves(v), chunk_odd_halves(u) + chunk_odd_halves(v));
}
HVX_INLINE chunk_u32 chunk_halves_of_integers(chunk_i32 u) {
    return chunk_join_halves(__builtin_convertvector(u << 16 >> 16, chunk_f32),
                             __builtin_convertvector(u >> 16, chunk_f32));
}
HVX_FAST_VV(Q6_Vqf16_vmpy_VhfVhf, chunk_u32, chunk_to_qf16(chunk_multiply_halves(u, v)))
HVX_FAST_VV(Q6_Vqf16_vadd_Vqf16Vhf, chunk_u32, chunk_to_qf16(chunk_add_halves(chunk_from_qf16(u), v)))
HVX_FAST_V(Q6_Vhf_equals_Vqf16, chunk_u32, chunk_from_qf16(u))
HVX_FAST_V(Q6_Vhf_equals_Vh, chunk_i32, chunk_halves_of_integers(u))

#undef HVX_SF
#undef HVX_QF
#endif
