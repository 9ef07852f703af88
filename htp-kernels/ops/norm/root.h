/* What the normalisations share. */
#ifndef HTP_OPS_NORM_ROOT_H
#define HTP_OPS_NORM_ROOT_H

#include "htp/params.h"
#include "hvx/sum.h"
#include "runtime/exec.h"

/* 1/sqrt(x) of x >= 0 as IEEE: infinite of zero, zero of infinity */
HVX_INLINE HVX_Vector norm_inverse_root(HVX_Vector x) {
    const HVX_Vector infinity = hvx_splat_i32(0x7f800000);
    const HVX_VectorPred is_zero = Q6_Q_vcmp_eq_VwVw(x, hvx_zero());
    const HVX_VectorPred is_special = Q6_Q_or_QQ(is_zero, Q6_Q_vcmp_eq_VwVw(x, infinity));
    return Q6_V_vmux_QVV(is_special, Q6_V_vand_QV(is_zero, infinity), hvx_rsqrt_f32(x));
}

/* group.c: GROUP_NORM. Operands are f32 of the same shape, eps is checked. */
uint32_t norm_groups(struct htp_exec *exec, const struct htp_norm_params *params);

#endif
