/*
 * Lines of an image made ready for windows: f32 side by side, zeros (or another value) where the padding is, and
 * windows `stride` elements apart brought together, so that element k of 32 windows that follow each other is one vector.
 *
 * A line has a phase for each remainder of a position by the stride; element k of window i is in phase
 * k * dilation % stride, at i + k * dilation / stride: offset[k] + 4 i bytes from the line's start.
 */
#ifndef HTP_OPS_IMAGE_LINES_H
#define HTP_OPS_IMAGE_LINES_H

#include "ops/image/image.h"

#define LINE_WINDOWS (2 * HVX_WORDS) /* windows that a line is made ready for at a time */

struct image_lines {
    uint32_t taps, stride, dilation, padding;
    uint32_t phases; /* that a window sees */
    uint32_t pitch;  /* bytes of a phase: elements that LINE_WINDOWS windows see, in whole vectors */
    uint32_t bytes;  /* of a line */
    uint32_t width;  /* of the image */
    uint32_t step;   /* bytes from element to element of the image */
    float outside;   /* what the padding holds */
    int32_t *offset; /* [taps] */
};

/* Everything but `offset`. False when a line is larger than any VTCM. */
bool image_lines_plan(struct image_lines *l, const struct htp_window_params *p, uint32_t taps, uint32_t width,
                      uint32_t step);
void image_lines_offsets(const struct image_lines *l); /* fills `offset` */
/* The line at `line` (NULL: all of it outside) for the windows from `first` on, made in `room`, or where it is. */
const uint8_t *image_line(const struct image_lines *l, uint8_t *room, const uint8_t *line, uint32_t first);

/* A line, and where among the weights those of its first element are: `outputs` side by side for each element. */
struct image_terms {
    const uint8_t *line;
    uint32_t weights;
};

/*
 * Adds up sum[output * vectors + v], in qf32: 32 windows a vector, `n` lines of `taps` elements. weight_step: floats
 * from the weights of an element to those of the next. outputs and vectors are constants: with 4 and 2, a weight is
 * splatted once for two products and a vector is loaded once for four.
 */
HVX_INLINE void image_sum(HVX_Vector *sum, const struct image_terms *terms, uint32_t n, const float *weights,
                          const int32_t *offset, uint32_t taps, uint32_t weight_step, uint32_t outputs,
                          uint32_t vectors) {
    HVX_ROLLED
    for (; n > 0; n--, terms++) {
        const float *w = weights + terms->weights;
        HVX_ROLLED
        for (uint32_t k = 0; k < taps; k++, w += weight_step) {
            const uint8_t *x = terms->line + offset[k];
            const HVX_Vector x0 = hvx_load(x), x1 = vectors > 1 ? hvx_load(x + HVX_BYTES) : x0;
            HVX_UNROLL
            for (uint32_t o = 0; o < outputs; o++) {
                const HVX_Vector weight = hvx_splat_f32(w[o]);
                sum[o * vectors] = hvx_add_qf32(sum[o * vectors], hvx_mul_f32_qf32(x0, weight));
                if (vectors > 1)
                    sum[o * vectors + 1] = hvx_add_qf32(sum[o * vectors + 1], hvx_mul_f32_qf32(x1, weight));
            }
        }
    }
}

#endif
