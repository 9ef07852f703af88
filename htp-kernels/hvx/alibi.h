/* ALiBi: what a head multiplies its mask with. The arguments are fields of the ops' parameters (htp/params.h). */
#ifndef HVX_ALIBI_H
#define HVX_ALIBI_H

#include <stdint.h>

/* base^n, by squaring */
static inline float htp_alibi_power(float base, uint32_t n) {
    float r = 1;
    for (; n > 0; n >>= 1, base *= base) {
        if (n & 1)
            r *= base;
    }
    return r;
}

static inline float htp_alibi_slope(const float slope_base[2], uint32_t slope_heads, uint32_t head) {
    if (slope_heads == 0)
        return 1;
    return head < slope_heads ? htp_alibi_power(slope_base[0], head + 1)
                              : htp_alibi_power(slope_base[1], 2 * (head - slope_heads) + 1);
}

#endif
