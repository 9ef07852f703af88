/*
 * Which op.
 *
 * detail of a failure: 0 no source, 1 arguments, 2 positions beyond 31 bits, 16 src or 18 dst of a type or with rows
 * that are not taken, 32 + dimension of dst whose size does not fit; of NO_VTCM the bytes that are needed
 */
#include "ops/resample/resample.h"

uint32_t htp_resample(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (!image_is_rows(exec->src[0], HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (!image_is_rows(exec->dst, HTP_TYPE_F32) || exec->dst->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    union {
        struct htp_pool_params pool;
        struct htp_upscale_params upscale;
        struct htp_reflect_params reflect;
    } p;
    __builtin_memcpy(&p, exec->params, sizeof(p));
    switch (exec->op) {
    case HTP_OP_POOL_1D:
    case HTP_OP_POOL_2D:
        return resample_pool(exec, &p.pool);
    case HTP_OP_UPSCALE:
        return resample_upscale(exec, &p.upscale);
    case HTP_OP_PAD_REFLECT_1D:
        return resample_reflect(exec, &p.reflect);
    default:
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    }
}
