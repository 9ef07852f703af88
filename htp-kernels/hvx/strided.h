/*
 * 32-bit elements that do not lie side by side: fetched into vectors and stored from them one by one.
 * `step` is the distance of two elements in bytes, a multiple of 4.
 */
#ifndef HVX_STRIDED_H
#define HVX_STRIDED_H

#include "hvx/wrap.h"

/* the first `count` (1..32) words; the others are zero */
HVX_INLINE HVX_Vector hvx_gather_words(const uint8_t *address, size_t step, uint32_t count) {
    uint8_t words[HVX_BYTES] __attribute__((aligned(128))) = {0};
    for (uint32_t k = 0; k < count; k++)
        __builtin_memcpy(words + 4 * k, __builtin_assume_aligned(address + k * step, 4), 4);
    return hvx_load_aligned(words);
}

/* the same of a row of `period` elements that repeats; the first word is that of index i (of any repetition) */
HVX_INLINE HVX_Vector hvx_gather_repeated(const uint8_t *row, size_t step, uint32_t period, uint32_t i,
                                          uint32_t count) {
    uint8_t words[HVX_BYTES] __attribute__((aligned(128))) = {0};
    uint32_t index = i % period;
    for (uint32_t k = 0; k < count; k++) {
        __builtin_memcpy(words + 4 * k, __builtin_assume_aligned(row + index * step, 4), 4);
        index = index + 1 == period ? 0 : index + 1;
    }
    return hvx_load_aligned(words);
}

HVX_INLINE void hvx_scatter_words(uint8_t *address, size_t step, uint32_t count, HVX_Vector x) {
    uint8_t words[HVX_BYTES] __attribute__((aligned(128)));
    hvx_store_aligned(words, x);
    for (uint32_t k = 0; k < count; k++)
        __builtin_memcpy(__builtin_assume_aligned(address + k * step, 4), words + 4 * k, 4);
}

#endif
