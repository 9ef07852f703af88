/* f16 <-> f32, one value at a time, round to nearest even, IEEE infinities, NaN and subnormals. */
#ifndef HVX_EMUL_HALF_H
#define HVX_EMUL_HALF_H

#include <stdint.h>

static inline uint32_t hvx_float_bits(float f) {
    union {
        float f;
        uint32_t u;
    } c = {f};
    return c.u;
}

static inline float hvx_bits_float(uint32_t u) {
    union {
        uint32_t u;
        float f;
    } c = {u};
    return c.f;
}

static inline float hvx_half_to_float(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exponent = (h >> 10) & 31u;
    uint32_t mantissa = h & 0x3ffu;
    if (exponent == 31) /* infinity, or NaN made quiet */
        return hvx_bits_float(sign | 0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x400000u : 0));
    if (exponent != 0)
        return hvx_bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
    if (mantissa == 0)
        return hvx_bits_float(sign);
    uint32_t e = 113; /* subnormal: shift the leading one into place */
    for (; (mantissa & 0x400u) == 0; mantissa <<= 1)
        e--;
    return hvx_bits_float(sign | e << 23 | (mantissa & 0x3ffu) << 13);
}

static inline uint16_t hvx_float_to_half(float f) {
    const uint32_t bits = hvx_float_bits(f);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t x = bits & 0x7fffffffu;
    if (x > 0x7f800000u) /* NaN: quiet, upper bits of the payload */
        return (uint16_t)(sign | 0x7e00u | (x >> 13 & 0x3ffu));
    if (x >= 0x477ff000u) /* 65520 and more */
        return (uint16_t)(sign | 0x7c00u);
    if (x < 0x33000000u) /* below half of the smallest subnormal */
        return (uint16_t)sign;
    const uint32_t exponent = x >> 23;
    const uint32_t mantissa = (x & 0x7fffffu) | 0x800000u;
    /* normal: 13 bits go; subnormal: as many more as the exponent is below the smallest normal one */
    const uint32_t shift = exponent >= 113 ? 13 : 13 + 113 - exponent;
    uint32_t result = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
    if (rest > middle || (rest == middle && (result & 1u)))
        result++;
    if (exponent >= 113) /* the leading one counts as one exponent step */
        result += (exponent - 113) << 10;
    return (uint16_t)(sign | result);
}

#endif
