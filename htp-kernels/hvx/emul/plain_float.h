/*
 * The float intrinsics in plain C, lane by lane: qf32 is an IEEE f32 and qf16 an IEEE f16, every operation rounds once
 * to nearest even. See docs/numerics.md for where the hardware's formats differ.
 *
 * On Hexagon these functions replace the instructions when HVX_FLOAT_LANES is set (float_lanes.h).
 */
#ifndef HVX_EMUL_PLAIN_FLOAT_H
#define HVX_EMUL_PLAIN_FLOAT_H

#include "hvx/emul/half.h"
#include "hvx/emul/lanes.h"

/* How a qf value is kept in a lane. Zero is all zero bits in both forms. */
#ifdef HVX_STRICT_QF
#define HVX_QF32_ROTATE 9
#define HVX_QF16_ROTATE 5
static inline uint32_t hvx_qf32_bits(float f) { return hvx_float_bits(f) << 9 | hvx_float_bits(f) >> 23; }
static inline float hvx_qf32_value(uint32_t q) { return hvx_bits_float(q >> 9 | q << 23); }
static inline uint16_t hvx_qf16_bits(float f) {
    const uint16_t h = hvx_float_to_half(f);
    return (uint16_t)(h << 5 | h >> 11);
}
static inline float hvx_qf16_value(uint16_t q) { return hvx_half_to_float((uint16_t)(q >> 5 | q << 11)); }
#else
static inline uint32_t hvx_qf32_bits(float f) { return hvx_float_bits(f); }
static inline float hvx_qf32_value(uint32_t q) { return hvx_bits_float(q); }
static inline uint16_t hvx_qf16_bits(float f) { return hvx_float_to_half(f); }
static inline float hvx_qf16_value(uint16_t q) { return hvx_half_to_float(q); }
#endif

#define PLAIN_FLOAT_V(name, n, out, expr)                \
    HVX_PLAIN_FN HVX_Vector plain_##name(HVX_Vector u_) { \
        const union hvx_lanes u = {u_};                  \
        union hvx_lanes r;                               \
        for (int i = 0; i < (n); i++)                    \
            r.out[i] = (expr);                           \
        return r.v;                                      \
    }
#define PLAIN_FLOAT_VV(name, n, out, expr)                              \
    HVX_PLAIN_FN HVX_Vector plain_##name(HVX_Vector u_, HVX_Vector v_) { \
        const union hvx_lanes u = {u_}, v = {v_};                       \
        union hvx_lanes r;                                              \
        for (int i = 0; i < (n); i++)                                   \
            r.out[i] = (expr);                                          \
        return r.v;                                                     \
    }
#define HVX_QF(x) hvx_qf32_value(x.uw[i])

PLAIN_FLOAT_VV(Q6_Vqf32_vadd_VsfVsf, 32, uw, hvx_qf32_bits(u.sf[i] + v.sf[i]))
PLAIN_FLOAT_VV(Q6_Vqf32_vadd_Vqf32Vsf, 32, uw, hvx_qf32_bits(HVX_QF(u) + v.sf[i]))
PLAIN_FLOAT_VV(Q6_Vqf32_vadd_Vqf32Vqf32, 32, uw, hvx_qf32_bits(HVX_QF(u) + HVX_QF(v)))
PLAIN_FLOAT_VV(Q6_Vqf32_vsub_VsfVsf, 32, uw, hvx_qf32_bits(u.sf[i] - v.sf[i]))
PLAIN_FLOAT_VV(Q6_Vqf32_vsub_Vqf32Vsf, 32, uw, hvx_qf32_bits(HVX_QF(u) - v.sf[i]))
PLAIN_FLOAT_VV(Q6_Vqf32_vsub_Vqf32Vqf32, 32, uw, hvx_qf32_bits(HVX_QF(u) - HVX_QF(v)))
PLAIN_FLOAT_VV(Q6_Vqf32_vmpy_VsfVsf, 32, uw, hvx_qf32_bits(u.sf[i] * v.sf[i]))
PLAIN_FLOAT_VV(Q6_Vqf32_vmpy_Vqf32Vqf32, 32, uw, hvx_qf32_bits(HVX_QF(u) * HVX_QF(v)))
PLAIN_FLOAT_V(Q6_Vsf_equals_Vqf32, 32, sf, HVX_QF(u))
/* of NaN and zeros of different sign kernels must not expect anything */
PLAIN_FLOAT_VV(Q6_Vsf_vmax_VsfVsf, 32, sf, u.sf[i] > v.sf[i] ? u.sf[i] : v.sf[i])
PLAIN_FLOAT_VV(Q6_Vsf_vmin_VsfVsf, 32, sf, u.sf[i] < v.sf[i] ? u.sf[i] : v.sf[i])
PLAIN_FLOAT_V(Q6_Vsf_equals_Vw, 32, sf, (float)u.w[i])

/* towards zero, saturating; NaN becomes 0 */
static inline int32_t hvx_float_to_word(float f) {
    return f != f ? 0 : f >= 2147483648.0f ? INT32_MAX : f <= -2147483648.0f ? INT32_MIN : (int32_t)f;
}
PLAIN_FLOAT_V(Q6_Vw_equals_Vsf, 32, w, hvx_float_to_word(u.sf[i]))

/* 64 products: those of the even half-words in the low vector, of the odd ones in the high vector */
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wqf32_vmpy_VhfVhf(HVX_Vector u_, HVX_Vector v_) {
    const union hvx_lanes u = {u_}, v = {v_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 64; i++)
        r[i & 1].uw[i / 2] = hvx_qf32_bits(hvx_half_to_float(u.uh[i]) * hvx_half_to_float(v.uh[i]));
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
/* the inverse order: low vector into the even half-words, high vector into the odd ones */
HVX_PLAIN_FN HVX_Vector plain_Q6_Vhf_equals_Wqf32(HVX_VectorPair w) {
    const union hvx_pair_lanes pair = {w};
    const union hvx_lanes u[2] = {{pair.v[0]}, {pair.v[1]}};
    union hvx_lanes r;
    for (int i = 0; i < 64; i++)
        r.uh[i] = hvx_float_to_half(hvx_qf32_value(u[i & 1].uw[i / 2]));
    return r.v;
}
PLAIN_FLOAT_VV(Q6_Vqf16_vmpy_VhfVhf, 64, uh, hvx_qf16_bits(hvx_half_to_float(u.uh[i]) * hvx_half_to_float(v.uh[i])))
PLAIN_FLOAT_VV(Q6_Vqf16_vadd_Vqf16Vhf, 64, uh, hvx_qf16_bits(hvx_qf16_value(u.uh[i]) + hvx_half_to_float(v.uh[i])))
PLAIN_FLOAT_V(Q6_Vhf_equals_Vqf16, 64, uh, hvx_float_to_half(hvx_qf16_value(u.uh[i])))
PLAIN_FLOAT_V(Q6_Vhf_equals_Vh, 64, uh, hvx_float_to_half((float)u.h[i]))

#undef HVX_QF
#endif
