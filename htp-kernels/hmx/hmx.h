/*
 * The matrix unit (HMX), v73 and later: products of 32x32 tiles of f16.
 *
 *   if (htp_hmx_begin(exec)) {              // on the thread that goes on to use it: the one that runs the op
 *       hmx_set_scales(table);
 *       hmx_clear();
 *       hmx_multiply(activations, weights, n);  // adds n tile products, as often as needed
 *       hmx_store(tile);                        // rounds the sums to f16, and clears them
 *   }
 *
 * A tile is 2048 bytes: element (i, j), each 0 .. 31, lies at byte (i >> 1) * 128 + j * 4 + (i & 1) * 2. Of
 * activations and outputs i is the row, of weights i is the position along K. So a word holds two neighbours of i and
 * a vector 32 j.
 * Tiles and the table lie in VTCM, tiles at multiples of 2048 bytes. Where operands come as several tiles they follow
 * one another along K.
 *
 * Two versions: device.c, instructions, and model.c, plain C for the simulated DSP. DSP libraries before v73 have none.
 */
#ifndef HMX_HMX_H
#define HMX_HMX_H

#include <stdint.h>

#if defined(HTP_PLATFORM_QURT) && defined(__HEXAGON_ARCH__) && __HEXAGON_ARCH__ < 73
#define HMX_EXISTS 0
#else
#define HMX_EXISTS 1
#endif

#define HMX_TILE 32
#define HMX_TILE_BYTES 2048u
#define HMX_MAX_TILES 32 /* that one instruction takes */
#define HMX_WINDOW (4u << 20) /* what an instruction reads must not cross a multiple of this */

#define HMX_TABLE_BYTES 256       /* of the scales, at a multiple of as much */
#define HMX_SCALE_ONE 0x00003c00u /* words 0 .. 31: scale (f16, low half) and bias of a column; 32 .. 63: 0 */

/* Sums become zero. */
void hmx_clear(void);
/* Loads the scales and biases that stores apply. */
void hmx_set_scales(const uint8_t *table);
/* sums += activations * weights, over n tiles of each. */
void hmx_multiply(const uint8_t *activations, const uint8_t *weights, uint32_t n);
/* The sums as a tile of f16, and zero from then on. Beyond 65504 they are infinite, or 65504 on some hardware. */
void hmx_store(uint8_t *tile);

/* How many of n tiles from `tiles` on one instruction may take. */
static inline uint32_t hmx_run(const uint8_t *tiles, uint32_t n) {
    const uint32_t room = (HMX_WINDOW - ((uint32_t)(uintptr_t)tiles & (HMX_WINDOW - 1))) / HMX_TILE_BYTES;
    const uint32_t most = room < HMX_MAX_TILES ? room : HMX_MAX_TILES;
    return n < most ? n : most;
}

#endif
