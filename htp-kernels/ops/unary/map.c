#include "ops/unary/map.h"

#include "hvx/half.h"
#include "runtime/stream.h"

#define OPERANDS 3               /* dst, a, b */
#define DST 0
#define PAIR (2 * HVX_WORDS)     /* elements */
#define SEGMENT 4096             /* elements of a row that a thread takes at a time */
#define BUFFER 256               /* elements that pass through buffers at a time: three fit a worker's stack */
#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of f32 */

struct operand {
    uint8_t *data;
    uint32_t nb[HTP_MAX_DIMS];
};

struct job {
    const struct map *map;
    uint32_t ne[HTP_MAX_DIMS];
    uint32_t n_operands, size; /* size: of an element */
    struct operand operands[OPERANDS];
    uint32_t segments, units; /* of a row, of all rows */
};

bool map_knows(uint32_t type) { return type == HTP_TYPE_F32 || type == HTP_TYPE_F16 || type == HTP_TYPE_BF16; }

/* ---- conversions: count elements side by side, at any address, to or from pairs of vectors ---- */

/* even elements in the low vector */
HVX_INLINE HVX_VectorPair widen(uint32_t type, HVX_Vector x) {
    if (type == HTP_TYPE_F16) {
        const HVX_Vector even = Q6_V_vand_VV(x, hvx_splat_i32(0xffff));
        return Q6_W_vcombine_VV(hvx_f16_word_to_f32(Q6_Vuw_vlsr_VuwR(x, 16)), hvx_f16_word_to_f32(even));
    }
    return Q6_W_vcombine_VV(Q6_V_vand_VV(x, hvx_splat_i32((int32_t)0xffff0000u)), Q6_Vw_vasl_VwR(x, 16));
}

/* to nearest even; NaN stays NaN */
HVX_INLINE HVX_Vector round_to_bf16(HVX_Vector x) {
    const HVX_Vector magnitude = Q6_V_vand_VV(x, hvx_splat_i32(0x7fffffff));
    const HVX_Vector odd = Q6_V_vand_VV(Q6_Vuw_vlsr_VuwR(x, 16), hvx_splat_i32(1));
    const HVX_Vector rounded = Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(x, hvx_splat_i32(0x7fff)), odd);
    const HVX_Vector quiet = Q6_V_vor_VV(x, hvx_splat_i32(0x00400000));
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(magnitude, hvx_splat_i32(0x7f800000)), quiet, rounded);
}

HVX_INLINE HVX_Vector narrow(uint32_t type, HVX_VectorPair x) {
    if (type == HTP_TYPE_F16)
        return Q6_Vh_vshuffe_VhVh(hvx_f32_to_f16_word(Q6_V_hi_W(x)), hvx_f32_to_f16_word(Q6_V_lo_W(x)));
    return Q6_Vh_vshuffo_VhVh(round_to_bf16(Q6_V_hi_W(x)), round_to_bf16(Q6_V_lo_W(x)));
}

static void load_halves(uint32_t type, const uint8_t *from, HVX_Vector *to, uint32_t bytes) {
    for (; bytes >= HVX_BYTES; bytes -= HVX_BYTES, from += HVX_BYTES, to += 2) {
        const HVX_VectorPair x = widen(type, hvx_load(from));
        to[0] = Q6_V_lo_W(x);
        to[1] = Q6_V_hi_W(x);
    }
    if (bytes > 0) {
        const HVX_VectorPair x = widen(type, hvx_load_bytes(from, bytes));
        to[0] = Q6_V_lo_W(x);
        to[1] = Q6_V_hi_W(x);
    }
}

static void store_halves(uint32_t type, uint8_t *to, const HVX_Vector *from, uint32_t bytes) {
    for (; bytes >= HVX_BYTES; bytes -= HVX_BYTES, to += HVX_BYTES, from += 2)
        hvx_store(to, narrow(type, Q6_W_vcombine_VV(from[1], from[0])));
    if (bytes > 0)
        hvx_store_bytes(to, bytes, narrow(type, Q6_W_vcombine_VV(from[1], from[0])));
}

static void load_words(const uint8_t *from, HVX_Vector *to, uint32_t bytes) {
    to[(htp_div_up(bytes, HVX_BYTES) - 1) | 1] = hvx_zero(); /* the pair may have one vector only */
    for (; bytes >= HVX_BYTES; bytes -= HVX_BYTES, from += HVX_BYTES)
        *to++ = hvx_load(from);
    if (bytes > 0)
        *to = hvx_load_bytes(from, bytes);
}

static void store_words(uint8_t *to, const HVX_Vector *from, uint32_t bytes) {
    for (; bytes >= HVX_BYTES; bytes -= HVX_BYTES, to += HVX_BYTES)
        hvx_store(to, *from++);
    if (bytes > 0)
        hvx_store_bytes(to, bytes, *from);
}

/* bytes: of elements side by side */
static void load_dense(uint32_t type, const uint8_t *from, HVX_Vector *to, uint32_t bytes) {
    if (type == HTP_TYPE_F32)
        load_words(from, to, bytes);
    else
        load_halves(type, from, to, bytes);
}

static void store_dense(uint32_t type, uint8_t *to, const HVX_Vector *from, uint32_t bytes) {
    if (type == HTP_TYPE_F32)
        store_words(to, from, bytes);
    else
        store_halves(type, to, from, bytes);
}

/* ---- elements apart ---- */

static void copy_element(uint32_t size, uint8_t *to, const uint8_t *from) {
    if (size == 4)
        __builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), 4);
    else
        __builtin_memcpy(__builtin_assume_aligned(to, 2), __builtin_assume_aligned(from, 2), 2);
}

static void load(const struct job *job, const uint8_t *from, uint32_t step, HVX_Vector *to, uint32_t count) {
    const uint32_t size = job->size;
    if (step == size) {
        load_dense(job->map->type, from, to, count * size);
        return;
    }
    uint8_t elements[BUFFER * 4] __attribute__((aligned(128)));
    for (uint32_t i = 0; i < count; i++)
        copy_element(size, elements + i * size, from + (size_t)i * step);
    load_dense(job->map->type, elements, to, count * size);
}

static void store(const struct job *job, uint8_t *to, uint32_t step, const HVX_Vector *from, uint32_t count) {
    const uint32_t size = job->size;
    if (step == size) {
        store_dense(job->map->type, to, from, count * size);
        return;
    }
    uint8_t elements[BUFFER * 4] __attribute__((aligned(128)));
    store_dense(job->map->type, elements, from, count * size);
    for (uint32_t i = 0; i < count; i++)
        copy_element(size, to + (size_t)i * step, elements + i * size);
}

static void through_buffers(const struct job *job, uint8_t *const *at, uint32_t count) {
    HVX_Vector buffers[OPERANDS - 1][BUFFER / HVX_WORDS];
    const uint32_t last = job->n_operands - 1;
    for (uint32_t done = 0, part; done < count; done += part) {
        part = htp_min_u32(count - done, BUFFER);
        for (uint32_t k = 1; k <= last; k++) {
            const uint32_t step = job->operands[k].nb[0];
            load(job, at[k] + (size_t)done * step, step, buffers[k - 1], part);
        }
        job->map->run(job->map, buffers[0], buffers[last - 1], buffers[0], htp_div_up(part, PAIR));
        const uint32_t step = job->operands[DST].nb[0];
        store(job, at[DST] + (size_t)done * step, step, buffers[0], part);
    }
}

/* ---- rows ---- */

/* count elements of a row, at the addresses of the operands */
static void run_part(const struct job *job, uint8_t **at, uint32_t count) {
    uintptr_t misaligned = 0;
    bool whole = job->map->type == HTP_TYPE_F32;
    for (uint32_t k = 0; k < job->n_operands; k++) {
        misaligned |= (uintptr_t)at[k] % HVX_BYTES;
        whole = whole && job->operands[k].nb[0] == 4;
    }
    if (whole && misaligned == 0) {
        const uint32_t pairs = count / PAIR;
        job->map->run(job->map, (const HVX_Vector *)at[1], (const HVX_Vector *)at[job->n_operands - 1],
                      (HVX_Vector *)at[DST], pairs);
        for (uint32_t k = 0; k < job->n_operands; k++)
            at[k] += (size_t)pairs * PAIR * 4;
        count -= pairs * PAIR;
    }
    if (count > 0)
        through_buffers(job, at, count);
}

/* where a thread is: a segment of a row */
struct place {
    uint32_t segment, index[HTP_MAX_DIMS]; /* index[0] is not used */
};

/* Divisions are long on the DSP, so they are left out where the answer is known. */
static struct place place_of(const struct job *job, uint32_t unit) {
    struct place p = {0, {0}};
    if (unit == 0)
        return p;
    uint32_t rest = unit;
    if (job->segments > 1) {
        rest = unit / job->segments;
        p.segment = unit - rest * job->segments;
    }
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
        const uint32_t outer = job->ne[i] == 1 ? rest : rest / job->ne[i];
        p.index[i] = rest - outer * job->ne[i];
        rest = outer;
    }
    return p;
}

static void next_row(const struct job *job, struct place *p) {
    p->segment = 0;
    for (uint32_t i = 1; i < HTP_MAX_DIMS && ++p->index[i] == job->ne[i]; i++)
        p->index[i] = 0;
}

static uint32_t first_unit(const struct job *job, uint32_t thread, uint32_t n_threads) {
    if (thread == 0 || thread == n_threads)
        return thread == 0 ? 0 : job->units;
    return (uint32_t)((uint64_t)job->units * thread / n_threads);
}

static void run_units(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct job *job = arg;
    uint32_t units = first_unit(job, thread + 1, n_threads);
    const uint32_t first = first_unit(job, thread, n_threads);
    struct place p = place_of(job, first);
    units -= first;
    while (units > 0) {
        const uint32_t rest = job->segments - p.segment, taken = htp_min_u32(units, rest), i0 = p.segment * SEGMENT;
        const uint32_t count = taken == rest ? job->ne[0] - i0 : taken * SEGMENT;
        uint8_t *at[OPERANDS];
        for (uint32_t k = 0; k < job->n_operands; k++) {
            const struct operand *x = &job->operands[k];
            at[k] = x->data + (size_t)i0 * x->nb[0] + (size_t)p.index[1] * x->nb[1] + (size_t)p.index[2] * x->nb[2] +
                    (size_t)p.index[3] * x->nb[3];
        }
        run_part(job, at, count);
        next_row(job, &p);
        units -= taken;
    }
}

/* ---- the whole ---- */

/* whether dimension i of every operand goes on where dimension `last` ends */
static bool continues(const struct job *job, uint32_t last, uint32_t i) {
    for (uint32_t k = 0; k < job->n_operands; k++) {
        if (job->operands[k].nb[i] != (uint64_t)job->ne[last] * job->operands[k].nb[last])
            return false;
    }
    return true;
}

/* Makes one dimension of those that follow each other without a gap. */
static void merge_dimensions(struct job *job, const uint32_t *ne) {
    uint32_t last = 0; /* the dimension that grows; never behind the one that is looked at */
    job->ne[0] = ne[0];
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
        if (ne[i] == 1)
            continue;
        if (job->ne[last] != 1) {
            if (continues(job, last, i) && (uint64_t)job->ne[last] * ne[i] <= INT32_MAX) {
                job->ne[last] *= ne[i];
                continue;
            }
            last++;
        }
        job->ne[last] = ne[i];
        for (uint32_t k = 0; k < job->n_operands; k++)
            job->operands[k].nb[last] = job->operands[k].nb[i];
    }
    for (uint32_t i = last + 1; i < HTP_MAX_DIMS; i++)
        job->ne[i] = 1;
}

/* ---- rows in VTCM ---- */

struct moved_job {
    const struct job *job;
    struct htp_stream_plan plan;
};

/* Rows with what lies between them: never read again, so it does not matter what becomes of it. */
static void run_block(const struct moved_job *m, const struct htp_stream_block *block) {
    const struct job *job = m->job;
    const uint32_t bytes = block->rows == 1 ? block->elements * job->size : block->rows * m->plan.step[DST];
    if (job->size == 4)
        job->map->run(job->map, (const HVX_Vector *)block->row[1], (const HVX_Vector *)block->row[job->n_operands - 1],
                      (HVX_Vector *)block->row[DST], htp_div_up(bytes, 2 * HVX_BYTES));
    else
        through_buffers(job, block->row, bytes / job->size);
}

static void run_blocks(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct moved_job *m = arg;
    struct htp_stream stream;
    htp_stream_open(&stream, &m->plan, thread, n_threads);
    for (const struct htp_stream_block *block; (block = htp_stream_next(&stream)) != NULL;)
        run_block(m, block);
}

/* False, and nothing is done, when rows have to be used where they are. */
static HVX_NOINLINE bool run_in_vtcm(struct htp_exec *exec, const struct job *job, uint32_t n_threads) {
    struct moved_job m = {.job = job};
    htp_stream_begin(&m.plan, job->n_operands, job->ne);
    m.plan.segments = job->segments;
    m.plan.segment = SEGMENT;
    for (uint32_t k = 0; k < job->n_operands; k++) {
        struct htp_view view = {.data = job->operands[k].data, .type = job->map->type, .layout = HTP_LAYOUT_ROWS};
        __builtin_memcpy(view.ne, job->ne, sizeof(view.ne));
        __builtin_memcpy(view.nb, job->operands[k].nb, sizeof(view.nb));
        htp_stream_operand(&m.plan, k, &view);
    }
    if (!htp_stream_plan(&m.plan, exec, n_threads))
        return false;
    htp_parallel(exec, n_threads, run_blocks, &m);
    return true;
}

/* ---- entry ---- */

void map_run(struct htp_exec *exec, const struct map *map, const struct htp_view *a, const struct htp_view *b,
             const struct htp_view *dst) {
    const struct htp_view *const views[OPERANDS] = {dst, a, b};
    if (htp_rows(dst) == 0 || dst->ne[0] == 0)
        return;
    struct job job; /* every member is set below */
    job.map = map;
    job.n_operands = b == NULL ? 2 : 3;
    job.size = map->type == HTP_TYPE_F32 ? 4 : 2;
    for (uint32_t k = 0; k < job.n_operands; k++) {
        job.operands[k].data = views[k]->data;
        __builtin_memcpy(job.operands[k].nb, views[k]->nb, sizeof(job.operands[k].nb));
    }
    merge_dimensions(&job, dst->ne);
    const uint32_t rows = job.ne[1] * job.ne[2] * job.ne[3];
    job.segments = htp_div_up(job.ne[0], SEGMENT);
    if ((uint64_t)rows * job.segments > UINT32_MAX) /* rows enough */
        job.segments = 1;
    job.units = rows * job.segments;
    const uint64_t worth = (uint64_t)rows * job.ne[0] * 4 / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, job.units);
    n = worth < n ? (uint32_t)worth : n;
    if (htp_stream_is_worth((uint64_t)rows * job.ne[0] * job.size * job.n_operands) && run_in_vtcm(exec, &job, n))
        return;
    htp_parallel(exec, n, run_units, &job);
}
