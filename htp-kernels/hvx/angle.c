/* Exact remainders of large angles, one at a time. */
#include "hvx/angle.h"

/* 1/pi in binary, from the first place behind the point on: enough for the largest f32, 2^128 */
static const uint32_t one_over_pi[] = {0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0,
                                       0x6db14acc, 0x9e21c820, 0xff28b1d5, 0xef5de2b0};

/* 64 places of 1/pi, from place `start` on; places in front of the point are zero. start: -63 .. 128 */
static uint64_t window(int32_t start) {
    if (start < 0)
        return window(0) >> -start;
    const uint32_t *w = one_over_pi + start / 32;
    const uint32_t shift = (uint32_t)start % 32;
    const uint64_t upper = (uint64_t)w[0] << 32 | w[1];
    return shift == 0 ? upper : upper << shift | w[2] >> (32 - shift);
}

void hvx_angle_reduce(const float *angle, uint32_t count, int32_t *remainder, uint32_t *flip) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)hvx_f32_bits(angle[i]) & 0x7fffffffu, exponent = bits >> 23;
        remainder[i] = 0;
        flip[i] = 0;
        if (exponent < 88 || exponent == 255) /* below 2^-39: no remainder in 29 places; infinite, NaN */
            continue;
        /* |angle| = mantissa * 2^e. Of 2^e / pi, the place of 2^0 and the 63 places behind it: higher ones are multiples
         * of two half turns. The product, modulo 2^64, has the parity of the half turns in its highest bit. */
        const uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
        const int32_t e = (int32_t)exponent - 150;
        const uint64_t turns = mantissa * window(e - 1);
        flip[i] = (uint32_t)((turns + (1ull << 62)) >> 63) << 31;
        const int32_t fraction = (int32_t)(uint32_t)(turns << 1 >> 32); /* of a half turn, -1/2 .. 1/2 */
        remainder[i] = (int32_t)((int64_t)fraction * HVX_PI_29 >> 32);
    }
}

struct hvx_angle hvx_angle_of_any(HVX_Vector x) {
    float angle[HVX_WORDS] __attribute__((aligned(128)));
    int32_t remainder[HVX_WORDS] __attribute__((aligned(128)));
    uint32_t flip[HVX_WORDS] __attribute__((aligned(128)));
    const struct hvx_angle a = hvx_angle_of(hvx_angle_magnitude(x));
    hvx_store_aligned(angle, x);
    hvx_store_aligned(remainder, a.remainder);
    hvx_store_aligned(flip, a.flip);
    for (uint32_t i = 0; i < HVX_WORDS; i++) {
        if (!(__builtin_fabsf(angle[i]) <= HVX_ANGLE_LIMIT))
            hvx_angle_reduce(angle + i, 1, remainder + i, flip + i);
    }
    return (struct hvx_angle){hvx_load_aligned(remainder), hvx_load_aligned(flip)};
}
