#include "ops/matmul/ref.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hvx/emul/half.h"
#include "ops/matmul/quantize.h"
#include "runtime/tiles.h"

/* ---- activations ---- */

static float half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return hvx_half_to_float(h);
}

static float activation(const struct htp_view *a, uint32_t k, uint32_t i1, uint32_t i2, uint32_t i3) {
    const uint8_t *p = htp_row(a, i1, i2, i3) + (size_t)k * a->nb[0];
    if (a->type == HTP_TYPE_F16)
        return half_at(p);
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
    if (kind == MATMUL_REF_KERNEL && htp_tile_quant_vectors(w->type) != 0)
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
