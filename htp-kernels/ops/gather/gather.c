/*
 * GET_ROWS: dst[:, i, j, k] = src0[:, src1[i, j, k], j, k], in f32 where src0 is f16 or quantised.
 * SET_ROWS: dst[:, src1[i, j, k], ...] = src0[:, i, ...] in the type of dst; src1 repeats over dimensions 2 and 3.
 *
 * Rows are divided over threads. An index is checked before it is used; one that is out of range ends the op with
 * HTP_STATUS_BAD_INDEX (other rows may have been written). Quantised rows of src0 may be weights in tiles.
 *
 * detail of a failure: 0 sources missing, 16 + operand (0, 1 src, 2 dst) whose type or row is not taken, 32 + dimension
 * whose size does not fit; for HTP_STATUS_BAD_INDEX the place of the index in src1, counted in ggml's order
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "hvx/row.h"
#include "ops/gather/tiled_row.h"
#include "runtime/exec.h"
#include "runtime/types.h"

#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this many bytes */
#define NO_PLACE UINT32_MAX

uint32_t htp_gather(struct htp_exec *exec);

struct gather {
    const struct htp_view *table; /* the tensor that indices point into: src0 of GET_ROWS, dst of SET_ROWS */
    const struct htp_view *list;  /* the other one: a row an index */
    const struct htp_view *index;
    htp_row_fn convert; /* NULL: same type */
    uint32_t elements;  /* of a row */
    size_t bytes;       /* of a row, when the types are the same */
    bool set;
    _Atomic uint32_t bad; /* the first place of an index that is out of range, of those that were seen */
};

/* Where index (i0, i1, i2) points; false when that is outside of the table. */
static bool look_up(const struct gather *g, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t *row) {
    const uint8_t *p = htp_row(g->index, i1, i2, 0) + (size_t)i0 * g->index->nb[0];
    int64_t value; /* addresses are aligned: the runtime has checked it */
    if (g->index->type == HTP_TYPE_I64)
        value = *(const int64_t *)(const void *)p;
    else
        value = *(const int32_t *)(const void *)p;
    *row = (uint32_t)value;
    return value >= 0 && value < (int64_t)g->table->ne[1];
}

static void report_bad(struct gather *g, uint32_t place) {
    uint32_t seen = atomic_load(&g->bad);
    while (place < seen && !atomic_compare_exchange_weak(&g->bad, &seen, place)) {
    }
}

static void move_row(const struct gather *g, uint32_t row, uint32_t i1, uint32_t i2, uint32_t i3) {
    uint8_t *other = htp_row(g->list, i1, i2, i3);
    if (g->table->layout == HTP_LAYOUT_TILES) {
        tiled_row_to_f32(g->table, row, i2, i3, other);
        return;
    }
    uint8_t *entry = htp_row(g->table, row, i2, i3);
    uint8_t *dst = g->set ? entry : other;
    const uint8_t *src = g->set ? other : entry;
    if (g->convert == NULL)
        htp_row_copy(dst, src, g->bytes);
    else
        g->convert(dst, src, g->elements);
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    struct gather *g = arg;
    const uint32_t *ne = g->list->ne, *index_ne = g->index->ne;
    const uint32_t rows = htp_rows(g->list);
    const uint32_t begin = (uint32_t)((uint64_t)rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)rows * (thread + 1) / n_threads);
    uint32_t i1 = begin % ne[1], i2 = begin / ne[1] % ne[2], i3 = begin / ne[1] / ne[2];
    for (uint32_t r = begin; r < end; r++) {
        const uint32_t j1 = i2 % index_ne[1], j2 = i3 % index_ne[2];
        uint32_t row;
        if (!look_up(g, i1, j1, j2, &row)) {
            report_bad(g, (j2 * index_ne[1] + j1) * index_ne[0] + i1);
            return;
        }
        move_row(g, row, i1, i2, i3);
        if (++i1 == ne[1]) {
            i1 = 0;
            if (++i2 == ne[2]) {
                i2 = 0;
                i3++;
            }
        }
    }
}

static bool is_row_of_elements(const struct htp_view *v) {
    return v->layout == HTP_LAYOUT_ROWS && v->nb[0] == htp_type_bytes(v->type);
}

/* Types that the two ops take, beyond what can be converted. */
static uint32_t check_types(struct htp_exec *exec, struct gather *g) {
    const struct htp_view *src = exec->src[0], *dst = exec->dst;
    const bool tiled = !g->set && tiled_row_type(src);
    if (!tiled && !is_row_of_elements(src))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16);
    if (g->index->layout != HTP_LAYOUT_ROWS ||
        (g->index->type != HTP_TYPE_I32 && g->index->type != HTP_TYPE_I64))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 17);
    if (!is_row_of_elements(dst) || (tiled && dst->type != HTP_TYPE_F32))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    g->convert = htp_row_converter(src->type, dst->type);
    if (g->convert == NULL && src->type != dst->type)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 18);
    return HTP_STATUS_OK;
}

static uint32_t check_shapes(struct htp_exec *exec, const struct gather *g) {
    const struct htp_view *list = g->list, *table = g->table, *index = g->index;
    if (list->ne[0] != table->ne[0])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    if (list->ne[1] != index->ne[0])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 33);
    for (uint32_t d = 2; d < HTP_MAX_DIMS; d++) {
        const uint32_t n = index->ne[d - 1];
        const bool fits = g->set ? (n != 0 ? list->ne[d] % n == 0 : list->ne[d] == 0) : n == list->ne[d];
        if (list->ne[d] != table->ne[d] || !fits)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 32 + d);
    }
    return index->ne[3] == 1 ? HTP_STATUS_OK : htp_fail(exec, HTP_STATUS_BAD_OP, 36);
}

uint32_t htp_gather(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (exec->op != HTP_OP_GET_ROWS && exec->op != HTP_OP_SET_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    const bool set = exec->op == HTP_OP_SET_ROWS;
    struct gather g = {
        .table = set ? exec->dst : exec->src[0],
        .list = set ? exec->src[0] : exec->dst,
        .index = exec->src[1],
        .set = set,
        .bad = NO_PLACE,
    };
    uint32_t status = check_types(exec, &g);
    if (status == HTP_STATUS_OK)
        status = check_shapes(exec, &g);
    if (status != HTP_STATUS_OK)
        return status;
    const uint32_t rows = htp_rows(g.list);
    if (rows == 0 || g.list->ne[0] == 0)
        return HTP_STATUS_OK;
    g.elements = g.list->ne[0];
    g.bytes = (size_t)(g.elements / htp_type_elements(g.list->type)) * htp_type_bytes(g.list->type);
    const uint64_t worth = (uint64_t)rows * g.elements * 4 / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows);
    n = worth < n ? (uint32_t)worth : n;
    htp_parallel(exec, n, run_rows, &g);
    const uint32_t bad = atomic_load(&g.bad);
    return bad == NO_PLACE ? HTP_STATUS_OK : htp_fail(exec, HTP_STATUS_BAD_INDEX, bad);
}
