/* Rows that become a number or running sums: what the files of this folder share. */
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

#include "hvx/strided.h"
#include "runtime/rows.h"

struct reduce {
    const struct htp_view *src, *dst;
    uint32_t length; /* of a row */
    float inverse;   /* MEAN: 1 / length */
};

/* One row: dst is its place in the result (SUM_ROWS, MEAN, ARGMAX: one word). */
typedef void reduce_row_fn(const struct reduce *t, const uint8_t *src, uint8_t *dst);
reduce_row_fn reduce_argmax_row, reduce_cumsum_row;

uint32_t reduce_sum_all(struct htp_exec *exec); /* SUM, whole op */

/* `count` (1..32) elements of a row from element i on; zeros behind them */
HVX_INLINE HVX_Vector reduce_fetch(const struct htp_view *v, const uint8_t *row, uint32_t i, uint32_t count) {
    const uint8_t *const p = row + (size_t)i * v->nb[0];
    if (v->nb[0] != 4)
        return hvx_gather_words(p, v->nb[0], count);
    return count == HVX_WORDS ? hvx_load(p) : hvx_load_bytes(p, 4 * count);
}

/* one word, from a vector that has it in every lane */
HVX_INLINE void reduce_store_word(uint8_t *dst, HVX_Vector every) {
    const int32_t at = (int32_t)((uintptr_t)dst & (HVX_BYTES - 1));
    const HVX_VectorPred lane = Q6_Q_and_QQn(Q6_Q_vsetq2_R(at + 4), Q6_Q_vsetq_R(at));
    Q6_vmem_QRIV(lane, (HVX_Vector *)((uintptr_t)dst - (uintptr_t)at), every);
}

#endif
