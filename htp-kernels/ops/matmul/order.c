/* Which rows meet which matrix. */
#include "ops/matmul/matmul.h"

/* MUL_MAT: weights are repeated, so several (i2, i3) of the activations share a matrix. */
static struct matmul_row broadcast_row(const struct matmul *m, uint32_t matrix, uint32_t r) {
    const struct htp_view *a = m->activations, *w = m->weights;
    const uint32_t i1 = r % a->ne[1], outer = r / a->ne[1];
    const uint32_t i2 = matrix % w->ne[2] * m->repeat2 + outer % m->repeat2;
    const uint32_t i3 = matrix / w->ne[2] * (a->ne[3] / w->ne[3]) + outer / m->repeat2;
    return (struct matmul_row){.source = htp_row(a, i1, i2, i3), .output = htp_row(m->dst, i1, i2, i3)};
}

/* MUL_MAT_ID: slots share activation rows when there are fewer of those. */
static struct matmul_row picked_row(const struct matmul *m, uint32_t expert, uint32_t r) {
    const uint32_t used = m->dst->ne[1], pick = m->picks[m->starts[expert] + r];
    const uint32_t slot = pick % used, token = pick / used;
    return (struct matmul_row){.source = htp_row(m->activations, slot % m->activations->ne[1], token, 0),
                               .output = htp_row(m->dst, slot, token, 0)};
}

struct matmul_row matmul_find_row(const struct matmul *m, uint32_t matrix, uint32_t r) {
    return m->starts == NULL ? broadcast_row(m, matrix, r) : picked_row(m, matrix, r);
}

bool matmul_sort(struct matmul *m, const struct htp_view *ids, uint32_t first, uint32_t tokens, uint32_t *words,
                 uint32_t *bad) {
    const uint32_t used = ids->ne[0], experts = m->matrices, n = tokens * used;
    uint32_t *ends = words, *picks = ends + experts + 1, *chosen = picks + n;
    for (uint32_t e = 0; e <= experts; e++)
        ends[e] = 0;
    /* chosen: a copy, so that what is checked here is what is used below; ends[e + 1]: how many chose e */
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *id = htp_row(ids, first + i / used, 0, 0) + (size_t)(i % used) * ids->nb[0];
        __builtin_memcpy(&chosen[i], __builtin_assume_aligned(id, 4), 4);
        if (chosen[i] >= experts) { /* negative numbers too */
            *bad = first * used + i;
            return false;
        }
        ends[chosen[i] + 1]++;
    }
    /* ends[e + 1] becomes where e begins, and moves on with each pick to where it ends, which is where e + 1 begins */
    uint32_t begin = 0;
    for (uint32_t e = 0; e < experts; e++) {
        const uint32_t count = ends[e + 1];
        ends[e + 1] = begin;
        begin += count;
    }
    for (uint32_t i = 0; i < n; i++)
        picks[ends[chosen[i] + 1]++] = first * used + i;
    m->starts = ends;
    m->picks = picks;
    m->total_rows = n;
    return true;
}
