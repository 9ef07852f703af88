/*
 * Scores one by one, in scalar f32: for rows with infinities, NaN, scores or masks beyond what row.c takes, odd scales.
 * Scores of -infinity become the lowest finite number, which is no different in a softmax unless all of them are.
 */
#include <float.h>

#include "hvx/emul/half.h" /* integer code only */
#include "ops/softmax/softmax.h"

static float load_f32(const uint8_t *p) {
    float f;
    __builtin_memcpy(&f, __builtin_assume_aligned(p, 4), 4);
    return f;
}

static float load_f16(const uint8_t *p) {
    uint16_t h;
    __builtin_memcpy(&h, __builtin_assume_aligned(p, 2), 2);
    return hvx_half_to_float(h);
}

bool softmax_exact_scores(const struct softmax_row *r, const struct softmax_head *head, struct softmax_scores *s) {
    const uint32_t whole = r->elements - softmax_tail(r);
    float largest = head->has_sink ? head->sink : -__builtin_inff();
    bool valid = largest == largest;
    for (uint32_t i = 0; i < r->elements; i++) {
        float t = load_f32(r->x + 4 * (size_t)i) * head->scale;
        if (r->mask != NULL)
            t += head->slope * (head->mask_is_f16 ? load_f16(r->mask + 2 * (size_t)i) : load_f32(r->mask + 4 * (size_t)i));
        valid = valid && t == t;
        largest = t > largest ? t : largest;
        t = t < -FLT_MAX ? -FLT_MAX : t;
        uint8_t *to = i < whole ? r->work + 4 * (size_t)i : (uint8_t *)s->tail + 4 * (i - whole);
        __builtin_memcpy(__builtin_assume_aligned(to, 4), &t, 4);
    }
    s->largest = hvx_splat_f32(largest);
    return valid && largest >= -FLT_MAX && largest <= FLT_MAX;
}
