#include "ops/recurrent/ref.h"

#include <math.h>
#include <stdlib.h>

#include "check/check.h"

struct shape {
    uint32_t rows, length, heads, tokens, sequences, snapshots;
};

static double *state_at(const struct shape *s, double *dst, uint32_t slot, uint32_t sequence, uint32_t head) {
    const size_t results = (size_t)s->rows * s->heads * s->tokens * s->sequences;
    return dst + results + (((size_t)slot * s->sequences + sequence) * s->heads + head) * s->rows * s->length;
}

/* The state of a head before token t: of the sequence's first, or what the token before has left in slot 0. */
static void keep(const struct shape *s, double *dst, uint32_t t, uint32_t sequence, uint32_t head, const double *state) {
    const uint32_t slot = s->tokens - 1 - t;
    if (slot >= s->snapshots)
        return;
    double *const to = state_at(s, dst, slot, sequence, head);
    for (uint32_t i = 0; i < s->rows * s->length; i++)
        to[i] = state[i];
}

static double *results_at(const struct shape *s, double *dst, uint32_t t, uint32_t sequence, uint32_t head) {
    return dst + (((size_t)sequence * s->tokens + t) * s->heads + head) * s->rows;
}

static void delta_net(const struct htp_view *const *src, const struct shape *s, uint32_t sequence, uint32_t h,
                      uint32_t t, double scale, double *state, double *out) {
    const struct htp_view *const q = src[0], *const k = src[1], *const g = src[3];
    const uint32_t n = s->length, q_at = sequence / (s->sequences / q->ne[3]), k_at = sequence / (s->sequences / k->ne[3]);
    for (uint32_t j = 0; j < n; j++) {
        double *const row = state + j * n, known = 0;
        out[j] = 0;
        for (uint32_t i = 0; i < n; i++) {
            row[i] *= exp(check_get(g, g->ne[0] == 1 ? 0 : i, h, t, sequence));
            known += row[i] * check_get(k, i, h % k->ne[1], t, k_at);
        }
        const double d = (check_get(src[2], j, h, t, sequence) - known) * check_get(src[4], 0, h, t, sequence);
        for (uint32_t i = 0; i < n; i++) {
            row[i] += d * check_get(k, i, h % k->ne[1], t, k_at);
            out[j] += row[i] * check_get(q, i, h % q->ne[1], t, q_at) * scale;
        }
    }
}

static void scan(const struct htp_view *const *src, const struct shape *s, uint32_t sequence, uint32_t h, uint32_t t,
                 double *state, double *out) {
    const uint32_t group = h / (s->heads / src[4]->ne[1]);
    const double soft = log1p(exp(check_get(src[2], h, t, sequence, 0)));
    for (uint32_t j = 0; j < s->rows; j++) {
        const double x = check_get(src[1], j, h, t, sequence);
        out[j] = 0;
        for (uint32_t i = 0; i < s->length; i++) {
            double *const m = state + j * s->length + i;
            const double decay = check_get(src[3], src[3]->ne[0] == 1 ? 0 : i, h, 0, 0);
            *m = *m * exp(soft * decay) + check_get(src[4], i, group, t, sequence) * x * soft;
            out[j] += *m * check_get(src[5], i, group, t, sequence);
        }
    }
}

static void wkv7(const struct htp_view *const *src, uint32_t n, uint32_t h, uint32_t at, double *state, double *out) {
    for (uint32_t i = 0; i < n; i++) {
        double *const row = state + i * n, sum = 0;
        for (uint32_t j = 0; j < n; j++)
            sum += row[j] * check_get(src[4], j, h, at, 0);
        out[i] = 0;
        for (uint32_t j = 0; j < n; j++) {
            row[j] = row[j] * check_get(src[1], j, h, at, 0) +
                     check_get(src[2], j, h, at, 0) * check_get(src[3], i, h, at, 0) +
                     sum * check_get(src[5], j, h, at, 0);
            out[i] += row[j] * check_get(src[0], j, h, at, 0);
        }
    }
}

/* bonus NULL: GATED_LINEAR_ATTN */
static void linear(const struct htp_view *const *src, const struct htp_view *bonus, const struct htp_view *decay,
                   uint32_t n, uint32_t h, uint32_t at, double scale, double *state, double *out) {
    for (uint32_t j = 0; j < n; j++)
        out[j] = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double *const m = state + i * n + j;
            const double kv = check_get(src[0], i, h, at, 0) * check_get(src[1], j, h, at, 0), old = *m;
            *m = old * check_get(decay, i, h, at, 0) + kv;
            const double read = bonus == NULL ? *m * scale : old + kv * check_get(bonus, i, h, 0, 0);
            out[j] += read * check_get(src[2], i, h, at, 0);
        }
    }
}

static struct shape shape_of(uint32_t op, const struct htp_view *const *src, uint32_t snapshots) {
    const struct htp_view *const v = src[op == HTP_OP_GATED_DELTA_NET ? 2 : 1];
    struct shape s = {v->ne[0], v->ne[0], v->ne[1], v->ne[2], v->ne[3], snapshots};
    if (op == HTP_OP_SSM_SCAN) {
        s.length = src[0]->ne[0];
    } else if (op != HTP_OP_GATED_DELTA_NET) {
        s.sequences = src[op == HTP_OP_RWKV_WKV6 ? 5 : op == HTP_OP_RWKV_WKV7 ? 6 : 4]->ne[1];
        s.tokens /= s.sequences;
    }
    return s;
}

void recurrent_reference(uint32_t op, const struct htp_view *const *src, uint32_t snapshots, double scale, double *dst) {
    const struct shape s = shape_of(op, src, snapshots);
    const uint32_t size = s.rows * s.length;
    double *const state = malloc(size * sizeof(*state));
    for (uint32_t i = 0; i < s.sequences * s.heads; i++) {
        const uint32_t sequence = i / s.heads, h = i % s.heads;
        const struct htp_view *const from =
            src[op == HTP_OP_SSM_SCAN ? 0 : op == HTP_OP_RWKV_WKV7 ? 6 : op == HTP_OP_GATED_LINEAR_ATTN ? 4 : 5];
        const uint32_t start = op == HTP_OP_SSM_SCAN ? ((const uint32_t *)(const void *)src[6]->data)[sequence] : sequence;
        const float *const first = (const float *)(const void *)from->data + ((size_t)start * s.heads + h) * size;
        for (uint32_t j = 0; j < size; j++)
            state[j] = first[j];
        for (uint32_t t = 0; t < s.tokens; t++) {
            double *const out = results_at(&s, dst, t, sequence, h);
            const uint32_t at = sequence * s.tokens + t;
            if (op == HTP_OP_GATED_DELTA_NET)
                delta_net(src, &s, sequence, h, t, scale, state, out);
            else if (op == HTP_OP_SSM_SCAN)
                scan(src, &s, sequence, h, t, state, out);
            else if (op == HTP_OP_RWKV_WKV7)
                wkv7(src, s.length, h, at, state, out);
            else if (op == HTP_OP_RWKV_WKV6)
                linear(src, src[3], src[4], s.length, h, at, scale, state, out);
            else
                linear(src, NULL, src[3], s.length, h, at, scale, state, out);
            keep(&s, dst, t, sequence, h, state);
        }
    }
    free(state);
}
