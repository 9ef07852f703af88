/*
 * SOLVE_TRI: the X of A X = B, where A is n x n and nothing above its diagonal is read:
 *   X[i] = (B[i] - sum over t < i of A[i][t] X[t]) / A[i][i]
 *
 * Columns of B know nothing of each other: 64 or 32 of them, in vectors, are a piece of work that has its X in VTCM. Four
 * rows at a time share the loads of X: per vector of X four products and sums, and for each row a number of A that is
 * spread over the lanes. Reciprocals of the diagonal are taken beforehand, 32 at a time, as a division is long.
 *
 * dst may be B: a piece reads a row of its columns before it writes it.
 *
 * detail of a failure: 0 sources missing, 16 + operand (0 A, 1 B, 2 dst) whose type or row is not taken, 32 + operand
 * whose size does not fit
 */
#include <stdbool.h>

#include "hvx/divide.h"
#include "runtime/exec.h"

#define ROWS 4
#define WIDTH 2                  /* vectors of columns */
#define THREAD_WORK (32u << 10) /* a thread more is worth waking for this many products */

uint32_t htp_solve(struct htp_exec *exec);

struct solve {
    const struct htp_view *a, *b, *dst;
    uint32_t n, columns, width, blocks; /* width: vectors of a block of columns */
    uint8_t *vtcm;
    size_t share; /* of VTCM, for a thread */
};

static int32_t load_word(const uint8_t *row, uint32_t i) {
    return ((const int32_t *)(const void *)row)[i];
}

/* 1 / A[i][i] of all rows */
static void invert_diagonal(const struct solve *s, const uint8_t *a, HVX_Vector *inverse) {
    for (uint32_t i = 0; i < s->n; i += HVX_WORDS) {
        int32_t diagonal[HVX_WORDS] __attribute__((aligned(128))) = {0};
        for (uint32_t k = 0; k < htp_min_u32(s->n - i, HVX_WORDS); k++)
            diagonal[k] = load_word(a + (size_t)(i + k) * s->a->nb[1], i + k);
        *inverse++ = hvx_div_f32(hvx_splat_f32(1.0f), hvx_load_aligned(diagonal));
    }
}

HVX_INLINE HVX_Vector load_columns(const uint8_t *row, uint32_t count) {
    return count >= HVX_WORDS ? hvx_load(row) : hvx_load_bytes(row, count * 4);
}

/*
 * One block of columns; width: a constant. a, b, dst: of the block's first row. x has `width` vectors a row, and room for
 * whole fours of rows.
 */
HVX_INLINE void solve_block(uint32_t width, const struct solve *s, const uint8_t *a, const uint8_t *b, uint8_t *dst,
                            uint32_t columns, HVX_Vector *x, const int32_t *inverse) {
    for (uint32_t i = 0; i < s->n; i += ROWS) {
        const uint32_t rows = htp_min_u32(s->n - i, ROWS);
        const int32_t *row[ROWS]; /* rows that do not exist are the last one again */
        HVX_Vector sum[ROWS][WIDTH];
        HVX_UNROLL
        for (uint32_t k = 0; k < ROWS; k++) {
            row[k] = (const int32_t *)(const void *)(a + (size_t)(i + htp_min_u32(k, rows - 1)) * s->a->nb[1]);
            for (uint32_t j = 0; j < width; j++)
                sum[k][j] = hvx_zero();
        }
        const HVX_Vector *known = x;
        HVX_ROLLED
        for (uint32_t t = 0; t < i; t++, known += width) {
            HVX_UNROLL
            for (uint32_t k = 0; k < ROWS; k++) {
                const HVX_Vector factor = hvx_splat_i32(row[k][t]);
                HVX_UNROLL
                for (uint32_t j = 0; j < width; j++)
                    sum[k][j] = hvx_add_qf32(sum[k][j], hvx_mul_f32_qf32(known[j], factor));
            }
        }
        for (uint32_t k = 0; k < rows; k++) {
            const HVX_Vector factor = hvx_splat_i32(inverse[i + k]);
            for (uint32_t j = 0; j < width; j++) {
                const uint32_t left = columns - j * HVX_WORDS;
                const uint8_t *const from = b + (size_t)(i + k) * s->b->nb[1] + j * HVX_BYTES;
                HVX_Vector rest = sum[k][j];
                for (uint32_t t = 0; t < k; t++) {
                    const HVX_Vector known_factor = hvx_splat_i32(row[k][i + t]);
                    rest = hvx_add_qf32(rest, hvx_mul_f32_qf32(x[(i + t) * width + j], known_factor));
                }
                rest = hvx_sub_f32(load_columns(from, left), hvx_qf32_to_f32(rest));
                rest = hvx_mul_f32(rest, factor);
                x[(i + k) * width + j] = rest;
                uint8_t *const to = dst + (size_t)(i + k) * s->dst->nb[1] + j * HVX_BYTES;
                if (left >= HVX_WORDS)
                    hvx_store(to, rest);
                else
                    hvx_store_bytes(to, left * 4, rest);
            }
        }
    }
}

static void run_blocks(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct solve *const s = arg;
    HVX_Vector *const inverse = (HVX_Vector *)(void *)(s->vtcm + thread * s->share);
    HVX_Vector *const x = inverse + htp_div_up(s->n, HVX_WORDS);
    const uint32_t items = s->blocks * s->a->ne[2] * s->a->ne[3];
    const int32_t *const words = HVX_APART((const int32_t *)(const void *)inverse);
    uint32_t held = UINT32_MAX; /* the matrix whose diagonal has been inverted */
    for (uint32_t i = items / n_threads * thread + htp_min_u32(thread, items % n_threads),
                  end = i + items / n_threads + (thread < items % n_threads);
         i < end; i++) {
        const uint32_t matrix = i / s->blocks, i2 = matrix % s->a->ne[2], i3 = matrix / s->a->ne[2];
        const uint32_t first = i % s->blocks * s->width * HVX_WORDS;
        const uint32_t columns = htp_min_u32(s->columns - first, s->width * HVX_WORDS);
        const uint8_t *const a = htp_row(s->a, 0, i2, i3);
        const uint8_t *const b = htp_row(s->b, 0, i2, i3) + (size_t)first * 4;
        uint8_t *const dst = htp_row(s->dst, 0, i2, i3) + (size_t)first * 4;
        if (held != matrix)
            invert_diagonal(s, a, inverse);
        held = matrix;
        if (columns > HVX_WORDS)
            solve_block(2, s, a, b, dst, columns, x, words);
        else
            solve_block(1, s, a, b, dst, columns, x, words);
    }
}

static bool is_f32_rows(const struct htp_view *v) {
    return v->type == HTP_TYPE_F32 && v->layout == HTP_LAYOUT_ROWS && v->nb[0] == 4;
}

static uint32_t check(struct htp_exec *exec, const struct solve *s) {
    const struct htp_view *const views[] = {s->a, s->b, s->dst};
    for (uint32_t k = 0; k < 3; k++) {
        if (!is_f32_rows(views[k]))
            return htp_fail(exec, HTP_STATUS_UNSUPPORTED, 16 + k);
    }
    if (s->a->ne[0] != s->a->ne[1])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 32);
    if (s->b->ne[1] != s->n || s->b->ne[2] != s->a->ne[2] || s->b->ne[3] != s->a->ne[3])
        return htp_fail(exec, HTP_STATUS_BAD_OP, 33);
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++) {
        if (s->dst->ne[i] != s->b->ne[i])
            return htp_fail(exec, HTP_STATUS_BAD_OP, 34);
    }
    return HTP_STATUS_OK;
}

uint32_t htp_solve(struct htp_exec *exec) {
    if (exec->n_src < 2 || exec->src[0] == NULL || exec->src[1] == NULL || exec->dst == NULL)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 0);
    if (exec->op != HTP_OP_SOLVE_TRI)
        return htp_fail(exec, HTP_STATUS_UNSUPPORTED, exec->op);
    struct solve s = {.a = exec->src[0], .b = exec->src[1], .dst = exec->dst, .vtcm = exec->vtcm};
    s.n = s.a->ne[0];
    s.columns = s.b->ne[0];
    const uint32_t status = check(exec, &s);
    if (status != HTP_STATUS_OK)
        return status;
    /* Below 2^32, as the runtime has counted the rows of A: n times this, and so this. */
    const uint32_t matrices = s.a->ne[2] * s.a->ne[3];
    if (s.n == 0 || s.columns == 0 || matrices == 0)
        return HTP_STATUS_OK;
    uint32_t n = exec->n_threads;
    const uint64_t worth = (uint64_t)s.n * s.n / 2 * s.columns / THREAD_WORK * matrices + 1;
    n = worth < n ? (uint32_t)worth : n;
    const uint64_t wide = (uint64_t)matrices * htp_div_up(s.columns, WIDTH * HVX_WORDS);
    s.width = wide < n ? 1 : WIDTH; /* narrow blocks when there is not one for each thread */
    s.blocks = htp_div_up(s.columns, s.width * HVX_WORDS);
    const uint64_t items = (uint64_t)matrices * s.blocks;
    if (items > UINT32_MAX)
        return htp_fail(exec, HTP_STATUS_BAD_OP, 33);
    n = items < n ? (uint32_t)items : n;
    const uint64_t vectors = (uint64_t)htp_div_up(s.n, HVX_WORDS) + (uint64_t)s.n * s.width;
    if (vectors * HVX_BYTES > exec->vtcm_size)
        return htp_fail(exec, HTP_STATUS_NO_VTCM, s.n);
    s.share = (size_t)vectors * HVX_BYTES;
    const size_t room = exec->vtcm_size / s.share;
    n = room < n ? (uint32_t)room : n;
    htp_parallel(exec, n, run_blocks, &s);
    return HTP_STATUS_OK;
}
