/* Single rows of weights in tiles (include/htp/tiles.h). */
#ifndef HTP_GATHER_TILED_ROW_H
#define HTP_GATHER_TILED_ROW_H

#include <stdbool.h>

#include "runtime/exec.h"

/* Whether rows of v can be read by tiled_row_to_f32: its layout and type. */
bool tiled_row_type(const struct htp_view *v);
/* Row i1 of matrix (i2, i3) as f32. */
void tiled_row_to_f32(const struct htp_view *v, uint32_t i1, uint32_t i2, uint32_t i3, uint8_t *dst);

#endif
