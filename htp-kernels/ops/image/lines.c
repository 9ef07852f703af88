#include "ops/image/lines.h"

#include "hvx/strided.h"

#define MOST_BYTES (64u << 20) /* a line beyond this fits no VTCM; sums of such sizes stay within 32 bits */

bool image_lines_plan(struct image_lines *l, const struct htp_window_params *p, uint32_t taps, uint32_t width,
                      uint32_t step) {
    l->taps = taps;
    l->stride = (uint32_t)p->stride[0];
    l->dilation = (uint32_t)p->dilation[0];
    l->padding = (uint32_t)p->padding[0];
    l->width = width;
    l->step = step;
    l->outside = 0;
    const uint32_t span = (taps - 1) * l->dilation + 1; /* image_positions_fit has seen it */
    l->phases = htp_min_u32(l->stride, span);
    const uint64_t elements = LINE_WINDOWS + (span - 1) / l->stride;
    const uint64_t pitch = (elements + HVX_WORDS - 1) / HVX_WORDS * HVX_BYTES;
    if (pitch * l->phases > MOST_BYTES)
        return false;
    l->pitch = (uint32_t)pitch;
    l->bytes = l->pitch * l->phases;
    return true;
}

void image_lines_offsets(const struct image_lines *l) {
    for (uint32_t k = 0; k < l->taps; k++) {
        const uint32_t at = k * l->dilation;
        l->offset[k] = (int32_t)(at % l->stride * l->pitch + at / l->stride * 4);
    }
}

/* f32 at positions x, x + stride, ...; l->outside where there is no image */
static HVX_Vector fetch(const struct image_lines *l, const uint8_t *line, int32_t x) {
    const int32_t width = (int32_t)l->width, stride = (int32_t)l->stride;
    if (stride == 1 && l->step == 4 && x >= 0 && x + HVX_WORDS <= width)
        return hvx_load(line + (size_t)x * 4);
    /* lanes first .. end - 1 lie in the image; no more positions than fit 31 bits, as image_positions_fit has seen */
    const HVX_Vector outside = hvx_splat_f32(l->outside);
    const uint32_t first = x < 0 ? (uint32_t)(-x + stride - 1) / (uint32_t)stride : 0;
    const uint32_t end = x < width ? htp_min_u32((uint32_t)(width - 1 - x) / (uint32_t)stride + 1, HVX_WORDS) : 0;
    if (first >= end)
        return outside;
    const uint8_t *from = line + (size_t)(x + (int32_t)first * stride) * l->step;
    const uint32_t count = end - first;
    HVX_Vector v;
    if (stride > 1 || l->step != 4)
        v = hvx_gather_words(from, (size_t)stride * l->step, count);
    else
        v = count == HVX_WORDS ? hvx_load(from) : hvx_load_bytes(from, count * 4);
    if (count == HVX_WORDS)
        return v;
    const HVX_VectorPred inside = Q6_Q_and_QQn(Q6_Q_vsetq2_R((int32_t)end * 4), Q6_Q_vsetq_R((int32_t)first * 4));
    return Q6_V_vmux_QVV(inside, Q6_V_vror_VR(v, -(int32_t)first * 4), outside);
}

const uint8_t *image_line(const struct image_lines *l, uint8_t *room, const uint8_t *line, uint32_t first) {
    const int32_t x = (int32_t)(first * l->stride) - (int32_t)l->padding, vectors = (int32_t)(l->pitch / HVX_BYTES);
    if (line != NULL && l->stride == 1 && l->step == 4 && x >= 0 && x + vectors * HVX_WORDS <= (int32_t)l->width)
        return line + (size_t)x * 4;
    HVX_Vector *to = (HVX_Vector *)(void *)room;
    for (uint32_t phase = 0; phase < l->phases; phase++) {
        for (int32_t i = 0; i < vectors; i++) {
            const int32_t at = x + (int32_t)phase + i * HVX_WORDS * (int32_t)l->stride;
            *to++ = line == NULL ? hvx_splat_f32(l->outside) : fetch(l, line, at);
        }
    }
    return room;
}
