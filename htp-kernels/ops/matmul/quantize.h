/*
 * Activation quantiser: f32 values -> int8 in blocks of 32.
 *   scale = absmax / 127, q = round(x * 127 / absmax), halves up; absmax 0 gives q 0 and scale 0
 * Scales are rounded to the precision of f16, as ggml's are, but keep the range of f32: no block fades out because
 * another block of the row is large.
 * Values that are not finite give an infinite or NaN scale: outputs that use the block are not finite either.
 *
 * Rows whose scales are not too far apart are made narrow when they are complete: see quantize_narrow.
 *
 * A row in VTCM: K int8 padded to a multiple of 256, then the records, one for two blocks.
 */
#ifndef MATMUL_QUANTIZE_H
#define MATMUL_QUANTIZE_H

#include "hvx/wrap.h"

#define QUANTIZE_GROUP 1024 /* values whose scales are the lanes of a vector */
#define QUANTIZE_BATCH 2048 /* values of a call at most */
#define QUANTIZE_PAD 256    /* values are written in steps of this */

/* What a kernel needs beside the quants; it depends on the type of the weights. */
enum quantize_form {
    QUANTIZE_ZERO,    /* weights with a zero point: start */
    QUANTIZE_MINIMUM, /* weights with a minimum a block: scaled_sum */
    QUANTIZE_HALF,    /* weights whose scale is taken doubled: start, and half of the scale */
    QUANTIZE_SIXTEEN, /* weights with a scale for 16 values: minus_sums */
};

/*
 * Two blocks.
 *   start       -zero * (sum of q): an accumulator starts so and unsigned weights count as signed
 *   minus_sums  -(sum of the first 16 q) in the low half-word, of the last 16 in the high one
 *   scaled_sum  scale * (sum of q): the factor of the weights' minimum. Bits of f32; from quantize_narrow on of qf32,
 *               as kernels need it
 */
struct activation_record {
    union {
        int32_t start[2];
        int32_t scaled_sum[2];
        int32_t minus_sums[2];
    };
    union {
        float scale[2];
        uint32_t halves; /* narrow rows: both scales as f16 */
    };
};
#define QUANTIZE_GROUP_RECORDS (QUANTIZE_GROUP / 64)
#define QUANTIZE_GROUP_RECORD_BYTES (QUANTIZE_GROUP_RECORDS * sizeof(struct activation_record))

static inline uint64_t quantize_record_bytes(uint32_t k) {
    return ((uint64_t)k + QUANTIZE_GROUP - 1) / QUANTIZE_GROUP * QUANTIZE_GROUP_RECORD_BYTES;
}

/*
 * What is known about the scales of a row, in a lane for each of the 32 blocks of a group. Bits of f32, which order as
 * integers do. least: of scales that are not 0, with QUANTIZE_LEAST added, which wraps and so makes 0 the largest.
 */
struct quantize_range {
    HVX_Vector largest, least;
    HVX_Vector magnitude; /* of the values, as bits: infinities and NaN are the largest. What becomes of them in a scale
                             depends on the engine. */
};
#define QUANTIZE_LEAST INT32_MAX

HVX_INLINE struct quantize_range quantize_range_start(void) {
    return (struct quantize_range){hvx_zero(), hvx_splat_i32(QUANTIZE_LEAST), hvx_zero()};
}

/*
 * Quantises count values, a multiple of QUANTIZE_PAD up to QUANTIZE_BATCH. Writes count int8 to q and whole groups of
 * records. All pointers are 128-byte aligned. zero: of the weight type (htp_tile_zero), at most 255.
 */
void quantize_values(const HVX_Vector *x, uint32_t count, enum quantize_form form, uint32_t zero, HVX_Vector *q,
                     HVX_Vector *records, struct quantize_range *range);

/*
 * Makes a row narrow, if its scales allow it: f16 scales (and scaled sums) in units of a power of two, with which
 * kernels are faster. Nothing is lost: the scales have the precision of f16 and must be in its normal range, within
 * 2^29 of each other. Returns the unit, 0 when the row stays wide. records: of so many groups, not of form
 * QUANTIZE_HALF or QUANTIZE_SIXTEEN. Needed for rows that stay wide, too: scaled sums become qf32.
 */
float quantize_narrow(HVX_Vector *records, uint32_t groups, enum quantize_form form,
                      const struct quantize_range *range);

#endif
