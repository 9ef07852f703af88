/* The weights of ref.h: what the bits of a ggml block and of a tile (include/htp/tiles.h) say, one at a time. */
#include <math.h>
#include <string.h>

#include "hvx/emul/half.h"
#include "ops/matmul/ref.h"
#include "runtime/tiles.h"
#include "runtime/types.h"

#define MOST_HEAD 20    /* bytes of a block's scales */
#define MOST_BLOCK 210  /* bytes of a block */

static double half_at(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return hvx_half_to_float(h);
}

static bool is_quantised(uint32_t type) { return htp_tile_quant_vectors(type) != 0; }

/*
 * The head of a block: all that is not quants, in the order in which tiles have it. Blocks of 256: the f16 numbers that
 * tiles have in front, scale bytes, the f16 number that they have behind these.
 */
static uint32_t head_bytes(uint32_t type) {
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

/* where byte i of the head is in ggml's block */
static uint32_t head_offset(uint32_t type, uint32_t i) {
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

/* ---- a block ---- */

static uint32_t bits_at(const uint8_t *bytes, uint32_t i, uint32_t shift, uint32_t width) {
    return bytes[i] >> shift & ((1u << width) - 1);
}

/* Quant k of a ggml block, unsigned: element by element what ggml's dequantize_row functions read. */
static uint32_t block_quant(uint32_t type, const uint8_t *block, uint32_t k) {
    const uint32_t i = k % 32, b = k / 32;
    switch (type) {
    case HTP_TYPE_Q8_0:
        return block[2 + k] ^ 0x80u; /* as tiles have it */
    case HTP_TYPE_Q5_0:
    case HTP_TYPE_Q5_1: {
        const uint8_t *fifth = block + head_bytes(type);
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
        return bits_at(block + head_bytes(type), k % 16, k / 16 * 4, 4);
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

/* quant k of a block with this head, as block_quant gives it */
static struct matmul_ref_weight dequantize(uint32_t type, const uint8_t *head, uint32_t k, uint32_t quant) {
    static const int iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    static const double mxfp4[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
    const int q = (int)quant - (int)(type == HTP_TYPE_IQ4_NL || type == HTP_TYPE_IQ4_XS ? 0 : htp_tile_zero(type));
    const uint8_t *bytes = head + (type == HTP_TYPE_Q6_K || type == HTP_TYPE_Q3_K ? 0 : 4);
    const uint32_t b = k / 32, s = k / 16;
    uint32_t scale = 0, factor = 0;
    double value = 0, minimum = 0;
    switch (type) {
    case HTP_TYPE_Q4_0:
    case HTP_TYPE_Q5_0:
    case HTP_TYPE_Q8_0:
        value = half_at(head) * q;
        break;
    case HTP_TYPE_Q4_1:
    case HTP_TYPE_Q5_1:
        value = half_at(head) * q;
        minimum = half_at(head + 2);
        break;
    case HTP_TYPE_MXFP4:
        value = ldexp(mxfp4[quant], head[0] - 127);
        break;
    case HTP_TYPE_IQ4_NL:
        value = half_at(head) * iq4_nl[quant];
        break;
    case HTP_TYPE_IQ4_XS:
        value = half_at(head) * iq4_xs_scale(head, b) * iq4_nl[quant];
        break;
    case HTP_TYPE_Q4_K:
    case HTP_TYPE_Q5_K:
        scale_and_minimum(bytes, b, &scale, &factor);
        value = half_at(head) * scale * q;
        minimum = -half_at(head + 2) * factor;
        break;
    case HTP_TYPE_Q2_K:
        value = half_at(head) * (bytes[s] & 15) * q;
        minimum = -half_at(head + 2) * (bytes[s] >> 4);
        break;
    case HTP_TYPE_Q3_K:
        value = half_at(head + 12) * q3_k_scale(bytes, s) * q;
        break;
    case HTP_TYPE_Q6_K:
        value = half_at(head + 16) * (int8_t)bytes[s] * q;
        break;
    }
    return (struct matmul_ref_weight){value + minimum, fabs(value) + fabs(minimum)};
}

/* ---- a tile ---- */

static uint8_t *tile_base(const struct htp_view *w, uint32_t n, uint32_t i2, uint32_t i3) {
    const size_t columns = htp_div_up(w->ne[1], HTP_TILE_DIM);
    const size_t column = (i3 * w->ne[2] + i2) * columns + n / HTP_TILE_DIM;
    return w->data + column * htp_tile_column_bytes(w->type, w->ne[0]);
}

/* A quant is in planes: so many bits of it in so many vectors. Widths from the lowest bits on, 0: no more. */
static const uint8_t *planes(uint32_t type) {
    static const uint8_t bytes[] = {8, 0}, nibbles[] = {4, 0}, five[] = {4, 1, 0}, six[] = {4, 2, 0},
                         three[] = {2, 1, 0}, pairs[] = {2, 0};
    switch (type) {
    case HTP_TYPE_Q8_0:
        return bytes;
    case HTP_TYPE_Q5_0:
    case HTP_TYPE_Q5_1:
    case HTP_TYPE_Q5_K:
        return five;
    case HTP_TYPE_Q6_K:
        return six;
    case HTP_TYPE_Q3_K:
        return three;
    case HTP_TYPE_Q2_K:
        return pairs;
    default:
        return nibbles;
    }
}

/* the lane of row n in the first vector of the quants of K-block b */
static uint8_t *tile_lane(const struct htp_view *w, uint32_t b, uint32_t n, uint8_t *base) {
    const uint32_t group = htp_tile_scale_group(w->type), quants = htp_tile_quant_vectors(w->type);
    const size_t vector = (size_t)(b / group) * htp_tile_group_vectors(w->type) + b % group * quants;
    return base + vector * HTP_TILE_VECTOR + n % 32 * 4;
}

/* A plane of `width` bits of element i of a K-block: its byte and where it begins there. */
static uint8_t *plane_byte(uint8_t *plane, uint32_t i, uint32_t width, uint32_t *shift) {
    const uint32_t vector = i / (32 / width);
    *shift = i % (32 / width) / 4 * width;
    return plane + vector * HTP_TILE_VECTOR + i % 4;
}

static uint32_t load_quant(const struct htp_view *w, uint32_t k, uint32_t n, uint8_t *base) {
    uint8_t *plane = tile_lane(w, k / 32, n, base);
    uint32_t quant = 0, bits = 0, shift;
    for (const uint8_t *width = planes(w->type); *width != 0; width++) {
        const uint8_t byte = *plane_byte(plane, k % 32, *width, &shift);
        quant |= bits_at(&byte, 0, shift, *width) << bits;
        bits += *width;
        plane += *width * HTP_TILE_VECTOR;
    }
    return quant;
}

/* into memory that is zero */
static void store_quant(const struct htp_view *w, uint32_t k, uint32_t n, uint8_t *base, uint32_t quant) {
    uint8_t *plane = tile_lane(w, k / 32, n, base);
    uint32_t shift;
    for (const uint8_t *width = planes(w->type); *width != 0; width++) {
        uint8_t *byte = plane_byte(plane, k % 32, *width, &shift);
        *byte |= (uint8_t)((quant & ((1u << *width) - 1)) << shift);
        quant >>= *width;
        plane += *width * HTP_TILE_VECTOR;
    }
}

/* byte i of the head of k's block */
static uint8_t *tile_head(const struct htp_view *w, uint32_t k, uint32_t n, uint32_t i, uint8_t *base) {
    const uint32_t group = htp_tile_scale_group(w->type), blocks = w->ne[0] / 32, first = k / 32 / group * group;
    const uint32_t in_group = htp_min_u32(blocks - first, group), quants = htp_tile_quant_vectors(w->type);
    const uint32_t elements = htp_type_elements(w->type), places = group * 32 / elements;
    const uint32_t place = k / elements % places, scale_bytes = head_bytes(w->type) - 2;
    uint8_t *scales = tile_lane(w, first, n, base) + in_group * quants * HTP_TILE_VECTOR;
    if (w->type == HTP_TYPE_Q6_K || w->type == HTP_TYPE_Q3_K) {
        const uint32_t vector = i < scale_bytes ? (place * scale_bytes + i) / 4 : places * scale_bytes / 4;
        return scales + vector * HTP_TILE_VECTOR + (i < scale_bytes ? i % 4 : 2 * place + i % 2);
    }
    const uint32_t size = 4 / places;
    return scales + i / size * HTP_TILE_VECTOR + place * size + i % size;
}

/* ---- weights ---- */

static struct matmul_ref_weight plain_weight(double value) {
    return (struct matmul_ref_weight){value, fabs(value)};
}

struct matmul_ref_weight matmul_ref_weight(const struct htp_view *w, uint32_t k, uint32_t n, uint32_t i2, uint32_t i3) {
    const uint32_t elements = htp_type_elements(w->type);
    uint8_t head[MOST_HEAD];
    if (w->layout == HTP_LAYOUT_TILES) {
        uint8_t *base = tile_base(w, n, i2, i3);
        for (uint32_t i = 0; i < head_bytes(w->type); i++)
            head[i] = *tile_head(w, k, n, i, base);
        return dequantize(w->type, head, k % elements, load_quant(w, k, n, base));
    }
    const uint8_t *p = htp_row(w, n, i2, i3) + (size_t)(k / elements) * w->nb[0];
    if (is_quantised(w->type)) {
        for (uint32_t i = 0; i < head_bytes(w->type); i++)
            head[i] = p[head_offset(w->type, i)];
        return dequantize(w->type, head, k % elements, block_quant(w->type, p, k % elements));
    }
    if (w->type == HTP_TYPE_F16)
        return plain_weight(half_at(p));
    uint32_t bits = 0; /* bf16: the upper half of an f32 */
    memcpy((uint8_t *)&bits + (w->type == HTP_TYPE_BF16 ? 2 : 0), p, w->type == HTP_TYPE_BF16 ? 2 : 4);
    return plain_weight(hvx_bits_float(bits));
}

void matmul_ref_tiles(const struct htp_view *rows, const struct htp_view *tiles) {
    static const uint8_t zeros[MOST_BLOCK] = {0};
    const uint32_t *ne = rows->ne, padded = (uint32_t)htp_round_up(ne[1], 32), type = rows->type;
    const uint32_t elements = htp_type_elements(type);
    for (uint32_t i3 = 0; i3 < ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < ne[2]; i2++) {
            memset(tile_base(tiles, 0, i2, i3), 0, htp_tile_column_bytes(type, ne[0]) * (padded / 32));
            for (uint32_t n = 0; n < padded; n++)
                for (uint32_t k = 0; k < ne[0]; k++) {
                    const uint8_t *block =
                        n < ne[1] ? htp_row(rows, n, i2, i3) + (size_t)(k / elements) * rows->nb[0] : zeros;
                    uint8_t *base = tile_base(tiles, n, i2, i3);
                    store_quant(tiles, k, n, base, block_quant(type, block, k % elements));
                    for (uint32_t i = 0; i < head_bytes(type) && k % elements == 0; i++)
                        *tile_head(tiles, k, n, i, base) = block[head_offset(type, i)];
                }
        }
}
