/* f16 <-> f32, one value at a time without branches: the scales of quantised blocks. The same results as half.h. */
#ifndef HVX_HALF_SCALAR_H
#define HVX_HALF_SCALAR_H

#include <stdint.h>

#include "hvx/compiler.h"
#include "hvx/emul/half.h"

/* The exponent's bias is corrected by a multiplication, which is exact and makes subnormals normal. */
HVX_INLINE float hvx_scale_from_half(uint16_t h) {
    const uint32_t magnitude = (uint32_t)(h & 0x7fffu) << 13, sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t finite = hvx_float_bits(hvx_bits_float(magnitude) * 0x1p112f);
    return hvx_bits_float(sign | (magnitude < 0x0f800000u ? finite : magnitude | 0x7f800000u));
}

/* Numbers below the smallest normal f16 are rounded by an addition whose last place is that of f16 subnormals. */
HVX_INLINE uint16_t hvx_scale_to_half(float f) {
    const uint32_t bits = hvx_float_bits(f), x = bits & 0x7fffffffu;
    const uint32_t normal = (x + 0xfffu + (x >> 13 & 1u) - (112u << 23)) >> 13;
    const uint32_t small = hvx_float_bits(hvx_bits_float(x) + 0.5f) - 0x3f000000u;
    const uint32_t special = x > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t finite = x < 0x38800000u ? small : normal;
    return (uint16_t)((bits >> 16 & 0x8000u) | (x >= 0x477ff000u ? special : finite));
}

#endif
