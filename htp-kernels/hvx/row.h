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
 * count: elements; whole blocks of 32 when one of the types has them. Addresses are aligned as the runtime demands it
 * of tensors: to the element, quantised blocks to 2 bytes.
 */
typedef void (*htp_row_fn)(uint8_t *dst, const uint8_t *src, uint32_t count);

/*
 * The conversion between two types (enum htp_type); NULL when there is none, or when they are the same.
 *
 *   f32 <-> f16        to nearest even, IEEE special values
 *   f32 -> i32         towards zero, saturating, NaN gives 0;  i32 -> f32  to nearest even
 *   f32, f16 -> q8_0   d = absmax / 127, q = x * (1 / d) rounded, halves away from zero: ggml's reference
 *   f32, f16 -> q4_0   d = -(the first element of largest magnitude) / 8, q = x * (1 / d) + 8.5 cut off, at most 15
 *   q8_0, q4_0 -> f32  exact products of scale and quant
 */
htp_row_fn htp_row_converter(uint32_t from, uint32_t to);

/* The same for a block of 32 quants that a caller has put together: signed bytes after `zero` is taken off. */
void htp_row_expand(uint8_t *dst, const uint8_t *quants, uint32_t zero, uint16_t scale);

#endif
