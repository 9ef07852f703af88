/* Copies between tensors that share memory: through VTCM. */
#include "ops/copy/grid.h"

/* bytes from the first unit to behind the last */
static uint64_t extent(const struct grid *g) {
    uint64_t bytes = g->unit;
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++)
        bytes += (uint64_t)(g->ne[d] - 1) * g->nb[d];
    return bytes;
}

static bool is_dense(const struct grid *g) {
    uint64_t step = g->unit;
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        if (g->ne[d] != 1 && g->nb[d] != step)
            return false;
        step *= g->ne[d];
    }
    return true;
}

bool grids_overlap(const struct grid *a, const struct grid *b) {
    const uintptr_t at_a = (uintptr_t)a->data, at_b = (uintptr_t)b->data;
    return at_a < at_b ? at_b - at_a < extent(a) : at_a - at_b < extent(b);
}

static struct grid row_of(uint8_t *data, uint32_t unit, uint32_t count) {
    const struct grid g = {.data = data, .unit = unit, .ne = {count, 1, 1, 1}, .nb = {unit, 0, 0, 0}};
    return g;
}

static void copy_staged(struct htp_exec *exec, const struct grid *dst, const struct grid *src, uint32_t count,
                        htp_row_fn convert, uint32_t elements) {
    const struct grid stage = row_of(exec->vtcm, src->unit, count);
    copy_flat(exec, &stage, src, count, NULL, 1);
    copy_flat(exec, dst, &stage, count, convert, elements);
}

bool copy_overlapping(struct htp_exec *exec, const struct grid *dst, const struct grid *src, uint32_t count,
                      htp_row_fn convert, uint32_t elements) {
    const size_t room = exec->vtcm_size / src->unit;
    if (count <= room) {
        copy_staged(exec, dst, src, count, convert, elements);
        return true;
    }
    if (room == 0 || convert != NULL || !is_dense(dst) || !is_dense(src))
        return false;
    /* parts from that end on which dst lies, so that no part is overwritten before its turn */
    const bool backwards = (uintptr_t)dst->data > (uintptr_t)src->data;
    for (uint32_t done = 0; done < count;) {
        const uint32_t n = htp_min_u32(count - done, (uint32_t)room), first = backwards ? count - done - n : done;
        const size_t offset = (size_t)first * src->unit;
        const struct grid to = row_of(dst->data + offset, src->unit, n), from = row_of(src->data + offset, src->unit, n);
        copy_staged(exec, &to, &from, n, NULL, 1);
        done += n;
    }
    return true;
}
