#include "check/block_ref.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "hvx/emul/half.h"
#include "runtime/tiles.h"

static double half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return hvx_half_to_float(h);
}

uint32_t check_head_bytes(uint32_t type) {
    switch (type) {
    case HTP_TYPE_MXFP4:
        return 1;
    case HTP_TYPE_Q4_1:
    case HTP_TYPE_Q5_1:
        return 4;
    case HTP_TYPE_IQ4_XS:
        return 8;
    case HTP_TYPE_Q3_K:
        return 14;
    case HTP_TYPE_Q4_K:
    case HTP_TYPE_Q5_K:
        return 16;
    case HTP_TYPE_Q6_K:
        return 18;
    case HTP_TYPE_Q2_K:
        return 20;
    default:
        return 2;
    }
}

uint32_t check_head_offset(uint32_t type, uint32_t i) {
    switch (type) {
    case HTP_TYPE_Q2_K:
        return i < 4 ? 80 + i : i - 4;
    case HTP_TYPE_Q3_K:
        return 96 + i;
    case HTP_TYPE_Q6_K:
        return 192 + i;
    default:
        return i;
    }
}

static uint32_t bits_at(const uint8_t *bytes, uint32_t i, uint32_t shift, uint32_t width) {
    return bytes[i] >> shift & ((1u << width) - 1);
}

uint32_t check_block_quant(uint32_t type, const uint8_t *block, uint32_t k) {
    const uint32_t i = k % 32, b = k / 32;
    switch (type) {
    case HTP_TYPE_Q8_0:
        return block[2 + k] ^ 0x80u; /* as tiles have it */
    case HTP_TYPE_Q5_0:
    case HTP_TYPE_Q5_1: {
        const uint8_t *fifth = block + check_head_bytes(type);
        return bits_at(fifth + 4, k % 16, k / 16 * 4, 4) | bits_at(fifth, k / 8, k % 8, 1) << 4;
    }
    case HTP_TYPE_IQ4_XS:
        return bits_at(block + 8 + 16 * b, k % 16, i / 16 * 4, 4);
    case HTP_TYPE_Q4_K:
        return bits_at(block + 16 + 32 * (b / 2), i, b % 2 * 4, 4);
    case HTP_TYPE_Q5_K:
        return bits_at(block + 48 + 32 * (b / 2), i, b % 2 * 4, 4) | bits_at(block + 16, i, b, 1) << 4;
    case HTP_TYPE_Q6_K:
        return bits_at(block + 64 * (b / 4) + 32 * (b % 2), i, b % 4 / 2 * 4, 4) |
               bits_at(block + 128 + 32 * (b / 4), i, b % 4 * 2, 2) << 4;
    case HTP_TYPE_Q3_K:
        return bits_at(block + 32 + 32 * (b / 4), i, b % 4 * 2, 2) | bits_at(block, i, b, 1) << 2;
    case HTP_TYPE_Q2_K:
        return bits_at(block + 16 + 32 * (b / 4), i, b % 4 * 2, 2);
    default:
        return bits_at(block + check_head_bytes(type), k % 16, k / 16 * 4, 4);
    }
}

/* Q4_K and Q5_K: scale b and minimum b of 12 bytes, six bits each */
static void scale_and_minimum(const uint8_t *bytes, uint32_t b, uint32_t *scale, uint32_t *minimum) {
    if (b < 4) {
        *scale = bytes[b] & 63;
        *minimum = bytes[b + 4] & 63;
    } else {
        *scale = (bytes[b + 4] & 15u) | bytes[b - 4] >> 6 << 4;
        *minimum = bytes[b + 4] >> 4 | bytes[b] >> 6 << 4;
    }
}

/* Q3_K: scale s of 12 bytes: four bits, and two more behind all of these */
static int q3_k_scale(const uint8_t *bytes, uint32_t s) {
    return (int)(bits_at(bytes, s % 8, s / 8 * 4, 4) | bits_at(bytes + 8, s % 4, s / 4 * 2, 2) << 4) - 32;
}

static int iq4_xs_scale(const uint8_t *head, uint32_t b) {
    return (int)(bits_at(head + 4, b / 2, b % 2 * 4, 4) | bits_at(head + 2, b / 4, b % 4 * 2, 2) << 4) - 32;
}

struct check_element check_element(uint32_t type, const uint8_t *head, uint32_t k, uint32_t quant) {
    static const int iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    static const double mxfp4[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
    const bool behind = type == HTP_TYPE_Q6_K || type == HTP_TYPE_Q3_K; /* d is behind the bytes */
    const uint8_t *bytes = head + (behind ? 0 : 4), *d = head + (behind ? check_head_bytes(type) - 2 : 0);
    const uint32_t b = k / 32, s = k / 16;
    uint32_t scale = 0, minimum = 0;
    switch (type) {
    case HTP_TYPE_MXFP4:
        return (struct check_element){ldexp(1, head[0] - 127), mxfp4[quant], 0};
    case HTP_TYPE_Q4_1:
    case HTP_TYPE_Q5_1:
        return (struct check_element){half_at(head), quant, half_at(head + 2)};
    case HTP_TYPE_IQ4_NL:
        return (struct check_element){half_at(head), iq4_nl[quant], 0};
    case HTP_TYPE_IQ4_XS:
        return (struct check_element){half_at(head) * iq4_xs_scale(head, b), iq4_nl[quant], 0};
    case HTP_TYPE_Q4_K:
    case HTP_TYPE_Q5_K:
        scale_and_minimum(bytes, b, &scale, &minimum);
        return (struct check_element){half_at(d) * scale, quant, -half_at(d + 2) * minimum};
    case HTP_TYPE_Q2_K:
        return (struct check_element){half_at(d) * (bytes[s] & 15), quant, -half_at(d + 2) * (bytes[s] >> 4)};
    case HTP_TYPE_Q3_K:
        return (struct check_element){half_at(d) * q3_k_scale(bytes, s), (int)quant - 4, 0};
    case HTP_TYPE_Q6_K:
        return (struct check_element){half_at(d) * (int8_t)bytes[s], (int)quant - 32, 0};
    default:
        return (struct check_element){half_at(head), (int)quant - (int)htp_tile_zero(type), 0};
    }
}
