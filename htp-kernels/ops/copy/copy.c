/*
 * Ops that move elements: CPY, CONT, REPEAT, CONCAT, PAD.
 *
 * This file checks and chooses; flat.c, transpose.c and overlap.c copy whole tensors, box.c the ops that put rows
 * together.
 * detail of a failure: 0 sources missing, 16 + operand (0, 1 src, 2 dst) whose type or row is not taken, 32 + dimension
 * whose size does not fit, 48 an argument is wrong, 49 too many elements
 */
#include "htp/params.h"
#include "ops/copy/box.h"
#include "runtime/types.h"

uint32_t htp_copy(struct htp_exec *exec);

static uint32_t same_type(struct htp_exec *exec, struct grid *dst, struct grid *src, uint32_t count) {
    if (grid_same_shape(dst, src)) {
        /* the same change of order on both sides changes nothing: bring dst's dense dimension to the front */
        const uint32_t dense = dst->nb[0] == dst->unit && dst->ne[0] > 1 ? 0 : grid_dense_dim(dst, 2);
        if (dense != 0 && dense != HTP_MAX_DIMS) {
            grid_swap_dims(dst, 0, dense);
            grid_swap_dims(src, 0, dense);
        }
        if (copy_transposed(exec, dst, src, count))
            return HTP_STATUS_OK;
    }
    copy_flat(exec, dst, src, count, NULL, 1);
    return HTP_STATUS_OK;
}

/* CPY and CONT: all elements in ggml's order */
static uint32_t copy_all(struct htp_exec *exec) {
    const struct htp_view *from = exec->src[0], *to = exec->dst;
    const bool same = from->type == to->type;
    const uint32_t src_block = htp_type_elements(from->type), dst_block = htp_type_elements(to->type);
    const uint32_t elements = src_block > dst_block ? src_block : dst_block; /* of a unit, when types differ */
    const htp_row_fn convert = same ? NULL : htp_row_converter(from->type, to->type);
    struct grid src, dst;
    if (!same && convert == NULL)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (!(src_block < elements ? grid_of_runs(&src, from, elements) : grid_of(&src, from)))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (!(dst_block < elements ? grid_of_runs(&dst, to, elements) : grid_of(&dst, to)))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    uint32_t count, dst_count;
    if (!grid_count(&src, &count) || !grid_count(&dst, &dst_count))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 49);
    if (count != dst_count)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    if (count == 0)
        return HTP_STATUS_OK;
    if (grids_overlap(&dst, &src) && copy_overlapping(exec, &dst, &src, count, convert, elements))
        return HTP_STATUS_OK;
    if (same)
        return same_type(exec, &dst, &src, count);
    copy_flat(exec, &dst, &src, count, convert, elements);
    return HTP_STATUS_OK;
}

/* dst and one source of REPEAT, CONCAT, PAD: the same type, rows of dst side by side */
static uint32_t take_box(struct htp_exec *exec, struct box *b, uint32_t source) {
    const struct htp_view *src = exec->src[source], *dst = exec->dst;
    uint32_t count;
    if (src->type != dst->type || src->layout != HTP_LAYOUT_ROWS || !grid_of(&b->src, src) ||
        !grid_count(&b->src, &count))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16 + source);
    if (!grid_of(&b->dst, dst) || b->dst.nb[0] != b->dst.unit || !grid_count(&b->dst, &count))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    return HTP_STATUS_OK;
}

static uint32_t repeat(struct htp_exec *exec) {
    struct box b = {0};
    const uint32_t status = take_box(exec, &b, 0);
    if (status != HTP_STATUS_OK)
        return status;
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        if (b.src.ne[d] == 0 ? b.dst.ne[d] != 0 : b.dst.ne[d] % b.src.ne[d] != 0)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
    }
    box_repeat(exec, &b);
    return HTP_STATUS_OK;
}

static uint32_t concat(struct htp_exec *exec) {
    struct htp_concat_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    if (exec->n_src < 2 || exec->src[1] == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (params.dim >= HTP_MAX_DIMS)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 48);
    struct box b[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t status = take_box(exec, &b[i], i);
        if (status != HTP_STATUS_OK)
            return status;
    }
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        const uint32_t x = b[0].src.ne[d], y = b[1].src.ne[d], all = b[0].dst.ne[d];
        if (d == params.dim ? x > all || y != all - x : x != all || y != all)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
    }
    b[1].offset[params.dim] = b[0].src.ne[params.dim];
    box_place(exec, &b[0]);
    box_place(exec, &b[1]);
    return HTP_STATUS_OK;
}

static uint32_t pad(struct htp_exec *exec) {
    struct htp_pad_params params;
    __builtin_memcpy(&params, exec->params, sizeof(params));
    struct box b = {0};
    const uint32_t status = take_box(exec, &b, 0);
    if (status != HTP_STATUS_OK)
        return status;
    if (htp_type_elements(exec->dst->type) != 1)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        const uint64_t sum = (uint64_t)params.by[2 * d] + params.by[2 * d + 1] + b.src.ne[d];
        if (sum != b.dst.ne[d])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
        if (params.circular && b.src.ne[d] == 0 && b.dst.ne[d] != 0)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 48);
        b.offset[d] = params.by[2 * d];
    }
    box_pad(exec, &b, params.circular != 0);
    return HTP_STATUS_OK;
}

uint32_t htp_copy(struct htp_exec *exec) {
    if (exec->n_src < 1 || exec->src[0] == NULL || exec->dst == NULL || exec->params == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (exec->src[0]->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (exec->dst->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    switch (exec->op) {
    case HTP_OP_CPY:
    case HTP_OP_CONT:
        return copy_all(exec);
    case HTP_OP_REPEAT:
        return repeat(exec);
    case HTP_OP_CONCAT:
        return concat(exec);
    case HTP_OP_PAD:
        return pad(exec);
    default:
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    }
}
