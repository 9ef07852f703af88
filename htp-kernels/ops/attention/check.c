/* FLASH_ATTN_EXT against its definition in f64, on the operands that the kernel rounds to. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hvx/emul/half.h"
#include "htp/params.h"
#include "ops/attention/ref.h"

#define RANDOM_SHAPES 120

uint32_t htp_attention(struct htp_exec *exec);

enum mask_form { NO_MASK, RANDOM_MASK, CAUSAL_MASK, EMPTY_ROWS, NOTHING_BUT_EMPTY };

struct shape {
    uint32_t k_type, v_type;
    uint32_t k_head, v_head, keys, positions, kv_heads, group, sequences, kv_sequences;
    enum mask_form mask;
    uint32_t mask_heads, mask_sequences;
    bool sinks, alibi, permuted; /* permuted: positions (keys) outside heads, as llama.cpp's views have it */
    float softcap;
    uint32_t gap, threads;
    size_t vtcm;
    float range; /* of queries and keys */
};

static bool is_block_type(uint32_t type) {
    return type != HTP_TYPE_F32 && type != HTP_TYPE_F16 && type != HTP_TYPE_BF16;
}

static uint32_t row_bytes(uint32_t type, uint32_t elements) {
    return is_block_type(type) ? elements / 32 * check_type_size(type) : elements * check_type_size(type);
}

static void make(struct check_tensor *t, uint32_t type, const uint32_t *ne, const struct shape *s, uint32_t offset) {
    const uint32_t row = row_bytes(type, ne[0]) + s->gap / 4 * 4;
    const uint32_t outer = s->permuted ? row * ne[2] : row, inner = s->permuted ? row : row * ne[1];
    const uint32_t nb[4] = {check_type_size(type), outer, inner, row * ne[1] * ne[2]};
    check_make(t, type, HTP_LAYOUT_ROWS, ne, nb, offset);
}

static void put_half(uint8_t *p, float f) {
    const uint16_t h = hvx_float_to_half(f);
    memcpy(p, &h, 2);
}

static void fill_row(const struct htp_view *v, uint32_t i1, uint32_t i2, uint32_t i3, float range) {
    uint8_t *row = htp_row(v, i1, i2, i3);
    if (v->type == HTP_TYPE_F32 || v->type == HTP_TYPE_F16) {
        for (uint32_t i = 0; i < v->ne[0]; i++)
            check_set(v, i, i1, i2, i3, check_uniform() * range);
        return;
    }
    if (v->type == HTP_TYPE_BF16) {
        for (uint32_t i = 0; i < v->ne[0]; i++) {
            const uint16_t upper = (uint16_t)(hvx_float_bits(check_uniform() * range) >> 16);
            memcpy(row + 2 * i, &upper, 2);
        }
        return;
    }
    const bool has_minimum = v->type == HTP_TYPE_Q4_1 || v->type == HTP_TYPE_Q5_1;
    const bool is_byte = v->type == HTP_TYPE_Q8_0 || v->type == HTP_TYPE_IQ4_NL;
    const uint32_t block = check_type_size(v->type);
    for (uint32_t b = 0; b < v->ne[0] / 32; b++, row += block) {
        for (uint32_t i = 2; i < block; i++)
            row[i] = (uint8_t)check_random();
        put_half(row, check_uniform() * range / (is_byte ? 128 : 16));
        if (has_minimum)
            put_half(row + 2, check_uniform() * range);
    }
}

static void fill(const struct htp_view *v, float range) {
    for (uint32_t i3 = 0; i3 < v->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < v->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < v->ne[1]; i1++)
                fill_row(v, i1, i2, i3, range);
}

static void fill_mask(const struct htp_view *m, enum mask_form form) {
    for (uint32_t i3 = 0; i3 < m->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < m->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < m->ne[1]; i1++) {
                const bool empty = form == NOTHING_BUT_EMPTY || (form == EMPTY_ROWS && i1 % 2 == 0);
                const uint32_t hole = check_below(m->ne[0]), length = check_below(200);
                for (uint32_t i = 0; i < m->ne[0]; i++) {
                    const bool masked = empty || (form == CAUSAL_MASK ? i > i1 + 20 : i >= hole && i < hole + length);
                    check_set(m, i, i1, i2, i3, masked ? -INFINITY : form == CAUSAL_MASK ? 0 : check_uniform() * 2);
                }
            }
}

/* Relative to the terms of a sum, not to the sum: values of both signs may leave little of it. */
static double compare(const struct check_run *run, const struct htp_view *d) {
    double *expected = malloc(2 * d->ne[0] * sizeof(double)), error = 0, sum = 0;
    for (uint32_t i3 = 0; expected != NULL && i3 < d->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < d->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < d->ne[1]; i1++) {
                double *magnitude = expected + d->ne[0];
                attention_ref_row(&run->exec, i2, i1, i3, expected, magnitude);
                for (uint32_t i = 0; i < d->ne[0]; i++) {
                    const double difference = check_get(d, i, i1, i2, i3) - expected[i];
                    error += difference * difference;
                    sum += magnitude[i] * magnitude[i];
                }
            }
    free(expected);
    return sum > 0 ? error / sum : error;
}

static void run_shape(struct check *c, const struct shape *s) {
    const uint32_t heads = s->kv_heads * s->group;
    const uint32_t q_ne[4] = {s->k_head, s->positions, heads, s->sequences};
    const uint32_t k_ne[4] = {s->k_head, s->keys, s->kv_heads, s->kv_sequences};
    const uint32_t v_ne[4] = {s->v_head, s->keys, s->kv_heads, s->kv_sequences};
    const uint32_t m_ne[4] = {s->keys + s->gap, s->positions + 3, s->mask_heads, s->mask_sequences};
    const uint32_t s_ne[4] = {heads, 1, 1, 1}, d_ne[4] = {s->v_head, heads, s->positions, s->sequences};
    struct check_tensor q, k, v, m, sinks, dst;
    make(&q, HTP_TYPE_F32, q_ne, s, 4 * (s->gap % 7));
    make(&k, s->k_type, k_ne, s, 4 * (s->gap % 5));
    make(&v, s->v_type, v_ne, s, 4 * (s->gap % 3));
    check_make(&m, HTP_TYPE_F16, HTP_LAYOUT_ROWS, m_ne, NULL, 2 * (s->gap % 9));
    check_make(&sinks, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s_ne, NULL, 4);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, NULL, 4 * (s->gap % 11));
    struct check_tensor *const inputs[] = {&q, &k, &v, &m, &sinks};
    fill(&q.view, s->range);
    fill(&k.view, s->range);
    fill(&v.view, 1);
    fill_mask(&m.view, s->mask);
    fill(&sinks.view, 5);

    struct check_run run;
    check_run_init(&run, HTP_OP_FLASH_ATTN_EXT, s->threads, s->vtcm);
    struct htp_attention_params params = {.scale = 1 / sqrtf((float)s->k_head), .logit_softcap = s->softcap};
    if (s->alibi) {
        params.slope_heads = 2;
        params.slope_base[0] = 0.25f;
        params.slope_base[1] = 0.5f;
    }
    memcpy(run.params, &params, sizeof(params));
    run.exec.n_src = 5;
    for (uint32_t i = 0; i < 5; i++) {
        check_remember(inputs[i]);
        const bool absent = (i == 3 && s->mask == NO_MASK) || (i == 4 && !s->sinks);
        run.exec.src[i] = absent ? NULL : &inputs[i]->view;
    }
    check_remember(&dst);
    run.exec.dst = &dst.view;
    const uint32_t status = check_run_op(&run, htp_attention);
    check_case(c, status != HTP_STATUS_OK ? 1 : compare(&run, &dst.view), 1e-7,
               "types %u %u, heads of %u and %u, %u keys, %u positions, %u x %u heads, %u(%u) sequences, mask %u "
               "(%u, %u), sinks %d, alibi %d, cap %g, permuted %d, gap %u, vtcm %u",
               (unsigned)s->k_type, (unsigned)s->v_type, (unsigned)s->k_head, (unsigned)s->v_head, (unsigned)s->keys,
               (unsigned)s->positions, (unsigned)s->kv_heads, (unsigned)s->group, (unsigned)s->sequences,
               (unsigned)s->kv_sequences, (unsigned)s->mask, (unsigned)s->mask_heads, (unsigned)s->mask_sequences,
               s->sinks, s->alibi, s->softcap, s->permuted, (unsigned)s->gap, (unsigned)s->vtcm);
    bool unchanged = check_unchanged(&dst, false) && check_vtcm_intact(&run);
    for (uint32_t i = 0; i < 5; i++)
        unchanged = unchanged && check_unchanged(inputs[i], true);
    check_true(c, unchanged, "wrote beside its output");
    check_run_free(&run);
    for (uint32_t i = 0; i < 5; i++)
        check_free(inputs[i]);
    check_free(&dst);
}

static void random_shapes(struct check *c) {
    static const uint32_t types[] = {
        HTP_TYPE_F16,  HTP_TYPE_F16,  HTP_TYPE_F16,  HTP_TYPE_F32,  HTP_TYPE_BF16,   HTP_TYPE_Q4_0,
        HTP_TYPE_Q4_1, HTP_TYPE_Q5_0, HTP_TYPE_Q5_1, HTP_TYPE_Q8_0, HTP_TYPE_IQ4_NL,
    };
    static const uint32_t heads[] = {32, 40, 64, 65, 72, 80, 96, 128, 192, 1};
    for (uint32_t round = 0; round < RANDOM_SHAPES; round++) {
        struct shape s = {.k_type = types[check_below(11)], .v_type = types[check_below(11)]};
        s.k_head = heads[check_below(10)];
        s.v_head = heads[check_below(10)];
        if (is_block_type(s.k_type))
            s.k_head = 32 + 32 * check_below(5);
        if (is_block_type(s.v_type))
            s.v_head = 32 + 32 * check_below(5);
        s.keys = check_below(3) == 0 ? 1 + check_below(40) : 1 + check_below(300);
        s.positions = 1 + check_below(check_below(6) == 0 ? 30 : 3);
        s.kv_heads = 1 + check_below(3);
        s.group = 1 + check_below(5);
        s.kv_sequences = 1 + check_below(2);
        s.sequences = s.kv_sequences * (1 + check_below(2));
        s.mask = (enum mask_form)check_below(4);
        s.mask_heads = check_below(3) == 0 ? s.kv_heads * s.group : 1;
        s.mask_sequences = check_below(2) == 0 ? s.sequences : 1;
        s.sinks = check_below(3) == 0;
        s.alibi = check_below(3) == 0;
        s.softcap = check_below(4) == 0 ? 10 : 0;
        s.permuted = check_below(2) == 0;
        s.gap = check_below(2) == 0 ? 0 : check_below(64);
        s.threads = 1 + check_below(6);
        s.vtcm = check_below(2) == 0 ? 8u << 20 : 1u << 20;
        s.range = check_below(4) == 0 ? 4 : 1;
        run_shape(c, &s);
    }
}

static void large_shapes(struct check *c) {
    const struct shape base = {.k_type = HTP_TYPE_F16, .v_type = HTP_TYPE_F16, .k_head = 128, .v_head = 128,
                               .keys = 300, .positions = 5, .kv_heads = 1, .group = 4, .sequences = 1,
                               .kv_sequences = 1, .mask = CAUSAL_MASK, .mask_heads = 1, .mask_sequences = 1,
                               .threads = 4, .vtcm = 8u << 20, .range = 1};
    struct shape s = base;
    s.k_head = 576;
    s.v_head = 512;
    run_shape(c, &s);
    s.vtcm = 2u << 20;
    s.threads = 6;
    run_shape(c, &s);
    s = base;
    s.positions = 1;
    s.keys = 2000; /* parts */
    s.mask = RANDOM_MASK;
    for (s.group = 1; s.group <= 9; s.group += 2)
        run_shape(c, &s);
    s.sinks = true;
    run_shape(c, &s);
    s.mask = NOTHING_BUT_EMPTY;
    run_shape(c, &s);
    s.sinks = false;
    run_shape(c, &s);
    s = base;
    s.positions = 70; /* several tiles */
    s.group = 2;
    s.kv_heads = 2;
    run_shape(c, &s);
    s.k_head = s.v_head = 1024;
    s.positions = 2;
    s.vtcm = 1u << 20;
    run_shape(c, &s);
    s = base;
    s.range = 100; /* scores in the thousands: one key takes it all */
    run_shape(c, &s);
    s.softcap = 50;
    run_shape(c, &s);
}

static void refuses(struct check *c) {
    struct check_tensor q, k, other, m, dst;
    const uint32_t q_ne[4] = {32, 2, 4, 1}, k_ne[4] = {32, 8, 2, 1}, other_ne[4] = {32, 8, 3, 1};
    const uint32_t m_ne[4] = {7, 2, 1, 1}, d_ne[4] = {32, 4, 2, 1};
    check_make(&q, HTP_TYPE_F32, HTP_LAYOUT_ROWS, q_ne, NULL, 0);
    check_make(&k, HTP_TYPE_F16, HTP_LAYOUT_ROWS, k_ne, NULL, 0);
    check_make(&other, HTP_TYPE_F16, HTP_LAYOUT_ROWS, other_ne, NULL, 0);
    check_make(&m, HTP_TYPE_F16, HTP_LAYOUT_ROWS, m_ne, NULL, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_FLASH_ATTN_EXT, 2, 64u << 10);
    run.exec.n_src = 3;
    run.exec.src[0] = &q.view;
    run.exec.src[1] = run.exec.src[2] = &k.view;
    run.exec.dst = &q.view;
    check_true(c, check_run_op(&run, htp_attention) == HTP_STATUS_BAD_OP, "dst in the order of q");
    run.exec.dst = &dst.view;
    run.exec.src[2] = &other.view;
    check_true(c, check_run_op(&run, htp_attention) == HTP_STATUS_BAD_OP, "values of another shape");
    run.exec.src[1] = &other.view;
    check_true(c, check_run_op(&run, htp_attention) == HTP_STATUS_BAD_OP, "3 KV heads for 4 heads");
    run.exec.src[1] = run.exec.src[2] = &k.view;
    run.exec.n_src = 4;
    run.exec.src[3] = &m.view;
    check_true(c, check_run_op(&run, htp_attention) == HTP_STATUS_BAD_OP, "mask for fewer keys");
    run.exec.src[3] = &q.view;
    check_true(c, check_run_op(&run, htp_attention) == HTP_STATUS_UNSUPPORTED, "f32 mask");
    run.exec.src[3] = NULL;
    check_true(c, check_run_op(&run, htp_attention) == HTP_STATUS_OK, "no mask");
    run.exec.vtcm_size = 16u << 10;
    check_true(c, check_run_op(&run, htp_attention) == HTP_STATUS_NO_VTCM, "little VTCM");
    check_run_free(&run);
    check_free(&q);
    check_free(&k);
    check_free(&other);
    check_free(&m);
    check_free(&dst);
}

void check_attention(struct check *c) {
    random_shapes(c);
    large_shapes(c);
    refuses(c);
}
