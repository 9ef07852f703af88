/* What wide.h has, for machines without AVX-512: mostly the plain versions. Part of integer.h. */
#ifndef HVX_EMUL_NARROW_H
#define HVX_EMUL_NARROW_H

#include "hvx/emul/plain.h"

HVX_INLINE HVX_Vector Q6_Vh_vshuff_Vh(HVX_Vector u) { return plain_Q6_Vh_vshuff_Vh(u); }
HVX_INLINE HVX_Vector Q6_Vh_vdeal_Vh(HVX_Vector u) { return plain_Q6_Vh_vdeal_Vh(u); }
HVX_INLINE HVX_Vector Q6_Vh_vpacke_VwVw(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vh_vpacke_VwVw(u, v); }
HVX_INLINE HVX_Vector Q6_Vh_vpacko_VwVw(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vh_vpacko_VwVw(u, v); }
HVX_INLINE HVX_Vector Q6_Vb_vpacke_VhVh(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vb_vpacke_VhVh(u, v); }
HVX_INLINE HVX_Vector Q6_Vb_vpacko_VhVh(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vb_vpacko_VhVh(u, v); }
HVX_INLINE HVX_VectorPair Q6_Wuh_vunpack_Vub(HVX_Vector u) { return plain_Q6_Wuh_vunpack_Vub(u); }
HVX_INLINE HVX_Vector Q6_Vw_vmpye_VwVuh(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vw_vmpye_VwVuh(u, v); }
HVX_INLINE HVX_Vector Q6_Vw_vasl_VwVw(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vw_vasl_VwVw(u, v); }
HVX_INLINE HVX_Vector Q6_Vw_vlsr_VwVw(HVX_Vector u, HVX_Vector v) { return plain_Q6_Vw_vlsr_VwVw(u, v); }

/* even words of v, then of u, and odd ones */
HVX_INLINE HVX_VectorPair hvx_deal(HVX_Vector u, HVX_Vector v) {
    const union hvx_lanes high = {u}, low = {v};
    union hvx_lanes even, odd;
    for (int i = 0; i < 16; i++) {
        even.uw[i] = low.uw[2 * i];
        even.uw[16 + i] = high.uw[2 * i];
        odd.uw[i] = low.uw[2 * i + 1];
        odd.uw[16 + i] = high.uw[2 * i + 1];
    }
    return (HVX_VectorPair){{even.v, odd.v}};
}
/* `words` of v, as many of u, and so on */
HVX_INLINE HVX_VectorPair hvx_interleave(HVX_Vector u, HVX_Vector v, uint32_t words) {
    const union hvx_lanes high = {u}, low = {v};
    union hvx_lanes r[2];
    for (uint32_t i = 0; i < 32; i += words) {
        for (uint32_t k = 0; k < words; k++) {
            r[i / 16].uw[2 * i % 32 + k] = low.uw[i + k];
            r[i / 16].uw[2 * i % 32 + words + k] = high.uw[i + k];
        }
    }
    return (HVX_VectorPair){{r[0].v, r[1].v}};
}

HVX_INLINE void Q6_vmem_QRIV(HVX_VectorPred q, HVX_Vector *address, HVX_Vector v) {
    const union hvx_lanes mask = {q.mask}, value = {v};
    for (int i = 0; i < 128; i++) {
        if (mask.ub[i])
            ((uint8_t *)address)[i] = value.ub[i];
    }
}

#endif
