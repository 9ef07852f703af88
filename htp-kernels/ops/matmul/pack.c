#include "ops/matmul/pack.h"

#include "hvx/compiler.h"
#include "runtime/tiles.h"

#define LOW_NIBBLES 0x0f0f0f0fu
#define HIGH_NIBBLES 0xf0f0f0f0u
#define SIGN_BITS 0x80808080u
#define MAX_BLOCK_BYTES 34

/* align: of p, 1 or 2 */
HVX_INLINE uint32_t load16(const uint8_t *p, uint32_t align) {
    if (align == 1)
        return p[0] | (uint32_t)p[1] << 8;
    uint16_t x;
    __builtin_memcpy(&x, __builtin_assume_aligned(p, 2), 2);
    return x;
}
HVX_INLINE uint32_t load32(const uint8_t *p, uint32_t align) { return load16(p, align) | load16(p + 2, align) << 16; }
HVX_INLINE void store16(uint8_t *p, uint32_t x) {
    const uint16_t half = (uint16_t)x;
    __builtin_memcpy(__builtin_assume_aligned(p, 2), &half, 2);
}
HVX_INLINE void store32(uint8_t *p, uint32_t x) { __builtin_memcpy(__builtin_assume_aligned(p, 4), &x, 4); }

/* A ggml block holds its scales, then the quants. tile: the word lane of the row in the block's first vector. */

/* byte i = elements i (low nibble) and i + 16 (high nibble); two words give the vectors g and g + 2 */
HVX_INLINE void pack_nibbles(const uint8_t *quants, uint32_t align, uint8_t *tile) {
    for (uint32_t g = 0; g < 2; g++) {
        const uint32_t a = load32(quants + 8 * g, align), b = load32(quants + 8 * g + 4, align);
        store32(tile + HTP_TILE_VECTOR * g, (a & LOW_NIBBLES) | (b & LOW_NIBBLES) << 4);
        store32(tile + HTP_TILE_VECTOR * (g + 2), (a & HIGH_NIBBLES) >> 4 | (b & HIGH_NIBBLES));
    }
}

HVX_INLINE void pack_bytes(const uint8_t *quants, uint8_t *tile) {
    for (uint32_t g = 0; g < 8; g++)
        store32(tile + HTP_TILE_VECTOR * g, load32(quants + 4 * g, 2) ^ SIGN_BITS);
}

/* Inlined for each type. place: of the block in its scale group; scales: of the row in the group's first vector. */
HVX_INLINE void pack_block(uint32_t type, const uint8_t *block, uint32_t place, uint8_t *quants, uint8_t *scales) {
    if (type == HTP_TYPE_MXFP4) {
        scales[place] = block[0];
        pack_nibbles(block + 1, 1, quants);
        return;
    }
    const uint32_t n = htp_tile_scale_vectors(type);
    for (uint32_t i = 0; i < n; i++)
        store16(scales + i * HTP_TILE_VECTOR + 2 * place, load16(block + 2 * i, 2));
    if (type == HTP_TYPE_Q8_0)
        pack_bytes(block + 2 * n, quants);
    else
        pack_nibbles(block + 2 * n, 2, quants);
}

/* a scale group: `places` blocks of 32 rows */
HVX_INLINE void pack_group(uint32_t type, uint32_t block_bytes, const uint8_t *rows, size_t row_stride,
                           uint32_t n_rows, uint32_t places, uint8_t *group) {
    static const uint8_t zero_block[MAX_BLOCK_BYTES] __attribute__((aligned(2))) = {0};
    const uint32_t quant_bytes = htp_tile_quant_vectors(type) * HTP_TILE_VECTOR;
    const uint32_t scale_bytes = htp_tile_scale_vectors(type) * HTP_TILE_VECTOR;
    uint8_t *scales = group + places * quant_bytes;
    if (places < htp_tile_scale_group(type)) { /* places that stay unused */
        for (uint32_t i = 0; i < scale_bytes; i += 4)
            store32(scales + i, 0);
    }
    for (uint32_t place = 0; place < places; place++) {
        for (uint32_t n = 0; n < HTP_TILE_DIM; n++) {
            const uint8_t *block = n < n_rows ? rows + n * row_stride + place * block_bytes : zero_block;
            pack_block(type, block, place, group + place * quant_bytes + 4 * n, scales + 4 * n);
        }
    }
}

HVX_INLINE void pack_type(uint32_t type, uint32_t block_bytes, const uint8_t *rows, size_t row_stride, uint32_t n_rows,
                          uint32_t blocks, uint8_t *tile) {
    const uint32_t group = htp_tile_scale_group(type);
    for (; blocks >= group; blocks -= group) {
        pack_group(type, block_bytes, rows, row_stride, n_rows, group, tile);
        rows += group * block_bytes;
        tile += htp_tile_group_vectors(type) * HTP_TILE_VECTOR;
    }
    if (blocks > 0)
        pack_group(type, block_bytes, rows, row_stride, n_rows, blocks, tile);
}

void pack_tile(uint32_t type, uint32_t block_bytes, const uint8_t *rows, size_t row_stride, uint32_t n_rows,
               uint32_t blocks, uint8_t *tile) {
    switch (type) {
#define PACK(NAME, quants, group, scales, zero)                                                  \
    case HTP_TYPE_##NAME:                                                                        \
        pack_type(HTP_TYPE_##NAME, block_bytes, rows, row_stride, n_rows, blocks, tile);         \
        break;
        HTP_TILE_TYPE_LIST(PACK)
#undef PACK
    default:
        break;
    }
}
