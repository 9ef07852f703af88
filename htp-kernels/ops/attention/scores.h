/* Dot products of a query row with keys. */
#ifndef ATTENTION_SCORES_H
#define ATTENTION_SCORES_H

#include "hvx/wrap.h"

static const int32_t score_lanes[HVX_WORDS] __attribute__((aligned(128))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};
HVX_INLINE HVX_Vector score_lane_numbers(void) { return *(const HVX_Vector *)(const void *)score_lanes; }

/* of one row with 32 keys, step bytes apart, over all units, f32 */
HVX_Vector attention_dots(uint32_t units, const uint8_t *keys, size_t step, const HVX_Vector *q);

#endif
