/* MUL_MAT through its entry, against ref.c; the quantiser against its rule. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hvx/emul/half.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/pack.h"
#include "ops/matmul/quantize.h"
#include "ops/matmul/ref.h"

uint32_t htp_matmul(struct htp_exec *exec);

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
    const uint32_t size = check_type_size(type), row = matmul_is_quantized(type) ? ne[0] / 32 * size : ne[0] * size;
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

static void fill_weights(const struct htp_view *w, enum data data) {
    const uint32_t size = check_type_size(w->type);
    for (uint32_t r = 0; r < htp_rows(w); r++) {
        uint8_t *row = htp_row(w, r % w->ne[1], r / w->ne[1] % w->ne[2], r / w->ne[1] / w->ne[2]);
        if (w->type == HTP_TYPE_F16) {
            for (uint32_t i = 0; i < w->ne[0]; i++) {
                const uint16_t h = hvx_float_to_half((check_uniform() + check_uniform()) * spread(data, 8));
                memcpy(row + (size_t)i * w->nb[0], &h, 2);
            }
            continue;
        }
        for (uint32_t b = 0; b < w->ne[0] / 32; b++) {
            uint8_t *block = row + (size_t)b * size;
            const uint16_t h = hvx_float_to_half(check_uniform() * 0.02f * spread(data, 10));
            memcpy(block, &h, 2);
            for (uint32_t i = 2; i < size; i++)
                block[i] = data == EXTREME && check_below(4) == 0 ? (check_random() >> 31 ? 0x80 : 0xff)
                                                                  : (uint8_t)check_random();
        }
    }
}

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

/* runs and returns a copy of the outputs (N * rows), NULL when it failed */
static float *run_once(struct check *c, const struct htp_view *w, const struct htp_view *a, struct check_tensor *dst,
                       const struct shape *s) {
    struct check_run run;
    check_run_init(&run, HTP_OP_MUL_MAT, s->threads, (size_t)s->vtcm_kib << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = w;
    run.exec.src[1] = a;
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

static void run_shape(struct check *c, uint32_t type, uint32_t w_form, uint32_t a_type, uint32_t a_form,
                      const struct shape *s) {
    const uint32_t w_ne[4] = {s->k, s->n, s->w2, s->w3};
    const uint32_t a_ne[4] = {s->k, s->m, s->w2 * s->repeat2, s->w3 * s->repeat3};
    const uint32_t d_ne[4] = {s->n, a_ne[1], a_ne[2], a_ne[3]};
    const uint32_t d_nb[4] = {4, s->n * 4 + 12, (s->n * 4 + 12) * a_ne[1], (s->n * 4 + 12) * a_ne[1] * a_ne[2]};
    uint32_t w_nb[4], a_nb[4];
    make_strides(type, w_ne, w_form, w_nb);
    make_strides(a_type, a_ne, a_form, a_nb);
    struct check_tensor w, a, dst, tiles;
    check_make(&w, type, HTP_LAYOUT_ROWS, w_ne, w_nb, w_form == 1 ? 22 : 0);
    check_make(&a, a_type, HTP_LAYOUT_ROWS, a_ne, a_nb, a_form == 1 ? 12 : 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, d_nb, 4 * check_below(3));
    fill_weights(&w.view, s->data);
    fill_activations(&a.view, s->data, type == HTP_TYPE_F16 || a_type == HTP_TYPE_F16);

    const size_t count = (size_t)s->n * htp_rows(&a.view);
    double *expected = malloc(count * sizeof(double)), *terms = malloc(count * sizeof(double));
    if (expected == NULL || terms == NULL)
        abort();
    float *got = run_once(c, &w.view, &a.view, &dst, s);
    matmul_ref(&w.view, &a.view, MATMUL_REF_KERNEL, expected, terms);
    const struct errors e = compare(&dst.view, expected, terms);
#define SHAPE_TEXT "type %u/%u strides %u/%u k %u n %u m %u [%u,%u] x [%u,%u] threads %u vtcm %u data %u"
#define SHAPE_ARGS                                                                                               \
    (unsigned)type, (unsigned)a_type, (unsigned)w_form, (unsigned)a_form, (unsigned)s->k, (unsigned)s->n,        \
        (unsigned)s->m, (unsigned)s->w2, (unsigned)s->w3, (unsigned)s->repeat2, (unsigned)s->repeat3,            \
        (unsigned)s->threads, (unsigned)s->vtcm_kib, (unsigned)s->data
    check_case(c, e.nmse, 1e-9, "NMSE, same activations: " SHAPE_TEXT, SHAPE_ARGS);
    check_case(c, e.terms, 5e-6, "error by sum of terms: " SHAPE_TEXT, SHAPE_ARGS);
    if (matmul_is_quantized(type)) { /* tiles must give the very same numbers */
        check_make(&tiles, type, HTP_LAYOUT_TILES, w_ne, NULL, 0);
        matmul_ref_tiles(&w.view, &tiles.view);
        check_remember(&tiles);
        float *again = run_once(c, &tiles.view, &a.view, &dst, s);
        if (s->vtcm_kib >= 4096) /* with less, K may be cut at other places, which rounds differently */
            check_true(c, got != NULL && again != NULL && memcmp(got, again, count * sizeof(float)) == 0,
                       "tiles and rows differ: " SHAPE_TEXT, SHAPE_ARGS);
        check_case(c, compare(&dst.view, expected, terms).nmse, 1e-9, "NMSE, tiles: " SHAPE_TEXT, SHAPE_ARGS);
        check_true(c, check_unchanged(&tiles, true), "weights were written");
        free(again);
        check_free(&tiles);
    }
    if (s->data == ORDINARY && count >= 64) { /* with few outputs one that is small by chance would decide */
        matmul_ref(&w.view, &a.view, MATMUL_REF_EXACT, expected, terms);
        check_case(c, compare(&dst.view, expected, terms).nmse, 5e-4, "NMSE, f32 activations: " SHAPE_TEXT, SHAPE_ARGS);
    }
    free(got);
    free(expected);
    free(terms);
    check_free(&w);
    check_free(&a);
    check_free(&dst);
}

/* ---- the quantiser ---- */

static void check_quantizer(struct check *c) {
    static float x[QUANTIZE_GROUP] __attribute__((aligned(128)));
    static int8_t q[QUANTIZE_GROUP] __attribute__((aligned(128)));
    static struct activation_record records[QUANTIZE_GROUP_RECORDS] __attribute__((aligned(128)));
    for (uint32_t round = 0; round < 60; round++) {
        const uint32_t count = QUANTIZE_PAD * (1 + round % 4), range = round < 20 ? 0 : round < 40 ? 10 : 80;
        for (uint32_t i = 0; i < count; i++) {
            static float factor;
            if (i % 32 == 0)
                factor = check_below(7) == 0 ? 0 : ldexpf(1, (int)check_below(2 * range + 1) - (int)range);
            x[i] = check_uniform() * factor * (i % 32 == 9 ? 3 : 1);
        }
        quantize_group((const HVX_Vector *)(const void *)x, count, 8, (HVX_Vector *)(void *)q,
                       (HVX_Vector *)(void *)records);
        double rounding = 0, scale_error = 0;
        uint32_t bad = 0;
        for (uint32_t b = 0; b < count / 32; b++) {
            double absmax = 0;
            int sum = 0;
            for (uint32_t i = 32 * b; i < 32 * b + 32; i++)
                absmax = fmax(absmax, fabsf(x[i]));
            for (uint32_t i = 32 * b; i < 32 * b + 32; i++) {
                rounding = fmax(rounding, fabs(q[i] - (absmax > 0 ? x[i] * 127.0 / absmax : 0)));
                sum += q[i];
            }
            /* absmax / 127 with 11 bits; next to the middle of two such numbers it may be the other one */
            const double scale = records[b / 2].scale[b % 2], exact = absmax / 127;
            int exponent;
            const double bits = ldexp(frexp(scale, &exponent), 11);
            scale_error = fmax(scale_error, fabs(scale - exact) - ldexp(0.5, exponent - 11) * (1 + 1e-3));
            bad += bits != floor(bits);
            bad += records[b / 2].start[b % 2] != -8 * sum;
        }
        check_case(c, rounding - 0.5, 2e-5, "quantiser: rounding beyond a half, range 2^+-%u", (unsigned)range);
        check_case(c, scale_error, 0, "quantiser: scale, range 2^+-%u", (unsigned)range);
        check_true(c, bad == 0, "quantiser: %u sums or scales wrong", (unsigned)bad);
    }
}

/* ---- packing: byte for byte what the host stores ---- */

static void check_pack(struct check *c) {
    for (uint32_t round = 0; round < 24; round++) {
        const uint32_t type = round % 2 ? HTP_TYPE_Q4_0 : HTP_TYPE_Q8_0;
        const uint32_t ne[4] = {32 * (1 + round % 5), 1 + check_below(32), 1, 1};
        struct check_tensor rows, expected, packed;
        check_make(&rows, type, HTP_LAYOUT_ROWS, ne, NULL, 2);
        check_make(&expected, type, HTP_LAYOUT_TILES, ne, NULL, 0);
        check_make(&packed, type, HTP_LAYOUT_TILES, ne, NULL, 0);
        fill_weights(&rows.view, ORDINARY);
        matmul_ref_tiles(&rows.view, &expected.view);
        pack_tile(type, rows.view.data, rows.view.nb[1], ne[1], ne[0] / 32, packed.view.data);
        check_true(c, memcmp(packed.block, expected.block, packed.block_bytes) == 0,
                   "pack_tile, type %u, %u rows of %u", (unsigned)type, (unsigned)ne[1], (unsigned)ne[0]);
        check_free(&rows);
        check_free(&expected);
        check_free(&packed);
    }
}

/* ---- what must be refused ---- */

static void refuses(struct check *c) {
    const uint32_t w_ne[4] = {64, 32, 2, 1}, a_ne[4] = {64, 3, 2, 1}, d_ne[4] = {32, 3, 2, 1};
    const uint32_t short_ne[4] = {32, 3, 2, 1}, three_ne[4] = {64, 3, 3, 1};
    struct check_tensor w, f32, a, short_a, three, dst;
    check_make(&w, HTP_TYPE_Q4_0, HTP_LAYOUT_ROWS, w_ne, NULL, 0);
    check_make(&f32, HTP_TYPE_F32, HTP_LAYOUT_ROWS, w_ne, NULL, 0);
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, NULL, 0);
    check_make(&short_a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, short_ne, NULL, 0);
    check_make(&three, HTP_TYPE_F32, HTP_LAYOUT_ROWS, three_ne, NULL, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_MUL_MAT, 2, 1 << 20);
    run.exec.n_src = 2;
    run.exec.dst = &dst.view;
    const struct {
        const struct htp_view *w, *a;
        uint32_t status;
        const char *what;
    } cases[] = {
        {&f32.view, &a.view, HTP_STATUS_UNSUPPORTED, "f32 weights"},
        {&w.view, &w.view, HTP_STATUS_UNSUPPORTED, "quantised activations"},
        {&w.view, &short_a.view, HTP_STATUS_BAD_OP, "other K"},
        {&w.view, &three.view, HTP_STATUS_BAD_OP, "batches that do not repeat"},
        {&w.view, NULL, HTP_STATUS_BAD_OP, "no activations"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run.exec.src[0] = cases[i].w;
        run.exec.src[1] = cases[i].a;
        check_true(c, check_run_op(&run, htp_matmul) == cases[i].status, "refusal of %s", cases[i].what);
    }
    run.exec.src[0] = &w.view;
    run.exec.src[1] = &a.view;
    run.exec.vtcm_size = 4096;
    check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_NO_VTCM && run.exec.detail > 4096, "too little VTCM");
    check_run_free(&run);
    check_free(&w);
    check_free(&f32);
    check_free(&a);
    check_free(&short_a);
    check_free(&three);
    check_free(&dst);
}

void check_matmul(struct check *c) {
    static const struct shape shapes[] = {
        /* k, n, m, w2, w3, repeat2, repeat3, threads, vtcm KiB, data */
        {32, 32, 1, 1, 1, 1, 1, 1, 4096, ORDINARY},   {64, 96, 1, 1, 1, 1, 1, 2, 4096, ORDINARY},
        {96, 31, 3, 1, 1, 1, 1, 3, 4096, ORDINARY},   {576, 160, 1, 1, 1, 1, 1, 4, 4096, SPREAD},
        {2048, 96, 2, 1, 1, 1, 1, 1, 4096, ORDINARY}, {1056, 129, 1, 1, 1, 1, 1, 2, 4096, EXTREME},
        {256, 1, 1, 1, 1, 1, 1, 4, 4096, ORDINARY},   {1536, 65, 7, 1, 1, 1, 1, 3, 4096, ORDINARY},
        {576, 96, 32, 1, 1, 1, 1, 2, 4096, EXTREME},  {96, 200, 5, 2, 1, 3, 1, 4, 4096, ORDINARY},
        {64, 40, 4, 3, 2, 2, 2, 3, 4096, SPREAD},     {128, 33, 1, 4, 1, 2, 3, 4, 4096, ORDINARY},
        {2048, 64, 9, 1, 1, 1, 1, 4, 40, ORDINARY},   /* K in slices, rows in chunks */
        {3104, 70, 6, 1, 2, 2, 1, 3, 64, SPREAD},     {4096, 100, 1, 1, 1, 1, 1, 4, 48, ORDINARY},
        {160, 50, 70, 2, 1, 1, 1, 2, 32, ORDINARY},   {64, 32, 1100, 1, 1, 1, 1, 2, 64, ORDINARY},
        {32, 4100, 1, 1, 1, 1, 1, 4, 4096, ORDINARY}, {64, 20, 37, 1, 1, 1, 1, 4, 4096, ORDINARY},
        {9248, 34, 2, 1, 1, 1, 1, 2, 32, EXTREME},
    };
    static const uint32_t types[] = {HTP_TYPE_Q4_0, HTP_TYPE_Q8_0, HTP_TYPE_F16};
    check_quantizer(c);
    check_pack(c);
    for (uint32_t t = 0; t < 3; t++) {
        for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            struct shape s = shapes[i];
            const bool is_f16 = types[t] == HTP_TYPE_F16;
            if (is_f16 && i % 3 != 0) /* odd lengths, 1 among them */
                s.k = i == 4 ? 1 : s.k - 1 - check_below(31);
            run_shape(c, types[t], i % (is_f16 ? 4 : 3), i % 2 ? HTP_TYPE_F16 : HTP_TYPE_F32, 0, &s);
            run_shape(c, types[t], 0, HTP_TYPE_F32, 1 + i % 3, &s);
            if (i % 4 == 0)
                run_shape(c, types[t], 2, HTP_TYPE_F16, 3, &s);
        }
    }
    refuses(c);
}
