/*
 * From dot products to probabilities, one row and one block at a time, with what the row has seen before (online
 * softmax). A pair holds 64 keys: the even ones in the first vector, the odd ones in the second, so that masks come,
 * and probabilities go, as plain f16 vectors without a shuffle.
 */
#ifndef ATTENTION_SOFTMAX_H
#define ATTENTION_SOFTMAX_H

#include "hvx/exp2.h"
#include "ops/attention/attention.h"
#include "ops/attention/scores.h"

#define SOFTMAX_LOG2_E 1.44269504f
#define SOFTMAX_MAX_PAIRS (ATTENTION_MAX_BLOCK / HVX_HALVES)

/* exp(a - max), exp(b - max) for a, b up to max; all f32 */
HVX_INLINE HVX_VectorPair exp_below(HVX_Vector a, HVX_Vector b, HVX_Vector max) {
    const HVX_Vector log2_e = hvx_f32_to_qf32(hvx_splat_f32(SOFTMAX_LOG2_E)), offset = hvx_splat_f32(HVX_EXP2_OFFSET);
    const HVX_Vector x = hvx_mul_qf32(Q6_Vqf32_vsub_VsfVsf(a, max), log2_e);
    const HVX_Vector y = hvx_mul_qf32(Q6_Vqf32_vsub_VsfVsf(b, max), log2_e);
    return hvx_exp2_255(hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(x, offset)),
                        hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(y, offset)));
}

/* What scores of a row become. */
struct row_terms {
    float scale, cap;   /* cap: 0 for none; the scale is already divided by it */
    const uint8_t *mask; /* f16 of the block's first key on, NULL: none */
    float slope;
};

/*
 * scores: pairs of dot products, f32, for `keys` keys; state: of the row. Writes the probabilities, f16, relative to
 * the largest score so far, and returns the factor that earlier ones are to be multiplied with, in qf32.
 */
HVX_Vector attention_softmax(const struct row_terms *t, HVX_Vector *scores, uint32_t keys, HVX_Vector *state,
                             HVX_Vector *probabilities);

#endif
