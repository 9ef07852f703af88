#include "ops/matmul/ref.h"

#include <math.h>
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

/* ---- places in a tile, from include/htp/tiles.h ---- */

static uint8_t *tile_base(const struct htp_view *w, uint32_t n, uint32_t i2, uint32_t i3) {
    const size_t columns = htp_div_up(w->ne[1], HTP_TILE_DIM);
    const size_t column = (i3 * w->ne[2] + i2) * columns + n / HTP_TILE_DIM;
    return w->data + column * htp_tile_column_bytes(w->type, w->ne[0]);
}

/* vectors before block b's quants, and before its scales */
static uint32_t quants_vector(const struct htp_view *w, uint32_t b) {
    const uint32_t q = htp_tile_quant_vectors(w->type);
    return b / 2 * (2 * q + 1) + b % 2 * q;
}
static uint32_t scale_vector(const struct htp_view *w, uint32_t b) {
    const uint32_t blocks = w->ne[0] / 32, q = htp_tile_quant_vectors(w->type), pair = b / 2;
    return pair * (2 * q + 1) + (2 * pair + 1 < blocks ? 2 * q : q);
}

/* the byte with the quant, and how far up in it */
static uint8_t *tile_quant(const struct htp_view *w, uint32_t k, uint32_t n, uint8_t *base, uint32_t *shift) {
    const uint32_t kk = k % 32, lane = n % 32 * 4;
    base += (size_t)quants_vector(w, k / 32) * 128;
    if (w->type == HTP_TYPE_Q8_0) {
        *shift = 0;
        return base + kk / 4 * 128 + lane + kk % 4;
    }
    *shift = kk & 4 ? 4 : 0;
    return base + kk / 8 * 128 + lane + kk % 4;
}
static uint8_t *tile_scale(const struct htp_view *w, uint32_t k, uint32_t n, uint8_t *base) {
    return base + (size_t)scale_vector(w, k / 32) * 128 + n % 32 * 4 + k / 32 % 2 * 2;
}

/* ---- weights ---- */

/* signed quant k of a ggml block; block: its scale, then its quants */
static int block_quant(uint32_t type, const uint8_t *block, uint32_t k) {
    if (type == HTP_TYPE_Q8_0)
        return (int8_t)block[2 + k];
    return (k < 16 ? block[2 + k] & 15 : block[2 + k - 16] >> 4) - 8;
}

double matmul_ref_weight(const struct htp_view *w, uint32_t k, uint32_t n, uint32_t i2, uint32_t i3) {
    if (w->layout == HTP_LAYOUT_TILES) {
        uint32_t shift;
        uint8_t *base = tile_base(w, n, i2, i3);
        const uint8_t byte = *tile_quant(w, k, n, base, &shift);
        const int quant = w->type == HTP_TYPE_Q8_0 ? byte - 128 : (byte >> shift & 15) - 8;
        return quant * half_at(tile_scale(w, k, n, base));
    }
    const uint8_t *row = htp_row(w, n, i2, i3);
    if (w->type == HTP_TYPE_F16)
        return half_at(row + (size_t)k * w->nb[0]);
    const uint8_t *block = row + (size_t)(k / 32) * w->nb[0];
    return block_quant(w->type, block, k % 32) * half_at(block);
}

void matmul_ref_tiles(const struct htp_view *rows, const struct htp_view *tiles) {
    const uint32_t *ne = rows->ne, padded = (uint32_t)htp_round_up(ne[1], 32);
    for (uint32_t i3 = 0; i3 < ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < ne[2]; i2++) {
            memset(tile_base(tiles, 0, i2, i3), 0, htp_tile_column_bytes(rows->type, ne[0]) * (padded / 32));
            for (uint32_t n = 0; n < padded; n++)
                for (uint32_t k = 0; k < ne[0]; k++) {
                    static const uint8_t zeros[34] = {0};
                    const uint8_t *block =
                        n < ne[1] ? htp_row(rows, n, i2, i3) + (size_t)(k / 32) * rows->nb[0] : zeros;
                    uint8_t *base = tile_base(tiles, n, i2, i3);
                    uint32_t shift;
                    uint8_t *q = tile_quant(tiles, k, n, base, &shift);
                    if (rows->type == HTP_TYPE_Q8_0)
                        *q = (uint8_t)(block_quant(rows->type, block, k % 32) + 128);
                    else if (n < ne[1])
                        *q |= (uint8_t)((block_quant(rows->type, block, k % 32) + 8) << shift);
                    memcpy(tile_scale(tiles, k, n, base), block, 2);
                }
        }
}

/* ---- activations ---- */

static float activation(const struct htp_view *a, uint32_t k, uint32_t i1, uint32_t i2, uint32_t i3) {
    const uint8_t *p = htp_row(a, i1, i2, i3) + (size_t)k * a->nb[0];
    if (a->type == HTP_TYPE_F16)
        return (float)half_at(p);
    float f;
    memcpy(&f, p, 4);
    return f;
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
        quantize_group((const HVX_Vector *)(const void *)values, QUANTIZE_GROUP, 8, (HVX_Vector *)(void *)q,
                       (HVX_Vector *)(void *)records);
        for (uint32_t i = 0; i < count; i++)
            x[begin + i] = q[i] * (double)records[i / 64].scale[i / 32 % 2];
    }
}

void matmul_ref(const struct htp_view *w, const struct htp_view *a, enum matmul_ref_activations kind, double *out,
                double *terms) {
    const uint32_t k = w->ne[0], n = w->ne[1];
    const uint32_t repeat2 = a->ne[2] / w->ne[2], repeat3 = a->ne[3] / w->ne[3];
    const size_t rows = htp_rows(a);
    double *x = malloc(rows * k * sizeof(double)), *row = malloc(k * sizeof(double));
    if (x == NULL || row == NULL)
        abort();
    for (uint32_t m = 0; m < rows; m++) {
        const uint32_t i1 = m % a->ne[1], i2 = m / a->ne[1] % a->ne[2], i3 = m / a->ne[1] / a->ne[2];
        double *to = x + (size_t)m * k;
        for (uint32_t i = 0; i < k; i++) {
            const float value = activation(a, i, i1, i2, i3);
            to[i] = kind == MATMUL_REF_KERNEL && w->type == HTP_TYPE_F16 ? hvx_half_to_float(hvx_float_to_half(value))
                                                                        : value;
        }
        if (kind == MATMUL_REF_KERNEL && w->type != HTP_TYPE_F16)
            quantize_in_place(to, k);
    }
    for (uint32_t i3 = 0; i3 < w->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < w->ne[2]; i2++)
            for (uint32_t j = 0; j < n; j++) {
                for (uint32_t i = 0; i < k; i++)
                    row[i] = matmul_ref_weight(w, i, j, i2, i3);
                for (uint32_t m = 0; m < rows; m++) {
                    const uint32_t a2 = m / a->ne[1] % a->ne[2], a3 = m / a->ne[1] / a->ne[2];
                    if (a2 / repeat2 != i2 || a3 / repeat3 != i3)
                        continue;
                    double sum = 0, magnitude = 0;
                    for (uint32_t i = 0; i < k; i++) {
                        const double term = row[i] * x[(size_t)m * k + i];
                        sum += term;
                        magnitude += fabs(term);
                    }
                    out[(size_t)m * n + j] = sum;
                    terms[(size_t)m * n + j] = magnitude;
                }
            }
    free(x);
    free(row);
}
