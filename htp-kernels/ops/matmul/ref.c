#include "ops/matmul/ref.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hvx/emul/half.h"
#include "ops/matmul/quantize.h"
#include "runtime/tiles.h"

static double half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return hvx_half_to_float(h);
}

/* ---- quantised types ---- */

struct format {
    uint32_t block_bytes, head_bytes; /* in ggml: head, then quants */
    uint32_t vectors;                 /* of the quants of a 32x32 tile */
    uint32_t group;                   /* blocks that share scale vectors; each has 4 / group bytes of a word lane */
    uint32_t scales;                  /* scale vectors */
};

static const struct format *format_of(uint32_t type) {
    static const struct format q4_0 = {18, 2, 4, 2, 1}, q8_0 = {34, 2, 8, 2, 1}, q4_1 = {20, 4, 4, 2, 2},
                               mxfp4 = {17, 1, 4, 4, 1};
    switch (type) {
    case HTP_TYPE_Q4_0:
    case HTP_TYPE_IQ4_NL:
        return &q4_0;
    case HTP_TYPE_Q8_0:
        return &q8_0;
    case HTP_TYPE_Q4_1:
        return &q4_1;
    case HTP_TYPE_MXFP4:
        return &mxfp4;
    default:
        return NULL;
    }
}

/* head: of a ggml block; quant: as it is stored there, unsigned */
static struct matmul_ref_weight dequantize(uint32_t type, const uint8_t *head, uint32_t quant) {
    static const int iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    static const double mxfp4[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
    double value = 0, minimum = 0;
    switch (type) {
    case HTP_TYPE_Q4_0:
        value = half_at(head) * ((int)quant - 8);
        break;
    case HTP_TYPE_Q8_0:
        value = half_at(head) * (int8_t)quant;
        break;
    case HTP_TYPE_Q4_1:
        value = half_at(head) * quant;
        minimum = half_at(head + 2);
        break;
    case HTP_TYPE_MXFP4:
        value = ldexp(mxfp4[quant], head[0] - 127);
        break;
    case HTP_TYPE_IQ4_NL:
        value = half_at(head) * iq4_nl[quant];
        break;
    }
    return (struct matmul_ref_weight){value + minimum, fabs(value) + fabs(minimum)};
}

/* ---- places in a tile, from include/htp/tiles.h ---- */

static uint8_t *tile_base(const struct htp_view *w, uint32_t n, uint32_t i2, uint32_t i3) {
    const size_t columns = htp_div_up(w->ne[1], HTP_TILE_DIM);
    const size_t column = (i3 * w->ne[2] + i2) * columns + n / HTP_TILE_DIM;
    return w->data + column * htp_tile_column_bytes(w->type, w->ne[0]);
}

/* the byte with the quant of weight k of a row, and how far up in it */
static uint8_t *tile_quant(const struct htp_view *w, uint32_t k, uint32_t n, uint8_t *base, uint32_t *shift) {
    const struct format *f = format_of(w->type);
    const uint32_t b = k / 32, kk = k % 32, lane = n % 32 * 4;
    base += (size_t)(b / f->group * (f->group * f->vectors + f->scales) + b % f->group * f->vectors) * 128;
    if (w->type == HTP_TYPE_Q8_0) {
        *shift = 0;
        return base + kk / 4 * 128 + lane + kk % 4;
    }
    *shift = kk & 4 ? 4 : 0;
    return base + kk / 8 * 128 + lane + kk % 4;
}

/* byte `byte` of the head of k's block */
static uint8_t *tile_head(const struct htp_view *w, uint32_t k, uint32_t n, uint32_t byte, uint8_t *base) {
    const struct format *f = format_of(w->type);
    const uint32_t blocks = w->ne[0] / 32, b = k / 32, first = b / f->group * f->group, size = 4 / f->group;
    const uint32_t in_group = blocks - first < f->group ? blocks - first : f->group;
    const size_t vector = (size_t)b / f->group * (f->group * f->vectors + f->scales) + in_group * f->vectors;
    return base + (vector + byte / size) * 128 + n % 32 * 4 + b % f->group * size + byte % size;
}

/* ---- weights ---- */

/* quant k of a ggml block, unsigned */
static uint32_t block_quant(uint32_t type, const uint8_t *block, uint32_t k) {
    const uint8_t *quants = block + format_of(type)->head_bytes;
    if (type == HTP_TYPE_Q8_0)
        return quants[k];
    return k < 16 ? quants[k] & 15 : quants[k - 16] >> 4;
}

static struct matmul_ref_weight plain_weight(double value) {
    return (struct matmul_ref_weight){value, fabs(value)};
}

struct matmul_ref_weight matmul_ref_weight(const struct htp_view *w, uint32_t k, uint32_t n, uint32_t i2, uint32_t i3) {
    const struct format *f = format_of(w->type);
    if (w->layout == HTP_LAYOUT_TILES) {
        uint8_t head[4];
        uint32_t shift;
        uint8_t *base = tile_base(w, n, i2, i3);
        const uint8_t byte = *tile_quant(w, k, n, base, &shift);
        for (uint32_t i = 0; i < f->head_bytes; i++)
            head[i] = *tile_head(w, k, n, i, base);
        return dequantize(w->type, head, w->type == HTP_TYPE_Q8_0 ? byte ^ 0x80u : byte >> shift & 15u);
    }
    const uint8_t *row = htp_row(w, n, i2, i3);
    if (f != NULL) {
        const uint8_t *block = row + (size_t)(k / 32) * w->nb[0];
        return dequantize(w->type, block, block_quant(w->type, block, k % 32));
    }
    const uint8_t *p = row + (size_t)k * w->nb[0];
    if (w->type == HTP_TYPE_F16)
        return plain_weight(half_at(p));
    uint32_t bits = 0; /* bf16: the upper half of an f32 */
    memcpy((uint8_t *)&bits + (w->type == HTP_TYPE_BF16 ? 2 : 0), p, w->type == HTP_TYPE_BF16 ? 2 : 4);
    return plain_weight(hvx_bits_float(bits));
}

void matmul_ref_tiles(const struct htp_view *rows, const struct htp_view *tiles) {
    const struct format *f = format_of(rows->type);
    const uint32_t *ne = rows->ne, padded = (uint32_t)htp_round_up(ne[1], 32);
    static const uint8_t zeros[34] = {0};
    for (uint32_t i3 = 0; i3 < ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < ne[2]; i2++) {
            memset(tile_base(tiles, 0, i2, i3), 0, htp_tile_column_bytes(rows->type, ne[0]) * (padded / 32));
            for (uint32_t n = 0; n < padded; n++)
                for (uint32_t k = 0; k < ne[0]; k++) {
                    const uint8_t *block =
                        n < ne[1] ? htp_row(rows, n, i2, i3) + (size_t)(k / 32) * rows->nb[0] : zeros;
                    uint8_t *base = tile_base(tiles, n, i2, i3);
                    uint32_t shift;
                    uint8_t *q = tile_quant(tiles, k, n, base, &shift);
                    const uint32_t quant = block_quant(rows->type, block, k % 32);
                    *q |= (uint8_t)((rows->type == HTP_TYPE_Q8_0 ? quant ^ 0x80u : quant) << shift);
                    for (uint32_t i = 0; i < f->head_bytes; i++)
                        *tile_head(tiles, k, n, i, base) = block[i];
                }
        }
}

/* ---- activations ---- */

static float activation(const struct htp_view *a, uint32_t k, uint32_t i1, uint32_t i2, uint32_t i3) {
    const uint8_t *p = htp_row(a, i1, i2, i3) + (size_t)k * a->nb[0];
    if (a->type == HTP_TYPE_F16)
        return (float)half_at(p);
    uint32_t bits = 0;
    memcpy((uint8_t *)&bits + (a->type == HTP_TYPE_BF16 ? 2 : 0), p, a->type == HTP_TYPE_BF16 ? 2 : 4);
    return hvx_bits_float(bits);
}

/* through the kernels' quantiser, whose own rounding check.c looks at */
static void quantize_in_place(double *x, uint32_t k) {
    static float values[QUANTIZE_GROUP] __attribute__((aligned(128)));
    static int8_t q[QUANTIZE_GROUP] __attribute__((aligned(128)));
    static struct activation_record records[QUANTIZE_GROUP_RECORDS] __attribute__((aligned(128)));
    for (uint32_t begin = 0; begin < k; begin += QUANTIZE_GROUP) {
        const uint32_t count = htp_min_u32(k - begin, QUANTIZE_GROUP);
        memset(values, 0, sizeof(values));
        for (uint32_t i = 0; i < count; i++)
            values[i] = (float)x[begin + i];
        struct quantize_range range = quantize_range_start();
        quantize_values((const HVX_Vector *)(const void *)values, QUANTIZE_GROUP, QUANTIZE_ZERO, 8,
                        (HVX_Vector *)(void *)q, (HVX_Vector *)(void *)records, &range);
        for (uint32_t i = 0; i < count; i++)
            x[begin + i] = q[i] * (double)records[i / 64].scale[i / 32 % 2];
    }
}

/* row r of the activations, counted over all dimensions, as the kernels see it or as it is */
static void load_row(const struct htp_view *w, const struct htp_view *a, enum matmul_ref_activations kind, uint32_t r,
                     double *to) {
    for (uint32_t i = 0; i < a->ne[0]; i++) {
        const float value = activation(a, i, r % a->ne[1], r / a->ne[1] % a->ne[2], r / a->ne[1] / a->ne[2]);
        const bool rounded = kind == MATMUL_REF_KERNEL && w->type == HTP_TYPE_F16;
        to[i] = rounded ? hvx_half_to_float(hvx_float_to_half(value)) : value;
    }
    if (kind == MATMUL_REF_KERNEL && format_of(w->type) != NULL)
        quantize_in_place(to, a->ne[0]);
}

/* ---- products ---- */

/* the matrix and the activation row, both counted over all dimensions, of row r of dst */
static void operands_of(const struct htp_view *w, const struct htp_view *a, const struct htp_view *ids, uint32_t r,
                        uint32_t *matrix, uint32_t *row) {
    if (ids != NULL) {
        const uint32_t slot = r % ids->ne[0], token = r / ids->ne[0];
        int32_t id;
        memcpy(&id, htp_row(ids, token, 0, 0) + (size_t)slot * ids->nb[0], 4);
        *matrix = (uint32_t)id;
        *row = token * a->ne[1] + slot % a->ne[1];
        return;
    }
    const uint32_t i2 = r / a->ne[1] % a->ne[2], i3 = r / a->ne[1] / a->ne[2];
    *matrix = i3 / (a->ne[3] / w->ne[3]) * w->ne[2] + i2 / (a->ne[2] / w->ne[2]);
    *row = r;
}

void matmul_ref(const struct htp_view *w, const struct htp_view *a, const struct htp_view *ids,
                enum matmul_ref_activations kind, double *out, double *terms) {
    const uint32_t k = w->ne[0], n = w->ne[1], a_rows = htp_rows(a);
    const uint32_t rows = ids == NULL ? a_rows : ids->ne[0] * ids->ne[1];
    double *x = malloc((size_t)a_rows * k * sizeof(double));
    struct matmul_ref_weight *weights = malloc(k * sizeof(*weights));
    if (x == NULL || weights == NULL)
        abort();
    for (uint32_t r = 0; r < a_rows; r++)
        load_row(w, a, kind, r, x + (size_t)r * k);
    for (uint32_t of = 0; of < w->ne[2] * w->ne[3]; of++)
        for (uint32_t j = 0; j < n; j++) {
            for (uint32_t i = 0; i < k; i++)
                weights[i] = matmul_ref_weight(w, i, j, of % w->ne[2], of / w->ne[2]);
            for (uint32_t r = 0; r < rows; r++) {
                uint32_t matrix, row;
                operands_of(w, a, ids, r, &matrix, &row);
                if (matrix != of)
                    continue;
                double sum = 0, magnitude = 0;
                for (uint32_t i = 0; i < k; i++) {
                    sum += weights[i].value * x[(size_t)row * k + i];
                    magnitude += weights[i].magnitude * fabs(x[(size_t)row * k + i]);
                }
                out[(size_t)r * n + j] = sum;
                terms[(size_t)r * n + j] = magnitude;
            }
        }
    free(x);
    free(weights);
}
