/*
 * Between rows and weight tiles as they come, and the f16 tiles of the matrix unit (hmx/hmx.h has their layout).
 *
 *   hmx_weights.c   column tiles of weights -> f16 tiles; hmx_weights_256.c those of blocks of 256
 *   hmx_rows.c      activation rows -> f16 tiles, f16 tiles -> rows of dst
 *
 * f16 ends at 65504 and gets coarse below 2^-14, and what goes through it has to keep away from both:
 *
 *   activations   each row is multiplied by a power of two, so that its largest value is 2 .. 4
 *   weights       MXFP4 are taken 2^HMX_MXFP4_SHIFT times as large, and types of blocks of 256 by powers of two that
 *                 happen to be convenient. Others are as they are: what f16 scales make of small integers is exact or
 *                 keeps the precision of f16
 *   outputs       are multiplied by the inverse of both
 *
 * What does not fit nevertheless, and infinities and NaN, are found by looking at largest values. Then the product is
 * computed without the matrix unit.
 */
#ifndef MATMUL_HMX_TILES_H
#define MATMUL_HMX_TILES_H

#include "hmx/hmx.h"
#include "ops/matmul/matmul.h"

#define HMX_MXFP4_SHIFT 6
#define HMX_LARGEST_HALF 0x7bffu /* f16 65504 */

/* ---- weights ---- */

/*
 * Packs `blocks` K-blocks of a column tile, from the start of a scale group on, into as many f16 tiles. largest takes
 * part in a maximum: of the magnitudes of f16 scales (half-words), or of scale bytes.
 * Pointers are 128-byte aligned.
 */
typedef void (*hmx_weight_kernel)(const HVX_Vector *column, uint32_t blocks, HVX_Vector *tiles, HVX_Vector *largest);

/* Largest scale that gives weights which fit; smallest one that, as the largest of a row, gives enough precision. */
struct hmx_weights {
    hmx_weight_kernel kernel;
    uint32_t scale_bytes, smallest, largest;
    int shift; /* weights in tiles are 2^shift times as large */
};
/*
 * Types of blocks of 256; X is as in hmx_weights.c. Weights are integers of 16 bits times d, which is what the limits
 * are for: the largest integer is 2^15 with minima, otherwise the product of the largest quant and the largest scale.
 */
#define HMX_WEIGHTS_256_LIST(X)        \
    X(Q4_K, q4_k, 2, 0, 0x3fcd, 4)     \
    X(Q5_K, q5_k, 2, 0, 0x3fcd, 3)     \
    X(Q6_K, q6_k, 2, 0, 0x43cd, 2)     \
    X(Q3_K, q3_k, 2, 0, 0x4bcd, 5)     \
    X(Q2_K, q2_k, 2, 0, 0x3fcd, 6)     \
    X(IQ4_XS, iq4_xs, 2, 0, 0x4bcd, 0)
#define HMX_WEIGHTS_DECLARE(TYPE, name, bytes, low, high, shift)                                       \
    void hmx_weights_##name(const HVX_Vector *column, uint32_t blocks, HVX_Vector *tiles, HVX_Vector *largest);
HMX_WEIGHTS_256_LIST(HMX_WEIGHTS_DECLARE)
#undef HMX_WEIGHTS_DECLARE

/* NULL: this type of weights is not for the matrix unit, or is F16 */
const struct hmx_weights *hmx_weights_of(uint32_t type);

/*
 * Packs 32 rows of f16 (row_bytes apart, a multiple of 128) into `blocks` tiles. scratch: 32 vectors.
 */
void hmx_weights_f16(const uint8_t *rows, size_t row_bytes, uint32_t blocks, HVX_Vector *tiles, HVX_Vector *scratch);
#define HMX_SCRATCH_BYTES (32 * HVX_BYTES)

/* Words that are not 0 where the largest scale of a row says that f16 will not do. */
HVX_Vector hmx_unfit_weights(const struct hmx_weights *w, HVX_Vector largest);

/* ---- activations and outputs ---- */

/* Largest magnitude of count f32 (whole vectors), as bits and in every lane; `so_far` takes part. */
HVX_Vector hmx_largest_f32(const HVX_Vector *x, uint32_t count, HVX_Vector so_far);

/* The exponent of the power of two for a row whose largest magnitude has these bits; false: it is not finite. */
bool hmx_row_exponent(uint32_t largest_bits, int *exponent);
/* 2^e as f32, e in -126 .. 127 */
static inline float hmx_power_of_two(int e) {
    const union {
        uint32_t u;
        float f;
    } bits = {(uint32_t)(e + 127) << 23};
    return bits.f;
}

/*
 * Two rows of 32 * blocks f32, multiplied, into their places in consecutive tiles: `to` is the vector of the first
 * tile that holds this pair. A row multiplied by 0 counts as missing.
 */
void hmx_pack_rows(const HVX_Vector *a, const HVX_Vector *b, float scale_a, float scale_b, uint32_t blocks,
                   HVX_Vector *to);

/*
 * An output tile into up to 32 rows of dst, `columns` (1 .. 32) floats from column `first` on, each row multiplied by
 * its own scale. Returns the largest magnitudes of f16 that were seen; so_far takes part.
 */
HVX_Vector hmx_unpack_tile(const HVX_Vector *tile, const struct matmul_row *rows, const float *scales, uint32_t count,
                           uint32_t first, uint32_t columns, HVX_Vector so_far);

#endif
