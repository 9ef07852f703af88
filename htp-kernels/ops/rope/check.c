/* ROPE against its definition: modes, types, strides, positions of every size; what the kernel has to refuse. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "htp/params.h"
#include "hvx/angle.h"
#include "hvx/emul/half.h"
#include "ops/rope/ref.h"
#include "ops/rope/rope.h"

uint32_t htp_rope(struct htp_exec *exec);

struct shape {
    uint32_t type, ne[4];
    int32_t mode, n_dims, offset, sections[4];
    float base, freq_scale, ext_factor;
    int64_t positions; /* largest magnitude; 0: all zero */
    bool text;         /* the four positions of a token are the same */
    bool factors, in_place;
    uint32_t form; /* 0 contiguous, 1 rows apart, 2 dimensions 1 and 2 swapped, 3 off the boundary */
};

static void make_strides(const struct shape *s, uint32_t form, uint32_t *nb) {
    const uint32_t size = check_type_size(s->type);
    nb[0] = size;
    nb[1] = s->ne[0] * size + (form == 1 ? 3 * size : 0);
    nb[2] = nb[1] * s->ne[1];
    nb[3] = nb[2] * s->ne[2];
    if (form == 2) {
        nb[2] = nb[1];
        nb[1] = nb[2] * s->ne[2];
    }
}

static int32_t random_position(const struct shape *s) {
    const int64_t p = (int64_t)check_random() % (2 * s->positions + 1) - s->positions;
    return (int32_t)(s->positions < 100000 && p < 0 ? -p : p);
}

static void fill(const struct shape *s, const struct htp_view *x, const struct htp_view *positions,
                 const struct htp_view *factors) {
    for (uint32_t i3 = 0; i3 < s->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < s->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < s->ne[1]; i1++)
                for (uint32_t i = 0; i < s->ne[0]; i++)
                    check_set(x, i, i1, i2, i3, check_uniform() * 4);
    for (uint32_t i = 0; i < positions->ne[0]; i++) {
        int32_t p = random_position(s);
        if (s->text && i >= s->ne[2])
            memcpy(&p, positions->data + 4 * (i % s->ne[2]), 4);
        memcpy(positions->data + 4 * i, &p, 4);
    }
    for (uint32_t i = 0; i < factors->ne[0]; i++)
        check_set(factors, i, 0, 0, 0, 1.5f + check_uniform() * 0.9f);
}

static struct htp_rope_params params_of(const struct shape *s) {
    struct htp_rope_params p = {.mode = s->mode, .n_dims = s->n_dims, .offset = s->offset};
    memcpy(p.sections, s->sections, sizeof(p.sections));
    p.theta_scale = powf(s->base, -2.0f / (float)s->n_dims);
    p.freq_scale = s->freq_scale;
    p.ext_factor = s->ext_factor;
    p.ramp_low = s->ext_factor == 0 ? 0 : 3;
    p.ramp_inverse = s->ext_factor == 0 ? 0 : 0.125f;
    p.magnitude = s->ext_factor == 0 ? 1 : 1.25f;
    return p;
}

static double *reference(const struct htp_exec *exec) {
    const struct htp_view *v = exec->src[0];
    double *all = malloc((size_t)htp_rows(v) * v->ne[0] * sizeof(double)), *out = all;
    for (uint32_t i3 = 0; all != NULL && i3 < v->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < v->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < v->ne[1]; i1++, out += v->ne[0])
                rope_ref_row(exec, i1, i2, i3, out);
    return all;
}

static double compare(const struct htp_view *v, const double *expected) {
    double error = 0, sum = 0;
    for (uint32_t i3 = 0; i3 < v->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < v->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < v->ne[1]; i1++)
                for (uint32_t i = 0; i < v->ne[0]; i++) {
                    double e = *expected++;
                    if (v->type == HTP_TYPE_F16)
                        e = hvx_half_to_float(hvx_float_to_half((float)e));
                    const double d = check_get(v, i, i1, i2, i3) - e;
                    error += d * d;
                    sum += e * e;
                }
    return error / sum;
}

/* f16 results may be the neighbour of the expected one, now and then. Where an angle is not the plain chain of products
 * it may differ in the last place, which is much when the angle is large. */
static double limit_of(const struct shape *s) {
    const double place = ldexp((double)s->positions, -23);
    const double angles = s->factors || s->freq_scale != 1 ? place * place : 0;
    return (s->type == HTP_TYPE_F16 ? 1e-7 : 1e-12) + angles;
}

static void run_shape(struct check *c, const struct shape *s, uint32_t threads) {
    struct check_tensor x, y, positions, factors;
    uint32_t nb_x[4], nb_y[4];
    const bool sections = s->mode == HTP_ROPE_MROPE || s->mode == HTP_ROPE_VISION || s->mode == HTP_ROPE_IMROPE;
    const uint32_t p_ne[4] = {s->ne[2] * (sections ? 4 : 1), 1, 1, 1}, f_ne[4] = {s->ne[0], 1, 1, 1};
    make_strides(s, s->form, nb_x);
    make_strides(s, s->form == 2 ? 0 : s->form, nb_y);
    check_make(&x, s->type, HTP_LAYOUT_ROWS, s->ne, nb_x, s->form == 3 ? 12 : 0);
    check_make(&y, s->type, HTP_LAYOUT_ROWS, s->ne, nb_y, s->form == 3 ? 20 : 0);
    check_make(&positions, HTP_TYPE_I32, HTP_LAYOUT_ROWS, p_ne, NULL, 4);
    check_make(&factors, HTP_TYPE_F32, HTP_LAYOUT_ROWS, f_ne, NULL, 8);
    fill(s, &x.view, &positions.view, &factors.view);
    struct check_run run;
    check_run_init(&run, HTP_OP_ROPE, threads, 1 << 16);
    const struct htp_rope_params params = params_of(s);
    memcpy(run.params, &params, sizeof(params));
    struct check_tensor *out = s->in_place ? &x : &y;
    run.exec.n_src = 3;
    run.exec.src[0] = &x.view;
    run.exec.src[1] = &positions.view;
    run.exec.src[2] = s->factors ? &factors.view : NULL;
    run.exec.dst = &out->view;
    double *expected = reference(&run.exec);
    check_remember(&x);
    check_remember(&y);
    check_remember(&positions);
    const uint32_t status = check_run_op(&run, htp_rope);
    check_case(c, status != HTP_STATUS_OK ? 1 : compare(&out->view, expected), limit_of(s),
               "mode %d type %u [%u,%u,%u,%u] dims %d at %d, base %g scale %g ext %g, positions %lld%s%s%s form %u",
               (int)s->mode, (unsigned)s->type, (unsigned)s->ne[0], (unsigned)s->ne[1], (unsigned)s->ne[2],
               (unsigned)s->ne[3], (int)s->n_dims, (int)s->offset, (double)s->base, (double)s->freq_scale,
               (double)s->ext_factor, (long long)s->positions, s->text ? " text" : "", s->factors ? " factors" : "",
               s->in_place ? " in place" : "", (unsigned)s->form);
    check_true(c, check_unchanged(out, false) && (s->in_place || check_unchanged(&x, true)) &&
                      check_unchanged(&positions, true) && check_vtcm_intact(&run),
               "mode %d [%u,...] wrote beside its output", (int)s->mode, (unsigned)s->ne[0]);
    free(expected);
    check_run_free(&run);
    check_free(&x);
    check_free(&y);
    check_free(&positions);
    check_free(&factors);
}

static struct shape random_shape(int32_t mode, uint32_t row, int32_t n_dims) {
    struct shape s = {.mode = mode, .n_dims = n_dims, .base = 10000, .freq_scale = 1, .positions = 1000};
    const uint32_t ne[4] = {row, 1 + check_below(6), 1 + check_below(4), 1 + check_below(2)};
    memcpy(s.ne, ne, sizeof(ne));
    s.sections[0] = 1;
    s.type = check_below(2) ? HTP_TYPE_F32 : HTP_TYPE_F16;
    s.form = check_below(4);
    s.in_place = check_below(3) == 0;
    s.factors = check_below(2);
    s.text = check_below(3) == 0;
    if (check_below(2)) {
        s.freq_scale = 0.25f;
        s.ext_factor = check_below(2) ? 1.0f : 0;
    }
    if (mode != HTP_ROPE_VISION)
        s.offset = (int32_t)check_below((row - (uint32_t)n_dims) / 2 + 1) * 2;
    if (row < 4) /* too few for four sections */
        return s;
    const int32_t part = n_dims < 8 ? 1 : n_dims / (mode == HTP_ROPE_VISION ? 2 : 8);
    const int32_t sections[4] = {part, part, mode == HTP_ROPE_VISION ? 0 : part, check_below(2) ? part : 0};
    memcpy(s.sections, sections, sizeof(sections));
    if (mode == HTP_ROPE_VISION)
        s.sections[3] = 0;
    return s;
}

static void modes_and_shapes(struct check *c) {
    static const int32_t modes[] = {HTP_ROPE_NORMAL, HTP_ROPE_NEOX, HTP_ROPE_MROPE, HTP_ROPE_VISION, HTP_ROPE_IMROPE};
    static const struct {
        uint32_t row;
        int32_t n_dims;
    } sizes[] = {{2, 2},   {8, 6},    {16, 16},   {64, 64},   {80, 20},  {80, 32},   {80, 80},
                 {96, 96}, {128, 64}, {128, 128}, {256, 256}, {130, 66}, {192, 130}, {512, 128}};
    for (uint32_t m = 0; m < 5; m++) {
        for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            for (uint32_t round = 0; round < 6; round++) {
                const bool vision = modes[m] == HTP_ROPE_VISION;
                const uint32_t row = vision ? (sizes[i].row + 3) / 4 * 4 : sizes[i].row;
                struct shape s = random_shape(modes[m], row, vision ? (int32_t)row / 2 : sizes[i].n_dims);
                run_shape(c, &s, 1 + check_below(4));
            }
        }
    }
}

/* within the table's own reduction, at its limit, and far beyond */
static void positions(struct check *c) {
    static const int64_t sizes[] = {0, 1, 40, 131072, 204999, 300000, 1000000000, 2147483647};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t k = 0; k < 4; k++) {
            struct shape s = {.type = HTP_TYPE_F32, .ne = {128, 2, 5, 1}, .n_dims = 128, .freq_scale = 1};
            s.mode = k == 1 ? HTP_ROPE_MROPE : HTP_ROPE_NEOX;
            s.sections[0] = s.sections[1] = s.sections[2] = 16;
            s.base = k == 2 ? 1000000 : k == 3 ? 0.9f : 10000;
            s.positions = k == 3 && sizes[i] > 1000 ? 1000 : sizes[i];
            run_shape(c, &s, 1 + check_below(4));
        }
    }
}

/* hvx_angle_reduce alone, over all exponents */
static void reduction(struct check *c) {
    double worst = 0;
    int bad = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        const float angle = hvx_bits_float(check_below(0x4d000000)); /* to 1e8: as far as f64 has places to compare */
        int32_t remainder;
        uint32_t flip;
        hvx_angle_reduce(&angle, 1, &remainder, &flip);
        const double sign = flip != 0 ? -1 : 1, r = ldexp(remainder, -29);
        worst = fmax(worst, fmax(fabs(sign * sin(r) - sin(angle)), fabs(sign * cos(r) - cos(angle))));
        bad += fabs(r) > 1.5707964;
    }
    check_case(c, worst, 1e-8, "remainders");
    check_true(c, bad == 0, "%d remainders are too large", bad);
    /* 16367173 * 2^72 is close to a multiple of pi/2: cos is -6.5e-26 or so, below the places of the remainder */
    const float near = ldexpf(16367173, 72);
    int32_t remainder;
    uint32_t flip;
    hvx_angle_reduce(&near, 1, &remainder, &flip);
    check_case(c, fabs(fabs(ldexp(remainder, -29)) - 1.57079632679), 1e-8, "an angle next to a quarter turn");
}

static uint32_t status_of(struct check_run *run, const struct htp_rope_params *p) {
    memcpy(run->params, p, sizeof(*p));
    return check_run_op(run, htp_rope);
}

static void refuses(struct check *c) {
    struct check_tensor x, h, p, few;
    const uint32_t ne[4] = {64, 2, 3, 1}, p_ne[4] = {3, 1, 1, 1}, few_ne[4] = {2, 1, 1, 1};
    check_make(&x, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&h, HTP_TYPE_F16, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&p, HTP_TYPE_I32, HTP_LAYOUT_ROWS, p_ne, NULL, 0);
    check_make(&few, HTP_TYPE_I32, HTP_LAYOUT_ROWS, few_ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_ROPE, 1, 1 << 14);
    run.exec.n_src = 2;
    run.exec.src[0] = &x.view;
    run.exec.src[1] = &p.view;
    run.exec.dst = &x.view;
    const struct shape s = {.mode = HTP_ROPE_NEOX, .n_dims = 64, .base = 10000, .freq_scale = 1};
    const struct htp_rope_params good = params_of(&s);
    struct htp_rope_params bad = good;
    check_true(c, status_of(&run, &good) == HTP_STATUS_OK, "the good one");
    bad.offset = 2;
    check_true(c, status_of(&run, &bad) == HTP_STATUS_BAD_OP, "dims beyond the row");
    bad = good;
    bad.n_dims = 63;
    check_true(c, status_of(&run, &bad) == HTP_STATUS_BAD_OP, "odd dims");
    bad = good;
    bad.mode = 1;
    check_true(c, status_of(&run, &bad) == HTP_STATUS_BAD_OP, "unknown mode");
    bad = good;
    bad.mode = HTP_ROPE_MROPE;
    check_true(c, status_of(&run, &bad) == HTP_STATUS_BAD_OP, "no sections");
    bad.sections[1] = 32;
    check_true(c, status_of(&run, &bad) == HTP_STATUS_BAD_OP, "one position a token for four");
    bad = good;
    bad.theta_scale = NAN;
    check_true(c, status_of(&run, &bad) == HTP_STATUS_BAD_OP, "NaN");
    run.exec.src[1] = &few.view;
    check_true(c, status_of(&run, &good) == HTP_STATUS_BAD_OP, "too few positions");
    run.exec.src[1] = &p.view;
    run.exec.dst = &h.view;
    check_true(c, status_of(&run, &good) == HTP_STATUS_UNSUPPORTED, "f16 from f32");
    run.exec.dst = &x.view;
    run.exec.vtcm_size = 256;
    check_true(c, status_of(&run, &good) == HTP_STATUS_NO_VTCM, "too little VTCM");
    check_run_free(&run);
    check_free(&x);
    check_free(&h);
    check_free(&p);
    check_free(&few);
}

void check_rope(struct check *c) {
    modes_and_shapes(c);
    positions(c);
    reduction(c);
    refuses(c);
}
