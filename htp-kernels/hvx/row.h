/*
 * Runs of elements that lie side by side: copied, cleared, converted from one type to another.
 * Nothing beside the run is written, and nothing outside of it is read. Source and destination must not overlap.
 */
#ifndef HVX_ROW_H
#define HVX_ROW_H

#include <stddef.h>
#include <stdint.h>

void htp_row_copy(uint8_t *dst, const uint8_t *src, size_t bytes);
void htp_row_clear(uint8_t *dst, size_t bytes);

/*
 * count: elements; whole blocks when one of the types has them. Addresses are aligned as the runtime demands it
 * of tensors.
 */
typedef void (*htp_row_fn)(uint8_t *dst, const uint8_t *src, uint32_t count);

/*
 * The conversion between two types (enum htp_type); NULL when there is none, or when they are the same.
 *
 *   f32, f16, bf16     one to another: to nearest even, IEEE special values
 *   f32 -> i32         towards zero, saturating, NaN gives 0;  i32 -> f32  to nearest even
 *   quantised -> f32   scale times quant, rounded once (types with a minimum: and once more when that is added); a
 *                      scale or minimum of a block of 256 is a product, which is exact
 *   f32, f16, bf16 to quantised, as in ggml's code for the CPU:
 *     q8_0        d = absmax / 127, q = x * (127 / absmax) to nearest, halves to even (ggml's code for Arm differs
 *                 from that for x86 in a last place: it multiplies by 1 / d)
 *     q4_0, q5_0  d = -(the first element of largest magnitude) / half, q = x * (1 / d) + half + 0.5 cut off;
 *                 half is 8 or 16, q at most 2 half - 1
 *     q4_1, q5_1  m = minimum, d = (maximum - m) / most, q = (x - m) * (1 / d) + 0.5 cut off, at most 15 or 31
 *     mxfp4       d = 2^(exponent of absmax - 2), the nearest value, of two the smaller
 *     iq4_nl      the nearest value of x / (the first element of largest magnitude) * -127, of two the larger; then
 *                 d = sum(x^3 v) / sum(x^2 v^2) over the values v: sums may differ from ggml's in a last place
 */
htp_row_fn htp_row_converter(uint32_t from, uint32_t to);

/* Of the same kind, for quantised types; NULL when there is none. row_dequantize.c, row_quantize.c */
htp_row_fn htp_row_dequantizer(uint32_t from);            /* to f32 */
htp_row_fn htp_row_dequantizer_256(uint32_t from);        /* of these, types of blocks of 256; row_dequantize_256.c */
htp_row_fn htp_row_quantizer(uint32_t from, uint32_t to); /* from f32, f16, bf16 */

/*
 * 32 quants that a caller has put together, to f32. quants: one a byte, as tiles store them (tiles.h); an address for
 * vectors. scale, minimum: of the first 16 and of the others; what is added, where the type has minima.
 */
void htp_row_expand(uint32_t type, uint8_t *dst, const uint8_t *quants, const float *scale, const float *minimum);
/* The scale that an e8m0 byte of MXFP4 stands for, with the quants that htp_row_expand multiplies. */
float htp_row_mxfp4_scale(uint8_t byte);

/* Of a block of 256: for each 16 elements, ready for htp_row_expand. */
#define HTP_ROW_SCALES 16
struct htp_row_scales {
    float scale[HTP_ROW_SCALES], minimum[HTP_ROW_SCALES];
};
/*
 * halves: the block's d, and in the high half dmin or scales_h where the type has one; bytes: its other scale bytes, in
 * ggml's order, 2-byte aligned.
 */
void htp_row_scales(uint32_t type, uint32_t halves, const uint8_t *bytes, struct htp_row_scales *to);

#endif
