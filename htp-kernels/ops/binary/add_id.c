/*
 * ADD_ID: dst[i, u, t] = a[i, u, t] + b[i, ids[u, t]], f32: to what an expert gave for a token its bias is added.
 * An id that is out of range ends the op with an error; what was written by then is undefined.
 */
#include <stdatomic.h>

#include "hvx/compiler.h"
#include "ops/binary/binary.h"

#define NO_PLACE UINT32_MAX

struct add_id {
    struct binary rows;
    const struct htp_view *ids;
    _Atomic uint32_t bad; /* the first place of an id that is out of range, of those that were seen */
};

static void report_bad(struct add_id *t, uint32_t place) {
    uint32_t seen = atomic_load(&t->bad);
    while (place < seen && !atomic_compare_exchange_weak(&t->bad, &seen, place)) {
    }
}

static void run_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    struct add_id *t = arg;
    const struct binary *r = &t->rows;
    const uint32_t *ne = r->dst->ne;
    const struct htp_share share = htp_share_of(htp_rows(r->dst), thread, n_threads);
    struct htp_place at = htp_place_of(ne, share.begin);
    for (uint32_t i = share.count; i > 0; i--) {
        int32_t id;
        const uint8_t *const source = t->ids->data + (size_t)at.i1 * t->ids->nb[0] + (size_t)at.i2 * t->ids->nb[1];
        __builtin_memcpy(&id, __builtin_assume_aligned(source, 4), 4);
        if (id < 0 || (uint32_t)id >= r->b->ne[1]) {
            report_bad(t, at.i2 * ne[1] + at.i1);
            return;
        }
        binary_row(r, htp_row(r->a, at.i1, at.i2, at.i3), r->b->data + (size_t)id * r->b->nb[1],
                   htp_row(r->dst, at.i1, at.i2, at.i3));
        htp_place_advance(&at, ne, 1);
    }
}

/*
 * detail of a failure: 8 types, 16 + i: size i of a, dst or b is wrong, 24 shape of the ids; BAD_INDEX: place of the
 * id, counted row by row
 */
uint32_t binary_add_id(struct htp_exec *exec) {
    if (exec->n_src < 3 || exec->src[2] == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    struct add_id t = {.ids = exec->src[2], .bad = NO_PLACE};
    t.rows = (struct binary){.a = exec->src[0], .b = exec->src[1], .dst = exec->dst, .op = HTP_OP_ADD};
    const struct htp_view *const a = t.rows.a, *const b = t.rows.b, *const dst = t.rows.dst;
    if (a->type != HTP_TYPE_F32 || b->type != HTP_TYPE_F32 || dst->type != HTP_TYPE_F32 ||
        t.ids->type != HTP_TYPE_I32 || t.ids->layout != HTP_LAYOUT_ROWS)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 8);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        const uint32_t of_b = i == 0 ? a->ne[0] : i == 1 ? b->ne[1] : 1;
        if (dst->ne[i] != a->ne[i] || b->ne[i] != of_b)
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    if (t.ids->ne[0] != a->ne[1] || t.ids->ne[1] != a->ne[2])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 24);
    if (htp_rows(dst) == 0 || dst->ne[0] == 0)
        return HTP_STATUS_OK;
    if (b->ne[1] == 0)
        return htp_fail(exec, HTP_STATUS_BAD_INDEX, 0);
    binary_choose(&t.rows);
    htp_parallel(exec, binary_threads(exec, dst, binary_bytes(dst)), run_rows, &t);
    const uint32_t bad = atomic_load(&t.bad);
    return bad == NO_PLACE ? HTP_STATUS_OK : htp_fail(exec, HTP_STATUS_BAD_INDEX, bad);
}
