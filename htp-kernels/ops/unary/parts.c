/* Kernels of the functions in functions_parts.h. */
#include "ops/unary/functions_parts.h"
#include "ops/unary/unary.h"

UNARY_EACH(sgn, 8, 8, sign_of(x))
UNARY_EACH(trunc, 8, 8, truncated(x))
UNARY_EACH(round, 8, 8, rounded(x))
UNARY_EACH(floor, 8, 8, floor_of(x))
UNARY_EACH(ceil, 8, 8, ceiling(x))
UNARY_EACH(leaky_relu, 8, 8, leaky_relu(x, map->args[0]))
UNARY_EACH(hard_sigmoid, 8, 8, hard_sigmoid(x))
UNARY_EACH(hard_swish, 8, 8, hard_swish(x))

HVX_INLINE HVX_VectorPair expm1_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    return keep_nan(low, high, HVX_NAN_ONLY, exponential_less_one_pair(low, high));
}
MAP_UNARY(run_expm1, 4, expm1_pair)

HVX_INLINE HVX_VectorPair elu_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    const HVX_VectorPair below = exponential_less_one_pair(low, high);
    const HVX_Vector zero = hvx_zero();
    const HVX_Vector a = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(low, zero), low, Q6_V_lo_W(below));
    const HVX_Vector b = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(high, zero), high, Q6_V_hi_W(below));
    return keep_nan(low, high, HVX_NAN_ONLY, Q6_W_vcombine_VV(b, a));
}
MAP_UNARY(run_elu, 4, elu_pair)

HVX_INLINE HVX_VectorPair xielu_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    const struct xielu t = {map->args[0], map->args[1], map->args[2], map->args[3]};
    const HVX_Vector eps = hvx_splat_f32(t.eps);
    const HVX_VectorPair e =
        exponential_less_one_pair(Q6_Vsf_vmin_VsfVsf(low, eps), Q6_Vsf_vmin_VsfVsf(high, eps));
    const HVX_Vector a = xielu(&t, low, Q6_V_lo_W(e)), b = xielu(&t, high, Q6_V_hi_W(e));
    return keep_nan(low, high, HVX_NAN_ONLY, Q6_W_vcombine_VV(b, a));
}
MAP_UNARY(run_xielu, 2, xielu_pair)

map_fn unary_parts(uint32_t op) {
    switch (op) {
    case HTP_OP_SGN:
        return run_sgn;
    case HTP_OP_ELU:
        return run_elu;
    case HTP_OP_HARDSWISH:
        return run_hard_swish;
    case HTP_OP_HARDSIGMOID:
        return run_hard_sigmoid;
    case HTP_OP_EXPM1:
        return run_expm1;
    case HTP_OP_XIELU:
        return run_xielu;
    case HTP_OP_FLOOR:
        return run_floor;
    case HTP_OP_CEIL:
        return run_ceil;
    case HTP_OP_ROUND:
        return run_round;
    case HTP_OP_TRUNC:
        return run_trunc;
    case HTP_OP_LEAKY_RELU:
        return run_leaky_relu;
    default:
        return NULL;
    }
}
