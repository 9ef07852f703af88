/*
 * Element-wise ops of one tensor: f32, f16 and bf16; f16 and bf16 are computed in f32 and rounded once.
 *
 * functions.h has the functions of this file, hvx/sigmoid.h those around the sigmoid, map.h the way through tensors;
 * parts.c and circle.c have more kernels. dst may be the source.
 */
#include "htp/params.h"
#include "ops/unary/functions.h"
#include "ops/unary/unary.h"

uint32_t htp_unary(struct htp_exec *exec);

UNARY_EACH(scale, 1, 8, hvx_mul_f32(x, hvx_splat_f32(map->args[0])))
UNARY_EACH(scale_bias, 8, 8,
     hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(hvx_mul_f32_qf32(x, hvx_splat_f32(map->args[0])),
                                            hvx_splat_f32(map->args[1]))))
UNARY_EACH(sqr, 1, 8, hvx_mul_f32(x, x))
UNARY_EACH(sqrt, 8, 8, square_root(x))
UNARY_EACH(clamp, 8, 8, clamp(x, map->args[0], map->args[1]))
UNARY_EACH(neg, 8, 8, Q6_V_vxor_VV(x, hvx_splat_i32(INT32_MIN)))
UNARY_EACH(relu, 8, 8, relu(x))
UNARY_EACH(abs, 8, 8, absolute(x))
UNARY_EACH(step, 8, 8, step(x))
UNARY_EACH(log, 5, 5, logarithm(x))

HVX_INLINE HVX_VectorPair exp_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    return keep_nan(low, high, HVX_NAN_ONLY, exponential(low, high));
}
MAP_UNARY(run_exp, 8, exp_pair)

HVX_INLINE HVX_VectorPair softplus_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    return keep_nan(low, high, HVX_NAN_ONLY, Q6_W_vcombine_VV(softplus(high), softplus(low)));
}
MAP_UNARY(run_softplus, 2, softplus_pair)

HVX_INLINE HVX_VectorPair tanh_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    const HVX_VectorPair e = exponential_below(low, high, -2 * HVX_LOG2E);
    const HVX_Vector a = tanh_of(low, Q6_V_lo_W(e)), b = tanh_of(high, Q6_V_hi_W(e));
    return keep_nan(low, high, HVX_NAN_ONLY, Q6_W_vcombine_VV(b, a));
}
MAP_UNARY(run_tanh, 2, tanh_pair)

HVX_INLINE HVX_VectorPair sigmoid_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    return keep_nan(low, high, HVX_NAN_ONLY, Q6_W_vcombine_VV(sigmoid(high), sigmoid(low)));
}
MAP_UNARY(run_sigmoid, 2, sigmoid_pair)

/* x * sigmoid(...), with NaN for what is not below `first_nan` */
HVX_INLINE HVX_VectorPair gated_pair(HVX_Vector low, HVX_Vector high, HVX_VectorPair sigmoid, uint32_t first_nan) {
    const HVX_Vector a = hvx_qf32_to_f32(hvx_gated_qf32(low, Q6_V_lo_W(sigmoid)));
    const HVX_Vector b = hvx_qf32_to_f32(hvx_gated_qf32(high, Q6_V_hi_W(sigmoid)));
    return keep_nan(low, high, first_nan, Q6_W_vcombine_VV(b, a));
}

HVX_INLINE HVX_VectorPair silu_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    const HVX_Vector factor = hvx_splat_f32(-HVX_LOG2E);
    const HVX_VectorPair r = hvx_sigmoid_154(hvx_sigmoid_argument(low, factor), hvx_sigmoid_argument(high, factor));
    return gated_pair(low, high, r, HVX_NAN_AND_MINUS_INF);
}
MAP_UNARY(run_silu, 4, silu_pair)

HVX_INLINE HVX_VectorPair gelu_quick_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    const HVX_Vector factor = hvx_splat_f32(-HVX_LOG2E * 1.702f);
    const HVX_VectorPair r = hvx_sigmoid_154(hvx_sigmoid_argument(low, factor), hvx_sigmoid_argument(high, factor));
    return gated_pair(low, high, r, HVX_NAN_AND_MINUS_INF);
}
MAP_UNARY(run_gelu_quick, 4, gelu_quick_pair)

HVX_INLINE HVX_VectorPair gelu_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    const HVX_VectorPair r = hvx_sigmoid_154(hvx_gelu_argument(low), hvx_gelu_argument(high));
    /* ggml gives 0 for -infinity in f32 and NaN in the other types */
    return gated_pair(low, high, r, map->type == HTP_TYPE_F32 ? HVX_NAN_ONLY : HVX_NAN_AND_MINUS_INF);
}
MAP_UNARY(run_gelu, 4, gelu_pair)

HVX_INLINE HVX_VectorPair gelu_erf_pair(const struct map *map, HVX_Vector low, HVX_Vector high) {
    (void)map;
    const HVX_VectorPair r = hvx_sigmoid_154(hvx_gelu_erf_argument(low), hvx_gelu_erf_argument(high));
    return gated_pair(low, high, r, HVX_NAN_AND_MINUS_INF);
}
MAP_UNARY(run_gelu_erf, 4, gelu_erf_pair)

static map_fn find_kernel(uint32_t op, const struct htp_unary_params *params) {
    switch (op) {
    case HTP_OP_SCALE:
        return params->args[1] == 0 ? run_scale : run_scale_bias;
    case HTP_OP_SQR:
        return run_sqr;
    case HTP_OP_SQRT:
        return run_sqrt;
    case HTP_OP_CLAMP:
        return run_clamp;
    case HTP_OP_SILU:
        return run_silu;
    case HTP_OP_GELU:
        return run_gelu;
    case HTP_OP_GELU_QUICK:
        return run_gelu_quick;
    case HTP_OP_GELU_ERF:
        return run_gelu_erf;
    case HTP_OP_SIGMOID:
        return run_sigmoid;
    case HTP_OP_NEG:
        return run_neg;
    case HTP_OP_EXP:
        return run_exp;
    case HTP_OP_SOFTPLUS:
        return run_softplus;
    case HTP_OP_TANH:
        return run_tanh;
    case HTP_OP_RELU:
        return run_relu;
    case HTP_OP_ABS:
        return run_abs;
    case HTP_OP_STEP:
        return run_step;
    case HTP_OP_LOG:
        return run_log;
    default:
        break;
    }
    const map_fn parts = unary_parts(op);
    return parts != NULL ? parts : unary_circle(op);
}

/* detail of a failure: 0, 1 the operand (src, dst) whose type is wrong, 16 + i: size i is wrong */
uint32_t htp_unary(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    const struct htp_view *src = exec->src[0], *dst = exec->dst;
    struct htp_unary_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    struct map map = {.run = find_kernel(exec->op, &params), .type = dst->type};
    __builtin_memcpy(map.args, params.args, sizeof(map.args));
    if (map.run == NULL)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    if (src->type != dst->type || src->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (!map_knows(dst->type) || dst->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (src->ne[i] != dst->ne[i])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    map_run(exec, &map, src, NULL, dst);
    return HTP_STATUS_OK;
}
