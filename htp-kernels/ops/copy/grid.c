#include "ops/copy/grid.h"

#include "runtime/types.h"

bool grid_of(struct grid *g, const struct htp_view *v) {
    const uint32_t elements = htp_type_elements(v->type);
    if (elements == 0 || v->ne[0] % elements != 0)
        return false;
    g->data = v->data;
    g->unit = htp_type_bytes(v->type);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        g->ne[i] = v->ne[i];
        g->nb[i] = v->nb[i];
    }
    g->ne[0] /= elements;
    return true;
}

bool grid_of_runs(struct grid *g, const struct htp_view *v, uint32_t elements) {
    if (htp_type_elements(v->type) != 1 || v->ne[0] % elements != 0 || v->nb[0] != htp_type_bytes(v->type))
        return false;
    grid_of(g, v);
    g->ne[0] /= elements;
    g->unit *= elements;
    g->nb[0] = g->unit;
    return true;
}

bool grid_count(const struct grid *g, uint32_t *count) {
    /* the runtime has checked that rows fit */
    const uint64_t n = (uint64_t)g->ne[0] * (g->ne[1] * g->ne[2] * g->ne[3]);
    *count = (uint32_t)n;
    return n <= UINT32_MAX;
}

bool grid_same_shape(const struct grid *a, const struct grid *b) {
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (a->ne[i] != b->ne[i])
            return false;
    }
    return true;
}

uint32_t grid_dense_dim(const struct grid *g, uint32_t least) {
    uint32_t d = 0;
    while (d < HTP_MAX_DIMS && !(g->nb[d] == g->unit && g->ne[d] >= least))
        d++;
    return d;
}

void grid_swap_dims(struct grid *g, uint32_t a, uint32_t b) {
    const uint32_t ne = g->ne[a], nb = g->nb[a];
    g->ne[a] = g->ne[b];
    g->nb[a] = g->nb[b];
    g->ne[b] = ne;
    g->nb[b] = nb;
}

#define COPY_EACH(type)                                                                                          \
    do {                                                                                                         \
        for (uint32_t i = 0; i < count; i++, dst += dst_step, src += src_step)                                   \
            *(type *)(void *)dst = *(const type *)(const void *)src; /* aligned: the runtime has checked it */   \
    } while (0)

void units_copy(uint8_t *dst, uint32_t dst_step, const uint8_t *src, uint32_t src_step, uint32_t unit, uint32_t count) {
    if (dst_step == unit && src_step == unit) {
        htp_row_copy(dst, src, (size_t)unit * count);
        return;
    }
    switch (unit) {
    case 1:
        COPY_EACH(uint8_t);
        break;
    case 2:
        COPY_EACH(uint16_t);
        break;
    case 4:
        COPY_EACH(uint32_t);
        break;
    case 8:
        COPY_EACH(uint64_t);
        break;
    default:
        for (uint32_t i = 0; i < count; i++, dst += dst_step, src += src_step)
            htp_row_copy(dst, src, unit);
    }
}
