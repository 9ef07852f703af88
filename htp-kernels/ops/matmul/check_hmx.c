/* MUL_MAT on the matrix unit: results, and that what does not fit f16 is computed without it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/row_ref.h"
#include "ops/matmul/check_parts.h"
#include "ops/matmul/hmx_tiles.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/ref.h"
#include "runtime/types.h"

struct product {
    uint32_t k, n, m;
    uint32_t matrices, repeat; /* of the weights; times as many of the activations */
    uint32_t threads, vtcm_kib;
};

struct data {
    float scale;        /* of the weights' blocks, about */
    int low, high;      /* exponents of activation rows */
    float odd_one;      /* one activation is this, when not 0 */
    float heaviest;     /* one block of weights has this scale, when not 0 */
    float minimum;      /* one block of weights has this minimum, when not 0, and a scale of nothing */
    bool positive;      /* all activations are */
    bool used;          /* the matrix unit can do it */
};

static const struct data ordinary = {.scale = 0.02f, .used = true};

/* ---- operands ---- */

/* scale: of quants that reach to about 8 */
static void fill_block(uint32_t type, uint8_t *block, float scale) {
    const uint32_t bytes = check_type_size(type);
    for (uint32_t i = 0; i < bytes; i++)
        block[i] = (uint8_t)check_random();
    if (type == HTP_TYPE_MXFP4) {
        block[0] = (uint8_t)(127 + ilogbf(scale) - (int)check_below(4));
        return;
    }
    /* in blocks of 256 it is the product with an integer; minima bring the middle of the quants to about zero */
    const uint32_t most = type == HTP_TYPE_Q2_K ? 16 : type == HTP_TYPE_Q6_K ? 128 : 64;
    const float unit = htp_type_elements(type) == 256 ? scale / (float)most : scale;
    const float middle = type == HTP_TYPE_Q2_K ? 1.5f : type == HTP_TYPE_Q4_K ? 7 : type == HTP_TYPE_Q5_K ? 15 : -8;
    check_set_scales(type, block, unit * (1.25f + 0.75f * check_uniform()), middle * unit);
}

static void fill_weights(const struct htp_view *w, const struct data *data) {
    const uint32_t elements = htp_type_elements(w->type), size = elements == 1 ? 32 : elements;
    const uint32_t blocks = w->ne[0] / size, heaviest = check_below(htp_rows(w) * blocks);
    for (uint32_t r = 0; r < htp_rows(w); r++) {
        const uint32_t i1 = r % w->ne[1], i2 = r / w->ne[1];
        for (uint32_t b = 0; b < blocks; b++) {
            const bool is_heaviest = data->heaviest != 0 && r * blocks + b == heaviest;
            const float scale = is_heaviest ? data->heaviest : data->scale;
            if (w->type != HTP_TYPE_F16) {
                uint8_t *block = htp_row(w, i1, i2, 0) + (size_t)b * w->nb[0];
                fill_block(w->type, block, scale);
                if (data->minimum != 0 && r * blocks + b == heaviest)
                    check_set_scales(w->type, block, 0, data->minimum);
                continue;
            }
            for (uint32_t i = 32 * b; i < 32 * b + 32; i++)
                check_set(w, i, i1, i2, 0, (check_uniform() + check_uniform()) * 8 * scale);
        }
    }
}

static void fill_activations(const struct htp_view *a, const struct data *data) {
    for (uint32_t r = 0; r < htp_rows(a); r++) {
        const int exponent = data->low + (int)check_below((uint32_t)(data->high - data->low + 1));
        for (uint32_t i = 0; i < a->ne[0]; i++) {
            const float x = ldexpf(check_uniform() + check_uniform() + check_uniform(), exponent);
            check_set(a, i, r % a->ne[1], r / a->ne[1], 0, data->positive ? fabsf(x) : x);
        }
    }
    if (data->odd_one != 0) {
        const uint32_t r = check_below(htp_rows(a));
        check_set(a, check_below(a->ne[0]), r % a->ne[1], r / a->ne[1], 0, data->odd_one);
    }
}

/* ---- running ---- */

/* hashed: results count among those that are the same in every build; what becomes of a NaN does not */
static bool run(struct check *c, const struct htp_view *w, const struct htp_view *a, struct check_tensor *dst,
                const struct product *p, bool hmx, bool hashed) {
    struct check_run run;
    check_run_init(&run, HTP_OP_MUL_MAT, p->threads, (size_t)p->vtcm_kib << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = w;
    run.exec.src[1] = a;
    run.exec.dst = &dst->view;
    run.exec.hmx = hmx;
    check_remember(dst);
    memset(run.vtcm_block, 0xff, run.exec.vtcm_size);
    const uint32_t status = hashed ? check_run_op(&run, htp_matmul) : htp_matmul(&run.exec);
    check_true(c, status == HTP_STATUS_OK && (!hashed || check_vtcm_intact(&run)) && check_unchanged(dst, false),
               "HMX: status %u, VTCM intact %d", (unsigned)status, check_vtcm_intact(&run));
    const bool used = run.exec.used_hmx;
    check_run_free(&run);
    return used;
}

static double nmse(const struct htp_view *dst, const double *expected, uint32_t first, uint32_t rows) {
    double error = 0, sum = 0;
    for (uint32_t r = first; r < first + rows; r++)
        for (uint32_t n = 0; n < dst->ne[0]; n++) {
            const double x = expected[(size_t)r * dst->ne[0] + n];
            const double d = check_get(dst, n, r % dst->ne[1], r / dst->ne[1], 0) - x;
            error += d * d;
            sum += x * x;
        }
    return sum > 0 ? error / sum : error;
}

#define TEXT "type %u/%u layout %u k %u n %u m %u [%u x %u] threads %u vtcm %u"
#define ARGS                                                                                               \
    (unsigned)w->type, (unsigned)a->type, (unsigned)w->layout, (unsigned)p->k, (unsigned)p->n, (unsigned)p->m, \
        (unsigned)p->matrices, (unsigned)p->repeat, (unsigned)p->threads, (unsigned)p->vtcm_kib

/* On the matrix unit: every row by itself is right, large or small. Given up: the same bits as when it is not there. */
static void compare(struct check *c, const struct htp_view *w, const struct htp_view *a, struct check_tensor *dst,
                    const struct product *p, const struct data *data, const double *expected) {
    const uint32_t rows = htp_rows(&dst->view);
    const bool finite = data->odd_one == 0;
    const bool used = run(c, w, a, dst, p, true, finite);
    check_true(c, used == data->used, "HMX used: %d, " TEXT, used, ARGS);
    if (used) {
        check_case(c, nmse(&dst->view, expected, 0, rows), 1e-6, "HMX, NMSE: " TEXT, ARGS);
        for (uint32_t r = 0; r < rows && p->n > 32; r++)
            check_case(c, nmse(&dst->view, expected, r, 1), 1e-5, "HMX, NMSE of row %u: " TEXT, (unsigned)r, ARGS);
        return;
    }
    uint8_t *before = malloc(dst->block_bytes);
    if (before == NULL)
        abort();
    memcpy(before, dst->block, dst->block_bytes);
    run(c, w, a, dst, p, false, finite);
    check_true(c, memcmp(before, dst->block, dst->block_bytes) == 0, "HMX given up, not the same: " TEXT, ARGS);
    free(before);
}

/* K of whole blocks, and with a larger K more VTCM where that is little */
static struct product whole_blocks(uint32_t type, const struct product *shape) {
    struct product p = *shape;
    p.k = (uint32_t)htp_round_up(p.k, htp_type_elements(type));
    p.vtcm_kib = p.vtcm_kib < 4096 ? p.vtcm_kib * (p.k / shape->k) : p.vtcm_kib;
    return p;
}

static void check_product(struct check *c, uint32_t type, uint32_t a_type, const struct product *shape,
                          const struct data *data) {
    const struct product whole = whole_blocks(type, shape), *p = &whole;
    const uint32_t w_ne[4] = {p->k, p->n, p->matrices, 1}, a_ne[4] = {p->k, p->m, p->matrices * p->repeat, 1};
    const uint32_t d_ne[4] = {p->n, p->m, a_ne[2], 1}, row = p->n * 4 + 12, a_size = check_type_size(a_type);
    const uint32_t d_nb[4] = {4, row, row * p->m, row * p->m * a_ne[2]};
    /* rows of other matrices between those of one, as after a permute */
    const uint32_t a_nb[4] = {a_size, a_size * p->k * a_ne[2], a_size * p->k, a_size * p->k * a_ne[2] * p->m};
    struct check_tensor w, tiles, a, dst;
    check_make(&w, type, HTP_LAYOUT_ROWS, w_ne, NULL, type == HTP_TYPE_MXFP4 ? 23 : 22);
    check_make(&a, a_type, HTP_LAYOUT_ROWS, a_ne, a_nb, p->k % 64 == 0 ? 0 : a_size);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, d_nb, 4);
    fill_weights(&w.view, data);
    fill_activations(&a.view, data);
    const size_t count = (size_t)p->n * htp_rows(&dst.view);
    double *expected = malloc(2 * count * sizeof(double));
    if (expected == NULL)
        abort();
    matmul_ref(&w.view, &a.view, NULL, MATMUL_REF_EXACT, expected, expected + count);
    compare(c, &w.view, &a.view, &dst, p, data, expected);
    if (matmul_is_quantized(type)) {
        check_make(&tiles, type, HTP_LAYOUT_TILES, w_ne, NULL, 0);
        matmul_ref_tiles(&w.view, &tiles.view);
        compare(c, &tiles.view, &a.view, &dst, p, data, expected);
        check_free(&tiles);
    }
    free(expected);
    check_free(&w);
    check_free(&a);
    check_free(&dst);
}

void check_matmul_hmx(struct check *c) {
    static const struct product products[] = {
        /* k, n, m, matrices, repeat, threads, vtcm KiB */
        {64, 32, 32, 1, 1, 1, 4096}, {32, 40, 33, 1, 1, 4, 4096},  {96, 130, 70, 1, 1, 3, 4096},
        {160, 64, 9, 2, 4, 2, 4096}, {288, 70, 41, 1, 1, 3, 4096}, {64, 700, 40, 1, 1, 3, 4096}, /* many rounds */
        {96, 200, 130, 1, 1, 4, 208}, /* rows in chunks */
        {1056, 33, 34, 1, 1, 1, 512}, /* weights of a column tile in slices */
    };
#define TYPE(NAME, quants, group, scales, zero) HTP_TYPE_##NAME,
    static const uint32_t types[] = {HTP_TILE_TYPE_LIST(TYPE) HTP_TYPE_F16};
#undef TYPE
    static const uint32_t a_types[] = {HTP_TYPE_F32, HTP_TYPE_F32, HTP_TYPE_F16, HTP_TYPE_BF16};
    static const struct product few = {64, 48, 40, 1, 1, 3, 4096};
    static const struct product too_few[] = {{64, 64, 31, 1, 1, 3, 4096}, {64, 15, 64, 1, 1, 3, 4096},
                                             {2048, 64, 64, 1, 1, 3, 192}};
    for (uint32_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        const uint32_t type = types[t];
        for (uint32_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
            /* with K of whole blocks of 256, every other shape for every other type is as much work */
            if (htp_type_elements(type) < 256 || (i + t) % 2 == 0)
                check_product(c, type, a_types[(i + t) % 4], &products[i], &ordinary);
        }
        /* rows that are beyond f16, or far below, as they are; weights that are small or large */
        check_product(c, type, HTP_TYPE_F32, &few,
                      &(struct data){.scale = 0.02f, .low = -60, .high = 60, .used = true});
        check_product(c, type, HTP_TYPE_F32, &few, &(struct data){.scale = 0.002f, .used = true});
        check_product(c, type, HTP_TYPE_F32, &few, &(struct data){.scale = 4, .used = true});
        /* values that f16 cannot hold: an infinity, weights, sums */
        check_product(c, type, HTP_TYPE_F32, &few, &(struct data){.scale = 0.02f, .odd_one = INFINITY});
        check_product(c, type, HTP_TYPE_F32, &few, &(struct data){.scale = 0.02f, .odd_one = NAN});
        check_product(c, type, HTP_TYPE_F32, &few, &(struct data){.scale = 0.02f, .heaviest = 16000});
        for (uint32_t i = 0; i < sizeof(too_few) / sizeof(too_few[0]); i++)
            check_product(c, type, HTP_TYPE_F32, &too_few[i], &(struct data){.scale = 0.02f});
    }
    check_product(c, HTP_TYPE_Q4_1, HTP_TYPE_F32, &few, &(struct data){.scale = 1000, .positive = true});
    check_product(c, HTP_TYPE_MXFP4, HTP_TYPE_F32, &few, &(struct data){.scale = 0x1p-20f});
    /* minima of blocks of 256 are taken as multiples of d: one without any d is beyond them all */
    static const uint32_t with_minima[] = {HTP_TYPE_Q4_K, HTP_TYPE_Q5_K, HTP_TYPE_Q2_K};
    for (uint32_t i = 0; i < sizeof(with_minima) / sizeof(with_minima[0]); i++)
        check_product(c, with_minima[i], HTP_TYPE_F32, &few, &(struct data){.scale = 0.02f, .minimum = 0.01f});
    check_product(c, HTP_TYPE_Q6_K, HTP_TYPE_F32, &few, &(struct data){.scale = 0.02f, .minimum = 1, .used = true});
}
