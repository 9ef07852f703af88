/*
 * Readable names for what op code does with vectors: f32 arithmetic, memory at any address, sums across lanes,
 * reciprocals. "sf" is IEEE f32 in memory and registers; "qf32" is the hardware's internal format that additions and
 * multiplications produce. The _f32 functions take and give sf; the _qf32 ones stay in qf32 to save conversions.
 */
#ifndef HVX_WRAP_H
#define HVX_WRAP_H

#include "hvx/hvx.h"

/* ---- constants ---- */
HVX_INLINE int32_t hvx_f32_bits(float f) {
    union {
        float f;
        int32_t i;
    } c = {f};
    return c.i;
}
HVX_INLINE HVX_Vector hvx_zero(void) { return Q6_V_vzero(); }
HVX_INLINE HVX_Vector hvx_splat_i32(int32_t i) { return Q6_V_vsplat_R(i); }
HVX_INLINE HVX_Vector hvx_splat_f32(float f) { return Q6_V_vsplat_R(hvx_f32_bits(f)); }

/* ---- f32 arithmetic ---- */
HVX_INLINE HVX_Vector hvx_qf32_to_f32(HVX_Vector q) { return Q6_Vsf_equals_Vqf32(q); }
HVX_INLINE HVX_Vector hvx_f32_to_qf32(HVX_Vector f) { return Q6_Vqf32_vadd_VsfVsf(f, Q6_V_vzero()); }
HVX_INLINE HVX_Vector hvx_add_f32(HVX_Vector a, HVX_Vector b) { return hvx_qf32_to_f32(Q6_Vqf32_vadd_VsfVsf(a, b)); }
HVX_INLINE HVX_Vector hvx_sub_f32(HVX_Vector a, HVX_Vector b) { return hvx_qf32_to_f32(Q6_Vqf32_vsub_VsfVsf(a, b)); }
HVX_INLINE HVX_Vector hvx_mul_f32(HVX_Vector a, HVX_Vector b) { return hvx_qf32_to_f32(Q6_Vqf32_vmpy_VsfVsf(a, b)); }
HVX_INLINE HVX_Vector hvx_mul_f32_qf32(HVX_Vector a, HVX_Vector b) { return Q6_Vqf32_vmpy_VsfVsf(a, b); }
HVX_INLINE HVX_Vector hvx_add_qf32(HVX_Vector a, HVX_Vector b) { return Q6_Vqf32_vadd_Vqf32Vqf32(a, b); }
HVX_INLINE HVX_Vector hvx_add_qf32_f32(HVX_Vector q, HVX_Vector f) { return Q6_Vqf32_vadd_Vqf32Vsf(q, f); }
HVX_INLINE HVX_Vector hvx_sub_f32_qf32(HVX_Vector a, HVX_Vector b) { return Q6_Vqf32_vsub_VsfVsf(a, b); }
HVX_INLINE HVX_Vector hvx_sub_qf32(HVX_Vector a, HVX_Vector b) { return Q6_Vqf32_vsub_Vqf32Vqf32(a, b); }
HVX_INLINE HVX_Vector hvx_mul_qf32(HVX_Vector a, HVX_Vector b) { return Q6_Vqf32_vmpy_Vqf32Vqf32(a, b); }

/* ---- f32 <-> integers. v68 and v69 have no such conversions: there an addition of 1.5 * 2^23 does it ---- */
#if defined(HVX_NO_INT_CONVERSIONS) || (defined(__HVX_ARCH__) && __HVX_ARCH__ < 73)
#define HVX_ROUNDING_FLOAT 12582912.0f /* 1.5 * 2^23: the last place of the sum is 1 */
#define HVX_FIXED24_SCALE 1.0f
/* exact for |i| < 2^22 */
HVX_INLINE HVX_Vector hvx_i32_to_f32(HVX_Vector i) {
    const HVX_Vector magic = hvx_splat_f32(HVX_ROUNDING_FLOAT);
    return hvx_sub_f32(Q6_Vw_vadd_VwVw(i, magic), magic);
}
/* any i, rounded */
HVX_INLINE HVX_Vector hvx_wide_i32_to_f32(HVX_Vector i) {
    const HVX_Vector high = Q6_Vw_vasr_VwR(i, 12);
    const HVX_Vector low = Q6_Vw_vsub_VwVw(i, Q6_Vw_vasl_VwR(high, 12));
    return hvx_add_f32(hvx_mul_f32(hvx_i32_to_f32(high), hvx_splat_f32(4096)), hvx_i32_to_f32(low));
}
HVX_INLINE HVX_Vector hvx_f32_to_fixed24(HVX_Vector f) {
    return Q6_Vw_vasl_VwR(hvx_add_f32(f, hvx_splat_f32(HVX_ROUNDING_FLOAT)), 24);
}
#else
#define HVX_FIXED24_SCALE 0x1p24f
/* exact for |i| <= 2^24; kernels keep to |i| < 2^22 */
HVX_INLINE HVX_Vector hvx_i32_to_f32(HVX_Vector i) { return Q6_Vsf_equals_Vw(i); }
/* any i, rounded */
HVX_INLINE HVX_Vector hvx_wide_i32_to_f32(HVX_Vector i) { return Q6_Vsf_equals_Vw(i); }
/* f, below 128 and multiplied by HVX_FIXED24_SCALE beforehand, in 8.24 fixed point; the last place may be off by one */
HVX_INLINE HVX_Vector hvx_f32_to_fixed24(HVX_Vector f) { return Q6_Vw_equals_Vsf(f); }
#endif

/* ---- f16: 64 values, the even ones in the low vector of a pair, the odd ones in the high vector ---- */
#define HVX_HALF_ONE 0x3c003c00 /* two f16 1.0 */
/* in qf32 */
HVX_INLINE HVX_VectorPair hvx_mul_f16_qf32(HVX_Vector a, HVX_Vector b) { return Q6_Wqf32_vmpy_VhfVhf(a, b); }
HVX_INLINE HVX_VectorPair hvx_f16_to_f32(HVX_Vector h) {
    const HVX_VectorPair q = Q6_Wqf32_vmpy_VhfVhf(h, hvx_splat_i32(HVX_HALF_ONE));
    return Q6_W_vcombine_VV(hvx_qf32_to_f32(Q6_V_hi_W(q)), hvx_qf32_to_f32(Q6_V_lo_W(q)));
}
HVX_INLINE HVX_Vector hvx_f32_to_f16(HVX_Vector even, HVX_Vector odd) {
    return Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(hvx_f32_to_qf32(odd), hvx_f32_to_qf32(even)));
}
/* 64 f16 in order: the first 32 in the low vector of a pair, the last 32 in the high one */
HVX_INLINE HVX_VectorPair hvx_f16_to_f32_in_order(HVX_Vector h) { return hvx_f16_to_f32(Q6_Vh_vshuff_Vh(h)); }
HVX_INLINE HVX_Vector hvx_f32_to_f16_in_order(HVX_Vector first, HVX_Vector last) {
    return Q6_Vh_vdeal_Vh(hvx_f32_to_f16(first, last));
}
/* 64 words in order <-> even and odd ones */
HVX_INLINE HVX_VectorPair hvx_deal_words(HVX_Vector first, HVX_Vector second) {
    return Q6_W_vdeal_VVR(second, first, -4);
}
HVX_INLINE HVX_VectorPair hvx_interleave_words(HVX_Vector even, HVX_Vector odd) {
    return Q6_W_vshuff_VVR(odd, even, -4);
}

/* ---- memory ---- */
/* A whole vector at any address. */
#if defined(__hexagon__)
typedef HVX_Vector hvx_unaligned __attribute__((aligned(1)));
HVX_INLINE HVX_Vector hvx_load(const void *address) { return *(const hvx_unaligned *)address; }
HVX_INLINE void hvx_store(void *address, HVX_Vector v) { *(hvx_unaligned *)address = v; }
#else
HVX_INLINE HVX_Vector hvx_load(const void *address) {
    HVX_Vector v;
    memcpy(&v, address, sizeof(v));
    return v;
}
HVX_INLINE void hvx_store(void *address, HVX_Vector v) { memcpy(address, &v, sizeof(v)); }
#endif

/* Where addresses are known to be multiples of 128: one pipe less, and a load and a store go together. */
HVX_INLINE HVX_Vector hvx_load_aligned(const void *address) { return *(const HVX_Vector *)address; }
HVX_INLINE void hvx_store_aligned(void *address, HVX_Vector v) { *(HVX_Vector *)address = v; }

/* The first `bytes` (1..127) lanes of a vector at any address; the others are zero. */
HVX_INLINE HVX_Vector hvx_load_bytes(const void *address, uint32_t bytes) {
#if defined(__hexagon__)
    /* aligned loads of the vectors that hold the bytes never leave the page that they are in */
    const uint32_t offset = (uint32_t)(uintptr_t)address & (HVX_BYTES - 1);
    const HVX_Vector *first = (const HVX_Vector *)((uintptr_t)address - offset);
    const HVX_Vector *last = (const HVX_Vector *)(((uintptr_t)address + bytes - 1) & ~(uintptr_t)(HVX_BYTES - 1));
    const HVX_Vector v = Q6_V_valign_VVR(*last, *first, (int32_t)offset);
    return Q6_V_vand_QV(Q6_Q_vsetq_R((int32_t)bytes), v);
#else
    HVX_Vector v = Q6_V_vzero();
    memcpy(&v, address, bytes);
    return v;
#endif
}

/* Stores the first `bytes` (1..128) lanes at any address and touches nothing else. */
HVX_INLINE void hvx_store_bytes(void *address, uint32_t bytes, HVX_Vector v) {
    const uint32_t offset = (uint32_t)(uintptr_t)address & (HVX_BYTES - 1);
    HVX_Vector *aligned = (HVX_Vector *)((uintptr_t)address - offset);
    const uint32_t end = offset + bytes;
    const HVX_Vector turned = Q6_V_vror_VR(v, -(int32_t)offset);
    const HVX_VectorPred before = Q6_Q_vsetq_R((int32_t)offset);
    const HVX_VectorPred until = Q6_Q_vsetq2_R((int32_t)(end < HVX_BYTES ? end : HVX_BYTES));
    Q6_vmem_QRIV(Q6_Q_and_QQn(until, before), aligned, turned);
    if (end > HVX_BYTES)
        Q6_vmem_QRIV(Q6_Q_vsetq2_R((int32_t)(end - HVX_BYTES)), aligned + 1, turned);
}

/* ---- across lanes ---- */
/* The sum of all lanes in every lane, in f32. Halves first: so every lane sees the same operands in the same order. */
HVX_INLINE HVX_Vector hvx_sum_lanes_qf32(HVX_Vector q) { /* in qf32 */
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        q = hvx_add_qf32(q, Q6_V_vror_VR(q, bytes));
    return q;
}
HVX_INLINE HVX_Vector hvx_sum_qf32(HVX_Vector q) { return hvx_qf32_to_f32(hvx_sum_lanes_qf32(q)); }

/* ---- functions ---- */
/* 1/sqrt(x) of positive, normal f32 within an ulp or two: integer seed (3.4% off), three Newton steps */
HVX_INLINE HVX_Vector hvx_rsqrt_f32(HVX_Vector x) {
    const HVX_Vector half_q = hvx_mul_f32_qf32(x, hvx_splat_f32(0.5f)), half = hvx_qf32_to_f32(half_q);
    const HVX_Vector seed = Q6_Vw_vsub_VwVw(hvx_splat_i32(0x5f375a86), Q6_Vuw_vlsr_VuwR(x, 1));
    const HVX_Vector three_halves = hvx_f32_to_qf32(hvx_splat_f32(1.5f));
    HVX_Vector r = hvx_f32_to_qf32(seed);
    r = hvx_mul_qf32(r, hvx_sub_qf32(three_halves, hvx_mul_qf32(hvx_mul_f32_qf32(half, seed), r)));
    r = hvx_mul_qf32(r, hvx_sub_qf32(three_halves, hvx_mul_qf32(hvx_mul_qf32(half_q, r), r)));
    r = hvx_qf32_to_f32(r); /* the last step with sf operands */
    const HVX_Vector square = hvx_mul_f32_qf32(hvx_mul_f32(half, r), r);
    return hvx_mul_f32(r, hvx_qf32_to_f32(hvx_sub_qf32(three_halves, square)));
}

/* What 1/x of positive f32 in 2^-96 .. 2^96 is made of: 1/x within 2e-4 (integer seed, 12% off, and two Newton steps),
 * and its correction, by a third step with sf operands. The result is their product, within an ulp or two. */
struct hvx_reciprocal {
    HVX_Vector rough, correction;
};
HVX_INLINE struct hvx_reciprocal hvx_reciprocal_parts_f32(HVX_Vector x) {
    const HVX_Vector two = hvx_f32_to_qf32(hvx_splat_f32(2.0f)), x_q = hvx_f32_to_qf32(x);
    HVX_Vector r = hvx_f32_to_qf32(Q6_Vw_vsub_VwVw(hvx_splat_i32(0x7ef311c7), x));
    HVX_UNROLL
    for (int i = 0; i < 2; i++)
        r = hvx_mul_qf32(r, hvx_sub_qf32(two, hvx_mul_qf32(x_q, r)));
    r = hvx_qf32_to_f32(r);
    return (struct hvx_reciprocal){r, hvx_qf32_to_f32(hvx_sub_qf32(two, hvx_mul_f32_qf32(x, r)))};
}

/* 1/x of positive f32 in 2^-96 .. 2^96 within an ulp or two */
HVX_INLINE HVX_Vector hvx_reciprocal_f32(HVX_Vector x) {
    const struct hvx_reciprocal r = hvx_reciprocal_parts_f32(x);
    return hvx_mul_f32(r.rough, r.correction);
}

/* factor/x within two or three ulp; sooner than the product with hvx_reciprocal_f32 would be */
HVX_INLINE HVX_Vector hvx_divide_by_f32(HVX_Vector factor, HVX_Vector x) {
    const struct hvx_reciprocal r = hvx_reciprocal_parts_f32(x);
    return hvx_mul_f32(hvx_mul_f32(r.rough, factor), r.correction);
}

#endif
