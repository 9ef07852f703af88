/* ADD, SUB, MUL, DIV, ADD_ID against f64, rounded to the type. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hvx/emul/half.h"

uint32_t htp_binary(struct htp_exec *exec);

struct types {
    uint32_t a, b, dst;
};

struct shape {
    uint32_t a[4], b[4];
    uint32_t a_form, b_form, dst_form; /* of strides, see make_strides */
    uint32_t alias;                    /* 0: none, 1: dst is src0, 2: dst is src1 */
    bool special;                      /* zeros, infinities, NaN among the values */
    bool streams;                      /* large enough to pass through VTCM */
};

/* 0 contiguous; 1 rows apart; 2 elements apart; 3 dimensions 0 and 1 swapped; 4 first element off the boundary */
static void make_strides(const uint32_t *ne, uint32_t size, uint32_t form, uint32_t *nb) {
    nb[0] = form == 2 ? 2 * size : size;
    nb[1] = ne[0] * nb[0] + (form == 1 || form == 4 ? 3 * size : 0);
    if (form == 3) {
        nb[1] = size;
        nb[0] = ne[1] * size;
    }
    nb[2] = form == 3 ? ne[0] * ne[1] * size : nb[1] * ne[1];
    nb[3] = nb[2] * ne[2];
}

static float random_value(bool special) {
    static const float values[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-7f, 65504.0f};
    if (special && check_below(3) == 0)
        return values[check_below(7)];
    const float x = check_uniform() * 4;
    return fabsf(x) < 0.25f ? x + copysignf(0.5f, x) : x;
}

static void fill(const struct htp_view *v, bool special) {
    for (uint32_t i3 = 0; i3 < v->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < v->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < v->ne[1]; i1++)
                for (uint32_t i0 = 0; i0 < v->ne[0]; i0++)
                    check_set(v, i0, i1, i2, i3, random_value(special));
}

static double apply(uint32_t op, double a, double b) {
    switch (op) {
    case HTP_OP_ADD:
        return a + b;
    case HTP_OP_SUB:
        return a - b;
    case HTP_OP_MUL:
        return a * b;
    default:
        return a / b;
    }
}

/* to nearest even, as the type stores it */
static double rounded(uint32_t type, float x) {
    if (type == HTP_TYPE_F16)
        return hvx_half_to_float(hvx_float_to_half(x));
    if (type == HTP_TYPE_BF16 && !isnan(x)) {
        const uint32_t bits = hvx_float_bits(x);
        return hvx_bits_float((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
    }
    return x;
}

static double *reference(uint32_t op, uint32_t type, const struct htp_view *a, const struct htp_view *b) {
    double *out = malloc((size_t)htp_rows(a) * a->ne[0] * sizeof(double)), *p = out;
    const uint32_t *m = b->ne;
    for (uint32_t i3 = 0; out != NULL && i3 < a->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < a->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < a->ne[1]; i1++)
                for (uint32_t i0 = 0; i0 < a->ne[0]; i0++) {
                    const float r = (float)apply(op, check_get(a, i0, i1, i2, i3),
                                                 check_get(b, i0 % m[0], i1 % m[1], i2 % m[2], i3 % m[3]));
                    *p++ = rounded(type, r);
                }
    return out;
}

/* NMSE of the finite results; a result of another kind (zero of another sign counts as equal) is an error of 1 */
static double compare(const struct htp_view *v, const double *expected) {
    double error = 0, sum = 0;
    for (uint32_t i3 = 0; i3 < v->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < v->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < v->ne[1]; i1++)
                for (uint32_t i0 = 0; i0 < v->ne[0]; i0++) {
                    const double x = check_get(v, i0, i1, i2, i3), e = *expected++;
                    if (isnan(x) != isnan(e) || ((isinf(x) || isinf(e)) && x != e))
                        return 1;
                    if (isfinite(e)) {
                        error += (x - e) * (x - e);
                        sum += e * e;
                    }
                }
    return sum > 0 ? error / sum : error;
}

static void run_shape(struct check *c, uint32_t op, const struct types *type, const struct shape *s) {
    struct check_tensor a, b, dst;
    uint32_t nb_a[4], nb_b[4], nb_dst[4];
    make_strides(s->a, check_type_size(type->a), s->a_form, nb_a);
    make_strides(s->b, check_type_size(type->b), s->b_form, nb_b);
    make_strides(s->a, check_type_size(type->dst), s->dst_form, nb_dst);
    check_make(&a, type->a, HTP_LAYOUT_ROWS, s->a, nb_a, s->a_form == 4 ? 12 : 0);
    check_make(&b, type->b, HTP_LAYOUT_ROWS, s->b, nb_b, s->b_form == 4 ? 20 : 0);
    check_make(&dst, type->dst, HTP_LAYOUT_ROWS, s->a, nb_dst, s->dst_form == 4 ? 36 : 0);
    fill(&a.view, s->special);
    fill(&b.view, s->special);
    double *expected = reference(op, type->dst, &a.view, &b.view);
    check_remember(&a);
    check_remember(&b);
    check_remember(&dst);
    const uint32_t alias = (s->alias == 1 ? type->a : type->b) == type->dst ? s->alias : 0;
    struct check_tensor *out = alias == 1 ? &a : alias == 2 ? &b : &dst;
    struct check_run run;
    check_run_init(&run, op, 1 + check_below(4), s->streams ? 1 << 20 : 4096);
    run.exec.n_src = 2;
    run.exec.src[0] = &a.view;
    run.exec.src[1] = &b.view;
    run.exec.dst = &out->view;
    const uint32_t status = check_run_op(&run, htp_binary);
    /* f16: a last place that differs is worth (2^-11)^2 of the value and must be rare; there is none to be expected */
    check_case(c, status != HTP_STATUS_OK ? 1 : compare(&out->view, expected), 1e-10,
               "op %u types %u %u %u [%u,%u,%u,%u] with [%u,%u,%u,%u], strides %u %u %u, alias %u", (unsigned)op,
               (unsigned)type->a, (unsigned)type->b, (unsigned)type->dst, (unsigned)s->a[0], (unsigned)s->a[1],
               (unsigned)s->a[2], (unsigned)s->a[3],
               (unsigned)s->b[0], (unsigned)s->b[1], (unsigned)s->b[2], (unsigned)s->b[3], (unsigned)s->a_form,
               (unsigned)s->b_form, (unsigned)s->dst_form, (unsigned)alias);
    check_true(c, check_unchanged(&a, out != &a) && check_unchanged(&b, out != &b) && check_unchanged(out, false),
               "op %u [%u,...] wrote beside its output", (unsigned)op, (unsigned)s->a[0]);
    check_true(c, check_vtcm_intact(&run) && (!s->streams || check_vtcm_used(&run)),
               "op %u types %u %u %u [%u,...] does not pass through VTCM as it should", (unsigned)op, (unsigned)type->a,
               (unsigned)type->b, (unsigned)type->dst, (unsigned)s->a[0]);
    free(expected);
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&dst);
}

static void refuses(struct check *c) {
    struct check_tensor a, b, h;
    const uint32_t ne[4] = {32, 4, 1, 1}, other[4] = {32, 3, 1, 1};
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, other, NULL, 0);
    check_make(&h, HTP_TYPE_F16, HTP_LAYOUT_ROWS, ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_ADD, 1, 4096);
    run.exec.n_src = 2;
    run.exec.src[0] = run.exec.src[1] = &a.view;
    run.exec.dst = &h.view;
    check_true(c, check_run_op(&run, htp_binary) == HTP_STATUS_UNSUPPORTED, "f32 into f16");
    run.exec.dst = &a.view;
    run.exec.src[1] = &h.view;
    check_true(c, check_run_op(&run, htp_binary) == HTP_STATUS_UNSUPPORTED, "f32 with f16");
    run.exec.dst = &a.view;
    run.exec.src[1] = &b.view;
    check_true(c, check_run_op(&run, htp_binary) == HTP_STATUS_BAD_OP, "src1 that does not repeat into src0");
    run.exec.src[1] = NULL;
    check_true(c, check_run_op(&run, htp_binary) == HTP_STATUS_BAD_OP, "no src1");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&h);
}

/* ---- ADD_ID ---- */

struct add_id {
    struct check_tensor a, b, ids, dst;
    struct check_run run;
};

/* ids: a view of wider rows */
static void make_add_id(struct add_id *t, uint32_t length, uint32_t used, uint32_t tokens, uint32_t experts,
                        uint32_t form) {
    const uint32_t a_ne[4] = {length, used, tokens, 1}, b_ne[4] = {length, experts, 1, 1};
    const uint32_t id_ne[4] = {used, tokens, 1, 1};
    const uint32_t id_step = form == 2 ? 8 : 4, id_row = used * id_step + 4 * (form % 3);
    const uint32_t id_nb[4] = {id_step, id_row, id_row * tokens, id_row * tokens};
    uint32_t nb[4], b_nb[4];
    make_strides(a_ne, 4, form, nb);
    make_strides(b_ne, 4, form, b_nb);
    check_make(&t->a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, nb, form == 4 ? 12 : 0);
    check_make(&t->b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, b_ne, b_nb, form == 4 ? 20 : 0);
    check_make(&t->dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, NULL, form == 4 ? 36 : 0);
    check_make(&t->ids, HTP_TYPE_I32, HTP_LAYOUT_ROWS, id_ne, id_nb, 0);
    fill(&t->a.view, false);
    fill(&t->b.view, false);
    for (uint32_t i = 0; i < used * tokens; i++) {
        const int32_t id = (int32_t)check_below(experts);
        memcpy(t->ids.view.data + (size_t)(i % used) * id_nb[0] + (size_t)(i / used) * id_nb[1], &id, 4);
    }
    check_run_init(&t->run, HTP_OP_ADD_ID, 1 + check_below(4), 4096);
    t->run.exec.n_src = 3;
    t->run.exec.src[0] = &t->a.view;
    t->run.exec.src[1] = &t->b.view;
    t->run.exec.src[2] = &t->ids.view;
    t->run.exec.dst = &t->dst.view;
}

static int32_t *id_at(const struct add_id *t, uint32_t use, uint32_t token) {
    return (int32_t *)(void *)(t->ids.view.data + (size_t)use * t->ids.view.nb[0] + (size_t)token * t->ids.view.nb[1]);
}

static void free_add_id(struct add_id *t) {
    check_run_free(&t->run);
    check_free(&t->a);
    check_free(&t->b);
    check_free(&t->ids);
    check_free(&t->dst);
}

static void run_add_id(struct check *c, uint32_t length, uint32_t used, uint32_t tokens, uint32_t experts,
                       uint32_t form) {
    struct add_id t;
    make_add_id(&t, length, used, tokens, experts, form);
    double *const expected = malloc((size_t)length * used * tokens * sizeof(double)), *p = expected;
    for (uint32_t token = 0; expected != NULL && token < tokens; token++)
        for (uint32_t use = 0; use < used; use++)
            for (uint32_t i = 0; i < length; i++)
                *p++ = (float)(check_get(&t.a.view, i, use, token, 0) +
                               check_get(&t.b.view, i, (uint32_t)*id_at(&t, use, token), 0, 0));
    const bool in_place = form == 0 && check_below(2) == 0;
    if (in_place)
        t.run.exec.dst = &t.a.view;
    check_remember(&t.dst);
    const uint32_t status = check_run_op(&t.run, htp_binary);
    check_case(c, status != HTP_STATUS_OK || expected == NULL ? 1 : compare(t.run.exec.dst, expected), 1e-10,
               "add_id [%u,%u,%u] of %u, strides %u%s", (unsigned)length, (unsigned)used, (unsigned)tokens,
               (unsigned)experts, (unsigned)form, in_place ? " in place" : "");
    check_true(c, check_unchanged(&t.dst, in_place), "add_id [%u,...] wrote beside its output", (unsigned)length);
    free(expected);
    free_add_id(&t);
}

static void add_id_refuses(struct check *c) {
    for (uint32_t i = 0; i < 2; i++) {
        struct add_id t;
        make_add_id(&t, 40, 3, 50, 7, 0);
        *id_at(&t, 1, 20) = i == 0 ? 7 : -1;
        *id_at(&t, 2, 45) = 1000;
        t.run.exec.n_threads = 1;
        check_true(c, check_run_op(&t.run, htp_binary) == HTP_STATUS_BAD_INDEX && t.run.exec.detail == 20 * 3 + 1,
                   "add_id with an id out of range");
        free_add_id(&t);
    }
    struct add_id t;
    make_add_id(&t, 40, 3, 5, 7, 0);
    t.run.exec.src[1] = &t.a.view;
    check_true(c, check_run_op(&t.run, htp_binary) == HTP_STATUS_BAD_OP, "add_id with a b of three dimensions");
    t.run.exec.src[1] = &t.b.view;
    t.run.exec.src[2] = &t.a.view;
    check_true(c, check_run_op(&t.run, htp_binary) == HTP_STATUS_UNSUPPORTED, "add_id with f32 ids");
    t.run.exec.n_src = 2;
    check_true(c, check_run_op(&t.run, htp_binary) == HTP_STATUS_BAD_OP, "add_id without ids");
    free_add_id(&t);
}

static void add_id(struct check *c) {
    for (uint32_t form = 0; form < 5; form++) {
        run_add_id(c, 32, 4, 9, 8, form);
        run_add_id(c, 129, 1, 33, 4, form);
        run_add_id(c, 2880, 3, 7, 5, form);
    }
    add_id_refuses(c);
}

void check_binary(struct check *c) {
    static const struct shape shapes[] = {
        {{1, 1, 1, 1}, {1, 1, 1, 1}, 0, 0, 0, 0, false, false}, {{32, 1, 1, 1}, {32, 1, 1, 1}, 0, 0, 0, 0, true, false},
        {{33, 5, 1, 1}, {33, 5, 1, 1}, 0, 0, 0, 0, true, false},
        {{33, 5, 1, 1}, {33, 5, 1, 1}, 4, 4, 4, 0, true, false},
        {{100, 3, 2, 2}, {100, 1, 2, 1}, 1, 0, 4, 0, false, false},
        {{257, 4, 3, 1}, {1, 4, 1, 1}, 0, 0, 1, 0, false, false},
        {{64, 4, 1, 1}, {16, 2, 1, 1}, 0, 0, 0, 0, false, false},
        {{192, 4, 1, 1}, {64, 2, 1, 1}, 0, 4, 1, 0, false, false},
        {{96, 6, 1, 1}, {3, 1, 1, 1}, 4, 0, 0, 0, false, false},
        {{48, 7, 2, 1}, {48, 7, 2, 1}, 2, 0, 0, 0, false, false},
        {{48, 7, 2, 1}, {48, 7, 2, 1}, 0, 3, 2, 0, false, false},
        {{48, 7, 2, 1}, {48, 1, 2, 1}, 3, 0, 3, 0, true, false},
        {{1000, 3, 1, 1}, {1000, 3, 1, 1}, 4, 0, 0, 1, false, false},
        {{1000, 3, 1, 1}, {1000, 3, 1, 1}, 0, 4, 0, 2, true, false},
        {{70, 3, 2, 1}, {70, 1, 1, 1}, 3, 0, 0, 1, false, false},
        {{2048, 17, 1, 1}, {2048, 1, 1, 1}, 0, 0, 0, 0, false, false},
        {{31, 2, 3, 4}, {31, 2, 3, 4}, 1, 1, 1, 0, true, false},
        {{200, 2, 3, 4}, {1, 1, 1, 1}, 4, 2, 0, 0, false, false},
        {{40, 2, 1, 1}, {1, 2, 1, 1}, 2, 0, 0, 0, false, false},
        {{512, 6, 1, 1}, {512, 3, 1, 1}, 0, 0, 0, 1, true, false},
        {{512, 6, 1, 1}, {512, 6, 1, 1}, 0, 0, 0, 2, true, false},
        {{384, 6, 2, 1}, {1, 2, 2, 1}, 0, 0, 0, 1, false, false},
        {{512, 6, 1, 1}, {64, 6, 1, 1}, 0, 0, 0, 1, false, false},
        {{129, 40, 1, 1}, {129, 40, 1, 1}, 0, 0, 4, 0, true, false},
    };
    static const struct shape large[] = {
        {{2048, 90, 1, 1}, {2048, 90, 1, 1}, 0, 0, 0, 1, false, true},
        {{1001, 50, 2, 2}, {1001, 50, 1, 2}, 1, 4, 1, 0, true, true},
        {{640, 100, 3, 1}, {640, 1, 1, 1}, 4, 0, 4, 0, true, true},
        {{300, 200, 3, 1}, {1, 200, 3, 1}, 1, 0, 1, 1, false, true},
        {{512, 100, 4, 1}, {128, 100, 1, 1}, 0, 0, 0, 0, false, true},
        {{600, 130, 2, 1}, {200, 1, 2, 1}, 0, 1, 0, 1, true, true},
        {{4100, 51, 1, 1}, {4100, 51, 1, 1}, 0, 0, 0, 2, false, true},
        {{512, 300, 2, 1}, {512, 30, 1, 1}, 0, 0, 0, 0, false, false}, /* stays: repeats with a period */
    };
    static const struct types types[] = {
        {HTP_TYPE_F32, HTP_TYPE_F32, HTP_TYPE_F32},    {HTP_TYPE_F16, HTP_TYPE_F16, HTP_TYPE_F16},
        {HTP_TYPE_BF16, HTP_TYPE_BF16, HTP_TYPE_BF16}, {HTP_TYPE_F16, HTP_TYPE_F32, HTP_TYPE_F16},
        {HTP_TYPE_BF16, HTP_TYPE_F32, HTP_TYPE_BF16},  {HTP_TYPE_F16, HTP_TYPE_F32, HTP_TYPE_F32},
        {HTP_TYPE_BF16, HTP_TYPE_F32, HTP_TYPE_F32},
    };
    for (uint32_t op = HTP_OP_ADD; op <= HTP_OP_DIV; op++) {
        for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            for (uint32_t k = 0; k < sizeof(types) / sizeof(types[0]); k++)
                run_shape(c, op, &types[k], &shapes[i]);
        }
        for (uint32_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
            run_shape(c, op, &types[0], &large[i]);
            run_shape(c, op, &types[1 + (op + i) % 6], &large[i]);
        }
    }
    add_id(c);
    refuses(c);
}
