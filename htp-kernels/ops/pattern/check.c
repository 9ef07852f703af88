/* Family pattern against plain loops: types, strides, and arguments that must not be believed. */
#include "check/check.h"

#include <math.h>
#include <string.h>

#include "check/row_ref.h"
#include "htp/params.h"

uint32_t htp_pattern(struct htp_exec *exec);

struct scene {
    struct check_tensor src, part, dst, before; /* before: dst as it should have been taken from */
    struct check_run run;
};

/* form: of the strides (check_strides) of dst, and of src in the other order */
static void open_scene(struct scene *s, uint32_t op, uint32_t type, const uint32_t *src_ne, const uint32_t *dst_ne,
                       uint32_t form) {
    uint32_t src_nb[4], dst_nb[4];
    check_strides(type, src_ne, form == 0 ? 0 : 3 - form, src_nb);
    check_strides(type, dst_ne, form, dst_nb);
    check_make(&s->src, type, HTP_LAYOUT_ROWS, src_ne, src_nb, form * 12);
    check_make(&s->dst, type, HTP_LAYOUT_ROWS, dst_ne, dst_nb, form * 8);
    check_fill(&s->src.view, 4);
    check_remember(&s->src);
    check_remember(&s->dst);
    check_run_init(&s->run, op, 1 + check_below(4), 4096);
    s->run.exec.n_src = 1;
    s->run.exec.src[0] = &s->src.view;
    s->run.exec.dst = &s->dst.view;
}

static void close_scene(struct scene *s) {
    check_run_free(&s->run);
    check_free(&s->src);
    check_free(&s->dst);
}

/* what dst[i] should be */
typedef double expected_fn(const struct scene *s, const uint32_t *i);

static double value_at(const struct htp_view *v, const uint32_t *i) { return check_get(v, i[0], i[1], i[2], i[3]); }

static double expected_fill(const struct scene *s, const uint32_t *i) {
    (void)i;
    struct htp_fill_params p;
    memcpy(&p, s->run.params, sizeof(p));
    return p.value;
}

static double expected_arange(const struct scene *s, const uint32_t *i) {
    struct htp_arange_params p;
    memcpy(&p, s->run.params, sizeof(p));
    const float product = p.step * (float)i[0];
    return p.start + product;
}

static double expected_band(const struct scene *s, const uint32_t *i) {
    struct htp_band_params p;
    memcpy(&p, s->run.params, sizeof(p));
    const int64_t d = (int64_t)i[0] - i[1];
    const uint32_t at[4] = {i[0], s->src.view.ne[1] == 1 ? 0 : i[1], i[2], i[3]};
    return d >= p.low && d <= p.high ? value_at(&s->src.view, at) : p.outside;
}

static double expected_roll(const struct scene *s, const uint32_t *i) {
    struct htp_roll_params p;
    memcpy(&p, s->run.params, sizeof(p));
    uint32_t at[4];
    for (uint32_t d = 0; d < 4; d++)
        at[d] = (i[d] + s->src.view.ne[d] - p.by[d]) % s->src.view.ne[d];
    return value_at(&s->src.view, at);
}

static double expected_timestep(const struct scene *s, const uint32_t *i) {
    struct htp_timestep_params p;
    memcpy(&p, s->run.params, sizeof(p));
    const uint32_t half = s->dst.view.ne[0] / 2, j = i[0] % half;
    const uint32_t at[4] = {i[1], 0, 0, 0};
    if (i[0] >= 2 * half)
        return 0;
    /* the angle as f32 has it: a last place of a large one is more than anything else */
    const float frequency = (float)exp2(-(double)((float)j * p.step));
    const double angle = (float)value_at(&s->src.view, at) * frequency;
    return i[0] < half ? cos(angle) : sin(angle);
}

/* Runs and compares. limit: the largest error; 0: the same value. */
static void compare(struct check *c, struct scene *s, expected_fn *expected, double limit, const char *name,
                    uint32_t form) {
    const struct htp_view *const dst = s->run.exec.dst;
    const uint32_t *ne = dst->ne;
    double error = check_run_op(&s->run, htp_pattern) == HTP_STATUS_OK ? 0 : INFINITY;
    for (uint32_t r = 0; r < htp_rows(dst); r++) {
        for (uint32_t i0 = 0; i0 < ne[0]; i0++) {
            const uint32_t i[4] = {i0, r % ne[1], r / ne[1] % ne[2], r / ne[1] / ne[2]};
            const double x = value_at(dst, i), y = expected(s, i);
            const double e = x == y || (isnan(x) && isnan(y)) ? 0 : isfinite(x) && isfinite(y) ? fabs(x - y) : INFINITY;
            error = e <= error ? error : e;
        }
    }
    check_case(c, error, limit, "%s [%u,%u,%u,%u] strides %u", name, (unsigned)ne[0], (unsigned)ne[1], (unsigned)ne[2],
               (unsigned)ne[3], (unsigned)form);
    check_true(c, check_unchanged(&s->dst, false) && check_unchanged(&s->src, true), "%s [%u,...] wrote beside its output",
               name, (unsigned)ne[0]);
}

#define SET_PARAMS(scene, ...) \
    do {                                                       \
        memcpy((scene).run.params, &(__VA_ARGS__), sizeof(__VA_ARGS__)); \
    } while (0)

static const uint32_t shapes[][4] = {{1, 1, 1, 1},   {10, 10, 3, 2}, {33, 33, 2, 1},    {79, 79, 3, 1},
                                     {256, 40, 1, 2}, {64, 300, 1, 1}, {9000, 5, 1, 1}, {20001, 2, 1, 1}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void constants(struct check *c, const uint32_t *ne, uint32_t form) {
    struct scene s;
    for (uint32_t k = 0; k < 2; k++) {
        open_scene(&s, HTP_OP_FILL, k == 0 ? HTP_TYPE_F32 : HTP_TYPE_F16, ne, ne, form);
        const struct htp_fill_params p = {-152.5f};
        SET_PARAMS(s, p);
        compare(c, &s, expected_fill, 0, "fill", form);
        close_scene(&s);
    }
    const uint32_t row[4] = {ne[0], 1, 1, 1};
    open_scene(&s, HTP_OP_ARANGE, HTP_TYPE_F32, row, row, form == 2 ? 0 : form);
    const struct htp_arange_params p = {check_uniform(), check_uniform()};
    SET_PARAMS(s, p);
    s.run.exec.n_src = 0;
    compare(c, &s, expected_arange, 0.002, "arange", form);
    close_scene(&s);
}

static void bands(struct check *c, const uint32_t *ne, uint32_t form) {
    static const struct htp_band_params bands[] = {{INT32_MIN, -1, 0}, {INT32_MIN, 0, 0}, {0, INT32_MAX, 0},
                                                   {1, INT32_MAX, 0},  {INT32_MIN, 5, -INFINITY}, {5, -5, 1}};
    struct scene s;
    for (uint32_t k = 0; k < 6; k++) {
        open_scene(&s, k < 4 ? HTP_OP_TRI : HTP_OP_DIAG_MASK_INF, HTP_TYPE_F32, ne, ne, form);
        SET_PARAMS(s, bands[k]);
        compare(c, &s, expected_band, 0, "band", form);
        close_scene(&s);
    }
    const uint32_t row[4] = {ne[1], 1, ne[2], ne[3]}, square[4] = {ne[1], ne[1], ne[2], ne[3]};
    open_scene(&s, HTP_OP_DIAG, HTP_TYPE_F32, row, square, form);
    const struct htp_band_params p = {0, 0, 0};
    SET_PARAMS(s, p);
    compare(c, &s, expected_band, 0, "diag", form);
    close_scene(&s);
}

static void in_place(struct check *c) {
    struct scene s;
    const uint32_t ne[4] = {100, 40, 2, 1};
    open_scene(&s, HTP_OP_DIAG_MASK_INF, HTP_TYPE_F32, ne, ne, 0);
    const struct htp_band_params p = {INT32_MIN, 3, -INFINITY};
    SET_PARAMS(s, p);
    memcpy(s.dst.view.data, s.src.view.data, 100 * 40 * 2 * 4);
    s.run.exec.src[0] = &s.dst.view;
    compare(c, &s, expected_band, 0, "band in place", 0);
    close_scene(&s);
}

static void rolls(struct check *c, const uint32_t *ne, uint32_t form) {
    struct scene s;
    open_scene(&s, HTP_OP_ROLL, HTP_TYPE_F32, ne, ne, form);
    const struct htp_roll_params p = {{check_below(ne[0]), check_below(ne[1]), check_below(ne[2]), check_below(ne[3])}};
    SET_PARAMS(s, p);
    compare(c, &s, expected_roll, 0, "roll", form);
    close_scene(&s);
}

static void embeddings(struct check *c) {
    static const uint32_t dims[] = {2, 3, 15, 64, 65, 320, 321};
    for (uint32_t k = 0; k < 14; k++) {
        struct scene s;
        const uint32_t row[4] = {1 + check_below(5), 1, 1, 1}, ne[4] = {dims[k % 7], row[0], 1, 1};
        open_scene(&s, HTP_OP_TIMESTEP_EMBEDDING, HTP_TYPE_F32, row, ne, k % 2);
        for (uint32_t i = 0; i < row[0]; i++)
            check_set(&s.src.view, i, 0, 0, 0, k < 7 ? check_uniform() * 1000 : check_uniform() * 1e6f);
        check_remember(&s.src);
        const struct htp_timestep_params p = {13.287712f / (float)(ne[0] / 2)};
        SET_PARAMS(s, p);
        compare(c, &s, expected_timestep, k < 7 ? 2e-4 : 0.2, "timestep embedding", k % 2);
        close_scene(&s);
    }
}

/* ---- ACC and SET ---- */

static void put(struct check *c, uint32_t op, uint32_t type, const uint32_t *ne, const uint32_t *part_ne, uint32_t form,
                bool same) {
    struct scene s;
    uint32_t nb[4], part_nb[4];
    open_scene(&s, op, type, ne, ne, 0);
    check_strides(type, ne, 0, nb);
    check_strides(type, part_ne, form, part_nb);
    check_make(&s.part, type, HTP_LAYOUT_ROWS, part_ne, part_nb, 4);
    check_fill(&s.part.view, 4);
    struct check_tensor expected;
    check_make(&expected, type, HTP_LAYOUT_ROWS, ne, NULL, 0);
    const size_t bytes = (size_t)htp_rows(&s.dst.view) * ne[0] * 4;
    memcpy(expected.view.data, s.src.view.data, bytes);
    struct htp_put_params p = {{nb[1], nb[2], nb[3]}, 0};
    uint32_t at[4];
    for (uint32_t d = 0; d < 4; d++) {
        at[d] = check_below(ne[d] - part_ne[d] + 1);
        p.offset += at[d] * nb[d];
    }
    for (uint32_t r = 0; r < htp_rows(&s.part.view); r++) {
        const uint32_t i[3] = {r % part_ne[1], r / part_ne[1] % part_ne[2], r / part_ne[1] / part_ne[2]};
        for (uint32_t i0 = 0; i0 < part_ne[0]; i0++) {
            const uint8_t *from = htp_row(&s.part.view, i[0], i[1], i[2]) + (size_t)i0 * 4;
            uint8_t *to = htp_row(&expected.view, i[0] + at[1], i[1] + at[2], i[2] + at[3]) + (size_t)(i0 + at[0]) * 4;
            float x, y;
            memcpy(&x, from, 4);
            memcpy(&y, to, 4);
            y += x;
            memcpy(to, op == HTP_OP_ACC ? (const void *)&y : from, 4);
        }
    }
    SET_PARAMS(s, p);
    if (same) {
        memcpy(s.dst.view.data, s.src.view.data, bytes);
        s.run.exec.src[0] = &s.dst.view;
    }
    s.run.exec.n_src = 2;
    s.run.exec.src[1] = &s.part.view;
    check_remember(&s.part);
    const bool done = check_run_op(&s.run, htp_pattern) == HTP_STATUS_OK;
    check_true(c, done && memcmp(expected.view.data, s.dst.view.data, bytes) == 0, "%s [%u,%u,..] in [%u,%u,..] strides %u",
               op == HTP_OP_ACC ? "acc" : "set", (unsigned)part_ne[0], (unsigned)part_ne[1], (unsigned)ne[0],
               (unsigned)ne[1], (unsigned)form);
    check_true(c, check_unchanged(&s.dst, false) && check_unchanged(&s.part, true), "acc or set wrote beside its output");
    p.offset = (uint32_t)bytes;
    SET_PARAMS(s, p);
    check_remember(&s.dst);
    check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP && check_unchanged(&s.dst, true), "region outside");
    p.offset = 2;
    SET_PARAMS(s, p);
    check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP, "region between elements");
    p = (struct htp_put_params){{UINT32_MAX - 3, UINT32_MAX - 3, UINT32_MAX - 3}, UINT32_MAX - 3};
    SET_PARAMS(s, p);
    check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP, "region of huge strides");
    check_free(&expected);
    check_free(&s.part);
    close_scene(&s);
}

static void regions(struct check *c) {
    static const uint32_t whole[][4] = {{6, 5, 4, 3}, {256, 17, 2, 3}, {4000, 33, 1, 1}, {1, 1, 1, 1}};
    static const uint32_t part[][4] = {{3, 5, 2, 2}, {128, 16, 2, 3}, {3333, 31, 1, 1}, {1, 1, 1, 1}};
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t form = 0; form < 3; form++) {
            put(c, HTP_OP_ACC, HTP_TYPE_F32, whole[k], part[k], form, form == 1);
            put(c, HTP_OP_SET, HTP_TYPE_F32, whole[k], part[k], form, form == 2);
            put(c, HTP_OP_SET, HTP_TYPE_I32, whole[k], part[k], form, form == 0);
        }
    }
}

static void refuses(struct check *c) {
    struct scene s;
    const uint32_t ne[4] = {32, 3, 1, 1}, other[4] = {32, 4, 1, 1};
    static const uint32_t unary[] = {HTP_OP_TRI, HTP_OP_DIAG, HTP_OP_DIAG_MASK_INF, HTP_OP_ROLL,
                                     HTP_OP_TIMESTEP_EMBEDDING};
    open_scene(&s, HTP_OP_TRI, HTP_TYPE_F32, ne, other, 0);
    for (uint32_t k = 0; k < 5; k++) {
        s.run.exec.op = unary[k];
        check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP, "op %u: shapes", (unsigned)unary[k]);
    }
    s.run.exec.op = HTP_OP_ARANGE;
    check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP, "rows of a sequence");
    s.run.exec.op = HTP_OP_ACC;
    check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP, "nothing to add");
    s.run.exec.op = HTP_OP_ROLL;
    s.run.exec.dst = &s.src.view;
    const struct htp_roll_params p = {{32, 0, 0, 0}};
    SET_PARAMS(s, p);
    check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP, "a shift as long as the row");
    s.run.exec.n_src = 0;
    for (uint32_t k = 0; k < 5; k++) {
        s.run.exec.op = unary[k];
        check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_BAD_OP, "op %u: no source", (unsigned)unary[k]);
    }
    close_scene(&s);
    open_scene(&s, HTP_OP_TRI, HTP_TYPE_I32, ne, ne, 0);
    for (uint32_t k = 0; k < 5; k++) {
        s.run.exec.op = unary[k];
        check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_UNSUPPORTED, "op %u: i32", (unsigned)unary[k]);
    }
    s.run.exec.op = HTP_OP_FILL;
    check_true(c, check_run_op(&s.run, htp_pattern) == HTP_STATUS_UNSUPPORTED, "fill i32");
    close_scene(&s);
}

void check_pattern(struct check *c) {
    for (uint32_t k = 0; k < SHAPES; k++) {
        for (uint32_t form = 0; form < 3; form++) {
            constants(c, shapes[k], form);
            bands(c, shapes[k], form);
            rolls(c, shapes[k], form);
        }
    }
    in_place(c);
    embeddings(c);
    regions(c);
    refuses(c);
}
