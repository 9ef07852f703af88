#include "ops/unary/map.h"

#include "hvx/half.h"
#include "runtime/stream.h"

#define OPERANDS 3               /* dst, a, b */
#define DST 0
#define PAIR (2 * HVX_WORDS)     /* elements */
#define SEGMENT 4096             /* elements of a row that a thread takes at a time */
#define BUFFER 256               /* elements that pass through buffers at a time: three fit a worker's stack */
#define THREAD_BYTES (16u << 10) /* a thread more is worth waking for this much of f32 */

struct job {
    const struct map *map;
    uint32_t size; /* of an element */
    struct htp_stream_plan plan;
    bool in_vtcm; /* all operands pass through it */
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
    const uint32_t last = job->plan.operands - 1;
    for (uint32_t done = 0, part; done < count; done += part) {
        part = htp_min_u32(count - done, BUFFER);
        for (uint32_t k = 1; k <= last; k++) {
            const uint32_t step = job->plan.view[k].nb[0];
            load(job, at[k] + (size_t)done * step, step, buffers[k - 1], part);
        }
        job->map->run(job->map, buffers[0], buffers[last - 1], buffers[0], htp_div_up(part, PAIR));
        const uint32_t step = job->plan.view[DST].nb[0];
        store(job, at[DST] + (size_t)done * step, step, buffers[0], part);
    }
}

/* ---- rows ---- */

/* count elements of a row, at the addresses of the operands */
static void run_part(const struct job *job, uint8_t **at, uint32_t count) {
    uintptr_t misaligned = 0;
    bool whole = job->map->type == HTP_TYPE_F32;
    for (uint32_t k = 0; k < job->plan.operands; k++) {
        misaligned |= (uintptr_t)at[k] % HVX_BYTES;
        whole = whole && job->plan.view[k].nb[0] == 4;
    }
    if (whole && misaligned == 0) {
        const uint32_t pairs = count / PAIR;
        job->map->run(job->map, (const HVX_Vector *)at[1], (const HVX_Vector *)at[job->plan.operands - 1],
                      (HVX_Vector *)at[DST], pairs);
        for (uint32_t k = 0; k < job->plan.operands; k++)
            at[k] += (size_t)pairs * PAIR * 4;
        count -= pairs * PAIR;
    }
    if (count > 0)
        through_buffers(job, at, count);
}

/* Rows in VTCM, with what lies between them: never read again, so it does not matter what becomes of it. */
static void run_block(const struct job *job, const struct htp_stream_block *block) {
    const uint32_t bytes = block->rows == 1 ? block->elements * job->size : block->rows * job->plan.step[DST];
    if (job->size == 4)
        job->map->run(job->map, (const HVX_Vector *)block->row[1], (const HVX_Vector *)block->row[job->plan.operands - 1],
                      (HVX_Vector *)block->row[DST], htp_div_up(bytes, 2 * HVX_BYTES));
    else
        through_buffers(job, block->row, bytes / job->size);
}

static void run_units(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct job *job = arg;
    struct htp_stream stream;
    htp_stream_open(&stream, &job->plan, thread, n_threads);
    for (const struct htp_stream_block *block; (block = htp_stream_next(&stream)) != NULL;) {
        if (job->in_vtcm) {
            run_block(job, block);
            continue;
        }
        for (uint32_t r = 0; r < block->rows; r++) {
            uint8_t *at[OPERANDS];
            for (uint32_t k = 0; k < job->plan.operands; k++)
                at[k] = block->row[k] + (size_t)r * job->plan.step[k];
            run_part(job, at, block->elements);
        }
    }
}

/* ---- the whole ---- */

/* whether dimension i of every operand goes on where dimension `last` ends */
static bool continues(const struct job *job, uint32_t last, uint32_t i) {
    for (uint32_t k = 0; k < job->plan.operands; k++) {
        if (job->plan.view[k].nb[i] != (uint64_t)job->plan.ne[last] * job->plan.view[k].nb[last])
            return false;
    }
    return true;
}

/* Makes one dimension of those that follow each other without a gap. */
static void merge_dimensions(struct job *job) {
    uint32_t *const ne = job->plan.ne, last = 0; /* the dimension that grows; never behind the one that is looked at */
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
        if (ne[i] == 1)
            continue;
        if (ne[last] != 1) {
            if (continues(job, last, i) && (uint64_t)ne[last] * ne[i] <= INT32_MAX) {
                ne[last] *= ne[i];
                ne[i] = 1;
                continue;
            }
            last++;
        }
        if (last == i)
            continue;
        for (uint32_t k = 0; k < job->plan.operands; k++)
            job->plan.view[k].nb[last] = job->plan.view[k].nb[i];
        ne[last] = ne[i];
        ne[i] = 1;
    }
    for (uint32_t k = 0; k < job->plan.operands; k++) {
        struct htp_view *const v = &job->plan.view[k];
        __builtin_memcpy(v->ne, ne, sizeof(v->ne));
        job->plan.step[k] = v->nb[1];
    }
}

void map_run(struct htp_exec *exec, const struct map *map, const struct htp_view *a, const struct htp_view *b,
             const struct htp_view *dst) {
    const struct htp_view *const views[OPERANDS] = {dst, a, b};
    if (htp_rows(dst) == 0 || dst->ne[0] == 0)
        return;
    struct job job; /* every member that is used is set below */
    struct htp_stream_plan *const plan = &job.plan;
    job.map = map;
    job.size = map->type == HTP_TYPE_F32 ? 4 : 2;
    plan->operands = b == NULL ? 2 : 3;
    plan->folded = plan->stay = false;
    __builtin_memcpy(plan->ne, dst->ne, sizeof(plan->ne));
    for (uint32_t k = 0; k < plan->operands; k++) { /* what htp_stream_operand does when nothing repeats */
        plan->view[k].data = views[k]->data;
        plan->view[k].type = map->type;
        __builtin_memcpy(plan->view[k].nb, views[k]->nb, sizeof(plan->view[k].nb));
    }
    merge_dimensions(&job);
    const uint32_t rows = plan->ne[1] * plan->ne[2] * plan->ne[3];
    plan->segment = SEGMENT;
    plan->segments = htp_div_up(plan->ne[0], SEGMENT);
    if ((uint64_t)rows * plan->segments > UINT32_MAX) /* rows enough */
        plan->segments = 1;
    const uint64_t worth = (uint64_t)rows * plan->ne[0] * 4 / THREAD_BYTES + 1;
    uint32_t n = htp_min_u32(exec->n_threads, rows * plan->segments);
    n = worth < n ? (uint32_t)worth : n;
    htp_stream_plan(plan, exec, n);
    job.in_vtcm = plan->block > 0;
    if (n == 1 && rows == 1 && !job.in_vtcm) { /* as when one token is generated: no walk */
        uint8_t *at[OPERANDS];
        for (uint32_t k = 0; k < plan->operands; k++)
            at[k] = plan->view[k].data;
        run_part(&job, at, plan->ne[0]);
        return;
    }
    htp_parallel(exec, n, run_units, &job);
}
