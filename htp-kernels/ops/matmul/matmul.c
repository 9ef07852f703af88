/*
 * MUL_MAT: dst[n, m] = sum over k of weights[k, n] * activations[k, m], for every (i2, i3) with ggml's broadcasting of
 * the weights.
 *
 * Work goes in chunks of activation rows that fit VTCM. All threads prepare the rows of a chunk, then each takes a
 * contiguous share of the column tiles, streams their weights through VTCM and multiplies them with all rows of the
 * chunk.
 */
#include "ops/matmul/matmul.h"

#include "ops/matmul/kernels.h"
#include "ops/matmul/weights.h"

#define INLINE_PREPARE_VALUES 8192 /* up to this, waking threads costs more than it saves */

uint32_t htp_matmul(struct htp_exec *exec);

/* ---- multiplying ---- */

/* A column tile's outputs for one row; added to what is there when K comes in slices. */
static void store_outputs(uint8_t *output, uint32_t first, uint32_t count, bool add, HVX_Vector sums) {
    float *to = (float *)(void *)output + first;
    if (count == MATMUL_TILE) {
        hvx_store(to, add ? hvx_add_f32(hvx_load(to), sums) : sums);
        return;
    }
    if (add)
        sums = hvx_add_f32(hvx_load_bytes(to, count * 4), sums);
    hvx_store_bytes(to, count * 4, sums);
}

struct outputs {
    uint8_t **rows;
    uint32_t n;
    bool add;
};

static void store_tile(const struct outputs *out, uint32_t row, uint32_t tile, HVX_Vector sums) {
    const uint32_t first = tile * MATMUL_TILE;
    store_outputs(out->rows[row], first, htp_min_u32(out->n - first, MATMUL_TILE), out->add, sums);
}

static void multiply_quantized(const struct matmul *m, const struct weight_step *step, const uint8_t *rows,
                               uint32_t n_rows, const struct outputs *out) {
    const uint32_t blocks = step->k / MATMUL_BLOCK;
    const bool is_q4_0 = m->type == HTP_TYPE_Q4_0;
    const size_t records = htp_round_up(m->k, QUANTIZE_PAD);
    HVX_Vector sums[KERNEL_Q8_0_TILES > KERNEL_ROWS ? KERNEL_Q8_0_TILES : KERNEL_ROWS];
    uint32_t count;
    for (uint32_t r = 0; r < n_rows; r += count, rows += count * m->activation_bytes) {
        const struct activation_slice a = {
            .quants = rows + (size_t)step->first_unit * MATMUL_UNIT,
            .records = rows + records + step->first_unit * sizeof(struct activation_record),
            .row_bytes = m->activation_bytes,
        };
        count = htp_min_u32(n_rows - r, KERNEL_ROWS);
        if (count == 1) {
            (is_q4_0 ? gemv_q4_0 : gemv_q8_0)(step->data, step->tile_bytes, step->tiles, blocks, &a, sums);
            for (uint32_t t = 0; t < step->tiles; t++)
                store_tile(out, r, step->tile + t, sums[t]);
            continue;
        }
        for (uint32_t t = 0; t < step->tiles; t++) {
            (is_q4_0 ? gemm_q4_0 : gemm_q8_0)(step->data + t * step->tile_bytes, blocks, &a, count, sums);
            for (uint32_t i = 0; i < count; i++)
                store_tile(out, r + i, step->tile + t, sums[i]);
        }
    }
}

static void multiply_f16(const struct matmul *m, const struct weight_step *step, const uint8_t *rows, uint32_t n_rows,
                         const struct outputs *out) {
    const uint32_t weight_rows = htp_min_u32(m->n - step->tile * MATMUL_TILE, MATMUL_TILE);
    HVX_Vector sums[KERNEL_F16_ROWS];
    rows += (size_t)step->first_unit * HVX_BYTES;
    for (uint32_t r = 0; r < n_rows; r += KERNEL_F16_ROWS) {
        const uint32_t count = htp_min_u32(n_rows - r, KERNEL_F16_ROWS);
        gemm_f16(step->data, step->row_bytes, weight_rows, step->k, rows + r * m->activation_bytes,
                 m->activation_bytes, count, sums);
        for (uint32_t i = 0; i < count; i++)
            store_tile(out, r + i, step->tile, sums[i]);
    }
}

/*
 * Worker. Threads share the chunk's column tiles; when there are fewer tiles than threads, several threads take the
 * same tile with a part of the rows each.
 */
static void multiply_chunk(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct matmul_chunk *chunk = arg;
    const struct matmul *m = chunk->m;
    const uint32_t items = chunk->matrices * m->tiles;
    const uint32_t parts = items < n_threads ? n_threads / items : 1;
    const uint32_t shares = parts > 1 ? items : n_threads, share = thread % shares, part = thread / shares;
    if (part >= parts)
        return;
    const uint32_t begin = (uint32_t)((uint64_t)items * share / shares);
    const uint32_t end = (uint32_t)((uint64_t)items * (share + 1) / shares);
    /* parts begin at multiples of what a kernel takes */
    const uint32_t part_rows = (uint32_t)htp_round_up(htp_div_up(chunk->rows, parts), KERNEL_ROWS);
    const uint32_t first = part * part_rows;
    if (begin == end || first >= chunk->rows)
        return;
    const uint32_t n_rows = htp_min_u32(chunk->rows - first, part_rows);

    struct weight_stream stream;
    struct weight_step step;
    weight_stream_open(&stream, chunk, thread, begin, end);
    while (weight_stream_next(&stream, &step)) {
        const size_t row = (size_t)step.matrix * chunk->rows + first;
        const struct outputs out = {m->outputs + row, m->n, step.first_unit != 0};
        const uint8_t *rows = m->rows + row * m->activation_bytes;
        if (matmul_is_quantized(m->type))
            multiply_quantized(m, &step, rows, n_rows, &out);
        else
            multiply_f16(m, &step, rows, n_rows, &out);
    }
}

static void run_chunk(struct matmul_chunk *chunk) {
    const struct matmul *m = chunk->m;
    const uint32_t rows = chunk->matrices * chunk->rows;
    if (rows == 1 || (uint64_t)rows * m->k <= INLINE_PREPARE_VALUES)
        matmul_prepare(chunk, 0, 1);
    else
        htp_parallel(m->exec, htp_min_u32(m->n_threads, rows), matmul_prepare, chunk);
    const uint64_t pieces = (uint64_t)chunk->matrices * m->tiles * htp_div_up(chunk->rows, KERNEL_ROWS);
    htp_parallel(m->exec, pieces < m->n_threads ? (uint32_t)pieces : m->n_threads, multiply_chunk, chunk);
}

static void run(const struct matmul *m) {
    struct matmul_chunk chunk = {.m = m, .matrices = 1, .rows = m->matrix_rows};
    if (m->matrix_rows <= m->capacity) {
        const uint32_t at_a_time = m->capacity / m->matrix_rows;
        for (; chunk.first_matrix < m->matrices; chunk.first_matrix += chunk.matrices) {
            chunk.matrices = htp_min_u32(at_a_time, m->matrices - chunk.first_matrix);
            run_chunk(&chunk);
        }
        return;
    }
    /* chunks of about the same size, whole passes of a kernel */
    const uint32_t chunks = htp_div_up(m->matrix_rows, m->capacity);
    uint32_t step = (uint32_t)htp_round_up(htp_div_up(m->matrix_rows, chunks), KERNEL_ROWS);
    step = htp_min_u32(step, m->capacity);
    for (; chunk.first_matrix < m->matrices; chunk.first_matrix++) {
        for (chunk.first_row = 0; chunk.first_row < m->matrix_rows; chunk.first_row += chunk.rows) {
            chunk.rows = htp_min_u32(m->matrix_rows - chunk.first_row, step);
            run_chunk(&chunk);
        }
    }
}

/* ---- checking ---- */

static uint32_t fail(struct htp_exec *exec, uint32_t status, uint32_t detail) {
    exec->detail = detail;
    return status;
}

static bool is_source(enum matmul_source *source, const struct htp_view *w) {
    if (matmul_is_quantized(w->type)) {
        *source = w->layout == HTP_LAYOUT_TILES ? MATMUL_TILES : MATMUL_BLOCK_ROWS;
        return w->layout == HTP_LAYOUT_TILES || w->nb[0] == matmul_block_bytes(w->type);
    }
    *source = w->nb[0] == 2 ? MATMUL_F16_ROWS : MATMUL_F16_GATHER;
    return w->type == HTP_TYPE_F16 && w->layout == HTP_LAYOUT_ROWS;
}

/* detail of a failure: 0, 1, 2 the operand (weights, activations, dst) whose type is wrong, 16 + i: size i is wrong */
static uint32_t check(struct htp_exec *exec, struct matmul *m) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return fail(exec, HTP_STATUS_BAD_OP, exec->n_src);
    const struct htp_view *w = exec->src[0], *a = exec->src[1], *d = exec->dst;
    if (!is_source(&m->source, w))
        return fail(exec, HTP_STATUS_UNSUPPORTED, 0);
    if ((a->type != HTP_TYPE_F32 && a->type != HTP_TYPE_F16) || a->layout != HTP_LAYOUT_ROWS)
        return fail(exec, HTP_STATUS_UNSUPPORTED, 1);
    if (d->type != HTP_TYPE_F32 || d->layout != HTP_LAYOUT_ROWS || d->nb[0] != 4)
        return fail(exec, HTP_STATUS_UNSUPPORTED, 2);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (w->ne[i] == 0 || a->ne[i] == 0)
            return fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    if (w->ne[0] != a->ne[0] || (matmul_is_quantized(w->type) && w->ne[0] % MATMUL_BLOCK != 0) ||
        d->ne[0] != w->ne[1])
        return fail(exec, HTP_STATUS_BAD_OP, 16);
    for (uint32_t i = 1; i < HTP_MAX_DIMS; i++) {
        if (d->ne[i] != a->ne[i] || (i > 1 && a->ne[i] % w->ne[i] != 0))
            return fail(exec, HTP_STATUS_BAD_OP, 16 + i);
    }
    return HTP_STATUS_OK;
}

uint32_t htp_matmul(struct htp_exec *exec) {
    struct matmul m = {.exec = exec};
    uint32_t status = check(exec, &m);
    if (status != HTP_STATUS_OK)
        return status;
    const struct htp_view *w = m.weights = exec->src[0], *a = m.activations = exec->src[1];
    m.dst = exec->dst;
    m.type = w->type;
    m.k = w->ne[0];
    m.n = w->ne[1];
    m.units = htp_div_up(m.k, MATMUL_UNIT);
    m.tiles = htp_div_up(m.n, MATMUL_TILE);
    m.matrices = w->ne[2] * w->ne[3];
    m.repeat2 = a->ne[2] / w->ne[2];
    m.matrix_rows = a->ne[1] * m.repeat2 * (a->ne[3] / w->ne[3]);
    m.pass_tiles = m.type == HTP_TYPE_Q4_0 ? KERNEL_Q4_0_TILES : m.type == HTP_TYPE_Q8_0 ? KERNEL_Q8_0_TILES : 1;
    m.pass_tiles = htp_min_u32(m.pass_tiles, m.tiles);
    status = matmul_plan(&m);
    if (status == HTP_STATUS_OK)
        run(&m);
    return status;
}
