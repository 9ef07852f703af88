#include "ops/attention/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "htp/params.h"
#include "hvx/emul/half.h"

static float half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return hvx_half_to_float(h);
}

static double to_half(double x) { return hvx_half_to_float(hvx_float_to_half((float)x)); }

/* element i of a block: nibbles are in two rows of 16, bits in order */
static int nibble(const uint8_t *bytes, uint32_t i) { return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4; }
static int bit(const uint8_t *bytes, uint32_t i) { return bytes[i / 8] >> (i % 8) & 1; }

double attention_ref_element(const struct htp_view *t, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3) {
    const uint8_t *row = htp_row(t, i1, i2, i3);
    float f;
    switch (t->type) {
    case HTP_TYPE_F16:
        return half_at(row + (size_t)i0 * t->nb[0]);
    case HTP_TYPE_Q8_0: {
        const uint8_t *block = row + (size_t)(i0 / 32) * 34;
        return (double)half_at(block) * (int8_t)block[2 + i0 % 32];
    }
    case HTP_TYPE_Q4_0: {
        const uint8_t *block = row + (size_t)(i0 / 32) * 18;
        return (double)half_at(block) * (nibble(block + 2, i0 % 32) - 8);
    }
    case HTP_TYPE_IQ4_NL: {
        static const int8_t table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
        const uint8_t *block = row + (size_t)(i0 / 32) * 18;
        return (double)half_at(block) * table[nibble(block + 2, i0 % 32)];
    }
    case HTP_TYPE_Q4_1: {
        const uint8_t *block = row + (size_t)(i0 / 32) * 20;
        return (double)half_at(block) * nibble(block + 4, i0 % 32) + half_at(block + 2);
    }
    case HTP_TYPE_Q5_0: {
        const uint8_t *block = row + (size_t)(i0 / 32) * 22;
        return (double)half_at(block) * (nibble(block + 6, i0 % 32) + 16 * bit(block + 2, i0 % 32) - 16);
    }
    case HTP_TYPE_Q5_1: {
        const uint8_t *block = row + (size_t)(i0 / 32) * 24;
        const int quant = nibble(block + 8, i0 % 32) + 16 * bit(block + 4, i0 % 32);
        return (double)half_at(block) * quant + half_at(block + 2);
    }
    case HTP_TYPE_BF16: {
        uint16_t upper;
        memcpy(&upper, row + (size_t)i0 * t->nb[0], 2);
        return hvx_bits_float((uint32_t)upper << 16);
    }
    default:
        memcpy(&f, row + (size_t)i0 * t->nb[0], 4);
        return f;
    }
}

/* query: the row in f64, rounded to f16 */
static double score(const struct htp_exec *e, const struct htp_attention_params *p, const double *query,
                    uint32_t position, uint32_t head, uint32_t sequence, uint32_t key) {
    const struct htp_view *q = e->src[0], *k = e->src[1], *mask = e->src[3];
    const uint32_t kv_head = head / (q->ne[2] / k->ne[2]), kv_sequence = sequence / (q->ne[3] / k->ne[3]);
    double s = 0;
    for (uint32_t i = 0; i < q->ne[0]; i++)
        s += query[i] * to_half(attention_ref_element(k, i, key, kv_head, kv_sequence));
    s *= p->scale;
    if (p->logit_softcap != 0)
        s = p->logit_softcap * tanh(s / p->logit_softcap);
    if (mask != NULL) {
        const double m = attention_ref_element(mask, key, position, head % mask->ne[2], sequence % mask->ne[3]);
        double slope = 1;
        if (p->slope_heads != 0)
            slope = head < p->slope_heads ? pow(p->slope_base[0], head + 1)
                                          : pow(p->slope_base[1], 2 * (head - p->slope_heads) + 1);
        s += slope * m;
    }
    return s;
}

void attention_ref_row(const struct htp_exec *e, uint32_t position, uint32_t head, uint32_t sequence, double *out,
                       double *magnitude) {
    const struct htp_view *q = e->src[0], *k = e->src[1], *v = e->src[2], *sinks = e->src[4];
    const uint32_t kv_head = head / (q->ne[2] / k->ne[2]), kv_sequence = sequence / (q->ne[3] / k->ne[3]);
    double *query = malloc((q->ne[0] + k->ne[1]) * sizeof(double)), *scores = query + q->ne[0];
    double largest = -INFINITY, total = 0;
    struct htp_attention_params p;
    memcpy(&p, e->params, sizeof(p));
    if (sinks != NULL)
        largest = attention_ref_element(sinks, head, 0, 0, 0);
    for (uint32_t i = 0; query != NULL && i < q->ne[0]; i++)
        query[i] = to_half(attention_ref_element(q, i, position, head, sequence));
    for (uint32_t key = 0; query != NULL && key < k->ne[1]; key++) {
        scores[key] = score(e, &p, query, position, head, sequence, key);
        largest = fmax(largest, scores[key]);
    }
    for (uint32_t i = 0; i < v->ne[0]; i++)
        out[i] = magnitude[i] = 0;
    if (sinks != NULL)
        total = exp(attention_ref_element(sinks, head, 0, 0, 0) - largest);
    for (uint32_t key = 0; largest > -INFINITY && query != NULL && key < k->ne[1]; key++) {
        const double w = exp(scores[key] - largest);
        total += w;
        for (uint32_t i = 0; w > 0 && i < v->ne[0]; i++) {
            const double x = w * to_half(attention_ref_element(v, i, key, kv_head, kv_sequence));
            out[i] += x;
            magnitude[i] += fabs(x);
        }
    }
    for (uint32_t i = 0; total > 0 && i < v->ne[0]; i++) {
        out[i] /= total;
        magnitude[i] /= total;
    }
    free(query);
}
