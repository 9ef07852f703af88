/*
 * Copies in ggml's flat order: runs that end where a row of either side ends. Dimensions that continue one another are
 * joined first, so that contiguous tensors are one row. Elements that do not lie side by side and need a conversion go
 * through a vector's worth of memory; blocks are converted one at a time then.
 */
#include "hvx/hvx.h"
#include "ops/copy/grid.h"

#define CHUNK 32 /* elements that are gathered for a conversion */

struct flat {
    struct grid dst, src;
    uint32_t count, elements;
    htp_row_fn convert;
};

/* Where a walk stands: indices, and the address of the unit. */
struct cursor {
    const struct grid *g;
    uint32_t i[HTP_MAX_DIMS];
    uint8_t *at;
};

/* Joins dimensions where one ends where the next step of another begins; drops those of one unit. */
static void join(struct grid *g) {
    uint32_t last = 0;
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        const uint32_t ne = g->ne[d], nb = g->nb[d];
        g->ne[d] = 1;
        if (ne == 1)
            continue;
        if (g->ne[last] == 1) {
            g->ne[last] = ne;
            g->nb[last] = nb;
        } else if ((uint64_t)g->ne[last] * g->nb[last] == nb) {
            g->ne[last] *= ne; /* no more than all units, which fit 32 bits */
        } else {
            last++;
            g->ne[last] = ne;
            g->nb[last] = nb;
        }
    }
    if (g->ne[0] == 1)
        g->nb[0] = g->unit; /* a single unit lies beside itself */
}

static struct cursor cursor_at(const struct grid *g, uint32_t unit) {
    struct cursor c = {.g = g, .at = g->data};
    for (uint32_t d = 0; d < HTP_MAX_DIMS; d++) {
        c.i[d] = unit % g->ne[d];
        unit /= g->ne[d];
        c.at += (size_t)c.i[d] * g->nb[d];
    }
    return c;
}

/* n: no more than what is left of the row */
static void cursor_advance(struct cursor *c, uint32_t n) {
    const struct grid *g = c->g;
    c->i[0] += n;
    c->at += (size_t)n * g->nb[0];
    for (uint32_t d = 0; d + 1 < HTP_MAX_DIMS && c->i[d] == g->ne[d]; d++) {
        c->at += g->nb[d + 1];
        c->at -= (size_t)g->ne[d] * g->nb[d];
        c->i[d] = 0;
        c->i[d + 1]++;
    }
}

static void convert_run(const struct flat *f, uint8_t *dst, const uint8_t *src, uint32_t n) {
    const uint32_t dst_unit = f->dst.unit, src_unit = f->src.unit;
    if (f->dst.nb[0] == dst_unit && f->src.nb[0] == src_unit) {
        f->convert(dst, src, n * f->elements);
        return;
    }
    if (f->elements > 1) {
        for (; n > 0; n--, dst += f->dst.nb[0], src += f->src.nb[0])
            f->convert(dst, src, f->elements);
        return;
    }
    uint8_t in[CHUNK * 4] __attribute__((aligned(HVX_BYTES))), out[CHUNK * 4] __attribute__((aligned(HVX_BYTES)));
    while (n > 0) {
        const uint32_t step = htp_min_u32(n, CHUNK);
        units_copy(in, src_unit, src, f->src.nb[0], src_unit, step);
        f->convert(out, in, step);
        units_copy(dst, f->dst.nb[0], out, dst_unit, dst_unit, step);
        src += (size_t)step * f->src.nb[0];
        dst += (size_t)step * f->dst.nb[0];
        n -= step;
    }
}

static void run_part(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct flat *f = arg;
    /* parts begin at multiples of 64 units, so that neighbours seldom share a cache line */
    const uint32_t part = (uint32_t)htp_round_up(f->count / n_threads, 64);
    const uint64_t first = (uint64_t)part * thread;
    if (first >= f->count)
        return;
    const uint32_t begin = (uint32_t)first, left = f->count - begin;
    uint32_t n = thread + 1 == n_threads || left < part ? left : part;
    struct cursor dst = cursor_at(&f->dst, begin), src = cursor_at(&f->src, begin);
    while (n > 0) {
        uint32_t run = htp_min_u32(f->dst.ne[0] - dst.i[0], f->src.ne[0] - src.i[0]);
        run = htp_min_u32(run, n);
        if (f->convert != NULL)
            convert_run(f, dst.at, src.at, run);
        else
            units_copy(dst.at, f->dst.nb[0], src.at, f->src.nb[0], f->dst.unit, run);
        cursor_advance(&dst, run);
        cursor_advance(&src, run);
        n -= run;
    }
}

void copy_flat(struct htp_exec *exec, const struct grid *dst, const struct grid *src, uint32_t count,
               htp_row_fn convert, uint32_t elements) {
    struct flat f = {.dst = *dst, .src = *src, .count = count, .elements = elements, .convert = convert};
    join(&f.dst);
    join(&f.src);
    htp_parallel(exec, copy_threads(exec, (uint64_t)count * dst->unit, htp_div_up(count, 64)), run_part, &f);
}
