#include "ops/matmul/pack.h"

#include "hvx/compiler.h"
#include "runtime/tiles.h"
#include "runtime/types.h"

#define LOW_NIBBLES 0x0f0f0f0fu
#define HIGH_NIBBLES 0xf0f0f0f0u
#define LOW_PAIRS 0x03030303u
#define LOW_BITS 0x01010101u
#define SIGN_BITS 0x80808080u
#define MAX_BLOCK_BYTES 210

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

/* ---- quants of a K-block. tile: the word lane of the row in the K-block's first vector ---- */

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

/*
 * The K-quants keep the quants of several K-blocks in the same 32 bytes, each in bits of its own: byte i is for element
 * i of all of them. bytes: those 32, shift: where the K-block's bits begin.
 */
HVX_INLINE void pack_shared_nibbles(const uint8_t *bytes, uint32_t shift, uint8_t *tile) {
    for (uint32_t g = 0; g < 4; g++) {
        const uint32_t a = load32(bytes + 8 * g, 2) >> shift, b = load32(bytes + 8 * g + 4, 2) >> shift;
        store32(tile + HTP_TILE_VECTOR * g, (a & LOW_NIBBLES) | (b & LOW_NIBBLES) << 4);
    }
}

HVX_INLINE void pack_shared_pairs(const uint8_t *bytes, uint32_t shift, uint8_t *tile) {
    for (uint32_t h = 0; h < 2; h++) {
        uint32_t word = 0;
        for (uint32_t p = 0; p < 4; p++)
            word |= (load32(bytes + 16 * h + 4 * p, 2) >> shift & LOW_PAIRS) << 2 * p;
        store32(tile + HTP_TILE_VECTOR * h, word);
    }
}

HVX_INLINE void pack_shared_bits(const uint8_t *bytes, uint32_t shift, uint8_t *tile) {
    uint32_t word = 0;
    for (uint32_t p = 0; p < 8; p++)
        word |= (load32(bytes + 4 * p, 2) >> shift & LOW_BITS) << p;
    store32(tile, word);
}

/* a word with a bit an element, as the Q5 types of 32 elements have it; the product puts bit j of four into byte j */
HVX_INLINE void pack_bit_word(uint32_t bits, uint8_t *tile) {
    uint32_t word = 0;
    for (uint32_t p = 0; p < 8; p++)
        word |= ((bits >> 4 * p & 15) * 0x00204081u & LOW_BITS) << p;
    store32(tile, word);
}

/* ---- blocks ---- */

/* Inlined for each type. b: which K-block of the ggml block. */
HVX_INLINE void pack_quants(uint32_t type, const uint8_t *block, uint32_t b, uint8_t *tile) {
    uint8_t *behind_nibbles = tile + 4 * HTP_TILE_VECTOR;
    switch (type) {
    case HTP_TYPE_Q8_0:
        pack_bytes(block + 2, tile);
        break;
    case HTP_TYPE_MXFP4:
        pack_nibbles(block + 1, 1, tile);
        break;
    case HTP_TYPE_Q4_1:
        pack_nibbles(block + 4, 2, tile);
        break;
    case HTP_TYPE_Q5_0:
        pack_nibbles(block + 6, 2, tile);
        pack_bit_word(load32(block + 2, 2), behind_nibbles);
        break;
    case HTP_TYPE_Q5_1:
        pack_nibbles(block + 8, 2, tile);
        pack_bit_word(load32(block + 4, 2), behind_nibbles);
        break;
    case HTP_TYPE_IQ4_XS:
        pack_nibbles(block + 8 + 16 * b, 2, tile);
        break;
    case HTP_TYPE_Q4_K:
        pack_shared_nibbles(block + 16 + b / 2 * 32, b % 2 * 4, tile);
        break;
    case HTP_TYPE_Q5_K:
        pack_shared_nibbles(block + 48 + b / 2 * 32, b % 2 * 4, tile);
        pack_shared_bits(block + 16, b, behind_nibbles);
        break;
    case HTP_TYPE_Q6_K:
        pack_shared_nibbles(block + b / 4 * 64 + b % 2 * 32, b % 4 / 2 * 4, tile);
        pack_shared_pairs(block + 128 + b / 4 * 32, b % 4 * 2, behind_nibbles);
        break;
    case HTP_TYPE_Q3_K:
        pack_shared_pairs(block + 32 + b / 4 * 32, b % 4 * 2, tile);
        pack_shared_bits(block, b, tile + 2 * HTP_TILE_VECTOR);
        break;
    case HTP_TYPE_Q2_K:
        pack_shared_pairs(block + 16 + b / 4 * 32, b % 4 * 2, tile);
        break;
    default:
        pack_nibbles(block + 2, 2, tile);
        break;
    }
}

HVX_INLINE void pack_words(const uint8_t *words, uint32_t count, uint8_t *scales) {
    for (uint32_t i = 0; i < count; i++)
        store32(scales + i * HTP_TILE_VECTOR, load32(words + 4 * i, 2));
}

/* place: of the ggml block in its scale group; scales: the word lane of the row in the group's first scale vector */
HVX_INLINE void pack_scales(uint32_t type, const uint8_t *block, uint32_t place, uint8_t *scales) {
    switch (type) {
    case HTP_TYPE_MXFP4:
        scales[place] = block[0];
        break;
    case HTP_TYPE_Q4_K:
    case HTP_TYPE_Q5_K:
        pack_words(block, 4, scales);
        break;
    case HTP_TYPE_IQ4_XS:
        pack_words(block, 2, scales);
        break;
    case HTP_TYPE_Q2_K:
        pack_words(block + 80, 1, scales);
        pack_words(block, 4, scales + HTP_TILE_VECTOR);
        break;
    case HTP_TYPE_Q6_K:
        pack_words(block + 192, 4, scales + 4 * place * HTP_TILE_VECTOR);
        store16(scales + 8 * HTP_TILE_VECTOR + 2 * place, load16(block + 208, 2));
        break;
    case HTP_TYPE_Q3_K:
        pack_words(block + 96, 3, scales + 3 * place * HTP_TILE_VECTOR);
        store16(scales + 6 * HTP_TILE_VECTOR + 2 * place, load16(block + 108, 2));
        break;
    default:
        for (uint32_t i = 0; i < htp_tile_scale_vectors(type); i++)
            store16(scales + i * HTP_TILE_VECTOR + 2 * place, load16(block + 2 * i, 2));
        break;
    }
}

/* a scale group: `places` K-blocks of 32 rows */
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
    const uint32_t parts = htp_type_elements(type) / HTP_TILE_DIM; /* K-blocks of a ggml block */
    for (uint32_t i = 0; i < places / parts; i++) {
        for (uint32_t n = 0; n < HTP_TILE_DIM; n++) {
            const uint8_t *block = n < n_rows ? rows + n * row_stride + i * block_bytes : zero_block;
            pack_scales(type, block, i, scales + 4 * n);
            for (uint32_t b = 0; b < parts; b++)
                pack_quants(type, block, b, group + (i * parts + b) * quant_bytes + 4 * n);
        }
    }
}

HVX_INLINE void pack_type(uint32_t type, uint32_t block_bytes, const uint8_t *rows, size_t row_stride, uint32_t n_rows,
                          uint32_t blocks, uint8_t *tile) {
    const uint32_t group = htp_tile_scale_group(type), parts = htp_type_elements(type) / HTP_TILE_DIM;
    for (; blocks >= group; blocks -= group) {
        pack_group(type, block_bytes, rows, row_stride, n_rows, group, tile);
        rows += group / parts * block_bytes;
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
