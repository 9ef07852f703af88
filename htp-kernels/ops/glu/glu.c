/*
 * Gated linear units: dst = f(a) * b, in f32, f16 and bf16; f16 and bf16 are computed in f32 and rounded once.
 *
 * a and b are two tensors, or the halves of the rows of one. ops/unary/map.h has the way through tensors; dst may be
 * one of the two tensors.
 */
#include "htp/params.h"
#include "ops/unary/functions.h"
#include "ops/unary/map.h"

uint32_t htp_glu(struct htp_exec *exec);

/* a * b * sigmoid; NaN where a is NaN or not below `first_nan`. A NaN of b stays one as far as products keep it. */
HVX_INLINE HVX_VectorPair gated_product(HVX_Vector low, HVX_Vector high, HVX_Vector b_low, HVX_Vector b_high,
                                        HVX_VectorPair sigmoid, uint32_t first_nan) {
    const HVX_Vector x = hvx_qf32_to_f32(hvx_gated_qf32(low, Q6_V_lo_W(sigmoid)));
    const HVX_Vector y = hvx_qf32_to_f32(hvx_gated_qf32(high, Q6_V_hi_W(sigmoid)));
    const HVX_VectorPair r = Q6_W_vcombine_VV(hvx_mul_f32(y, b_high), hvx_mul_f32(x, b_low));
    return keep_nan(low, high, first_nan, r);
}

HVX_INLINE HVX_VectorPair swiglu_pair(const struct map *map, HVX_Vector low, HVX_Vector high, HVX_Vector b_low,
                                      HVX_Vector b_high) {
    (void)map;
    const HVX_Vector factor = hvx_splat_f32(-HVX_LOG2E);
    const HVX_VectorPair s = hvx_sigmoid_154(hvx_sigmoid_argument(low, factor), hvx_sigmoid_argument(high, factor));
    return gated_product(low, high, b_low, b_high, s, HVX_NAN_AND_MINUS_INF);
}
MAP_BINARY(run_swiglu, 5, swiglu_pair)

HVX_INLINE HVX_VectorPair geglu_pair(const struct map *map, HVX_Vector low, HVX_Vector high, HVX_Vector b_low,
                                     HVX_Vector b_high) {
    const HVX_VectorPair s = hvx_sigmoid_154(hvx_gelu_argument(low), hvx_gelu_argument(high));
    /* ggml gives 0 for -infinity in f32 and NaN in the other types */
    return gated_product(low, high, b_low, b_high, s,
                         map->type == HTP_TYPE_F32 ? HVX_NAN_ONLY : HVX_NAN_AND_MINUS_INF);
}
MAP_BINARY(run_geglu, 5, geglu_pair)

HVX_INLINE HVX_VectorPair geglu_quick_pair(const struct map *map, HVX_Vector low, HVX_Vector high, HVX_Vector b_low,
                                           HVX_Vector b_high) {
    (void)map;
    const HVX_Vector factor = hvx_splat_f32(-HVX_LOG2E * 1.702f);
    const HVX_VectorPair s = hvx_sigmoid_154(hvx_sigmoid_argument(low, factor), hvx_sigmoid_argument(high, factor));
    return gated_product(low, high, b_low, b_high, s, HVX_NAN_AND_MINUS_INF);
}
MAP_BINARY(run_geglu_quick, 5, geglu_quick_pair)

HVX_INLINE HVX_VectorPair geglu_erf_pair(const struct map *map, HVX_Vector low, HVX_Vector high, HVX_Vector b_low,
                                         HVX_Vector b_high) {
    (void)map;
    const HVX_VectorPair s = hvx_sigmoid_154(hvx_gelu_erf_argument(low), hvx_gelu_erf_argument(high));
    return gated_product(low, high, b_low, b_high, s, HVX_NAN_AND_MINUS_INF);
}
MAP_BINARY(run_geglu_erf, 6, geglu_erf_pair)

/* at least -limit, at most limit; NaN is not looked after */
HVX_INLINE HVX_Vector within(HVX_Vector b, HVX_Vector limit) {
    const HVX_Vector bottom = Q6_V_vxor_VV(limit, hvx_splat_i32(INT32_MIN));
    return Q6_Vsf_vmax_VsfVsf(Q6_Vsf_vmin_VsfVsf(b, limit), bottom);
}

/* min(a, limit) * sigmoid(alpha * min(a, limit)) * (b within limits, plus `added`) */
HVX_INLINE HVX_VectorPair limited_pair(HVX_Vector low, HVX_Vector high, HVX_Vector b_low, HVX_Vector b_high,
                                       const struct map *map, float alpha, float added) {
    const HVX_Vector factor = hvx_splat_f32(-HVX_LOG2E * alpha), top = hvx_splat_f32(map->args[1]);
    const HVX_Vector floor = hvx_splat_f32(map->args[2]);
    const HVX_Vector x = Q6_Vsf_vmin_VsfVsf(low, top), y = Q6_Vsf_vmin_VsfVsf(high, top);
    const HVX_VectorPair s = hvx_sigmoid_154(hvx_sigmoid_argument(x, factor), hvx_sigmoid_argument(y, factor));
    const HVX_Vector p = hvx_add_f32(within(b_low, top), hvx_splat_f32(added));
    const HVX_Vector q = hvx_add_f32(within(b_high, top), hvx_splat_f32(added));
    const HVX_VectorPair r =
        Q6_W_vcombine_VV(hvx_mul_f32(hvx_mul_f32(Q6_Vsf_vmax_VsfVsf(y, floor), Q6_V_hi_W(s)), q),
                         hvx_mul_f32(hvx_mul_f32(Q6_Vsf_vmax_VsfVsf(x, floor), Q6_V_lo_W(s)), p));
    return keep_nan(b_low, b_high, HVX_NAN_ONLY, keep_nan(low, high, HVX_NAN_AND_MINUS_INF, r));
}

HVX_INLINE HVX_VectorPair swiglu_oai_pair(const struct map *map, HVX_Vector low, HVX_Vector high, HVX_Vector b_low,
                                          HVX_Vector b_high) {
    return limited_pair(low, high, b_low, b_high, map, map->args[0], 1.0f);
}
MAP_BINARY(run_swiglu_oai, 4, swiglu_oai_pair)

HVX_INLINE HVX_VectorPair swiglu_clamp_pair(const struct map *map, HVX_Vector low, HVX_Vector high, HVX_Vector b_low,
                                            HVX_Vector b_high) {
    return limited_pair(low, high, b_low, b_high, map, 1.0f, 0.0f);
}
MAP_BINARY(run_swiglu_clamp, 4, swiglu_clamp_pair)

/* not a product with relu(a): where a is not positive the result is 0 whatever b is */
HVX_INLINE HVX_VectorPair reglu_pair(const struct map *map, HVX_Vector low, HVX_Vector high, HVX_Vector b_low,
                                     HVX_Vector b_high) {
    (void)map;
    return Q6_W_vcombine_VV(Q6_V_vand_QV(is_positive(high), hvx_mul_f32(high, b_high)),
                            Q6_V_vand_QV(is_positive(low), hvx_mul_f32(low, b_low)));
}
MAP_BINARY(run_reglu, 4, reglu_pair)

static map_fn find_kernel(uint32_t op) {
    switch (op) {
    case HTP_OP_SWIGLU:
        return run_swiglu;
    case HTP_OP_SWIGLU_OAI:
        return run_swiglu_oai;
    case HTP_OP_SWIGLU_CLAMP:
        return run_swiglu_clamp;
    case HTP_OP_GEGLU:
        return run_geglu;
    case HTP_OP_GEGLU_QUICK:
        return run_geglu_quick;
    case HTP_OP_GEGLU_ERF:
        return run_geglu_erf;
    case HTP_OP_REGLU:
        return run_reglu;
    default:
        return NULL;
    }
}

/* detail of a failure: 0, 1, 2 the operand (src0, src1, dst) whose type is wrong, 16 + i: size i is wrong */
uint32_t htp_glu(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    const struct htp_view *a = exec->src[0], *b = exec->n_src > 1 ? exec->src[1] : NULL, *dst = exec->dst;
    struct htp_view halves[2];
    struct htp_glu_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    /* where a * sigmoid(alpha * a) is cut off, see hvx_gated_qf32; a negative alpha has the limit there */
    const bool is_oai = exec->op == HTP_OP_SWIGLU_OAI;
    const float floor = !is_oai ? -128.0f : params.alpha > 0 ? -128.0f / params.alpha : -__builtin_inff();
    const struct map map = {find_kernel(exec->op), dst->type, {params.alpha, params.limit, floor}};
    if (map.run == NULL)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    if (a->type != dst->type || a->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (b != NULL && (b->type != dst->type || b->layout != HTP_LAYOUT_ROWS))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    if (!map_knows(dst->type) || dst->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    if (b == NULL) { /* halves of rows, which begin with that of a unless swapped */
        halves[0] = halves[1] = *a;
        const uint32_t length = a->ne[0] / 2; /* as in ggml: of an odd number the last one belongs to neither */
        const size_t half = (size_t)length * a->nb[0];
        halves[params.swapped ? 0 : 1].data += half;
        halves[0].ne[0] = halves[1].ne[0] = length;
        a = &halves[0];
        b = &halves[1];
    }
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (a->ne[i] != dst->ne[i] || b->ne[i] != dst->ne[i])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    map_run(exec, &map, a, b, dst);
    return HTP_STATUS_OK;
}
