/* Vectors seen as arrays of lanes. Works on the emulated types and on Hexagon's own. */
#ifndef HVX_EMUL_LANES_H
#define HVX_EMUL_LANES_H

#include <stdint.h>

/* Plain versions are loops over lanes: not worth a copy at each use. */
#define HVX_PLAIN_FN static __attribute__((noinline, unused))

union hvx_lanes {
    HVX_Vector v;
    uint8_t ub[128];
    int8_t b[128];
    uint16_t uh[64];
    int16_t h[64];
    uint32_t uw[32];
    int32_t w[32];
    float sf[32];
};

union hvx_pair_lanes {
    HVX_VectorPair w;
    HVX_Vector v[2]; /* low, high */
    uint8_t ub[256];
};

#endif
