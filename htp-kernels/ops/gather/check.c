/* GET_ROWS and SET_ROWS, and the conversions that they use, against scalar ones: bit for bit. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/row_ref.h"
#include "hvx/row.h"
#include "ops/matmul/ref.h"
#include "runtime/tiles.h"
#include "runtime/types.h"

uint32_t htp_gather(struct htp_exec *exec);

static const uint32_t types[] = {HTP_TYPE_F32,  HTP_TYPE_F16,  HTP_TYPE_BF16,  HTP_TYPE_I32,  HTP_TYPE_Q8_0,
                                 HTP_TYPE_Q4_0, HTP_TYPE_Q4_1, HTP_TYPE_Q5_0,  HTP_TYPE_Q5_1, HTP_TYPE_MXFP4,
                                 HTP_TYPE_IQ4_NL, HTP_TYPE_Q2_K, HTP_TYPE_Q3_K, HTP_TYPE_Q4_K, HTP_TYPE_Q5_K,
                                 HTP_TYPE_Q6_K, HTP_TYPE_IQ4_XS};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* elements that go together in a conversion */
static uint32_t unit_of(uint32_t from, uint32_t to) {
    const uint32_t a = htp_type_elements(from), b = htp_type_elements(to);
    return a > b ? a : b;
}

static bool is_nan_of(uint32_t type, const uint8_t *p) {
    uint32_t bits = 0;
    memcpy(&bits, p, htp_type_bytes(type));
    if (type == HTP_TYPE_BF16)
        return (bits & 0x7fff) > 0x7f80;
    return type == HTP_TYPE_F16 ? (bits & 0x7fff) > 0x7c00 : type == HTP_TYPE_F32 && (bits & 0x7fffffff) > 0x7f800000;
}

/* The scale of IQ4_NL comes from sums in no given order: it may be off by its last place. */
static bool same_but_for_scale(const uint8_t *a, const uint8_t *b) {
    uint16_t x, y;
    memcpy(&x, a, 2);
    memcpy(&y, b, 2);
    return (x == y || x + 1 == y || y + 1 == x) && memcmp(a + 2, b + 2, 16) == 0;
}

/* blocks of `type` that differ; NaN equals NaN */
static uint32_t differing(uint32_t type, const uint8_t *a, const uint8_t *b, uint32_t count) {
    const uint32_t bytes = htp_type_bytes(type);
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count / htp_type_elements(type); i++, a += bytes, b += bytes) {
        const bool nan = htp_type_elements(type) == 1 && bytes <= 4 && is_nan_of(type, a) && is_nan_of(type, b);
        const bool same = type == HTP_TYPE_IQ4_NL ? same_but_for_scale(a, b) : memcmp(a, b, bytes) == 0;
        bad += !nan && !same;
    }
    return bad;
}

/* ---- rows converted: every pair of types, lengths and alignments, special values ---- */

static void special_values(uint32_t type, uint8_t *p, uint32_t count) {
    static const uint32_t edges[] = {0,          0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00001u, 1,
                                     0x33000000, 0x33000001,  0x33800000,  0x387fffffu, 0x38800000u, 0xb87ff000u,
                                     0x477fefff, 0x477ff000u, 0x47800000u, 0x4f000000u, 0xcf000001u, 0x3f801000u,
                                     0x3f803000, 0xbf801001u, 0x3effffffu, 0x3f000000u};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bits = check_below(2) ? edges[check_below(sizeof(edges) / sizeof(edges[0]))] : check_random();
        memcpy(p + (size_t)i * htp_type_bytes(type), &bits, htp_type_bytes(type));
    }
}

static void convert(struct check *c, uint32_t from, uint32_t to, uint32_t count, float scale) {
    const uint32_t ne[4] = {count, 1, 1, 1};
    struct check_tensor src, dst, expected;
    check_make(&src, from, HTP_LAYOUT_ROWS, ne, NULL, htp_type_bytes(from) * check_below(9));
    check_make(&dst, to, HTP_LAYOUT_ROWS, ne, NULL, htp_type_bytes(to) * check_below(9));
    check_make(&expected, to, HTP_LAYOUT_ROWS, ne, NULL, 0);
    if (scale == 0)
        special_values(from, src.view.data, count);
    else
        check_fill(&src.view, scale);
    check_remember(&dst);
    check_convert_row(from, to, expected.view.data, src.view.data, count);
    htp_row_converter(from, to)(dst.view.data, src.view.data, count);
    const uint32_t bad = differing(to, dst.view.data, expected.view.data, count);
    dst.view.ne[0] /= htp_type_elements(to);
    check_true(c, bad == 0, "type %u to %u, %u of them, scale %g: %u differ", (unsigned)from, (unsigned)to,
               (unsigned)count, scale, (unsigned)bad);
    check_true(c, check_unchanged(&dst, false), "type %u to %u wrote beside the row", (unsigned)from, (unsigned)to);
    check_free(&src);
    check_free(&dst);
    check_free(&expected);
}

static void conversions(struct check *c) {
    static const uint32_t counts[] = {1, 2, 31, 32, 33, 63, 64, 65, 96, 127, 128, 200, 513};
    for (uint32_t f = 0; f < TYPES; f++) {
        for (uint32_t t = 0; t < TYPES; t++) {
            const uint32_t from = types[f], to = types[t];
            if (htp_row_converter(from, to) == NULL)
                continue;
            const uint32_t block = unit_of(from, to);
            for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                const uint32_t count = (counts[i] + block - 1) / block * block;
                convert(c, from, to, count, 1);
                convert(c, from, to, count, 300);
                convert(c, from, to, count, 1e-6f);
                if (block == 1)
                    convert(c, from, to, count, 0);
            }
        }
    }
}

/* ---- the ops ---- */

struct shape {
    uint32_t table[4]; /* shape of what indices point into */
    uint32_t n;        /* rows of the list, a matrix */
    uint32_t repeat[2]; /* SET_ROWS: matrices that share their indices, dimensions 2 and 3 */
};

static void fill_index(const struct htp_view *v, uint32_t rows) {
    for (uint32_t i2 = 0; i2 < v->ne[2]; i2++) {
        for (uint32_t i1 = 0; i1 < v->ne[1]; i1++) {
            const uint32_t start = check_below(rows); /* no index twice: rows are written by several threads */
            for (uint32_t i0 = 0; i0 < v->ne[0]; i0++) {
                const int64_t x = (start + i0 * 7u) % rows;
                memcpy(check_block(v, i0, i1, i2, 0), &x, htp_type_bytes(v->type));
            }
        }
    }
}

static int64_t index_at(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2) {
    int64_t wide;
    int32_t narrow;
    memcpy(&wide, check_block(v, i0, i1, i2, 0), v->type == HTP_TYPE_I64 ? 8 : 4);
    memcpy(&narrow, check_block(v, i0, i1, i2, 0), 4);
    return v->type == HTP_TYPE_I64 ? wide : narrow;
}

struct scene {
    struct check_tensor table, list, index;
    struct check_run run;
    bool set;
};

static void make_scene(struct scene *s, const struct shape *shape, bool set, uint32_t from, uint32_t to,
                       uint32_t index_type, uint32_t form) {
    const uint32_t *ne = shape->table;
    const uint32_t list_ne[4] = {ne[0], shape->n, ne[2], ne[3]};
    const uint32_t index_ne[4] = {shape->n, ne[2] / shape->repeat[0], ne[3] / shape->repeat[1], 1};
    uint32_t table_nb[4], list_nb[4], index_nb[4];
    const uint32_t table_type = set ? to : from, list_type = set ? from : to;
    check_strides(table_type, ne, form, table_nb);
    check_strides(list_type, list_ne, form, list_nb);
    check_strides(index_type, index_ne, form == 2 ? 4 : 0, index_nb);
    s->set = set;
    check_make(&s->table, table_type, HTP_LAYOUT_ROWS, ne, table_nb, htp_type_bytes(table_type) * check_below(5));
    check_make(&s->list, list_type, HTP_LAYOUT_ROWS, list_ne, list_nb, htp_type_bytes(list_type) * check_below(5));
    check_make(&s->index, index_type, HTP_LAYOUT_ROWS, index_ne, index_nb, 0);
    check_fill(&s->table.view, 2);
    check_fill(&s->list.view, 2);
    fill_index(&s->index.view, ne[1]);
    check_run_init(&s->run, set ? HTP_OP_SET_ROWS : HTP_OP_GET_ROWS, 1 + check_below(4), 4096);
    s->run.exec.n_src = 2;
    s->run.exec.src[0] = set ? &s->list.view : &s->table.view;
    s->run.exec.src[1] = &s->index.view;
    s->run.exec.dst = set ? &s->table.view : &s->list.view;
}

static void free_scene(struct scene *s) {
    check_run_free(&s->run);
    check_free(&s->table);
    check_free(&s->list);
    check_free(&s->index);
}

/* The whole memory of the result, computed by the scalar conversion, compared with what the op made of it. */
static void run_shape(struct check *c, const struct shape *shape, bool set, uint32_t from, uint32_t to,
                      uint32_t index_type, uint32_t form) {
    struct scene s;
    make_scene(&s, shape, set, from, to, index_type, form);
    struct check_tensor *out = set ? &s.table : &s.list;
    check_remember(out);
    const uint32_t status = check_run_op(&s.run, htp_gather);
    const struct htp_view *list = &s.list.view, *index = &s.index.view;
    const size_t row_bytes = (size_t)shape->table[0] * 4 + 64;
    uint8_t *in = malloc(row_bytes), *row = malloc(row_bytes);
    for (uint32_t r = 0; in != NULL && row != NULL && r < htp_rows(list); r++) {
        const uint32_t i1 = r % list->ne[1], i2 = r / list->ne[1] % list->ne[2], i3 = r / list->ne[1] / list->ne[2];
        const uint32_t at = (uint32_t)index_at(index, i1, i2 % index->ne[1], i3 % index->ne[2]);
        check_read_row(set ? list : &s.table.view, set ? i1 : at, i2, i3, 0, shape->table[0], in);
        check_convert_row(from, to, row, in, shape->table[0]);
        const uint8_t *target = htp_row(&out->view, set ? at : i1, i2, i3);
        memcpy(out->before + (target - out->block), row,
               (size_t)(shape->table[0] / htp_type_elements(to)) * htp_type_bytes(to));
    }
    check_true(c, status == HTP_STATUS_OK && check_unchanged(out, true),
               "%s [%u,%u,%u,%u], %u rows, type %u to %u, index type %u, form %u: status %u", set ? "set_rows" : "get_rows",
               (unsigned)shape->table[0], (unsigned)shape->table[1], (unsigned)shape->table[2],
               (unsigned)shape->table[3], (unsigned)shape->n, (unsigned)from, (unsigned)to, (unsigned)index_type,
               (unsigned)form, (unsigned)status);
    free(in);
    free(row);
    free_scene(&s);
}

static void shapes(struct check *c) {
    static const struct shape all[] = {
        {{1, 8, 1, 1}, 2, {1, 1}},   {{31, 5, 2, 3}, 4, {1, 1}},   {{33, 9, 3, 2}, 9, {1, 1}},
        {{256, 5, 2, 1}, 3, {1, 1}}, {{100, 11, 1, 7}, 8, {1, 1}}, {{64, 71, 4, 2}, 33, {1, 1}},
        {{1, 90, 2, 6}, 50, {2, 3}}, {{96, 11, 6, 2}, 7, {2, 1}},  {{32, 8, 4, 3}, 5, {4, 3}},
    };
    for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const bool repeats = all[i].repeat[0] * all[i].repeat[1] > 1;
        for (uint32_t f = 0; f < TYPES; f++) {
            for (uint32_t t = 0; t < TYPES; t++) {
                const uint32_t from = types[f], to = types[t];
                const bool exists = from == to || htp_row_converter(from, to) != NULL;
                if (!exists || all[i].table[0] % unit_of(from, to) != 0)
                    continue;
                if (from != to && to == HTP_TYPE_IQ4_NL) /* not bit for bit; conversions() has it */
                    continue;
                for (uint32_t form = 0; form < 3; form++) {
                    run_shape(c, &all[i], true, from, to, form == 1 ? HTP_TYPE_I32 : HTP_TYPE_I64, form);
                    if (!repeats)
                        run_shape(c, &all[i], false, from, to, form == 1 ? HTP_TYPE_I64 : HTP_TYPE_I32, form);
                }
            }
        }
    }
}

/* ---- weights in tiles ---- */

static void tiles(struct check *c, uint32_t type, uint32_t k, uint32_t n, uint32_t matrices) {
    const uint32_t ne[4] = {k, n, matrices, 1}, index_ne[4] = {6, matrices, 1, 1}, list_ne[4] = {k, 6, matrices, 1};
    struct check_tensor rows, table, list, index;
    check_make(&rows, type, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&table, type, HTP_LAYOUT_TILES, ne, NULL, 0);
    check_make(&list, HTP_TYPE_F32, HTP_LAYOUT_ROWS, list_ne, NULL, 0);
    check_make(&index, HTP_TYPE_I32, HTP_LAYOUT_ROWS, index_ne, NULL, 0);
    check_fill(&rows.view, 2);
    matmul_ref_tiles(&rows.view, &table.view);
    fill_index(&index.view, n);
    float *expected = malloc((size_t)k * sizeof(float));
    struct check_run run;
    check_run_init(&run, HTP_OP_GET_ROWS, 2, 4096);
    run.exec.n_src = 2;
    run.exec.src[0] = &table.view;
    run.exec.src[1] = &index.view;
    run.exec.dst = &list.view;
    check_remember(&list);
    const uint32_t status = check_run_op(&run, htp_gather);
    uint32_t bad = 0;
    for (uint32_t m = 0; expected != NULL && m < matrices; m++) {
        for (uint32_t i = 0; i < 6; i++) {
            const uint8_t *row = htp_row(&rows.view, (uint32_t)index_at(&index.view, i, m, 0), m, 0);
            check_convert_row(type, HTP_TYPE_F32, (uint8_t *)expected, row, k);
            bad += memcmp(htp_row(&list.view, i, m, 0), expected, k * 4) != 0;
        }
    }
    check_true(c, status == HTP_STATUS_OK && bad == 0 && check_unchanged(&list, false),
               "get_rows of tiles, type %u, [%u,%u,%u]: %u rows differ", (unsigned)type, (unsigned)k, (unsigned)n,
               (unsigned)matrices, (unsigned)bad);
    free(expected);
    check_run_free(&run);
    check_free(&rows);
    check_free(&table);
    check_free(&list);
    check_free(&index);
}

/* ---- what is refused ---- */

static void bad_indices(struct check *c) {
    static const struct shape shape = {{64, 6, 2, 2}, 5, {1, 1}};
    static const int64_t wrong[] = {-1, 6, INT32_MAX, INT32_MIN, (int64_t)1 << 32, INT64_MIN};
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        for (uint32_t form = 0; form < 4; form++) {
            const uint32_t index_type = form < 2 ? HTP_TYPE_I64 : HTP_TYPE_I32;
            if (index_type == HTP_TYPE_I32 && wrong[i] != (int32_t)wrong[i])
                continue;
            struct scene s;
            make_scene(&s, &shape, form % 2 != 0, HTP_TYPE_F32, HTP_TYPE_F16, index_type, 0);
            memcpy(check_block(&s.index.view, 3, 1, 1, 0), &wrong[i], htp_type_bytes(index_type));
            check_remember(&s.table);
            check_remember(&s.list);
            const uint32_t status = check_run_op(&s.run, htp_gather);
            check_true(c, status == HTP_STATUS_BAD_INDEX && s.run.exec.detail == 18, "index %lld: status %u, detail %u",
                       (long long)wrong[i], (unsigned)status, (unsigned)s.run.exec.detail);
            check_true(c, check_unchanged(&s.table, false) && check_unchanged(&s.list, false),
                       "index %lld: wrote outside", (long long)wrong[i]);
            free_scene(&s);
        }
    }
}

static uint32_t status_of(struct scene *s) { return check_run_op(&s->run, htp_gather); }

static void refuses(struct check *c) {
    static const struct shape shape = {{64, 6, 2, 2}, 5, {1, 1}};
    struct scene s;
    make_scene(&s, &shape, false, HTP_TYPE_F32, HTP_TYPE_F32, HTP_TYPE_I32, 0);
    struct htp_view *index = &s.index.view, *table = &s.table.view, *list = &s.list.view;
    index->type = HTP_TYPE_F32;
    check_true(c, status_of(&s) == HTP_STATUS_UNSUPPORTED, "f32 indices");
    index->type = HTP_TYPE_I32;
    index->ne[0] = 4;
    check_true(c, status_of(&s) == HTP_STATUS_BAD_OP, "fewer indices than rows");
    index->ne[0] = 5;
    table->ne[2] = 1;
    check_true(c, status_of(&s) == HTP_STATUS_BAD_OP, "fewer matrices in src0");
    table->ne[2] = 2;
    table->ne[0] = 63;
    check_true(c, status_of(&s) == HTP_STATUS_BAD_OP, "other length of rows");
    table->ne[0] = 64;
    table->nb[0] = 8;
    check_true(c, status_of(&s) == HTP_STATUS_UNSUPPORTED, "elements apart");
    table->nb[0] = 4;
    list->type = HTP_TYPE_Q8_0;
    check_true(c, status_of(&s) == HTP_STATUS_UNSUPPORTED, "stride of another type");
    list->type = HTP_TYPE_F32;
    s.run.exec.src[1] = NULL;
    check_true(c, status_of(&s) == HTP_STATUS_BAD_OP, "no indices");
    s.run.exec.src[1] = index;
    index->ne[0] = list->ne[1] = 0;
    check_remember(&s.list);
    check_true(c, status_of(&s) == HTP_STATUS_OK && check_unchanged(&s.list, true), "no rows");
    free_scene(&s);
}

void check_gather(struct check *c) {
    conversions(c);
    shapes(c);
    for (uint32_t i = 0; i < TYPES; i++) {
        const uint32_t type = types[i];
        if (htp_tile_quant_vectors(type) == 0)
            continue;
        const uint32_t block = htp_type_elements(type);
        tiles(c, type, block, 1, 1);
        tiles(c, type, 2 * block, 33, 3);
        tiles(c, type, 3 * block, 64, 2);
        tiles(c, type, 18 * block, 50, 1);
    }
    bad_indices(c);
    refuses(c);
}
