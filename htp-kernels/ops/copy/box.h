/* Rows of one tensor put into rows of a larger one, unit by unit of one type. */
#ifndef HTP_COPY_BOX_H
#define HTP_COPY_BOX_H

#include "ops/copy/grid.h"

struct box {
    struct grid dst, src; /* rows of dst lie side by side */
    uint32_t offset[HTP_MAX_DIMS]; /* of src's first unit in dst */
};

/* dst[offset + i] = src[i]; the rest of dst is left alone */
void box_place(struct htp_exec *exec, const struct box *b);
/* dst[i] = src[i modulo its shape] */
void box_repeat(struct htp_exec *exec, const struct box *b);
/* The same around `offset`: dst[i] = src[i - offset] where that exists, zero elsewhere or, circular, modulo the shape */
void box_pad(struct htp_exec *exec, const struct box *b, bool circular);

#endif
