/*
 * A row is one word lane of its column tile: a word of each vector of quants, and a word or a part of one of each scale
 * vector. The words of a K-block are put together and expanded like a block of ggml's layout.
 */
#include "ops/gather/tiled_row.h"

#include "hvx/emul/half.h"
#include "hvx/row.h"
#include "runtime/tiles.h"
#include "runtime/types.h"

bool tiled_row_type(const struct htp_view *v) {
    return v->layout == HTP_LAYOUT_TILES && htp_row_dequantizer(v->type) != NULL && htp_tile_quant_vectors(v->type) != 0;
}

static uint32_t load_word(const uint8_t *p) {
    uint32_t w;
    __builtin_memcpy(&w, __builtin_assume_aligned(p, 4), 4);
    return w;
}

/* ---- scales of the blocks of a scale group. scales: the lane's word in the group's first scale vector ---- */

static struct htp_row_scales scales_of_32(uint32_t type, const uint8_t *scales, uint32_t place) {
    struct htp_row_scales s = {{0}, {0}};
    const uint32_t word = load_word(scales);
    s.scale[0] = type == HTP_TYPE_MXFP4 ? htp_row_mxfp4_scale((uint8_t)(word >> 8 * place))
                                        : hvx_half_to_float((uint16_t)(word >> 16 * place));
    if (htp_tile_scale_vectors(type) == 2)
        s.minimum[0] = hvx_half_to_float((uint16_t)(load_word(scales + HTP_TILE_VECTOR) >> 16 * place));
    s.scale[1] = s.scale[0];
    s.minimum[1] = s.minimum[0];
    return s;
}

/* of a block of 256: its own words of scale bytes, and a word with d and more, or with d of two blocks */
static struct htp_row_scales scales_of_256(uint32_t type, const uint8_t *scales, uint32_t place) {
    const bool two = type == HTP_TYPE_Q6_K || type == HTP_TYPE_Q3_K;
    const uint32_t words = (htp_tile_scale_vectors(type) - 1) / (two ? 2 : 1);
    const uint8_t *own = scales + (two ? place * words : 1) * HTP_TILE_VECTOR;
    const uint32_t halves = load_word(two ? scales + 2 * words * HTP_TILE_VECTOR : scales);
    uint32_t bytes[HTP_ROW_SCALES / 4];
    struct htp_row_scales s;
    for (uint32_t i = 0; i < words; i++)
        bytes[i] = load_word(own + i * HTP_TILE_VECTOR);
    htp_row_scales(type, two ? halves >> 16 * place & 0xffff : halves, (const uint8_t *)bytes, &s);
    return s;
}

/* ---- quants of a K-block, one a byte ---- */

/* nibbles, bytes or the lower two bits */
static void load_quants(uint32_t type, const uint8_t *at, uint32_t *words) {
    for (uint32_t i = 0; i < HTP_TILE_DIM / 4; i++) {
        if (type == HTP_TYPE_Q8_0)
            words[i] = load_word(at + i * HTP_TILE_VECTOR);
        else if (type == HTP_TYPE_Q2_K || type == HTP_TYPE_Q3_K)
            words[i] = load_word(at + i / 4 * HTP_TILE_VECTOR) >> i % 4 * 2 & 0x03030303u;
        else
            words[i] = load_word(at + i / 2 * HTP_TILE_VECTOR) >> i % 2 * 4 & 0x0f0f0f0fu;
    }
}

/* what is behind those: the upper bits */
static void add_bits(uint32_t type, const uint8_t *at, uint32_t *words) {
    switch (type) {
    case HTP_TYPE_Q5_0:
    case HTP_TYPE_Q5_1:
    case HTP_TYPE_Q5_K:
        for (uint32_t i = 0; i < HTP_TILE_DIM / 4; i++)
            words[i] |= (load_word(at + 4 * HTP_TILE_VECTOR) >> i & 0x01010101u) << 4;
        break;
    case HTP_TYPE_Q6_K:
        for (uint32_t i = 0; i < HTP_TILE_DIM / 4; i++)
            words[i] |= (load_word(at + (4 + i / 4) * HTP_TILE_VECTOR) >> i % 4 * 2 & 0x03030303u) << 4;
        break;
    case HTP_TYPE_Q3_K:
        for (uint32_t i = 0; i < HTP_TILE_DIM / 4; i++)
            words[i] |= (load_word(at + 2 * HTP_TILE_VECTOR) >> i & 0x01010101u) << 2;
        break;
    default:
        break;
    }
}

void tiled_row_to_f32(const struct htp_view *v, uint32_t i1, uint32_t i2, uint32_t i3, uint8_t *dst) {
    const uint32_t type = v->type, group = htp_tile_scale_group(type);
    const uint32_t parts = htp_type_elements(type) / HTP_TILE_DIM; /* K-blocks of a ggml block: 1 or 8 */
    const uint32_t block_bytes = htp_tile_quant_vectors(type) * HTP_TILE_VECTOR;
    const size_t matrix = (size_t)i3 * v->ne[2] + i2;
    const size_t column = matrix * htp_div_up(v->ne[1], HTP_TILE_DIM) + i1 / HTP_TILE_DIM;
    const uint8_t *at = v->data + column * htp_tile_column_bytes(type, v->ne[0]) + i1 % HTP_TILE_DIM * 4;
    for (uint32_t blocks = v->ne[0] / HTP_TILE_DIM; blocks > 0;) {
        const uint32_t n = htp_min_u32(blocks, group);
        const uint8_t *scales = at + n * block_bytes;
        struct htp_row_scales s;
        for (uint32_t b = 0; b < n; b++, at += block_bytes, dst += HTP_TILE_DIM * 4) {
            const uint32_t part = parts == 1 ? 0 : b % 8;
            uint32_t words[HTP_TILE_DIM / 4] __attribute__((aligned(128)));
            if (parts == 1)
                s = scales_of_32(type, scales, b);
            else if (part == 0)
                s = scales_of_256(type, scales, b / 8);
            load_quants(type, at, words);
            add_bits(type, at, words);
            htp_row_expand(type, dst, (const uint8_t *)words, s.scale + 2 * part, s.minimum + 2 * part);
        }
        at = scales + htp_tile_scale_vectors(type) * HTP_TILE_VECTOR;
        blocks -= n;
    }
}
