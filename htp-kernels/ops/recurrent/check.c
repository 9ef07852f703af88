/* The ops of the family against ref.c, on sizes with and without a rest of lanes and of rows. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "htp/params.h"
#include "ops/recurrent/ref.h"

#define SOURCES 7

uint32_t htp_recurrent(struct htp_exec *exec);

struct shape {
    uint32_t size, heads, tokens, sequences;
    uint32_t length, groups; /* SSM_SCAN: of the state's rows; GATED_DELTA_NET: heads of q and k */
    bool fine;               /* the decay is a vector */
    uint32_t snapshots, gap; /* gap: bytes between heads of q, k, v, or between tokens of x, b, c */
};

struct op_case {
    struct check_tensor src[SOURCES], dst;
    uint32_t sources;
    struct check_run run;
};

static void add(struct op_case *o, uint32_t type, const uint32_t *ne, const uint32_t *nb, float low, float high) {
    struct check_tensor *const t = &o->src[o->sources++];
    check_make(t, type, HTP_LAYOUT_ROWS, ne, nb, nb != NULL ? 4 : 0);
    for (uint32_t i = 0; i < ne[0] * ne[1] * ne[2] * ne[3]; i++) {
        const uint32_t i1 = i / ne[0], i2 = i1 / ne[1];
        const float x = low + (high - low) * (check_uniform() + 1) / 2;
        check_set(&t->view, i % ne[0], i1 % ne[1], i2 % ne[2], i2 / ne[2], x);
    }
}

static void add_f32(struct op_case *o, uint32_t n0, uint32_t n1, uint32_t n2, uint32_t n3, float low, float high) {
    add(o, HTP_TYPE_F32, (const uint32_t[]){n0, n1, n2, n3}, NULL, low, high);
}

/* a gap behind each head (1) or token (2) */
static void add_gapped(struct op_case *o, uint32_t gap, uint32_t behind, uint32_t n0, uint32_t n1, uint32_t n2,
                       uint32_t n3) {
    const uint32_t ne[4] = {n0, n1, n2, n3};
    uint32_t nb[4] = {4, n0 * 4 + (behind == 1 ? gap : 0)};
    nb[2] = nb[1] * n1 + (behind == 2 ? gap : 0);
    nb[3] = nb[2] * n2;
    add(o, HTP_TYPE_F32, ne, nb, -1, 1);
}

static void add_ids(struct op_case *o, uint32_t sequences, uint32_t states) {
    const uint32_t ne[4] = {sequences, 1, 1, 1};
    struct check_tensor *const t = &o->src[o->sources++];
    check_make(t, HTP_TYPE_I32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    for (uint32_t i = 0; i < sequences; i++)
        ((int32_t *)(void *)t->view.data)[i] = (int32_t)((i * 2 + 1) % states);
}

static void make_sources(struct op_case *o, uint32_t op, const struct shape *s) {
    const uint32_t n = s->size, h = s->heads, t = s->tokens, b = s->sequences, all = t * b, last = n * n * h;
    switch (op) {
    case HTP_OP_GATED_DELTA_NET:
        add_gapped(o, s->gap, 1, n, s->groups, t, 1);
        add_gapped(o, s->gap, 1, n, s->groups, t, b);
        for (uint32_t i = 0; i < 2; i++) { /* keys of length one keep the state in bounds */
            float *const x = (float *)(void *)o->src[i].view.data;
            for (size_t j = 0; j * 4 < o->src[i].block_bytes && s->gap == 0 && j < (size_t)n * s->groups * t; j++)
                x[j] /= sqrtf((float)n);
        }
        add_gapped(o, s->gap, 1, n, h, t, b);
        add_f32(o, s->fine ? n : 1, h, t, b, -6, 0.05f);
        add_f32(o, 1, h, t, b, 0, s->gap == 0 ? 1 : 1.0f / (float)n);
        add_f32(o, n, n, h, b, -1, 1);
        break;
    case HTP_OP_SSM_SCAN:
        add_f32(o, s->length, n, h, b + 1, -1, 1);
        add_gapped(o, s->gap, 2, n, h, t, b);
        add_f32(o, h, t, b, 1, -25, 25);
        add_f32(o, s->fine ? s->length : 1, h, 1, 1, -1, 0.01f);
        add_gapped(o, s->gap, 2, s->length, s->groups, t, b);
        add_gapped(o, s->gap, 1, s->length, s->groups, t, b);
        add_ids(o, b, b + 1);
        break;
    case HTP_OP_RWKV_WKV7:
        add_gapped(o, s->gap, 1, n, h, all, 1);
        add_f32(o, n, h, all, 1, 0, 1);
        add_gapped(o, s->gap, 2, n, h, all, 1);
        add_f32(o, n, h, all, 1, -1, 1);
        add_f32(o, n, h, all, 1, -1.0f / (float)n, 1.0f / (float)n);
        add_f32(o, n, h, all, 1, -1, 1);
        add_f32(o, last, b, 1, 1, -1, 1);
        break;
    default:
        add_gapped(o, s->gap, 1, n, h, all, 1);
        add_f32(o, n, h, all, 1, -1, 1);
        add_gapped(o, s->gap, 2, n, h, all, 1);
        if (op == HTP_OP_RWKV_WKV6)
            add_f32(o, n, h, 1, 1, -1, 1);
        add_f32(o, n, h, all, 1, -1, 1);
        add_f32(o, last, b, 1, 1, -1, 1);
    }
}

static void set_up(struct op_case *o, uint32_t op, const struct shape *s, uint32_t threads, size_t vtcm) {
    memset(o, 0, sizeof(*o));
    make_sources(o, op, s);
    const uint32_t length = op == HTP_OP_SSM_SCAN ? s->length : s->size;
    const uint32_t results = s->size * s->heads * s->tokens * s->sequences;
    const uint32_t ne[4] = {results + s->snapshots * s->sequences * s->heads * s->size * length, 1, 1, 1};
    check_make(&o->dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 4);
    check_run_init(&o->run, op, threads, vtcm);
    const struct htp_recurrent_params params = {.snapshots = s->snapshots, .scale = 0.25f};
    memcpy(o->run.params, &params, sizeof(params));
    o->run.exec.n_src = o->sources;
    for (uint32_t i = 0; i < o->sources; i++)
        o->run.exec.src[i] = &o->src[i].view;
    o->run.exec.dst = &o->dst.view;
}

static void tear_down(struct op_case *o) {
    for (uint32_t i = 0; i < o->sources; i++)
        check_free(&o->src[i]);
    check_free(&o->dst);
    check_run_free(&o->run);
}

static void run_shape(struct check *c, uint32_t op, const struct shape *s) {
    struct op_case o;
    set_up(&o, op, s, 1 + check_below(4), check_below(2) == 0 ? 160 << 10 : 1 << 20);
    const uint32_t n = o.dst.view.ne[0];
    const float *const found = (const float *)(const void *)o.dst.view.data;
    double *const expected = malloc(n * sizeof(*expected));
    for (uint32_t i = 0; i < n; i++) /* states that the op does not write keep what they have */
        expected[i] = found[i];
    const struct htp_view *src[SOURCES];
    for (uint32_t i = 0; i < o.sources; i++)
        src[i] = &o.src[i].view;
    recurrent_reference(op, src, s->snapshots, 0.25, expected);
    check_remember(&o.dst);
    const uint32_t status = check_run_op(&o.run, htp_recurrent);
    double error = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double d = found[i] - expected[i];
        error += isnan(found[i]) && isnan(expected[i]) ? 0 : d * d;
        sum += isnan(expected[i]) ? 0 : expected[i] * expected[i];
    }
    check_case(c, status != HTP_STATUS_OK ? 1 : error / sum, 1e-11,
               "op %u, head %ux%u, %u heads, %u groups, %u tokens, %u sequences, %u snapshots, fine %d, gap %u: status %u, "
               "detail %u",
               (unsigned)op, (unsigned)s->size, (unsigned)s->length, (unsigned)s->heads, (unsigned)s->groups,
               (unsigned)s->tokens, (unsigned)s->sequences, (unsigned)s->snapshots, s->fine, (unsigned)s->gap,
               (unsigned)status, (unsigned)o.run.exec.detail);
    check_true(c, check_unchanged(&o.dst, false) && check_vtcm_intact(&o.run), "op %u: wrote beside", (unsigned)op);
    free(expected);
    tear_down(&o);
}

static void refuses(struct check *c) {
    static const uint32_t ops[] = {HTP_OP_GATED_DELTA_NET, HTP_OP_SSM_SCAN, HTP_OP_RWKV_WKV6, HTP_OP_RWKV_WKV7,
                                   HTP_OP_GATED_LINEAR_ATTN};
    const struct shape s = {32, 4, 3, 2, 32, 2, false, 1, 0};
    for (uint32_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        struct op_case o;
        set_up(&o, ops[i], &s, 2, 160 << 10);
        const unsigned op = ops[i];
        for (uint32_t k = 0; k < o.sources; k++) {
            struct htp_view *const v = &o.src[k].view;
            v->type ^= 1;
            check_true(c, check_run_op(&o.run, htp_recurrent) == HTP_STATUS_UNSUPPORTED, "%u: type of %u", op, (unsigned)k);
            v->type ^= 1;
            for (uint32_t d = 0; d < 2; d++) {
                if (op == HTP_OP_GATED_DELTA_NET && k < 2 && d == 1) /* any number of heads is right */
                    continue;
                const uint32_t n = v->ne[d];
                v->ne[d] = n + 1;
                const uint32_t status = check_run_op(&o.run, htp_recurrent);
                check_true(c, status == HTP_STATUS_BAD_OP, "%u: size %u of %u: %u", op, (unsigned)d, (unsigned)k, (unsigned)status);
                v->ne[d] = n;
            }
        }
        o.dst.view.ne[0]--;
        check_true(c, check_run_op(&o.run, htp_recurrent) == HTP_STATUS_BAD_OP, "%u: dst is too short", op);
        o.dst.view.ne[0]++;
        o.run.params[0] = 0;
        check_true(c, check_run_op(&o.run, htp_recurrent) == HTP_STATUS_BAD_OP, "%u: no snapshot", op);
        o.run.params[0] = 2;
        check_true(c, check_run_op(&o.run, htp_recurrent) == HTP_STATUS_BAD_OP, "%u: snapshots", op);
        o.run.params[0] = 1;
        o.run.exec.vtcm_size = 4096;
        check_true(c, check_run_op(&o.run, htp_recurrent) == HTP_STATUS_NO_VTCM, "%u: no VTCM", op);
        o.run.exec.vtcm_size = 160 << 10;
        if (op == HTP_OP_SSM_SCAN) {
            ((int32_t *)(void *)o.src[6].view.data)[1] = -1;
            check_true(c, check_run_op(&o.run, htp_recurrent) == HTP_STATUS_BAD_INDEX && o.run.exec.detail == 1, "ids");
        }
        o.run.exec.n_src--;
        check_true(c, check_run_op(&o.run, htp_recurrent) == HTP_STATUS_BAD_OP, "%u: a source less", op);
        tear_down(&o);
    }
}

void check_recurrent(struct check *c) {
    static const uint32_t sizes[] = {1, 5, 16, 31, 32, 33, 64, 100, 128};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const uint32_t n = sizes[i], gap = i % 2 * 12;
        run_shape(c, HTP_OP_GATED_DELTA_NET, &(struct shape){n, 4, 1, 2, n, 2, false, 1, 0});
        run_shape(c, HTP_OP_GATED_DELTA_NET, &(struct shape){n, 2, 5, 2, n, 1, true, 3, gap});
        run_shape(c, HTP_OP_GATED_DELTA_NET, &(struct shape){n, 1, 2, 1, n, 1, i % 2 == 0, 4, 0});
        run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){n, 4, 1, 2, 64, 2, false, 1, gap});
        run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){n, 6, 5, 1, 128, 1, false, 3, gap});
        run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){n, 6, 3, 2, 24, 3, true, 1, gap});
        run_shape(c, HTP_OP_RWKV_WKV6, &(struct shape){n, 3, 1, 2, n, 1, false, 1, gap});
        run_shape(c, HTP_OP_RWKV_WKV6, &(struct shape){n, 2, 6, 2, n, 1, false, 1, gap});
        run_shape(c, HTP_OP_RWKV_WKV7, &(struct shape){n, 3, 1, 2, n, 1, false, 1, gap});
        run_shape(c, HTP_OP_RWKV_WKV7, &(struct shape){n, 2, 6, 2, n, 1, false, 1, gap});
        run_shape(c, HTP_OP_GATED_LINEAR_ATTN, &(struct shape){n, 3, 1, 2, n, 1, false, 1, gap});
        run_shape(c, HTP_OP_GATED_LINEAR_ATTN, &(struct shape){n, 2, 6, 2, n, 1, false, 1, gap});
    }
    run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){1, 75, 4, 2, 16, 1, true, 1, 0});
    run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){1, 64, 2, 2, 16, 1, true, 1, 0});
    run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){1, 12, 3, 2, 16, 4, true, 1, 4});
    run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){80, 4, 2, 1, 96, 2, false, 2, 0});
    run_shape(c, HTP_OP_SSM_SCAN, &(struct shape){64, 2, 2, 1, 256, 1, false, 1, 0});
    refuses(c);
}
