/*
 * MUL_MAT: dst[n, m] = sum over k of weights[k, n] * activations[k, m], for every (i2, i3) with ggml's broadcasting of
 * the weights. MUL_MAT_ID: dst[n, slot, token] = the same with the weights of expert ids[slot, token] and activations
 * [k, slot % ne11, token].
 *
 * Work goes in chunks of activation rows that fit VTCM. All threads prepare the rows of a chunk, then each takes a
 * contiguous share of the column tiles, streams their weights through VTCM and multiplies them with all rows of the
 * chunk that belong to their matrix.
 */
#include "ops/matmul/matmul.h"

#include "ops/matmul/hmx.h"
#include "ops/matmul/weights.h"
#include "runtime/types.h"

#define INLINE_PREPARE_VALUES 8192 /* up to this, waking threads costs more than it saves */

uint32_t htp_matmul(struct htp_exec *exec);

/* ---- multiplying ---- */

/* Activation rows of one matrix and where their outputs go. */
struct operand_rows {
    const uint8_t *activations;
    const struct matmul_row *rows;
    uint32_t count;
};

/* The outputs of a row in `tiles` column tiles from `tile` on; added to what is there when K comes in slices. */
static void store_outputs(const struct matmul *m, const struct weight_step *step, const struct matmul_row *row,
                          uint32_t tile, uint32_t tiles, const HVX_Vector *sums) {
    const uint32_t first = tile * MATMUL_TILE, count = htp_min_u32(m->n - first, tiles * MATMUL_TILE);
    const uint32_t rest = count % MATMUL_TILE;
    const HVX_Vector unit = hvx_splat_f32(row->unit == 0 ? 1 : row->unit);
    const bool add = step->first_unit != 0;
    float *to = (float *)(void *)row->output + first;
    HVX_ROLLED
    for (uint32_t i = count / MATMUL_TILE; i > 0; i--, to += MATMUL_TILE, sums++) {
        const HVX_Vector sum = hvx_mul_f32(*sums, unit);
        hvx_store(to, add ? hvx_add_f32(hvx_load(to), sum) : sum);
    }
    if (rest != 0) {
        const HVX_Vector sum = hvx_mul_f32(*sums, unit);
        hvx_store_bytes(to, rest * 4, add ? hvx_add_f32(hvx_load_bytes(to, rest * 4), sum) : sum);
    }
}

/* Wide rows go one at a time. */
static uint32_t rows_of_pass(struct operand_rows x) {
    const uint32_t most = htp_min_u32(x.count, KERNEL_ROWS);
    uint32_t narrow = 0;
    while (narrow < most && x.rows[narrow].unit != 0)
        narrow++;
    return narrow == 0 ? 1 : narrow;
}

static void multiply_quantized(const struct matmul *m, const struct weight_step *step, struct operand_rows x) {
    const uint32_t blocks = step->k / MATMUL_BLOCK, first_value = step->first_unit * m->unit;
    const size_t records = htp_round_up(m->k, QUANTIZE_PAD);
    HVX_Vector sums[KERNEL_MAX_TILES > KERNEL_ROWS ? KERNEL_MAX_TILES : KERNEL_ROWS];
    uint32_t count;
    for (; x.count > 0; x.count -= count, x.rows += count, x.activations += count * m->activation_bytes) {
        const struct activation_slice a = {
            .quants = x.activations + first_value,
            .records = x.activations + records + first_value / 64 * sizeof(struct activation_record),
            .row_bytes = m->activation_bytes,
        };
        count = rows_of_pass(x);
        if (count == 1) {
            const kernel_gemv gemv = x.rows->unit == 0 ? m->kernels->gemv_wide : m->kernels->gemv;
            gemv(step->data, step->tile_bytes, step->tiles, blocks, &a, sums);
            store_outputs(m, step, x.rows, step->tile, step->tiles, sums);
            continue;
        }
        for (uint32_t t = 0; t < step->tiles; t++) {
            m->kernels->gemm(step->data + t * step->tile_bytes, blocks, &a, count, sums);
            for (uint32_t i = 0; i < count; i++)
                store_outputs(m, step, x.rows + i, step->tile + t, 1, sums + i);
        }
    }
}

static void multiply_float(const struct matmul *m, const struct weight_step *step, struct operand_rows x) {
    const uint32_t weight_rows = htp_min_u32(m->n - step->tile * MATMUL_TILE, MATMUL_TILE);
    const size_t first = (size_t)matmul_float_bytes(m, step->first_unit);
    HVX_Vector sums[KERNEL_FLOAT_ROWS];
    uint32_t count;
    for (; x.count > 0; x.count -= count, x.rows += count, x.activations += count * m->activation_bytes) {
        count = htp_min_u32(x.count, KERNEL_FLOAT_ROWS);
        m->kernels->gemm_float(step->data, step->row_bytes, weight_rows, step->k, x.activations + first,
                               m->activation_bytes, count, sums);
        for (uint32_t i = 0; i < count; i++)
            store_outputs(m, step, x.rows + i, step->tile, 1, sums + i);
    }
}

/* ---- sharing the work ---- */

/* What a column tile of a group costs: the passes over it. */
static uint32_t passes(const struct matmul_group *g) { return htp_div_up(g->rows, KERNEL_ROWS); }

/* The first item of a share, when shares are to cost the same. */
static uint32_t share_begin(const struct matmul_chunk *chunk, uint32_t share, uint32_t shares) {
    const struct matmul *m = chunk->m;
    uint64_t target = chunk->passes * share / shares;
    for (uint32_t g = 0; g < chunk->groups; g++) {
        const uint64_t cost = (uint64_t)m->tiles * passes(&m->groups[g]);
        if (target < cost)
            return g * m->tiles + (uint32_t)(target / passes(&m->groups[g]));
        target -= cost;
    }
    return chunk->groups * m->tiles;
}

/* Part `part` of `parts` of a group's rows; parts begin at multiples of what a kernel takes. */
static struct operand_rows rows_of_part(const struct matmul *m, const struct matmul_group *g, uint32_t part,
                                        uint32_t parts) {
    if (parts == 1) /* the usual case, a step: no divisions */
        return (struct operand_rows){m->activation_rows + (size_t)g->first * m->activation_bytes, m->rows + g->first,
                                     g->rows};
    const uint32_t length = (uint32_t)htp_round_up(htp_div_up(g->rows, parts), KERNEL_ROWS);
    const uint32_t begin = htp_min_u32(part * length, g->rows), row = g->first + begin;
    return (struct operand_rows){m->activation_rows + (size_t)row * m->activation_bytes, m->rows + row,
                                 htp_min_u32(g->rows - begin, length)};
}

/*
 * Worker. Threads share the chunk's column tiles; when there are fewer tiles than threads, several threads take the
 * same tile with a part of the rows each.
 */
static void multiply_chunk(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct matmul_chunk *chunk = arg;
    const struct matmul *m = chunk->m;
    const uint32_t items = chunk->groups * m->tiles;
    const uint32_t parts = items < n_threads ? n_threads / items : 1;
    const uint32_t share = parts > 1 ? thread % items : thread, part = parts > 1 ? thread / items : 0;
    const uint32_t begin = parts > 1 ? share : share_begin(chunk, share, n_threads);
    const uint32_t end = parts > 1 ? share + 1 : share_begin(chunk, share + 1, n_threads);
    if (part >= parts || begin == end)
        return;

    struct weight_stream stream;
    struct weight_step step;
    weight_stream_open(&stream, chunk, thread, begin, end);
    while (weight_stream_next(&stream, &step)) {
        const struct operand_rows rows = rows_of_part(m, &m->groups[step.group], part, parts);
        if (matmul_is_quantized(m->type))
            multiply_quantized(m, &step, rows);
        else
            multiply_float(m, &step, rows);
    }
}

static void run_chunk(struct matmul_chunk *chunk) {
    const struct matmul *m = chunk->m;
    if (chunk->rows == 1 || (uint64_t)chunk->rows * m->k <= INLINE_PREPARE_VALUES)
        matmul_prepare(chunk, 0, 1);
    else
        htp_parallel(m->exec, htp_min_u32(m->n_threads, chunk->rows), matmul_prepare, chunk);
    const uint32_t n = chunk->passes < m->n_threads ? (uint32_t)chunk->passes : m->n_threads;
    htp_parallel(m->exec, n, multiply_chunk, chunk);
}

/* Adds rows [first, first + count) of a matrix. */
static void add_rows(struct matmul_chunk *chunk, uint32_t matrix, uint32_t first, uint32_t count) {
    const struct matmul *m = chunk->m;
    struct matmul_group *g = &m->groups[chunk->groups++];
    *g = (struct matmul_group){matrix, chunk->rows, count};
    for (uint32_t r = 0; r < count; r++)
        m->rows[chunk->rows++] = matmul_find_row(m, matrix, first + r);
    chunk->passes += (uint64_t)m->tiles * passes(g);
}

/* How many of `left` rows, which do not fit at a time, to take: chunks of about the same size, whole kernel passes. */
static uint32_t even_part(uint32_t left, uint32_t capacity) {
    const uint32_t chunks = htp_div_up(left, capacity);
    return htp_min_u32((uint32_t)htp_round_up(htp_div_up(left, chunks), KERNEL_ROWS), capacity);
}

/* Every matrix with its rows: as many whole matrices at a time as fit, or a part of one. */
static void run(const struct matmul *m) {
    uint32_t matrix = 0, row = 0;
    while (matrix < m->matrices) {
        struct matmul_chunk chunk = {.m = m};
        while (matrix < m->matrices) {
            const uint32_t left = matmul_rows_of(m, matrix) - row, room = m->capacity - chunk.rows;
            if (left > room) {
                if (chunk.rows == 0) {
                    const uint32_t count = even_part(left, room);
                    add_rows(&chunk, matrix, row, count);
                    row += count;
                }
                break;
            }
            if (left > 0)
                add_rows(&chunk, matrix, row, left);
            matrix++;
            row = 0;
        }
        if (chunk.rows > 0)
            run_chunk(&chunk);
    }
}

/* ---- checking ---- */

static bool is_weights(struct matmul *m, const struct htp_view *w) {
    m->type = w->type;
    m->kernels = matmul_kernels(w->type);
    m->element_bytes = htp_type_bytes(w->type);
    if (m->kernels == NULL)
        return false;
    m->block_shift = (uint32_t)__builtin_ctz(htp_type_elements(w->type));
    if (matmul_is_quantized(w->type)) {
        m->source = w->layout == HTP_LAYOUT_TILES ? MATMUL_TILES : MATMUL_BLOCK_ROWS;
        m->unit = htp_tile_scale_group(w->type) * MATMUL_BLOCK;
        return w->layout == HTP_LAYOUT_TILES || w->nb[0] == m->element_bytes;
    }
    m->source = w->nb[0] == m->element_bytes ? MATMUL_FLOAT_ROWS : MATMUL_FLOAT_GATHER;
    m->unit = 64;
    return w->layout == HTP_LAYOUT_ROWS;
}

static bool is_activations(const struct htp_view *a) {
    return a->layout == HTP_LAYOUT_ROWS &&
           (a->type == HTP_TYPE_F32 || a->type == HTP_TYPE_F16 || a->type == HTP_TYPE_BF16);
}

/* The dimension in which the shapes of MUL_MAT do not fit together, HTP_MAX_DIMS when all do. */
static uint32_t misfit(const struct htp_view *w, const struct htp_view *a, const struct htp_view *d) {
    if (d->ne[0] != w->ne[1])
        return 0;
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
        if (d->ne[i] != a->ne[i] || (i > 1 && a->ne[i] % w->ne[i] != 0))
            return i;
    }
    return HTP_MAX_DIMS;
}

static uint32_t misfit_id(const struct htp_view *w, const struct htp_view *a, const struct htp_view *ids,
                          const struct htp_view *d) {
    if (d->ne[0] != w->ne[1])
        return 0;
    if (d->ne[1] != ids->ne[0] || ids->ne[0] % a->ne[1] != 0)
        return 1;
    if (d->ne[2] != ids->ne[1] || a->ne[2] != ids->ne[1])
        return 2;
    return w->ne[3] != 1 || a->ne[3] != 1 || d->ne[3] != 1 || ids->ne[2] != 1 || ids->ne[3] != 1 ? 3 : HTP_MAX_DIMS;
}

/* detail of a failure: 0 .. 3 which of weights, activations, dst, ids has a wrong type; 16 + i: size i is wrong */
static uint32_t check(struct htp_exec *exec, struct matmul *m, const struct htp_view *ids) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    const struct htp_view *w = exec->src[0], *a = exec->src[1], *d = exec->dst;
    if (!is_weights(m, w))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if (!is_activations(a))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    if (d->type != HTP_TYPE_F32 || d->layout != HTP_LAYOUT_ROWS || d->nb[0] != 4)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    if (ids != NULL && (ids->type != HTP_TYPE_I32 || ids->layout != HTP_LAYOUT_ROWS))
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 3);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (w->ne[i] == 0 || a->ne[i] == 0 || (ids != NULL && ids->ne[i] == 0))
            return htp_fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    if (w->ne[0] != a->ne[0] || w->ne[0] % htp_type_elements(w->type) != 0)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 16);
    const uint32_t dimension = ids == NULL ? misfit(w, a, d) : misfit_id(w, a, ids, d);
    return dimension < HTP_MAX_DIMS ? htp_fail(exec, HTP_STATUS_BAD_OP, 16 + dimension) : HTP_STATUS_OK;
}

/* ---- entry ---- */

static uint32_t multiply_all(struct matmul *m) {
    const struct htp_view *w = m->weights, *a = m->activations;
    m->vtcm = m->exec->vtcm;
    m->vtcm_size = m->exec->vtcm_size;
    m->repeat2 = a->ne[2] / w->ne[2];
    m->matrix_rows = a->ne[1] * m->repeat2 * (a->ne[3] / w->ne[3]);
    m->total_rows = m->matrix_rows * m->matrices;
    if (matmul_hmx(m))
        return HTP_STATUS_OK;
    const uint32_t status = matmul_plan(m);
    if (status == HTP_STATUS_OK)
        run(m);
    return status;
}

/* As many tokens at a time as a quarter of VTCM can hold in order. */
static uint32_t multiply_picked(struct matmul *m, const struct htp_view *ids) {
    struct htp_exec *exec = m->exec;
    const uint32_t used = ids->ne[0], tokens = ids->ne[1];
    const uint64_t words = exec->vtcm_size / 4 / 4, least = matmul_order_words(m->matrices, used);
    if (least > exec->vtcm_size / 4)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, (uint32_t)(least < UINT32_MAX / 4 ? least * 4 : UINT32_MAX));
    const uint64_t fit = words < least ? 1 : 1 + (words - least) / 2 / used;
    const uint32_t step = htp_div_up(tokens, htp_div_up(tokens, fit < tokens ? (uint32_t)fit : tokens));
    const size_t order_bytes =
        htp_round_up((size_t)matmul_order_words(m->matrices, (uint64_t)step * used) * 4, HVX_BYTES);
    m->vtcm = exec->vtcm + order_bytes;
    m->vtcm_size = exec->vtcm_size > order_bytes ? exec->vtcm_size - order_bytes : 0;
    for (uint32_t first = 0; first < tokens; first += step) {
        uint32_t bad = 0;
        if (!matmul_sort(m, ids, first, htp_min_u32(step, tokens - first), (uint32_t *)(void *)exec->vtcm, &bad))
            return htp_fail(exec, HTP_STATUS_BAD_INDEX, bad);
        const uint32_t status = matmul_plan(m);
        if (status != HTP_STATUS_OK)
            return status;
        run(m);
    }
    return HTP_STATUS_OK;
}

uint32_t htp_matmul(struct htp_exec *exec) {
    struct matmul m = {.exec = exec};
    const struct htp_view *ids = NULL;
    if (exec->op == HTP_OP_MUL_MAT_ID) {
        if (exec->n_src < 3 || exec->src[2] == NULL)
            return htp_fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
        ids = exec->src[2];
    }
    const uint32_t status = check(exec, &m, ids);
    if (status != HTP_STATUS_OK)
        return status;
    const struct htp_view *w = m.weights = exec->src[0];
    m.activations = exec->src[1];
    m.dst = exec->dst;
    m.k = w->ne[0];
    m.n = w->ne[1];
    m.units = htp_div_up(m.k, m.unit);
    m.tiles = htp_div_up(m.n, MATMUL_TILE);
    m.column_bytes = m.source == MATMUL_TILES ? htp_tile_column_bytes(m.type, m.k) : 0;
    m.matrices = w->ne[2] * w->ne[3];
    return ids == NULL ? multiply_all(&m) : multiply_picked(&m, ids);
}
