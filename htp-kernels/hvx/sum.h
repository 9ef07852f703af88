/* Sums over rows of f32 that lie side by side. */
#ifndef HVX_SUM_H
#define HVX_SUM_H

#include <stdbool.h>

#include "hvx/wrap.h"

enum hvx_summand {
    HVX_SUM_VALUES,
    HVX_SUM_SQUARES,
    HVX_SUM_DISTANCES, /* squares of the distances from a mean */
};

/* sum and result in qf32; mean: HVX_SUM_DISTANCES only */
HVX_INLINE HVX_Vector hvx_sum_up(enum hvx_summand what, HVX_Vector sum, HVX_Vector x, HVX_Vector mean) {
    if (what == HVX_SUM_VALUES)
        return hvx_add_qf32_f32(sum, x);
    if (what == HVX_SUM_SQUARES)
        return hvx_add_qf32(sum, hvx_mul_f32_qf32(x, x));
    const HVX_Vector d = hvx_sub_f32_qf32(x, mean);
    return hvx_add_qf32(sum, hvx_mul_qf32(d, d));
}

/* The same of the last elements of a row: x is zero behind its first `bytes`, which must not count as a distance. */
HVX_INLINE HVX_Vector hvx_sum_up_rest(enum hvx_summand what, HVX_Vector sum, HVX_Vector x, HVX_Vector mean,
                                      uint32_t bytes) {
    return hvx_sum_up(what, sum, x, Q6_V_vand_QV(Q6_Q_vsetq2_R((int32_t)bytes), mean));
}

/*
 * The sums of a row's lanes, in qf32: hvx_sum_qf32 adds them up. aligned: x is a vector boundary. Four accumulators
 * hide the latency of the addition.
 */
HVX_INLINE HVX_Vector hvx_sum_row(enum hvx_summand what, bool aligned, const uint8_t *x, uint32_t length,
                                  HVX_Vector mean) {
    const uint32_t vectors = length / HVX_WORDS, rest = length % HVX_WORDS * 4;
    HVX_Vector s0 = hvx_zero(), s1 = s0, s2 = s0, s3 = s0;
#define HVX_SUM_LOAD(k) (aligned ? hvx_load_aligned(x + (k) * HVX_BYTES) : hvx_load(x + (k) * HVX_BYTES))
    HVX_ROLLED
    for (uint32_t i = vectors / 8; i > 0; i--, x += 8 * HVX_BYTES) {
        s0 = hvx_sum_up(what, s0, HVX_SUM_LOAD(0), mean);
        s1 = hvx_sum_up(what, s1, HVX_SUM_LOAD(1), mean);
        s2 = hvx_sum_up(what, s2, HVX_SUM_LOAD(2), mean);
        s3 = hvx_sum_up(what, s3, HVX_SUM_LOAD(3), mean);
        s0 = hvx_sum_up(what, s0, HVX_SUM_LOAD(4), mean);
        s1 = hvx_sum_up(what, s1, HVX_SUM_LOAD(5), mean);
        s2 = hvx_sum_up(what, s2, HVX_SUM_LOAD(6), mean);
        s3 = hvx_sum_up(what, s3, HVX_SUM_LOAD(7), mean);
    }
    HVX_ROLLED
    for (uint32_t i = vectors % 8; i > 0; i--, x += HVX_BYTES)
        s0 = hvx_sum_up(what, s0, HVX_SUM_LOAD(0), mean);
#undef HVX_SUM_LOAD
    if (rest != 0)
        s1 = hvx_sum_up_rest(what, s1, hvx_load_bytes(x, rest), mean, rest);
    return hvx_add_qf32(hvx_add_qf32(s0, s1), hvx_add_qf32(s2, s3));
}

#endif
