/*
 * The tile layout of quantised weights: what the matrix multiplication kernels load is what is stored.
 *
 * A weight matrix has N rows (outputs) of K weights (K a multiple of 32). 32 rows make a column tile: one stream of
 * 128-byte vectors along K. The last column tile is padded to 32 rows; padding rows hold zero blocks.
 *
 *   quants of a 32x32 tile: word lane n = row n, the 4 bytes of a word = 4 consecutive k
 *     4-bit types: 4 vectors; vector g holds k = 8g..8g+3 in the low nibbles and k = 8g+4..8g+7 in the high nibbles,
 *                  unsigned as ggml stores them (MXFP4, IQ4_NL: an index into the type's table)
 *     Q8_0:        8 vectors; vector g holds k = 4g..4g+3, stored with 128 added (unsigned)
 *   scales: after the quants of the K-blocks of a scale group, word lane n = row n
 *     f16, two blocks: low half = even block, high half = odd block. Q4_1 has a second such vector: the minima
 *     MXFP4: e8m0, four blocks: byte b of the word = block b
 *     A last group that is not complete stores its own quants only and full scale vectors, unused places zero.
 *
 * Column tiles follow one another; matrices of a 3-D or 4-D tensor follow one another, each with whole column tiles.
 */
#ifndef HTP_TILES_H
#define HTP_TILES_H

#define HTP_TILE_DIM 32     /* rows and columns of a tile */
#define HTP_TILE_VECTOR 128 /* bytes of a vector */

/*
 * X(type, quant vectors of a 32x32 tile, K-blocks of a scale group, scale vectors of a scale group, zero)
 * zero: which unsigned operand of the kernels stands for 0. The operand is the stored quant; with a table it is the
 * table's entry with zero added, so that none is negative.
 */
#define HTP_TILE_TYPE_LIST(X) \
    X(Q4_0, 4, 2, 1, 8)       \
    X(Q8_0, 8, 2, 1, 128)     \
    X(Q4_1, 4, 2, 2, 0)       \
    X(MXFP4, 4, 4, 1, 12)     \
    X(IQ4_NL, 4, 2, 1, 127)

#endif
