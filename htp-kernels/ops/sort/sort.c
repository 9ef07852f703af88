/* ARGSORT and TOP_K: indices of the elements of each row of f32, as i32. */
#include "ops/sort/sort.h"

uint32_t htp_sort(struct htp_exec *exec);

/* detail of a failure: 0 sources missing, 16 src or 18 dst has a wrong type or row, 32 + dimension whose size is wrong,
 * 48 order */
uint32_t htp_sort(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    const struct htp_view *src = exec->src[0], *dst = exec->dst;
    if (src->type != HTP_TYPE_F32 || src->layout != HTP_LAYOUT_ROWS || src->ne[0] > INT32_MAX)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (dst->type != HTP_TYPE_I32 || dst->layout != HTP_LAYOUT_ROWS || dst->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        if (src->ne[d] != dst->ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
    }
    switch (exec->op) {
    case HTP_OP_ARGSORT:
        return sort_all(exec);
    case HTP_OP_TOP_K:
        return sort_top_k(exec);
    default:
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    }
}
