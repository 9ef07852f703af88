/*
 * MUL_MAT on the matrix unit (hmx/hmx.h).
 *
 * Activations are cut into row strips, weights into column tiles: 32 rows each, over the whole of K, as f16 tiles one
 * after another. A strip of either kind takes 64 bytes for each value of K.
 *
 *   chunk    as many row strips as fit VTCM, or half of it. All threads prepare them. Then, for all column tiles:
 *   round    thread 0 multiplies the column tiles of the round before with all row strips, while the others, the
 *            workers, write the outputs of the round before that to dst and make tiles of the next weights
 *
 * So weights and outputs have two sets of buffers, which change roles from round to round. The only synchronisation is
 * the end of htp_parallel. Each worker has a contiguous share of the column tiles, whose weights it streams from memory
 * (weights.c) without a break from round to round. With a single thread that one is thread 0 and worker in turn.
 *
 * hmx_tiles.h says how numbers are kept in the range of f16. When one is not, the whole product is given up.
 */
#include "ops/matmul/hmx.h"

#include "ops/matmul/hmx_tiles.h"
#include "ops/matmul/weights.h"
#include "runtime/pool.h"

#if HMX_EXISTS

#define LEAST_ROWS 32     /* of a matrix: below, most of a row strip is empty */
#define LEAST_COLUMNS 16  /* the same for column tiles */
#define SLICE_BYTES (32u << 10) /* weights that a worker loads at a time */
#define STREAM_SLOTS 3
#define ROUNDS_WANTED 4   /* of a chunk: the first and the last ones keep only a part of the threads busy */
#define ROUND_TILES 64    /* f16 tiles a worker and round: less is not worth the synchronisation */

struct hmx_chunk {
    struct matmul *m;
    const struct hmx_weights *kind; /* NULL: f16 */

    /* the plan */
    uint32_t k_tiles;       /* f16 tiles of a strip */
    size_t strip_bytes;
    uint32_t n_threads, workers;
    uint32_t batch;         /* column tiles of a worker and round */
    uint32_t capacity;      /* row strips that fit */
    size_t scratch_at;      /* in the area of a thread */
    uint8_t *table;         /* scales that the matrix unit applies: all 1 */
    uint8_t *activations;   /* capacity strips */
    uint8_t *weights;       /* 2 sets of workers * batch strips */
    uint8_t *outputs;       /* 2 sets of workers * batch * capacity tiles */
    float *scales, *inverse; /* of rows */

    /* what is under way */
    uint32_t rows, strips; /* of activations */
    uint32_t round;
    struct matmul_chunk stream_chunk;
    struct weight_stream *streams;        /* of workers */
    uint32_t unfit[HTP_MAX_THREADS]; /* not 0: the thread has seen a number that does not fit */
};

/* ---- small parts ---- */

static bool any_word(HVX_Vector v) {
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        v = Q6_V_vor_VV(v, Q6_V_vror_VR(v, bytes));
    uint32_t words[HVX_WORDS] __attribute__((aligned(HVX_BYTES)));
    hvx_store_aligned(words, v);
    return words[0] != 0;
}

static uint32_t largest_word(HVX_Vector v) {
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        v = Q6_Vw_vmax_VwVw(v, Q6_V_vror_VR(v, bytes));
    uint32_t words[HVX_WORDS] __attribute__((aligned(HVX_BYTES)));
    hvx_store_aligned(words, v);
    return words[0];
}

/* The column tiles of a worker, begin .. end - 1. */
static uint32_t share_begin(const struct hmx_chunk *c, uint32_t worker) {
    return (uint32_t)((uint64_t)c->m->tiles * worker / c->workers);
}

/* Worker `worker`'s column tile number i of a round; false when there is none. */
static bool tile_of(const struct hmx_chunk *c, uint32_t worker, uint32_t round, uint32_t i, uint32_t *tile) {
    *tile = share_begin(c, worker) + round * c->batch + i;
    return *tile < share_begin(c, worker + 1);
}

/* Its place in a set of buffers. */
static size_t place_of(const struct hmx_chunk *c, uint32_t worker, uint32_t round, uint32_t i) {
    return ((size_t)(round % 2) * c->workers + worker) * c->batch + i;
}

static uint8_t *weights_of(const struct hmx_chunk *c, uint32_t worker, uint32_t round, uint32_t i) {
    return c->weights + place_of(c, worker, round, i) * c->strip_bytes;
}

static uint8_t *outputs_of(const struct hmx_chunk *c, uint32_t worker, uint32_t round, uint32_t i) {
    return c->outputs + place_of(c, worker, round, i) * c->capacity * HMX_TILE_BYTES;
}

/* ---- activations ---- */

static uint32_t step_values(const struct matmul *m, uint32_t begin) {
    return htp_min_u32(m->k - begin, MATMUL_STAGE_VALUES);
}

/* Finds the power of two for row r. */
static void scale_row(struct hmx_chunk *c, uint32_t r, HVX_Vector *stage, uint32_t *unfit) {
    const struct matmul *m = c->m;
    HVX_Vector largest = hvx_zero();
    for (uint32_t begin = 0; begin < m->k; begin += MATMUL_STAGE_VALUES) {
        const uint32_t count = step_values(m, begin);
        const HVX_Vector *x = matmul_load_f32(m, m->rows[r].source, begin, count, stage);
        largest = hmx_largest_f32(x, htp_div_up(count, HVX_WORDS), largest);
    }
    int exponent;
    if (!hmx_row_exponent(largest_word(largest), &exponent))
        *unfit = 1;
    c->scales[r] = hmx_power_of_two(exponent);
    c->inverse[r] = hmx_power_of_two(-exponent - (c->kind == NULL ? 0 : c->kind->shift));
}

/* Rows 2 * pair and the next one; missing ones become zero. */
static void pack_pair(struct hmx_chunk *c, uint32_t pair, uint8_t *stage, uint32_t *unfit) {
    const struct matmul *m = c->m;
    const uint32_t r = 2 * pair;
    uint8_t *to = c->activations + r / HMX_TILE * c->strip_bytes + r % HMX_TILE / 2 * HVX_BYTES;
    if (r >= c->rows) {
        for (uint32_t i = 0; i < c->k_tiles; i++)
            hvx_store_aligned(to + i * HMX_TILE_BYTES, hvx_zero());
        return;
    }
    const bool both = r + 1 < c->rows;
    HVX_Vector *stage_a = (HVX_Vector *)(void *)stage, *stage_b = (HVX_Vector *)(void *)(stage + MATMUL_STAGE_BYTES);
    scale_row(c, r, stage_a, unfit);
    if (both)
        scale_row(c, r + 1, stage_b, unfit);
    for (uint32_t begin = 0; begin < m->k; begin += MATMUL_STAGE_VALUES) {
        const uint32_t count = step_values(m, begin);
        const HVX_Vector *a = matmul_load_f32(m, m->rows[r].source, begin, count, stage_a);
        const HVX_Vector *b = both ? matmul_load_f32(m, m->rows[r + 1].source, begin, count, stage_b) : a;
        hmx_pack_rows(a, b, c->scales[r], both ? c->scales[r + 1] : 0.0f, count / HMX_TILE,
                      (HVX_Vector *)(void *)(to + begin / HMX_TILE * HMX_TILE_BYTES));
    }
}

static void prepare_rows(void *arg, uint32_t thread, uint32_t n_threads) {
    struct hmx_chunk *c = arg;
    const uint32_t pairs = c->strips * HMX_TILE / 2;
    const uint32_t begin = (uint32_t)((uint64_t)pairs * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)pairs * (thread + 1) / n_threads);
    uint8_t *stage = c->m->thread_vtcm + thread * c->m->thread_bytes;
    uint32_t unfit = 0;
    for (uint32_t pair = begin; pair < end; pair++)
        pack_pair(c, pair, stage, &unfit);
    c->unfit[thread] |= unfit;
}

/* ---- rounds ---- */

/* Thread 0: the column tiles of a round with all row strips. */
static void multiply_round(const struct hmx_chunk *c, uint32_t round) {
    uint32_t tile;
    hmx_set_scales(c->table);
    hmx_clear();
    for (uint32_t worker = 0; worker < c->workers; worker++) {
        for (uint32_t i = 0; i < c->batch && tile_of(c, worker, round, i, &tile); i++) {
            const uint8_t *weights = weights_of(c, worker, round, i);
            uint8_t *to = outputs_of(c, worker, round, i);
            for (uint32_t s = 0; s < c->strips; s++) {
                hmx_multiply(c->activations + s * c->strip_bytes, weights, c->k_tiles);
                hmx_store(to + s * HMX_TILE_BYTES);
            }
        }
    }
}

/* Worker: the outputs of a round to dst. */
static void write_round(struct hmx_chunk *c, uint32_t worker, uint32_t round, uint32_t *unfit) {
    const struct matmul *m = c->m;
    HVX_Vector largest = hvx_zero();
    uint32_t tile;
    for (uint32_t i = 0; i < c->batch && tile_of(c, worker, round, i, &tile); i++) {
        const uint8_t *from = outputs_of(c, worker, round, i);
        const uint32_t first = tile * HMX_TILE, columns = htp_min_u32(m->n - first, HMX_TILE);
        for (uint32_t r = 0; r < c->rows; r += HMX_TILE, from += HMX_TILE_BYTES)
            largest = hmx_unpack_tile((const HVX_Vector *)(const void *)from, m->rows + r, c->inverse + r,
                                      htp_min_u32(c->rows - r, HMX_TILE), first, columns, largest);
    }
    largest = Q6_Vuh_vmax_VuhVuh(largest, Q6_Vuw_vlsr_VuwR(largest, 16));
    if (largest_word(Q6_V_vand_VV(largest, hvx_splat_i32(0xffff))) >= HMX_LARGEST_HALF)
        *unfit = 1;
}

/* Worker: f16 tiles of the weights of a round. */
static void pack_round(struct hmx_chunk *c, uint32_t worker, uint32_t round, uint32_t *unfit) {
    const struct matmul *m = c->m;
    HVX_Vector *scratch = (HVX_Vector *)(void *)(m->thread_vtcm + worker * m->thread_bytes + c->scratch_at);
    HVX_Vector bad = hvx_zero();
    uint32_t tile;
    for (uint32_t i = 0; i < c->batch && tile_of(c, worker, round, i, &tile); i++) {
        HVX_Vector largest = hvx_zero();
        struct weight_step step;
        for (uint32_t slice = 0; slice < m->slices && weight_stream_next(&c->streams[worker], &step); slice++) {
            const uint32_t blocks = step.k / HMX_TILE;
            HVX_Vector *to = (HVX_Vector *)(void *)(weights_of(c, worker, round, i) +
                                                    step.first_unit * m->unit / HMX_TILE * HMX_TILE_BYTES);
            if (c->kind == NULL)
                hmx_weights_f16(step.data, step.row_bytes, blocks, to, scratch);
            else
                c->kind->kernel((const HVX_Vector *)(const void *)step.data, blocks, to, &largest);
        }
        if (c->kind != NULL)
            bad = Q6_V_vor_VV(bad, hmx_unfit_weights(c->kind, largest));
    }
    if (any_word(bad))
        *unfit = 1;
}

static void run_round(void *arg, uint32_t thread, uint32_t n_threads) {
    struct hmx_chunk *c = arg;
    const uint32_t round = c->round;
    uint32_t unfit = 0;
    if (thread == 0 && round >= 1)
        multiply_round(c, round - 1);
    if (thread > 0 || n_threads == 1) {
        const uint32_t worker = thread > 0 ? thread - 1 : 0;
        if (round >= 2)
            write_round(c, worker, round - 2, &unfit);
        if (round == 0)
            weight_stream_open(&c->streams[worker], &c->stream_chunk, worker, share_begin(c, worker),
                               share_begin(c, worker + 1));
        pack_round(c, worker, round, &unfit);
    }
    c->unfit[thread] |= unfit;
}

static bool all_fit(const struct hmx_chunk *c) {
    uint32_t unfit = 0;
    for (uint32_t i = 0; i < c->n_threads; i++)
        unfit |= c->unfit[i];
    return unfit == 0;
}

/* Rows [first, first + c->rows) of a matrix. */
static bool run_chunk(struct hmx_chunk *c, uint32_t matrix, uint32_t first) {
    struct matmul *m = c->m;
    c->strips = htp_div_up(c->rows, HMX_TILE);
    m->groups[0] = (struct matmul_group){matrix, 0, c->rows};
    for (uint32_t r = 0; r < c->rows; r++)
        m->rows[r] = matmul_find_row(m, matrix, first + r);
    htp_parallel(m->exec, c->n_threads, prepare_rows, c);
    if (!all_fit(c))
        return false;

    c->stream_chunk = (struct matmul_chunk){.m = m, .groups = 1, .rows = c->rows};
    uint32_t rounds = 0;
    for (uint32_t worker = 0; worker < c->workers; worker++) {
        const uint32_t begin = share_begin(c, worker), end = share_begin(c, worker + 1);
        const uint32_t needed = htp_div_up(end - begin, c->batch);
        rounds = needed > rounds ? needed : rounds;
    }
    for (c->round = 0; c->round < rounds + 2; c->round++)
        htp_parallel(m->exec, c->n_threads, run_round, c);
    return all_fit(c); /* not before: copies may be under way until then */
}

/* ---- the plan ---- */

/* Cuts weights along K so that a slice has about SLICE_BYTES, and sizes the ring that weights.c brings them through. */
static void plan_stream(struct hmx_chunk *c) {
    struct matmul *m = c->m;
    const bool tiles = m->source == MATMUL_TILES;
    const uint64_t unit_bytes = tiles ? matmul_unit_bytes(m, 1) : matmul_row_bytes(m, 1) * MATMUL_TILE;
    const uint32_t fit = SLICE_BYTES / unit_bytes < 1 ? 1 : (uint32_t)(SLICE_BYTES / unit_bytes);
    m->slice_units = htp_div_up(m->units, htp_div_up(m->units, fit));
    m->slices = htp_div_up(m->units, m->slice_units);
    m->pass_tiles = 1;
    m->slots = STREAM_SLOTS;
    m->row_stride = htp_round_up((size_t)matmul_row_bytes(m, m->slice_units), HVX_BYTES);
    m->tile_bytes = tiles ? (size_t)matmul_unit_bytes(m, m->slice_units) : m->row_stride * MATMUL_TILE;
    m->packed_bytes = m->source == MATMUL_BLOCK_ROWS ? (size_t)matmul_unit_bytes(m, m->slice_units) : 0;
    c->scratch_at = m->slots * m->tile_bytes + m->packed_bytes;
    const size_t stream = c->scratch_at + (c->kind == NULL ? HMX_SCRATCH_BYTES : 0);
    m->thread_bytes = htp_round_up(stream < 2 * MATMUL_STAGE_BYTES ? 2 * MATMUL_STAGE_BYTES : stream, HVX_BYTES);
}

static uint32_t workers_of(uint32_t n_threads) { return n_threads > 1 ? n_threads - 1 : 1; }

/* Takes `bytes` from VTCM, at a multiple of HMX_TILE_BYTES. */
static uint8_t *take(uint8_t **vtcm, size_t bytes) {
    uint8_t *at = *vtcm;
    *vtcm += htp_round_up(bytes, HMX_TILE_BYTES);
    return at;
}

/* Divides VTCM: false when not even one row strip and one column tile a worker fit. */
static bool plan(struct hmx_chunk *c) {
    struct matmul *m = c->m;
    uint8_t *vtcm = (uint8_t *)(((uintptr_t)m->vtcm + HMX_TILE_BYTES - 1) & ~(uintptr_t)(HMX_TILE_BYTES - 1));
    const uint64_t skipped = (uint64_t)(vtcm - m->vtcm), row_words = sizeof(*m->rows) + 2 * sizeof(float);
    if (m->vtcm_size <= skipped)
        return false;
    const uint64_t size = m->vtcm_size - skipped, strip = (uint64_t)m->k / HMX_TILE * HMX_TILE_BYTES;
    const uint64_t row_strip = strip + HMX_TILE * row_words, slack = 8 * HMX_TILE_BYTES; /* of take */
    plan_stream(c);

    /* 64-bit: shapes are the host's. pair: what a column tile of each worker takes, beside its outputs */
    uint64_t left = 0, pair = 0, outputs = 0;
    c->n_threads = htp_min_u32(m->exec->n_threads, m->tiles + 1);
    for (; c->n_threads > 0; c->n_threads--) {
        const uint64_t fixed = slack + (uint64_t)c->n_threads * m->thread_bytes;
        pair = 2 * workers_of(c->n_threads) * strip;
        outputs = 2 * (uint64_t)workers_of(c->n_threads) * HMX_TILE_BYTES;
        left = size > fixed ? size - fixed : 0;
        if (row_strip + pair + outputs <= left)
            break;
    }
    if (c->n_threads == 0)
        return false;
    c->workers = workers_of(c->n_threads);
    const uint32_t wanted = htp_div_up(m->matrix_rows, HMX_TILE);
    const uint64_t room = left / 2 > row_strip + outputs && left / 2 > pair ? left / 2 : left - pair;
    const uint64_t fit = room / (row_strip + outputs);
    c->capacity = htp_div_up(wanted, htp_div_up(wanted, fit < wanted ? (uint32_t)fit : wanted));

    const uint64_t batch = (left - c->capacity * row_strip) / (pair + c->capacity * outputs);
    const uint32_t share = htp_div_up(m->tiles, c->workers), least = htp_div_up(ROUND_TILES, c->k_tiles);
    const uint32_t part = htp_div_up(share, ROUNDS_WANTED);
    c->batch = htp_min_u32(share, part > least ? part : least);
    if (batch < c->batch)
        c->batch = (uint32_t)batch;

    const size_t rows = (size_t)c->capacity * HMX_TILE, tiles = (size_t)2 * c->workers * c->batch;
    c->strip_bytes = (size_t)strip;
    c->table = take(&vtcm, HMX_TABLE_BYTES);
    m->groups = (struct matmul_group *)(void *)take(&vtcm, sizeof(*m->groups));
    m->rows = (struct matmul_row *)(void *)take(&vtcm, rows * row_words);
    c->scales = (float *)(void *)(m->rows + rows);
    c->inverse = c->scales + rows;
    m->thread_vtcm = take(&vtcm, c->n_threads * m->thread_bytes);
    c->activations = take(&vtcm, c->capacity * c->strip_bytes);
    c->weights = take(&vtcm, tiles * c->strip_bytes);
    c->outputs = take(&vtcm, tiles * c->capacity * HMX_TILE_BYTES);
    return true;
}

/* ---- entry ---- */

static bool is_suited(const struct matmul *m, const struct hmx_weights *kind) {
    return (kind != NULL || m->type == HTP_TYPE_F16) && m->matrix_rows >= LEAST_ROWS && m->n >= LEAST_COLUMNS &&
           m->k % HMX_TILE == 0 && m->exec->n_threads <= HTP_MAX_THREADS;
}

static void fill_table(uint8_t *table) {
    hvx_store_aligned(table, hvx_splat_i32(HMX_SCALE_ONE));
    hvx_store_aligned(table + HVX_BYTES, hvx_zero());
}

bool matmul_hmx(struct matmul *m) {
    /* one op runs at a time; too large for the stack of a thread */
    static struct weight_stream streams[HTP_MAX_THREADS];
    struct hmx_chunk c = {.m = m, .kind = hmx_weights_of(m->type), .k_tiles = m->k / HMX_TILE, .streams = streams};
    if (!is_suited(m, c.kind) || !plan(&c) || !htp_hmx_begin(m->exec))
        return false;
    fill_table(c.table);
    for (uint32_t matrix = 0; matrix < m->matrices; matrix++) {
        for (uint32_t first = 0; first < m->matrix_rows; first += c.rows) {
            c.rows = htp_min_u32(m->matrix_rows - first, c.capacity * HMX_TILE);
            if (!run_chunk(&c, matrix, first))
                return false;
        }
    }
    m->exec->used_hmx = true;
    return true;
}

#else

bool matmul_hmx(struct matmul *m) {
    (void)m;
    return false;
}

#endif
