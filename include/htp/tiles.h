/*
 * The tile layout of quantised weights: what the matrix multiplication kernels load is what is stored.
 *
 * A weight matrix has N rows (outputs) of K weights (K a multiple of the type's block). 32 rows make a column tile: one
 * stream of 128-byte vectors along K. The last column tile is padded to 32 rows; padding rows hold zero blocks. In all
 * vectors, word lane n = row n. Along K, weights come in K-blocks of 32, also where ggml's block has 256 of them.
 *
 *   quants of a K-block (a 32x32 tile), one after the other; a type has some of
 *     nibbles, 4 vectors:    vector g holds k = 8g..8g+3 in the low nibbles of the 4 bytes and k = 8g+4..8g+7 in the
 *                            high nibbles, unsigned as ggml stores them (MXFP4, IQ4_NL, IQ4_XS: an index into a table)
 *     bytes, 8 vectors:      vector g holds k = 4g..4g+3, stored with 128 added (unsigned)
 *     pairs, 2 vectors:      vector h, byte j, bits 2p and 2p+1: two bits of k = 16h + 4p + j
 *     bits, 1 vector:        byte j, bit p: one bit of k = 4p + j
 *
 *   scales: after the quants of the K-blocks of a scale group (a ggml block of 256, or two of them, has one group)
 *
 *     type          quants of a K-block              scale vectors of a group
 *     Q4_0 IQ4_NL   nibbles                          2 K-blocks, 1: f16 scales, low half = even K-block, high half = odd
 *     Q8_0          bytes                            the same
 *     Q5_0          nibbles, bits (the fifth)        the same
 *     Q4_1          nibbles                          2 K-blocks, 2: as above, and the minima in a second such vector
 *     Q5_1          nibbles, bits (the fifth)        the same
 *     MXFP4         nibbles                          4 K-blocks, 1: e8m0, byte b of the word = K-block b
 *     Q4_K          nibbles                          8 K-blocks, 4: d low half, dmin high half; then the 12 bytes of
 *     Q5_K          nibbles, bits (the fifth)                    6-bit scales and minima as ggml has them, 4 a vector
 *     IQ4_XS        nibbles                          8 K-blocks, 2: d low half, scales_h high half; the 4 bytes scales_l
 *     Q2_K          pairs                            8 K-blocks, 5: d low half, dmin high half; the 16 bytes of scales
 *     Q6_K          nibbles, pairs (the upper two)   16 K-blocks, 9: the 16 bytes of scales of the first ggml block, of
 *                                                                the second, then d: low half first, high half second
 *     Q3_K          pairs (the lower two), bits      16 K-blocks, 7: the 12 bytes of scales of the first ggml block, of
 *                   (the third, 1 in hmask: set)                 the second, then d: low half first, high half second
 *
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
    X(IQ4_NL, 4, 2, 1, 127)   \
    X(Q5_0, 5, 2, 1, 16)      \
    X(Q5_1, 5, 2, 2, 0)       \
    X(Q4_K, 4, 8, 4, 0)       \
    X(Q5_K, 5, 8, 4, 0)       \
    X(Q6_K, 6, 16, 9, 32)     \
    X(Q3_K, 3, 16, 7, 4)      \
    X(Q2_K, 2, 8, 5, 0)       \
    X(IQ4_XS, 4, 8, 2, 127)

#endif
