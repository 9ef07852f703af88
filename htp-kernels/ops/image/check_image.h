/* What the family's checks share. */
#ifndef HTP_OPS_CHECK_IMAGE_H
#define HTP_OPS_CHECK_IMAGE_H

#include "check/check.h"
#include "htp/params.h"

uint32_t htp_image(struct htp_exec *exec);

void check_im2col(struct check *c);
void check_products(struct check *c); /* CONV_2D and the others that sum up */

/* All elements random. */
void check_fill_view(const struct htp_view *v);
/* A tensor with `gap` bytes between its rows, and as much in front of it; permuted: dimension 2 lies innermost. */
void check_make_gapped(struct check_tensor *t, uint32_t type, const uint32_t *ne, uint32_t gap, bool permuted);

#endif
