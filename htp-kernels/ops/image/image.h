/* Windows that slide over images: what the ops of the family share. */
#ifndef HTP_OPS_IMAGE_H
#define HTP_OPS_IMAGE_H

#include <stdbool.h>

#include "htp/params.h"
#include "hvx/half_scalar.h"
#include "hvx/wrap.h"
#include "runtime/exec.h"
#include "runtime/rows.h"

/* Positions in an image, padding included, stay within 31 bits with room for the vectors around them. */
#define IMAGE_MAX_POSITION (1 << 30)

/* A thread more is worth waking for this many elements of a result that each take a few packets. */
#define IMAGE_THREAD_WORK (4u << 10)

uint32_t htp_image(struct htp_exec *exec);

uint32_t image_im2col(struct htp_exec *exec, const struct htp_window_params *p);
uint32_t image_depthwise(struct htp_exec *exec, const struct htp_window_params *p);
uint32_t image_conv_2d(struct htp_exec *exec, const struct htp_window_params *p);
uint32_t image_transposed(struct htp_exec *exec, const struct htp_window_params *p);

/* Whether stride, padding and dilation are what they may be. */
bool image_window_fits(const struct htp_window_params *p);
/* Whether all positions that `outputs` windows of `taps` elements see in dimension d, of an image of `size`, fit. */
bool image_positions_fit(const struct htp_window_params *p, uint32_t d, uint32_t outputs, uint32_t taps, uint32_t size);
/* How many threads so much work is worth, at most one an item. */
uint32_t image_threads(const struct htp_exec *exec, uint64_t items, uint64_t work);

static inline bool image_is_rows(const struct htp_view *v, uint32_t type) {
    return v->type == type && v->layout == HTP_LAYOUT_ROWS;
}

/* An element of a kernel, f32 or f16. */
static inline float image_weight(uint32_t type, const uint8_t *at) {
    if (type == HTP_TYPE_F16)
        return hvx_scale_from_half(*(const uint16_t *)(const void *)at);
    return *(const float *)(const void *)at;
}

struct image_range {
    uint32_t begin, end;
};

/* The elements of a window at `start` that lie in an image of `size`. */
static inline struct image_range image_inside(int32_t start, uint32_t dilation, uint32_t taps, uint32_t size) {
    struct image_range r = {start < 0 ? ((uint32_t)-start + dilation - 1) / dilation : 0, 0};
    if (start < (int32_t)size)
        r.end = htp_min_u32(taps, (uint32_t)((int32_t)size - 1 - start) / dilation + 1);
    r.begin = htp_min_u32(r.begin, r.end);
    return r;
}

/* f32 at positions x .. x + 31 of a line of `width`; zero outside of it. What is outside is not read. */
HVX_INLINE HVX_Vector image_fetch(const uint8_t *line, int32_t x, int32_t width) {
    if (x >= 0 && x + HVX_WORDS <= width)
        return hvx_load(line + (size_t)x * 4);
    const int32_t first = x < 0 ? -x : 0, end = width - x < HVX_WORDS ? width - x : HVX_WORDS;
    if (first >= end)
        return hvx_zero();
    const HVX_Vector v = hvx_load_bytes(line + (size_t)(x + first) * 4, (uint32_t)(end - first) * 4);
    return Q6_V_vror_VR(v, -first * 4); /* what rotates in is zero */
}

#endif
