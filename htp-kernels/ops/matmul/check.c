/* MUL_MAT and MUL_MAT_ID through their entry, against ref.c. */
#include "check/check.h"
#include "check/row_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/matmul/check_parts.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/pack.h"
#include "ops/matmul/ref.h"
#include "runtime/types.h"

enum data {
    ORDINARY,
    SPREAD,  /* scales of weights and activations over 2^+-10 from block to block */
    EXTREME, /* activations over 2^+-40, zero blocks on both sides, extreme quants */
};

struct shape {
    uint32_t k, n, m;
    uint32_t w2, w3, repeat2, repeat3;
    uint32_t threads;
    uint32_t vtcm_kib;
    enum data data;
};

/* strides: 0 contiguous; 1 rows apart; 2 rows of the (2, 1) dimensions interleaved, as after a permute;
 * 3 transposed: elements apart, nb1 the smallest (not for quantised types) */
static void make_strides(uint32_t type, const uint32_t *ne, uint32_t form, uint32_t *nb) {
    const uint32_t size = check_type_size(type), row = ne[0] / htp_type_elements(type) * size;
    nb[0] = size;
    nb[1] = form == 1 ? row + 6 * size : row;
    nb[2] = nb[1] * ne[1];
    if (form == 2) {
        nb[2] = row;
        nb[1] = row * ne[2];
    }
    if (form == 3) {
        nb[1] = size;
        nb[0] = size * ne[1];
        nb[2] = size * ne[1] * ne[0];
    }
    nb[3] = form == 2 ? nb[1] * ne[1] : nb[2] * ne[2];
}

static float spread(enum data data, uint32_t range) {
    if (data == ORDINARY)
        return 1;
    if (data == EXTREME && check_below(6) == 0)
        return 0;
    return ldexpf(1, (int)check_below(2 * range + 1) - (int)range);
}

static void fill_block(uint32_t type, uint8_t *block, enum data data) {
    const float factor = spread(data, 10), scale = check_uniform() * 0.02f * factor;
    const uint32_t size = check_type_size(type);
    for (uint32_t i = 0; i < size; i++)
        block[i] = data == EXTREME && check_below(4) == 0 ? (check_random() >> 31 ? 0x80 : 0xff)
                                                          : (uint8_t)check_random();
    if (type == HTP_TYPE_MXFP4) {
        static const uint32_t range[] = {3, 21, 121}; /* of the exponent, around 2^-8 */
        block[0] = (uint8_t)(119 + check_below(range[data]) - range[data] / 2);
        if (factor == 0)
            memset(block, 0, size);
        return;
    }
    /* in blocks of 256, scales and minima are these times integers up to about 64 */
    const float unit = htp_type_elements(type) == 256 ? scale / 32 : scale;
    check_set_scales(type, block, unit, fabsf(unit) * (7 * check_uniform() - 8));
}

static void fill_weights(const struct htp_view *w, enum data data) {
    const uint32_t blocks = w->ne[0] / htp_type_elements(w->type);
    for (uint32_t r = 0; r < htp_rows(w); r++) {
        const uint32_t i1 = r % w->ne[1], i2 = r / w->ne[1] % w->ne[2], i3 = r / w->ne[1] / w->ne[2];
        for (uint32_t i = 0; i < w->ne[0] && !matmul_is_quantized(w->type); i++)
            check_set(w, i, i1, i2, i3, (check_uniform() + check_uniform()) * spread(data, 8));
        for (uint32_t b = 0; b < blocks && matmul_is_quantized(w->type); b++)
            fill_block(w->type, htp_row(w, i1, i2, i3) + (size_t)b * w->nb[0], data);
    }
}

/* An address that is aligned to the type and to nothing more. */
static uint32_t odd_offset(uint32_t type) { return type == HTP_TYPE_F32 ? 20 : type == HTP_TYPE_MXFP4 ? 23 : 22; }

/* f16 products must stay below 65504 as inputs */
static void fill_activations(const struct htp_view *a, enum data data, bool half_range) {
    for (uint32_t r = 0; r < htp_rows(a); r++) {
        float factor = 1;
        for (uint32_t i = 0; i < a->ne[0]; i++) {
            if (i % 32 == 0)
                factor = spread(data, half_range ? 10 : data == EXTREME ? 40 : 10);
            check_set(a, i, r % a->ne[1], r / a->ne[1] % a->ne[2], r / a->ne[1] / a->ne[2],
                      (check_uniform() + check_uniform() + check_uniform()) * factor);
        }
    }
}

struct errors {
    double nmse, terms; /* terms: largest error as a part of the sum of magnitudes */
};

static struct errors compare(const struct htp_view *dst, const double *expected, const double *terms) {
    struct errors e = {0, 0};
    double error = 0, sum = 0;
    for (uint32_t m = 0; m < htp_rows(dst); m++)
        for (uint32_t n = 0; n < dst->ne[0]; n++) {
            const double x = *expected++, t = *terms++;
            const double d = check_get(dst, n, m % dst->ne[1], m / dst->ne[1] % dst->ne[2],
                                       m / dst->ne[1] / dst->ne[2]) - x;
            error += d * d;
            sum += x * x;
            const double part = t > 0 ? fabs(d) / t : d == 0 ? 0 : 1;
            e.terms = part > e.terms || isnan(part) ? part : e.terms;
        }
    e.nmse = sum > 0 ? error / sum : error;
    return e;
}

/* runs and returns a copy of the outputs (N * rows), NULL when it failed; ids: NULL for MUL_MAT */
static float *run_once(struct check *c, const struct htp_view *w, const struct htp_view *a, const struct htp_view *ids,
                       struct check_tensor *dst, const struct shape *s) {
    struct check_run run;
    check_run_init(&run, ids == NULL ? HTP_OP_MUL_MAT : HTP_OP_MUL_MAT_ID, s->threads, (size_t)s->vtcm_kib << 10);
    run.exec.n_src = 3;
    run.exec.src[0] = w;
    run.exec.src[1] = a;
    run.exec.src[2] = ids;
    run.exec.dst = &dst->view;
    check_remember(dst);
    const uint32_t status = check_run_op(&run, htp_matmul);
    check_true(c, status == HTP_STATUS_OK && check_vtcm_intact(&run) && check_unchanged(dst, false),
               "status %u (detail %u), VTCM intact %d: k %u n %u m %u", (unsigned)status, (unsigned)run.exec.detail,
               check_vtcm_intact(&run), (unsigned)s->k, (unsigned)s->n, (unsigned)s->m);
    check_run_free(&run);
    const uint32_t rows = htp_rows(&dst->view), n = dst->view.ne[0];
    float *copy = malloc((size_t)rows * n * sizeof(float));
    for (uint32_t i = 0; copy != NULL && i < rows * n; i++) {
        const uint32_t m = i / n, *ne = dst->view.ne;
        copy[i] = (float)check_get(&dst->view, i % n, m % ne[1], m / ne[1] % ne[2], m / ne[1] / ne[2]);
    }
    return copy;
}

#define SHAPE_TEXT "type %u/%u strides %u/%u k %u n %u m %u [%u,%u] x [%u,%u] threads %u vtcm %u data %u"
#define SHAPE_ARGS                                                                                                    \
    (unsigned)w->type, (unsigned)a->type, (unsigned)w_form, (unsigned)a_form, (unsigned)s->k, (unsigned)s->n,         \
        (unsigned)s->m, (unsigned)s->w2, (unsigned)s->w3, (unsigned)s->repeat2, (unsigned)s->repeat3,                 \
        (unsigned)s->threads, (unsigned)s->vtcm_kib, (unsigned)s->data

/* One product with weights in rows and, where the type has them, in tiles. The forms are for messages. */
static void run_product(struct check *c, const struct htp_view *w, uint32_t w_form, const struct htp_view *a,
                        uint32_t a_form, const struct htp_view *ids, struct check_tensor *dst, const struct shape *s) {
    const size_t count = (size_t)s->n * htp_rows(&dst->view);
    double *expected = malloc(count * sizeof(double)), *terms = malloc(count * sizeof(double));
    if (expected == NULL || terms == NULL)
        abort();
    float *got = run_once(c, w, a, ids, dst, s);
    matmul_ref(w, a, ids, MATMUL_REF_KERNEL, expected, terms);
    const struct errors e = compare(&dst->view, expected, terms);
    check_case(c, e.nmse, 1e-9, "NMSE, same activations: " SHAPE_TEXT, SHAPE_ARGS);
    check_case(c, e.terms, 5e-6, "error by sum of terms: " SHAPE_TEXT, SHAPE_ARGS);
    if (matmul_is_quantized(w->type)) { /* tiles must give the very same numbers */
        struct check_tensor tiles;
        check_make(&tiles, w->type, HTP_LAYOUT_TILES, w->ne, NULL, 0);
        matmul_ref_tiles(w, &tiles.view);
        check_remember(&tiles);
        float *again = run_once(c, &tiles.view, a, ids, dst, s);
        if (s->vtcm_kib >= 4096) /* with less, K may be cut at other places, which rounds differently */
            check_true(c, got != NULL && again != NULL && memcmp(got, again, count * sizeof(float)) == 0,
                       "tiles and rows differ: " SHAPE_TEXT, SHAPE_ARGS);
        check_case(c, compare(&dst->view, expected, terms).nmse, 1e-9, "NMSE, tiles: " SHAPE_TEXT, SHAPE_ARGS);
        check_true(c, check_unchanged(&tiles, true), "weights were written");
        free(again);
        check_free(&tiles);
    }
    if (s->data == ORDINARY && count >= 64) { /* with few outputs one that is small by chance would decide */
        matmul_ref(w, a, ids, MATMUL_REF_EXACT, expected, terms);
        check_case(c, compare(&dst->view, expected, terms).nmse, 5e-4, "NMSE, f32 activations: " SHAPE_TEXT,
                   SHAPE_ARGS);
    }
    free(got);
    free(expected);
    free(terms);
}

static void run_shape(struct check *c, uint32_t type, uint32_t w_form, uint32_t a_type, uint32_t a_form,
                      const struct shape *s) {
    const uint32_t w_ne[4] = {s->k, s->n, s->w2, s->w3};
    const uint32_t a_ne[4] = {s->k, s->m, s->w2 * s->repeat2, s->w3 * s->repeat3};
    const uint32_t d_ne[4] = {s->n, a_ne[1], a_ne[2], a_ne[3]};
    const uint32_t d_nb[4] = {4, s->n * 4 + 12, (s->n * 4 + 12) * a_ne[1], (s->n * 4 + 12) * a_ne[1] * a_ne[2]};
    uint32_t w_nb[4], a_nb[4];
    make_strides(type, w_ne, w_form, w_nb);
    make_strides(a_type, a_ne, a_form, a_nb);
    struct check_tensor w, a, dst;
    check_make(&w, type, HTP_LAYOUT_ROWS, w_ne, w_nb, w_form == 1 ? odd_offset(type) : 0);
    check_make(&a, a_type, HTP_LAYOUT_ROWS, a_ne, a_nb, a_form == 1 ? 12 : 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, d_nb, 4 * check_below(3));
    fill_weights(&w.view, s->data);
    fill_activations(&a.view, s->data, type == HTP_TYPE_F16 || a_type == HTP_TYPE_F16);
    run_product(c, &w.view, w_form, &a.view, a_form, NULL, &dst, s);
    check_free(&w);
    check_free(&a);
    check_free(&dst);
}

/* ---- MUL_MAT_ID ---- */

struct id_shape {
    uint32_t k, n, experts, used, rows, tokens; /* rows: of the activations of a token, used or a divisor of it */
    uint32_t threads, vtcm_kib;
    enum data data;
};

/* what a token picks: different experts, in any order */
static void fill_ids(const struct htp_view *ids, uint32_t experts) {
    for (uint32_t token = 0; token < ids->ne[1]; token++) {
        for (uint32_t slot = 0; slot < ids->ne[0]; slot++) {
            const int32_t id = (int32_t)((slot * 7 + check_below(experts)) % experts);
            memcpy(htp_row(ids, token, 0, 0) + (size_t)slot * ids->nb[0], &id, 4);
        }
    }
}

static void run_ids(struct check *c, uint32_t type, uint32_t w_form, uint32_t a_type, uint32_t a_form,
                    const struct id_shape *i) {
    /* for the messages: m tokens, [experts, used] x [rows, 1] */
    const struct shape s = {i->k, i->n, i->tokens, i->experts, i->used, i->rows, 1, i->threads, i->vtcm_kib, i->data};
    const uint32_t w_ne[4] = {i->k, i->n, i->experts, 1}, a_ne[4] = {i->k, i->rows, i->tokens, 1};
    const uint32_t ids_ne[4] = {i->used, i->tokens, 1, 1}, d_ne[4] = {i->n, i->used, i->tokens, 1};
    /* ids: a view of longer lists, as the first of a sorted list are */
    const uint32_t ids_row = (i->used + 3) * 4, d_row = i->n * 4 + 8;
    const uint32_t ids_nb[4] = {4, ids_row, ids_row * i->tokens, ids_row * i->tokens};
    const uint32_t d_nb[4] = {4, d_row, d_row * i->used, d_row * i->used * i->tokens};
    uint32_t w_nb[4], a_nb[4];
    make_strides(type, w_ne, w_form, w_nb);
    make_strides(a_type, a_ne, a_form, a_nb);
    struct check_tensor w, a, ids, dst;
    check_make(&w, type, HTP_LAYOUT_ROWS, w_ne, w_nb, w_form == 1 ? odd_offset(type) : 0);
    check_make(&a, a_type, HTP_LAYOUT_ROWS, a_ne, a_nb, a_form == 1 ? 12 : 0);
    check_make(&ids, HTP_TYPE_I32, HTP_LAYOUT_ROWS, ids_ne, ids_nb, 4);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, d_nb, 4 * check_below(3));
    fill_weights(&w.view, i->data);
    fill_activations(&a.view, i->data, type == HTP_TYPE_F16 || a_type == HTP_TYPE_F16);
    fill_ids(&ids.view, i->experts);
    run_product(c, &w.view, w_form, &a.view, a_form, &ids.view, &dst, &s);
    check_free(&w);
    check_free(&a);
    check_free(&ids);
    check_free(&dst);
}

/* ---- packing: byte for byte what the host stores ---- */

static void check_pack(struct check *c, uint32_t type) {
    for (uint32_t round = 0; round < 12; round++) {
        const uint32_t ne[4] = {htp_type_elements(type) * (1 + round % 5), 1 + check_below(32), 1, 1};
        struct check_tensor rows, expected, packed;
        check_make(&rows, type, HTP_LAYOUT_ROWS, ne, NULL, odd_offset(type));
        check_make(&expected, type, HTP_LAYOUT_TILES, ne, NULL, 0);
        check_make(&packed, type, HTP_LAYOUT_TILES, ne, NULL, 0);
        fill_weights(&rows.view, ORDINARY);
        matmul_ref_tiles(&rows.view, &expected.view);
        pack_tile(type, rows.view.nb[0], rows.view.data, rows.view.nb[1], ne[1], ne[0] / 32, packed.view.data);
        check_true(c, memcmp(packed.block, expected.block, packed.block_bytes) == 0,
                   "pack_tile, type %u, %u rows of %u", (unsigned)type, (unsigned)ne[1], (unsigned)ne[0]);
        check_free(&rows);
        check_free(&expected);
        check_free(&packed);
    }
}

/* ---- MXFP4: scale bytes at the ends of their range ---- */

/* Bytes from `first` on, one for each row, and activations around 2^exponent. */
static void run_exponents(struct check *c, uint32_t first, uint32_t count, int exponent, uint32_t m) {
    const struct shape s = {.k = 224, .n = count, .m = m, .w2 = 1, .w3 = 1, .repeat2 = 1, .repeat3 = 1, .threads = 2,
                            .vtcm_kib = 4096, .data = SPREAD};
    const uint32_t w_ne[4] = {s.k, s.n, 1, 1}, a_ne[4] = {s.k, s.m, 1, 1}, d_ne[4] = {s.n, s.m, 1, 1};
    struct check_tensor w, a, dst;
    check_make(&w, HTP_TYPE_MXFP4, HTP_LAYOUT_ROWS, w_ne, NULL, 0);
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, NULL, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, NULL, 0);
    fill_weights(&w.view, ORDINARY);
    for (uint32_t i = 0; i < count * s.k / 32; i++)
        w.view.data[i * 17] = (uint8_t)(first + i / (s.k / 32));
    for (uint32_t i = 0; i < m * s.k; i++)
        check_set(&a.view, i % s.k, i / s.k, 0, 0, ldexpf(check_uniform(), exponent));
    run_product(c, &w.view, 0, &a.view, 0, NULL, &dst, &s);
    check_free(&w);
    check_free(&a);
    check_free(&dst);
}

void check_matmul(struct check *c) {
    static const struct shape shapes[] = {
        /* k, n, m, w2, w3, repeat2, repeat3, threads, vtcm KiB, data */
        {32, 32, 1, 1, 1, 1, 1, 1, 4096, ORDINARY},   {64, 96, 1, 1, 1, 1, 1, 2, 4096, ORDINARY},
        {96, 31, 3, 1, 1, 1, 1, 3, 4096, ORDINARY},   {576, 160, 1, 1, 1, 1, 1, 4, 4096, SPREAD},
        {2048, 96, 2, 1, 1, 1, 1, 1, 4096, ORDINARY}, {1056, 129, 1, 1, 1, 1, 1, 2, 4096, EXTREME},
        {256, 1, 1, 1, 1, 1, 1, 4, 4096, ORDINARY},   {1536, 33, 7, 1, 1, 1, 1, 3, 4096, ORDINARY},
        {576, 40, 30, 1, 1, 1, 1, 2, 4096, EXTREME},  {96, 200, 5, 2, 1, 3, 1, 4, 4096, ORDINARY},
        {64, 40, 4, 3, 2, 2, 2, 3, 4096, SPREAD},     {128, 33, 1, 4, 1, 2, 3, 4, 4096, ORDINARY},
        {2048, 64, 9, 1, 1, 1, 1, 4, 40, ORDINARY},   /* K in slices, rows in chunks */
        {3104, 38, 6, 1, 2, 2, 1, 3, 64, SPREAD},     {4096, 100, 1, 1, 1, 1, 1, 4, 48, ORDINARY},
        {160, 50, 70, 2, 1, 1, 1, 2, 32, ORDINARY},   {64, 8, 1100, 1, 1, 1, 1, 2, 64, ORDINARY},
        {32, 4100, 1, 1, 1, 1, 1, 4, 4096, ORDINARY}, {64, 20, 37, 1, 1, 1, 1, 4, 4096, ORDINARY},
        {9248, 34, 2, 1, 1, 1, 1, 2, 32, EXTREME},
    };
    static const struct id_shape id_shapes[] = {
        /* k, n, experts, used, rows, tokens, threads, vtcm KiB, data */
        {64, 96, 4, 2, 2, 1, 4, 4096, ORDINARY},   /* fewer tokens than experts */
        {160, 33, 8, 4, 1, 3, 3, 4096, SPREAD},    /* tokens have one row for all experts */
        {96, 40, 5, 1, 1, 17, 2, 4096, EXTREME},   {576, 70, 3, 3, 3, 9, 4, 4096, ORDINARY},
        {32, 20, 2, 4, 2, 40, 4, 4096, ORDINARY},  /* the same expert twice for a token */
        {64, 31, 1, 1, 1, 130, 3, 48, ORDINARY},   /* one expert, several chunks */
        {32, 32, 9, 2, 2, 600, 2, 32, ORDINARY},   /* more picks than are sorted at a time */
        {2080, 34, 4, 2, 1, 11, 2, 40, SPREAD},    /* K in slices */
        {64, 32, 300, 2, 2, 5, 4, 4096, ORDINARY},
    };
#define TYPE(NAME, quants, group, scales, zero) HTP_TYPE_##NAME,
    static const uint32_t types[] = {HTP_TILE_TYPE_LIST(TYPE) HTP_TYPE_F16, HTP_TYPE_BF16, HTP_TYPE_F32};
#undef TYPE
    static const uint32_t a_types[] = {HTP_TYPE_F32, HTP_TYPE_F16, HTP_TYPE_F32, HTP_TYPE_BF16};
    for (uint32_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        const bool floats = !matmul_is_quantized(types[t]);
        if (!floats)
            check_pack(c, types[t]);
        if (matmul_kernels(types[t]) == NULL)
            continue;
        const uint32_t elements = htp_type_elements(types[t]);
        for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            struct shape s = shapes[i];
            s.k = (uint32_t)htp_round_up(s.k, elements);
            if (s.vtcm_kib < 4096 && (types[t] == HTP_TYPE_BF16 || types[t] == HTP_TYPE_F32))
                s.vtcm_kib *= 2; /* activations are twice as large */
            if (s.vtcm_kib < 4096 && elements == 256)
                s.vtcm_kib *= 4; /* so that there is room for a unit of K */
            if (elements == 256) { /* K is up to eight times as long there: as much work with fewer rows and shapes */
                if ((i + t) % 2 == 0)
                    continue;
                s.m = htp_min_u32(s.m, 270);
                s.n = htp_min_u32(s.n, 1030);
            }
            if (floats && i % 3 != 0) /* odd lengths, 1 among them */
                s.k = i == 4 ? 1 : s.k - 1 - check_below(31);
            run_shape(c, types[t], i % (floats ? 4 : 3), a_types[i % 4], 0, &s);
            if ((i + t) % 2 == 0 || elements == 256)
                run_shape(c, types[t], 0, HTP_TYPE_F32, 1 + i % 3, &s);
            if ((i + t) % 4 == 1)
                run_shape(c, types[t], 2, HTP_TYPE_F16, 3, &s);
        }
        for (uint32_t i = 0; i < sizeof(id_shapes) / sizeof(id_shapes[0]); i++) {
            struct id_shape s = id_shapes[i];
            s.k = (uint32_t)htp_round_up(s.k, elements);
            if (s.vtcm_kib < 4096 && elements == 256)
                s.vtcm_kib *= 4;
            if (elements == 256)
                s.tokens = htp_min_u32(s.tokens, 150);
            if (floats && i % 3 != 0)
                s.k -= 1 + check_below(31);
            run_ids(c, types[t], i % (floats ? 4 : 3), a_types[i % 4], i % 2, &s);
        }
    }
    for (uint32_t m = 1; m <= 5; m += 4) {
        run_exponents(c, 0, 4, 20, m);
        run_exponents(c, 0, 4, 8, m); /* scale times scale is subnormal */
        run_exponents(c, 252, 4, -40, m);
    }
    check_matmul_quantizer(c);
    check_matmul_wide(c);
    check_matmul_refuses(c);
    check_matmul_id_refuses(c);
    check_matmul_hmx(c);
}
