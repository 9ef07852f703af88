/*
 * The tile layout of quantised weights: what the matrix multiplication kernels load is what is stored.
 *
 * A weight matrix has N rows (outputs) of K weights (K a multiple of 32). 32 rows make a column tile: one stream of
 * 128-byte vectors along K. The last column tile is padded to 32 rows; padding rows hold zero blocks.
 *
 *   quants of a 32x32 tile: word lane n = row n, the 4 bytes of a word = 4 consecutive k
 *     4-bit types: 4 vectors; vector g holds k = 8g..8g+3 in the low nibbles and k = 8g+4..8g+7 in the high nibbles,
 *                  unsigned as ggml stores them
 *     Q8_0:        8 vectors; vector g holds k = 4g..4g+3, stored with 128 added (unsigned)
 *   scales: f16, two K-blocks a vector (word lane n = row n: low half = even block, high half = odd block), after the
 *     quants of the pair. An odd last block stores its own quants only and a full scale vector, the odd half zero.
 *
 * Column tiles follow one another; matrices of a 3-D or 4-D tensor follow one another, each with whole column tiles.
 */
#ifndef HTP_TILES_H
#define HTP_TILES_H

#define HTP_TILE_DIM 32           /* rows and columns of a tile */
#define HTP_TILE_VECTOR 128       /* bytes of a vector */
#define HTP_TILE_SCALE_GROUP 2    /* K-blocks that share a scale vector */

/* X(type, quant vectors of a 32x32 tile, value that is added to a quant to make it unsigned) */
#define HTP_TILE_TYPE_LIST(X) \
    X(Q4_0, 4, 8)             \
    X(Q8_0, 8, 128)

#endif
