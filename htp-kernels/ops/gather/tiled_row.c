/*
 * A row is one word lane of its column tile: a word of each vector of quants (4 or 8 weights) and a half word of each
 * scale vector. The words of a block are put together and expanded like a block of ggml's layout.
 */
#include "ops/gather/tiled_row.h"

#include "hvx/row.h"
#include "runtime/tiles.h"

bool tiled_row_type(const struct htp_view *v) {
    return v->layout == HTP_LAYOUT_TILES && (v->type == HTP_TYPE_Q4_0 || v->type == HTP_TYPE_Q8_0);
}

static uint32_t load_word(const uint8_t *p) {
    uint32_t w;
    __builtin_memcpy(&w, __builtin_assume_aligned(p, 4), 4);
    return w;
}

void tiled_row_to_f32(const struct htp_view *v, uint32_t i1, uint32_t i2, uint32_t i3, uint8_t *dst) {
    const uint32_t vectors = htp_tile_quant_vectors(v->type), zero = (uint32_t)htp_tile_zero(v->type);
    const size_t matrix = (size_t)i3 * v->ne[2] + i2;
    const size_t column = matrix * htp_div_up(v->ne[1], HTP_TILE_DIM) + i1 / HTP_TILE_DIM;
    const uint8_t *at = v->data + column * htp_tile_column_bytes(v->type, v->ne[0]) + i1 % HTP_TILE_DIM * 4;
    for (uint32_t blocks = v->ne[0] / HTP_TILE_DIM; blocks > 0;) {
        const uint32_t n = htp_min_u32(blocks, htp_tile_scale_group(v->type));
        const uint8_t *scales = at + (size_t)n * vectors * HTP_TILE_VECTOR;
        for (uint32_t b = 0; b < n; b++, dst += HTP_TILE_DIM * 4) {
            uint32_t words[HTP_TILE_DIM / 4] __attribute__((aligned(128)));
            for (uint32_t g = 0; g < vectors; g++, at += HTP_TILE_VECTOR) {
                const uint32_t w = load_word(at);
                if (v->type == HTP_TYPE_Q8_0) {
                    words[g] = w;
                } else {
                    words[2 * g] = w & 0x0f0f0f0fu;
                    words[2 * g + 1] = w >> 4 & 0x0f0f0f0fu;
                }
            }
            htp_row_expand(dst, (const uint8_t *)words, zero, (uint16_t)(load_word(scales) >> 16 * b));
        }
        at = scales + HTP_TILE_VECTOR;
        blocks -= n;
    }
}
