#include "check/row_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "hvx/emul/half.h"
#include "runtime/types.h"

static uint16_t half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return h;
}

static float element_at(uint32_t type, const uint8_t *row, uint32_t i) {
    if (type == HTP_TYPE_F16)
        return hvx_half_to_float(half_at(row + 2 * (size_t)i));
    if (type == HTP_TYPE_I32) {
        int32_t x;
        memcpy(&x, row + 4 * (size_t)i, 4);
        return (float)x;
    }
    if (type == HTP_TYPE_F32) {
        float f;
        memcpy(&f, row + 4 * (size_t)i, 4);
        return f;
    }
    const uint8_t *block = row + (size_t)(i / 32) * htp_type_bytes(type);
    const float d = hvx_half_to_float(half_at(block));
    if (type == HTP_TYPE_Q8_0)
        return d * (float)(int8_t)block[2 + i % 32];
    const uint8_t pair = block[2 + i % 16];
    return d * (float)((i % 32 < 16 ? pair & 15 : pair >> 4) - 8);
}

static void quantize(uint32_t type, const float *x, uint8_t *block) {
    float absmax = 0, max = 0;
    for (int i = 0; i < 32; i++) {
        if (fabsf(x[i]) > absmax) {
            absmax = fabsf(x[i]);
            max = x[i];
        }
    }
    const float d = type == HTP_TYPE_Q8_0 ? absmax / 127 : max / -8;
    const float inverse = d != 0 ? 1.0f / d : 0;
    const uint16_t h = hvx_float_to_half(d);
    memcpy(block, &h, 2);
    for (int i = 0; i < 32; i++) {
        if (type == HTP_TYPE_Q8_0) {
            block[2 + i] = (uint8_t)(int8_t)roundf(x[i] * inverse);
            continue;
        }
        const int q = (int)(x[i] * inverse + 8.5f), nibble = q > 15 ? 15 : q;
        block[2 + i % 16] = (uint8_t)(i < 16 ? nibble : block[2 + i % 16] | nibble << 4);
    }
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
        } else if (to == HTP_TYPE_F16) {
            const uint16_t h = hvx_float_to_half(f);
            memcpy(dst + 2 * (size_t)i, &h, 2);
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

static void fill_block(uint32_t type, uint8_t *p, float scale) {
    const float f = check_uniform() * scale;
    const uint16_t h = hvx_float_to_half(f);
    const uint32_t bits[2] = {check_random(), check_random()};
    switch (type) {
    case HTP_TYPE_F32:
        memcpy(p, &f, 4);
        break;
    case HTP_TYPE_F16:
        memcpy(p, &h, 2);
        break;
    case HTP_TYPE_I32:
    case HTP_TYPE_I64:
        memcpy(p, bits, htp_type_bytes(type));
        break;
    default:
        memcpy(p, &h, 2);
        for (uint32_t i = 2; i < htp_type_bytes(type); i++)
            p[i] = (uint8_t)(check_random() >> 24);
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
