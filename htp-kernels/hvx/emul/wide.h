/*
 * Integer intrinsics for machines with AVX-512 that the compiler does not turn into its instructions by itself: lanes
 * that change place or width, shifts by lanes. A vector is two chunks. Part of integer.h.
 */
#ifndef HVX_EMUL_WIDE_H
#define HVX_EMUL_WIDE_H

#include "hvx/emul/plain.h"

HVX_INLINE chunk_u32 wide_join(__m256i low, __m256i high) {
    return (chunk_u32)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
HVX_INLINE __m256i wide_half(chunk_u32 c, int i) {
    return i == 0 ? _mm512_castsi512_si256((__m512i)c) : _mm512_extracti64x4_epi64((__m512i)c, 1);
}
/* the words from, from + step, ... of the chunks a and b, 32 in a row */
HVX_INLINE chunk_u32 wide_words(chunk_u32 a, chunk_u32 b, uint32_t from, uint32_t step) {
    const chunk_u32 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return (chunk_u32)_mm512_permutex2var_epi32((__m512i)a, (__m512i)(from + lane * step), (__m512i)b);
}

/* ---- halves and bytes: the lower or the upper part of wider lanes ---- */

HVX_INLINE chunk_u32 wide_low_halves(HVX_Vector v, unsigned shift) {
    return wide_join(_mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)v.c[0], shift)),
                     _mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)v.c[1], shift)));
}
HVX_INLINE chunk_u32 wide_low_bytes(HVX_Vector v, unsigned shift) {
    return wide_join(_mm512_cvtepi16_epi8(_mm512_srli_epi16((__m512i)v.c[0], shift)),
                     _mm512_cvtepi16_epi8(_mm512_srli_epi16((__m512i)v.c[1], shift)));
}
HVX_INLINE HVX_Vector Q6_Vh_vdeal_Vh(HVX_Vector u) {
    return (HVX_Vector){{wide_low_halves(u, 0), wide_low_halves(u, 16)}};
}
HVX_INLINE HVX_Vector Q6_Vh_vpacke_VwVw(HVX_Vector u, HVX_Vector v) {
    return (HVX_Vector){{wide_low_halves(v, 0), wide_low_halves(u, 0)}};
}
HVX_INLINE HVX_Vector Q6_Vh_vpacko_VwVw(HVX_Vector u, HVX_Vector v) {
    return (HVX_Vector){{wide_low_halves(v, 16), wide_low_halves(u, 16)}};
}
HVX_INLINE HVX_Vector Q6_Vb_vpacke_VhVh(HVX_Vector u, HVX_Vector v) {
    return (HVX_Vector){{wide_low_bytes(v, 0), wide_low_bytes(u, 0)}};
}
HVX_INLINE HVX_Vector Q6_Vb_vpacko_VhVh(HVX_Vector u, HVX_Vector v) {
    return (HVX_Vector){{wide_low_bytes(v, 8), wide_low_bytes(u, 8)}};
}
HVX_INLINE HVX_Vector wide_unpack(chunk_u32 c) {
    return (HVX_Vector){{(chunk_u32)_mm512_cvtepu8_epi16(wide_half(c, 0)),
                         (chunk_u32)_mm512_cvtepu8_epi16(wide_half(c, 1))}};
}
HVX_INLINE HVX_VectorPair Q6_Wuh_vunpack_Vub(HVX_Vector u) {
    return (HVX_VectorPair){{wide_unpack(u.c[0]), wide_unpack(u.c[1])}};
}
HVX_INLINE HVX_Vector Q6_Vh_vshuff_Vh(HVX_Vector u) {
    HVX_Vector r;
    for (int i = 0; i < 2; i++)
        r.c[i] = (chunk_u32)_mm512_cvtepu16_epi32(wide_half(u.c[0], i)) |
                 (chunk_u32)_mm512_cvtepu16_epi32(wide_half(u.c[1], i)) << 16;
    return r;
}

/* ---- words ---- */

HVX_INLINE HVX_Vector hvx_rotate_words(HVX_Vector u, int32_t words) {
    const uint32_t from = (uint32_t)words & 31u; /* the instruction takes lane numbers modulo 32 */
    return (HVX_Vector){{wide_words(u.c[0], u.c[1], from, 1), wide_words(u.c[0], u.c[1], from + 16, 1)}};
}
/* even words of v, then of u, and odd ones */
HVX_INLINE HVX_VectorPair hvx_deal(HVX_Vector u, HVX_Vector v) {
    const HVX_Vector even = {{wide_words(v.c[0], v.c[1], 0, 2), wide_words(u.c[0], u.c[1], 0, 2)}};
    const HVX_Vector odd = {{wide_words(v.c[0], v.c[1], 1, 2), wide_words(u.c[0], u.c[1], 1, 2)}};
    return (HVX_VectorPair){{even, odd}};
}
/* `words` of v, as many of u, and so on */
HVX_INLINE HVX_VectorPair hvx_interleave(HVX_Vector u, HVX_Vector v, uint32_t words) {
    const chunk_u32 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint32_t log = words / 2; /* words: 1 or 2 */
    const chunk_u32 from = ((lane >> (log + 1)) << log) + (lane & (words - 1)) + ((lane >> log & 1) << 4);
    HVX_VectorPair r;
    for (uint32_t i = 0; i < 4; i++)
        r.v[i / 2].c[i % 2] = (chunk_u32)_mm512_permutex2var_epi32((__m512i)v.c[i / 2], (__m512i)(from + i % 2 * 8),
                                                                   (__m512i)u.c[i / 2]);
    return r;
}

/* ---- arithmetic ---- */

/* amounts are signed numbers of 6 bits; the instructions give 0, or the sign, for 32 and more */
#define HVX_STEP_SHIFT_LANES(i, forward, backward)                                                        \
    {                                                                                                     \
        const __m512i x = (__m512i)u.c[i], n = (__m512i)((chunk_i32)(v.c[i] << 26) >> 26);                \
        const __m512i minus_n = (__m512i)-(chunk_i32)n;                                                   \
        r.c[i] = (chunk_u32)_mm512_mask_##backward(_mm512_##forward(x, n), _mm512_movepi32_mask(n), x, minus_n); \
    }
HVX_INLINE HVX_Vector Q6_Vw_vasl_VwVw(HVX_Vector u, HVX_Vector v) {
    HVX_Vector r;
    HVX_EACH_CHUNK(HVX_STEP_SHIFT_LANES, sllv_epi32, srav_epi32)
    return r;
}
HVX_INLINE HVX_Vector Q6_Vw_vlsr_VwVw(HVX_Vector u, HVX_Vector v) {
    HVX_Vector r;
    HVX_EACH_CHUNK(HVX_STEP_SHIFT_LANES, srlv_epi32, sllv_epi32)
    return r;
}
/* 48-bit products of even and of odd lanes */
#define HVX_STEP_MULTIPLY_EVEN(i, low_half)                                                                       \
    {                                                                                                             \
        const __m512i x = (__m512i)u.c[i], y = (__m512i)(v.c[i] & (low_half));                                    \
        const __m512i even = _mm512_srli_epi64(_mm512_mul_epi32(x, y), 16);                                       \
        const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(y, 32));                 \
        r.c[i] = (chunk_u32)_mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 16));                      \
    }
HVX_INLINE HVX_Vector Q6_Vw_vmpye_VwVuh(HVX_Vector u, HVX_Vector v) {
    HVX_Vector r;
    HVX_EACH_CHUNK(HVX_STEP_MULTIPLY_EVEN, 0xffffu)
    return r;
}

/* ---- memory ---- */

HVX_INLINE void Q6_vmem_QRIV(HVX_VectorPred q, HVX_Vector *address, HVX_Vector v) {
    uint8_t *to = (uint8_t *)address;
    for (int i = 0; i < 2; i++)
        _mm512_mask_storeu_epi8(to + 64 * i, _mm512_movepi8_mask((__m512i)q.mask.c[i]), (__m512i)v.c[i]);
}

#endif
