/* The weights of ref.h, one at a time: of rows, and what the bits of a tile (include/htp/tiles.h) say. */
#include <math.h>
#include <string.h>

#include "check/block_ref.h"
#include "hvx/emul/half.h"
#include "ops/matmul/ref.h"
#include "runtime/tiles.h"
#include "runtime/types.h"

#define MOST_BLOCK 210 /* bytes of a block */

static bool is_quantised(uint32_t type) { return htp_tile_quant_vectors(type) != 0; }

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
        quant |= (byte >> shift & ((1u << *width) - 1)) << bits;
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
    const uint32_t place = k / elements % places, scale_bytes = check_head_bytes(w->type) - 2;
    uint8_t *scales = tile_lane(w, first, n, base) + in_group * quants * HTP_TILE_VECTOR;
    if (w->type == HTP_TYPE_Q6_K || w->type == HTP_TYPE_Q3_K) {
        const uint32_t vector = i < scale_bytes ? (place * scale_bytes + i) / 4 : places * scale_bytes / 4;
        return scales + vector * HTP_TILE_VECTOR + (i < scale_bytes ? i % 4 : 2 * place + i % 2);
    }
    const uint32_t size = 4 / places;
    return scales + i / size * HTP_TILE_VECTOR + place * size + i % size;
}

/* ---- weights ---- */

static struct matmul_ref_weight dequantize(uint32_t type, const uint8_t *head, uint32_t k, uint32_t quant) {
    const struct check_element e = check_element(type, head, k, quant);
    const double value = e.scale * e.value;
    return (struct matmul_ref_weight){value + e.minimum, fabs(value) + fabs(e.minimum)};
}

static struct matmul_ref_weight plain_weight(double value) {
    return (struct matmul_ref_weight){value, fabs(value)};
}

struct matmul_ref_weight matmul_ref_weight(const struct htp_view *w, uint32_t k, uint32_t n, uint32_t i2, uint32_t i3) {
    const uint32_t elements = htp_type_elements(w->type);
    uint8_t head[CHECK_MOST_HEAD];
    if (w->layout == HTP_LAYOUT_TILES) {
        uint8_t *base = tile_base(w, n, i2, i3);
        for (uint32_t i = 0; i < check_head_bytes(w->type); i++)
            head[i] = *tile_head(w, k, n, i, base);
        return dequantize(w->type, head, k % elements, load_quant(w, k, n, base));
    }
    const uint8_t *p = htp_row(w, n, i2, i3) + (size_t)(k / elements) * w->nb[0];
    if (is_quantised(w->type)) {
        for (uint32_t i = 0; i < check_head_bytes(w->type); i++)
            head[i] = p[check_head_offset(w->type, i)];
        return dequantize(w->type, head, k % elements, check_block_quant(w->type, p, k % elements));
    }
    uint32_t bits = 0; /* bf16: the upper half of an f32 */
    memcpy((uint8_t *)&bits + (w->type == HTP_TYPE_BF16 ? 2 : 0), p, w->type == HTP_TYPE_F32 ? 4 : 2);
    return plain_weight(w->type == HTP_TYPE_F16 ? hvx_half_to_float((uint16_t)bits) : hvx_bits_float(bits));
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
                    store_quant(tiles, k, n, base, check_block_quant(type, block, k % elements));
                    for (uint32_t i = 0; i < check_head_bytes(type) && k % elements == 0; i++)
                        *tile_head(tiles, k, n, i, base) = block[check_head_offset(type, i)];
                }
        }
}
