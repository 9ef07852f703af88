/* ggml's quantised rows -> tiles (layout: include/htp/tiles.h). Exact. */
#ifndef MATMUL_PACK_H
#define MATMUL_PACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Packs `blocks` K-blocks of up to 32 rows into one column tile. rows: ggml blocks of block_bytes side by side,
 * row_stride bytes from row to row, 2-byte aligned unless block_bytes is odd. Rows that are missing become zero blocks.
 */
void pack_tile(uint32_t type, uint32_t block_bytes, const uint8_t *rows, size_t row_stride, uint32_t n_rows,
               uint32_t blocks, uint8_t *tile);

#endif
