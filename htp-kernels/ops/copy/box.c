/*
 * One output row after the other, rows divided over threads. Rows of src may have any strides; runs that lie side by
 * side go as vectors. A row that repeats is written once and then copied from itself, twice as much each time.
 */
#include "ops/copy/box.h"

struct job {
    const struct box *b;
    bool circular;
};

static uint32_t rows_of(const struct grid *g) { return g->ne[1] * g->ne[2] * g->ne[3]; }

struct range {
    uint32_t begin, end;
};

static struct range share(uint32_t rows, uint32_t thread, uint32_t n_threads) {
    const struct range r = {(uint32_t)((uint64_t)rows * thread / n_threads),
                            (uint32_t)((uint64_t)rows * (thread + 1) / n_threads)};
    return r;
}

/* Makes `count` units at dst of the first `done` of them. */
static void fill_up(uint8_t *dst, uint32_t unit, uint32_t done, uint32_t count) {
    while (done < count) {
        const uint32_t step = htp_min_u32(done, count - done);
        htp_row_copy(dst + (size_t)done * unit, dst, (size_t)step * unit);
        done += step;
    }
}

static void run(struct htp_exec *exec, struct job *job, uint32_t rows, uint32_t row_units, htp_thread_fn fn) {
    if (rows == 0 || row_units == 0)
        return;
    htp_parallel(exec, copy_threads(exec, (uint64_t)rows * row_units * job->b->dst.unit, rows), fn, job);
}

static void place_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct job *job = arg;
    const struct grid *src = &job->b->src, *dst = &job->b->dst;
    const uint32_t *o = job->b->offset;
    const struct range r = share(rows_of(src), thread, n_threads);
    for (uint32_t i = r.begin; i < r.end; i++) {
        const uint32_t i1 = i % src->ne[1], i2 = i / src->ne[1] % src->ne[2], i3 = i / src->ne[1] / src->ne[2];
        uint8_t *to = grid_row(dst, i1 + o[1], i2 + o[2], i3 + o[3]) + (size_t)o[0] * dst->unit;
        units_copy(to, dst->unit, grid_row(src, i1, i2, i3), src->nb[0], src->unit, src->ne[0]);
    }
}

void box_place(struct htp_exec *exec, const struct box *b) {
    struct job job = {.b = b};
    run(exec, &job, rows_of(&b->src), b->src.ne[0], place_rows);
}

static void repeat_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct job *job = arg;
    const struct grid *src = &job->b->src, *dst = &job->b->dst;
    const struct range r = share(rows_of(dst), thread, n_threads);
    for (uint32_t i = r.begin; i < r.end; i++) {
        const uint32_t i1 = i % dst->ne[1], i2 = i / dst->ne[1] % dst->ne[2], i3 = i / dst->ne[1] / dst->ne[2];
        uint8_t *to = grid_row(dst, i1, i2, i3);
        const uint8_t *from = grid_row(src, i1 % src->ne[1], i2 % src->ne[2], i3 % src->ne[3]);
        units_copy(to, dst->unit, from, src->nb[0], src->unit, src->ne[0]);
        fill_up(to, dst->unit, src->ne[0], dst->ne[0]);
    }
}

void box_repeat(struct htp_exec *exec, const struct box *b) {
    struct job job = {.b = b};
    run(exec, &job, rows_of(&b->dst), b->dst.ne[0], repeat_rows);
}

/* i - offset modulo size, for any offset */
static uint32_t wrap(uint32_t i, uint32_t offset, uint32_t size) {
    const uint32_t a = i % size, b = offset % size;
    return a >= b ? a - b : a + (size - b);
}

static void circular_row(const struct box *b, uint8_t *to, const uint8_t *from) {
    const struct grid *src = &b->src;
    const uint32_t n = htp_min_u32(src->ne[0], b->dst.ne[0]), start = wrap(0, b->offset[0], src->ne[0]);
    const uint32_t first = htp_min_u32(src->ne[0] - start, n);
    units_copy(to, src->unit, from + (size_t)start * src->nb[0], src->nb[0], src->unit, first);
    units_copy(to + (size_t)first * src->unit, src->unit, from, src->nb[0], src->unit, n - first);
    fill_up(to, src->unit, n, b->dst.ne[0]);
}

static void pad_row(const struct box *b, uint8_t *to, const uint8_t *from) {
    const uint32_t unit = b->src.unit, left = b->offset[0], middle = b->src.ne[0];
    const uint32_t right = b->dst.ne[0] - left - middle;
    htp_row_clear(to, (size_t)left * unit);
    to += (size_t)left * unit;
    units_copy(to, unit, from, b->src.nb[0], unit, middle);
    htp_row_clear(to + (size_t)middle * unit, (size_t)right * unit);
}

static void pad_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct job *job = arg;
    const struct box *b = job->b;
    const struct grid *src = &b->src, *dst = &b->dst;
    const struct range r = share(rows_of(dst), thread, n_threads);
    for (uint32_t i = r.begin; i < r.end; i++) {
        const uint32_t index[3] = {i % dst->ne[1], i / dst->ne[1] % dst->ne[2], i / dst->ne[1] / dst->ne[2]};
        uint8_t *to = grid_row(dst, index[0], index[1], index[2]);
        uint32_t from[3];
        bool inside = true;
        for (uint32_t d = 0; d < 3; d++) {
            const uint32_t offset = b->offset[d + 1], size = src->ne[d + 1];
            from[d] = job->circular ? wrap(index[d], offset, size) : index[d] - offset;
            inside = inside && from[d] < size; /* an index below the offset has wrapped to a large number */
        }
        if (!inside)
            htp_row_clear(to, (size_t)dst->ne[0] * dst->unit);
        else if (job->circular)
            circular_row(b, to, grid_row(src, from[0], from[1], from[2]));
        else
            pad_row(b, to, grid_row(src, from[0], from[1], from[2]));
    }
}

void box_pad(struct htp_exec *exec, const struct box *b, bool circular) {
    struct job job = {.b = b, .circular = circular};
    run(exec, &job, rows_of(&b->dst), b->dst.ne[0], pad_rows);
}
