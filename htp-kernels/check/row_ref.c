#include "check/row_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/block_ref.h"
#include "check/check.h"
#include "hvx/emul/half.h"
#include "runtime/types.h"

static uint16_t half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return h;
}

static float float_of(uint32_t bits) { return hvx_bits_float(bits); }

static const int8_t mxfp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int8_t iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static bool has_minimum(uint32_t type) {
    return type == HTP_TYPE_Q4_1 || type == HTP_TYPE_Q5_1 || type == HTP_TYPE_Q2_K || type == HTP_TYPE_Q4_K ||
           type == HTP_TYPE_Q5_K;
}
static bool has_fifth_bits(uint32_t type) { return type == HTP_TYPE_Q5_0 || type == HTP_TYPE_Q5_1; }

/* where a block's fifth bits, if any, and its quants begin */
static uint32_t quants_offset(uint32_t type) { return type == HTP_TYPE_MXFP4 ? 1 : has_minimum(type) ? 4 : 2; }

/* scales and minima are exact as f32; the product is rounded, and the sum */
static float quantised_at(uint32_t type, const uint8_t *block, uint32_t k) {
    uint8_t head[CHECK_MOST_HEAD];
    for (uint32_t i = 0; i < check_head_bytes(type); i++)
        head[i] = block[check_head_offset(type, i)];
    const struct check_element e = check_element(type, head, k, check_block_quant(type, block, k));
    const float product = (float)(e.scale * e.value);
    return has_minimum(type) ? product + (float)e.minimum : product;
}

static float element_at(uint32_t type, const uint8_t *row, uint32_t i) {
    int32_t word;
    switch (type) {
    case HTP_TYPE_F32:
        memcpy(&word, row + 4 * (size_t)i, 4);
        return float_of((uint32_t)word);
    case HTP_TYPE_I32:
        memcpy(&word, row + 4 * (size_t)i, 4);
        return (float)word;
    case HTP_TYPE_F16:
        return hvx_half_to_float(half_at(row + 2 * (size_t)i));
    case HTP_TYPE_BF16:
        return float_of((uint32_t)half_at(row + 2 * (size_t)i) << 16);
    default:
        return quantised_at(type, row + (size_t)(i / htp_type_elements(type)) * htp_type_bytes(type),
                            i % htp_type_elements(type));
    }
}

static uint16_t to_bf16(float f) {
    const uint32_t bits = hvx_float_bits(f);
    if (isnan(f))
        return (uint16_t)(bits >> 16 | 0x40);
    const uint32_t rest = bits & 0xffff, up = rest > 0x8000 || (rest == 0x8000 && (bits >> 16 & 1));
    return (uint16_t)((bits >> 16) + up);
}

static void put_half(uint8_t *p, uint16_t h) { memcpy(p, &h, 2); }

static void put_quants(uint32_t type, uint8_t *block, const int *q) {
    uint8_t *fifth = block + quants_offset(type), *quants = fifth + (has_fifth_bits(type) ? 4 : 0);
    if (has_fifth_bits(type))
        memset(fifth, 0, 4);
    for (int i = 0; i < 32; i++) {
        if (type == HTP_TYPE_Q8_0) {
            quants[i] = (uint8_t)(int8_t)q[i];
            continue;
        }
        quants[i % 16] = (uint8_t)(i < 16 ? q[i] & 15 : quants[i % 16] | (q[i] & 15) << 4);
        if (has_fifth_bits(type))
            fifth[i / 8] |= (uint8_t)((q[i] >> 4 & 1) << i % 8);
    }
}

/* index of the value nearest to x; up: the larger index when it is in the middle of two */
static int nearest(const int8_t *values, int n, double x, bool up) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        const double was = fabs(values[best] - x), is = fabs(values[i] - x);
        best = is < was || (up && is == was) ? i : best;
    }
    return best;
}

static void to_mxfp4(const float *x, float absmax, uint8_t *block) {
    int q[32], exponent = 0;
    frexpf(absmax, &exponent); /* absmax = m * 2^exponent, m in [1/2, 1) */
    const int byte = absmax == 0 || exponent - 3 + 127 < 0 ? 0 : exponent - 3 + 127;
    for (int i = 0; i < 32; i++) {
        q[i] = nearest(mxfp4, 8, ldexp(fabsf(x[i]), 128 - byte), false);
        q[i] |= x[i] < 0 && q[i] != 0 ? 8 : 0;
    }
    block[0] = (uint8_t)byte;
    put_quants(HTP_TYPE_MXFP4, block, q);
}

static void to_iq4_nl(const float *x, float extreme, uint8_t *block) {
    int q[32];
    double sum_x = 0, sum_value = 0;
    const float d = extreme / -127.0f, inverse = fabsf(extreme) < 1e-15f ? 0 : 1.0f / d;
    for (int i = 0; i < 32; i++) {
        q[i] = nearest(iq4_nl, 16, x[i] * inverse, true);
        const double w = (double)x[i] * x[i], value = iq4_nl[q[i]];
        sum_x += w * value * x[i];
        sum_value += w * value * value;
    }
    put_half(block, hvx_float_to_half(inverse != 0 && sum_value > 0 ? (float)(sum_x / sum_value) : 0));
    put_quants(HTP_TYPE_IQ4_NL, block, q);
}

static void quantize(uint32_t type, const float *x, uint8_t *block) {
    float absmax = 0, extreme = 0, min = x[0], max = x[0];
    int q[32];
    for (int i = 0; i < 32; i++) {
        if (fabsf(x[i]) > absmax) {
            absmax = fabsf(x[i]);
            extreme = x[i];
        }
        min = fminf(min, x[i]);
        max = fmaxf(max, x[i]);
    }
    if (type == HTP_TYPE_MXFP4) {
        to_mxfp4(x, absmax, block);
        return;
    }
    if (type == HTP_TYPE_IQ4_NL) {
        to_iq4_nl(x, extreme, block);
        return;
    }
    const bool five = has_fifth_bits(type), offset = has_minimum(type);
    const int most = five ? 31 : 15;
    const float half = five ? 16 : 8;
    const float d = type == HTP_TYPE_Q8_0 ? absmax / 127 : offset ? (max - min) / (float)most : extreme / -half;
    const float inverse = type == HTP_TYPE_Q8_0 ? (absmax != 0 ? 127 / absmax : 0) : d != 0 ? 1.0f / d : 0;
    for (int i = 0; i < 32; i++) {
        if (type == HTP_TYPE_Q8_0) {
            q[i] = (int)nearbyintf(x[i] * inverse);
        } else {
            q[i] = offset ? (int)((x[i] - min) * inverse + 0.5f) : (int)(x[i] * inverse + (half + 0.5f));
            q[i] = q[i] > most ? most : q[i];
        }
    }
    put_half(block, hvx_float_to_half(d));
    if (offset)
        put_half(block + 2, hvx_float_to_half(min));
    put_quants(type, block, q);
}

void check_convert_row(uint32_t from, uint32_t to, uint8_t *dst, const uint8_t *src, uint32_t count) {
    if (from == to) {
        memcpy(dst, src, (size_t)(count / htp_type_elements(from)) * htp_type_bytes(from));
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const float f = element_at(from, src, i);
        if (htp_type_elements(to) == 32) {
            float x[32];
            for (uint32_t k = 0; k < 32; k++)
                x[k] = element_at(from, src, i + k);
            quantize(to, x, dst + (size_t)(i / 32) * htp_type_bytes(to));
            i += 31;
        } else if (to == HTP_TYPE_F16 || to == HTP_TYPE_BF16) {
            put_half(dst + 2 * (size_t)i, to == HTP_TYPE_F16 ? hvx_float_to_half(f) : to_bf16(f));
        } else if (to == HTP_TYPE_F32) {
            memcpy(dst + 4 * (size_t)i, &f, 4);
        } else {
            const double limited = f != f ? 0 : fmin(fmax(trunc(f), -2147483648.0), 2147483647.0);
            const int32_t n = (int32_t)limited;
            memcpy(dst + 4 * (size_t)i, &n, 4);
        }
    }
}

uint8_t *check_block(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3) {
    return htp_row(v, i1, i2, i3) + (size_t)(i0 / htp_type_elements(v->type)) * v->nb[0];
}

void check_read_row(const struct htp_view *v, uint32_t i1, uint32_t i2, uint32_t i3, uint32_t first, uint32_t count,
                    uint8_t *out) {
    const uint32_t step = htp_type_elements(v->type), bytes = htp_type_bytes(v->type);
    for (uint32_t i = 0; i < count; i += step, out += bytes)
        memcpy(out, check_block(v, first + i, i1, i2, i3), bytes);
}

void check_set_scales(uint32_t type, uint8_t *block, float scale, float minimum) {
    const uint32_t at = type == HTP_TYPE_Q2_K ? 80 : type == HTP_TYPE_Q3_K ? 108 : type == HTP_TYPE_Q6_K ? 208 : 0;
    put_half(block + at, hvx_float_to_half(scale));
    if (has_minimum(type))
        put_half(block + at + 2, hvx_float_to_half(minimum));
}

static void fill_block(uint32_t type, uint8_t *p, float scale) {
    const float f = check_uniform() * scale;
    const uint16_t h = type == HTP_TYPE_BF16 ? to_bf16(f) : hvx_float_to_half(f);
    const uint32_t bits[2] = {check_random(), check_random()};
    switch (type) {
    case HTP_TYPE_F32:
        memcpy(p, &f, 4);
        break;
    case HTP_TYPE_F16:
    case HTP_TYPE_BF16:
        memcpy(p, &h, 2);
        break;
    case HTP_TYPE_I32:
    case HTP_TYPE_I64:
    case HTP_TYPE_I16:
    case HTP_TYPE_I8:
        memcpy(p, bits, htp_type_bytes(type));
        break;
    default:
        for (uint32_t i = 0; i < htp_type_bytes(type); i++)
            p[i] = (uint8_t)(check_random() >> 24);
        if (type == HTP_TYPE_MXFP4)
            p[0] = (uint8_t)(120 + check_below(12));
        else
            check_set_scales(type, p, f, check_uniform() * scale);
    }
}

void check_fill(const struct htp_view *v, float scale) {
    for (uint32_t i3 = 0; i3 < v->ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < v->ne[2]; i2++)
            for (uint32_t i1 = 0; i1 < v->ne[1]; i1++)
                for (uint32_t i0 = 0; i0 < v->ne[0]; i0 += htp_type_elements(v->type))
                    fill_block(v->type, check_block(v, i0, i1, i2, i3), scale);
}

void check_strides(uint32_t type, const uint32_t *ne, uint32_t form, uint32_t *nb) {
    static const uint8_t order[CHECK_FORMS][4] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 2, 1, 3},
                                                  {1, 0, 2, 3}, {2, 1, 0, 3}, {0, 1, 2, 3}};
    uint32_t step = htp_type_bytes(type) * (form == 5 ? 2 : 1);
    for (uint32_t d = 0; d < 4; d++) {
        const uint32_t dim = order[form][d];
        nb[dim] = step;
        step *= dim == 0 ? ne[0] / htp_type_elements(type) : ne[dim];
        if (form == 1 && d == 0)
            step += 5 * htp_type_bytes(type) + (htp_type_bytes(type) > 8 ? 0 : 8);
    }
}
