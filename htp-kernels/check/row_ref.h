/* Conversions of elements between types, one at a time, as ggml defines them: what hvx/row.h is compared with. */
#ifndef HTP_CHECK_ROW_REF_H
#define HTP_CHECK_ROW_REF_H

#include "runtime/exec.h"

/* count: elements, whole blocks; any pair of types for which htp_row_converter has one, or twice the same type */
void check_convert_row(uint32_t from, uint32_t to, uint8_t *dst, const uint8_t *src, uint32_t count);
/* Fills a tensor in rows, of any type, with values of about `scale`; quantised ones with any quants. */
void check_fill(const struct htp_view *v, float scale);
/* The bytes of `count` elements of row (i1, i2, i3) from element `first` on, put side by side (blocks: whole ones). */
void check_read_row(const struct htp_view *v, uint32_t i1, uint32_t i2, uint32_t i3, uint32_t first, uint32_t count,
                    uint8_t *out);
/* Address of the block that element i0 of the row is in. */
uint8_t *check_block(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3);
/* Sets a block's f16 scale d and, where the type has one, its f16 minimum (or what minima are multiplied with). */
void check_set_scales(uint32_t type, uint8_t *block, float scale, float minimum);
/* Strides of a layout of ne. form 0: contiguous, 1: gaps between rows, 2: dimensions 1 and 2 have changed places,
 * 3: 0 and 1 have (elements only), 4: 0 and 2 have, 5: everything twice as far apart (elements only) */
#define CHECK_FORMS 6
void check_strides(uint32_t type, const uint32_t *ne, uint32_t form, uint32_t *nb);

#endif
