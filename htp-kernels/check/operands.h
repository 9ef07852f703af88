/* Random operands for intrinsics; on every machine the same ones in the same order. */
#ifndef HTP_CHECK_OPERANDS_H
#define HTP_CHECK_OPERANDS_H

#include "check/check.h"
#include "hvx/hvx.h"

#include "hvx/emul/lanes.h"

static const uint32_t edge_words[] = {
    0,          0xffffffffu, 0x80000000u, 0x7fffffffu, 0x80808080u, 0x7f7f7f7fu, 0x00ff00ffu, 0xff00ff00u,
    0x3f800000, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00000001u, 0x00800000u, 0x477fefffu, 0x477ff000u,
    0x33000000, 0x33000001u, 0x387fffffu, 0x38800000u, 0x4f000000u, 0xcf000000u, 0x7bff7c00u, 0x04000001u,
};
#define EDGES (sizeof(edge_words) / sizeof(edge_words[0]))

/* kind 0: any bits, 1: edges, 2: floats around 1, with f16 values of the same kind */
static inline HVX_Vector random_vector(uint32_t kind) {
    union hvx_lanes r;
    for (int i = 0; i < 32; i++) {
        const uint32_t bits = check_random();
        if (kind == 1)
            r.uw[i] = edge_words[check_below(EDGES)];
        else
            r.uw[i] = kind == 0 ? bits : (bits & 0x83ff83ffu) | 0x3c003c00u | (bits >> 3 & 0x03ff0000u);
    }
    return r.v;
}
static inline uint32_t random_kind(void) { return check_below(3); }
static inline int32_t random_scalar(void) {
    switch (check_below(3)) {
    case 0:
        return (int32_t)check_random();
    case 1:
        return -(int32_t)(1u << check_below(8)); /* -4, -8 ...: what deals and shuffles are called with */
    default:
        return (int32_t)check_below(256) - 64;
    }
}
static inline HVX_Vector random_mask(void) {
    union hvx_lanes r;
    for (int i = 0; i < 128; i++)
        r.ub[i] = check_random() >> 31 ? 0xff : 0;
    return r.v;
}

#if defined(__hexagon__)
static inline HVX_VectorPred mask_pred(HVX_Vector mask) { return Q6_Q_vand_VR(mask, -1); }
static inline HVX_Vector pred_mask(HVX_VectorPred q) { return Q6_V_vand_QR(q, -1); }
#else
static inline HVX_VectorPred mask_pred(HVX_Vector mask) { return hvx_pred(mask); }
static inline HVX_Vector pred_mask(HVX_VectorPred q) { return q.mask; }
#endif

#endif
