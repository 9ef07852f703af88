#include "ops/matmul/pack.h"

#include "runtime/tiles.h"

#define LOW_NIBBLES 0x0f0f0f0fu
#define HIGH_NIBBLES 0xf0f0f0f0u
#define SIGN_BITS 0x80808080u

static uint16_t load16(const uint8_t *p) {
    uint16_t x;
    __builtin_memcpy(&x, __builtin_assume_aligned(p, 2), 2);
    return x;
}
static uint32_t load32(const uint8_t *p) { return load16(p) | (uint32_t)load16(p + 2) << 16; }
static void store16(uint8_t *p, uint16_t x) { __builtin_memcpy(__builtin_assume_aligned(p, 2), &x, 2); }
static void store32(uint8_t *p, uint32_t x) { __builtin_memcpy(__builtin_assume_aligned(p, 4), &x, 4); }

/* A ggml block holds an f16 scale, then the quants. tile: the word lane of the row in the block's first vector. */

/* byte i = elements i (low nibble) and i + 16 (high nibble); two words give the vectors g and g + 2 */
static void pack_q4_0(const uint8_t *block, uint8_t *tile) {
    for (uint32_t g = 0; g < 2; g++) {
        const uint32_t a = load32(block + 2 + 8 * g), b = load32(block + 2 + 8 * g + 4);
        store32(tile + HTP_TILE_VECTOR * g, (a & LOW_NIBBLES) | (b & LOW_NIBBLES) << 4);
        store32(tile + HTP_TILE_VECTOR * (g + 2), (a & HIGH_NIBBLES) >> 4 | (b & HIGH_NIBBLES));
    }
}

static void pack_q8_0(const uint8_t *block, uint8_t *tile) {
    for (uint32_t g = 0; g < 8; g++)
        store32(tile + HTP_TILE_VECTOR * g, load32(block + 2 + 4 * g) ^ SIGN_BITS);
}

void pack_tile(uint32_t type, const uint8_t *rows, size_t row_stride, uint32_t n_rows, uint32_t blocks, uint8_t *tile) {
    static const uint8_t zero_block[34] __attribute__((aligned(2))) = {0};
    const uint32_t quant_bytes = htp_tile_quant_vectors(type) * HTP_TILE_VECTOR;
    const uint32_t block_bytes = type == HTP_TYPE_Q4_0 ? 18 : 34;
    for (uint32_t b = 0; b < blocks; b++) {
        const uint32_t odd = b % HTP_TILE_SCALE_GROUP;
        const uint32_t in_group = odd == 0 && b + 1 == blocks ? 1 : HTP_TILE_SCALE_GROUP;
        uint8_t *quants = tile + odd * quant_bytes;
        uint8_t *scales = tile + in_group * quant_bytes;
        for (uint32_t n = 0; n < HTP_TILE_DIM; n++) {
            const uint8_t *block = n < n_rows ? rows + n * row_stride + (size_t)b * block_bytes : zero_block;
            if (type == HTP_TYPE_Q4_0)
                pack_q4_0(block, quants + 4 * n);
            else
                pack_q8_0(block, quants + 4 * n);
            store16(scales + 4 * n + 2 * odd, load16(block));
            if (in_group == 1)
                store16(scales + 4 * n + 2, 0);
        }
        if (odd == 1)
            tile += 2 * quant_bytes + HTP_TILE_VECTOR;
    }
}
