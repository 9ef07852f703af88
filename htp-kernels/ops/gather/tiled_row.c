/*
 * A row is one word lane of its column tile: a word of each vector of quants (4 or 8 weights), and a part of a word of
 * each scale vector. The words of a block are put together and expanded like a block of ggml's layout.
 */
#include "ops/gather/tiled_row.h"

#include "hvx/emul/half.h"
#include "hvx/row.h"
#include "runtime/tiles.h"

bool tiled_row_type(const struct htp_view *v) {
    return v->layout == HTP_LAYOUT_TILES && htp_row_dequantizer(v->type) != NULL && htp_tile_quant_vectors(v->type) != 0;
}

static uint32_t load_word(const uint8_t *p) {
    uint32_t w;
    __builtin_memcpy(&w, __builtin_assume_aligned(p, 4), 4);
    return w;
}

/* half b of a word of a scale vector, or byte b of it */
static float scale_of(uint32_t type, const uint8_t *word, uint32_t b) {
    const uint32_t w = load_word(word);
    if (type == HTP_TYPE_MXFP4)
        return htp_row_mxfp4_scale((uint8_t)(w >> 8 * b));
    return hvx_half_to_float((uint16_t)(w >> 16 * b));
}

/* the quants of a block, one a byte */
static void load_quants(uint32_t type, const uint8_t *at, uint32_t *words) {
    const uint32_t vectors = htp_tile_quant_vectors(type);
    for (uint32_t g = 0; g < vectors; g++, at += HTP_TILE_VECTOR) {
        const uint32_t w = load_word(at);
        if (type == HTP_TYPE_Q8_0) {
            words[g] = w;
        } else {
            words[2 * g] = w & 0x0f0f0f0fu;
            words[2 * g + 1] = w >> 4 & 0x0f0f0f0fu;
        }
    }
}

void tiled_row_to_f32(const struct htp_view *v, uint32_t i1, uint32_t i2, uint32_t i3, uint8_t *dst) {
    const uint32_t type = v->type, group = htp_tile_scale_group(type);
    const uint32_t block_bytes = htp_tile_quant_vectors(type) * HTP_TILE_VECTOR;
    const size_t matrix = (size_t)i3 * v->ne[2] + i2;
    const size_t column = matrix * htp_div_up(v->ne[1], HTP_TILE_DIM) + i1 / HTP_TILE_DIM;
    const uint8_t *at = v->data + column * htp_tile_column_bytes(type, v->ne[0]) + i1 % HTP_TILE_DIM * 4;
    for (uint32_t blocks = v->ne[0] / HTP_TILE_DIM; blocks > 0;) {
        const uint32_t n = htp_min_u32(blocks, group);
        const uint8_t *scales = at + n * block_bytes;
        for (uint32_t b = 0; b < n; b++, at += block_bytes, dst += HTP_TILE_DIM * 4) {
            uint32_t words[HTP_TILE_DIM / 4] __attribute__((aligned(128)));
            load_quants(type, at, words);
            const float minimum = type == HTP_TYPE_Q4_1 ? scale_of(type, scales + HTP_TILE_VECTOR, b) : 0;
            htp_row_expand(type, dst, (const uint8_t *)words, scale_of(type, scales, b), minimum);
        }
        at = scales + htp_tile_scale_vectors(type) * HTP_TILE_VECTOR;
        blocks -= n;
    }
}
