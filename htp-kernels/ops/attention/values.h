/* Sums of values, weighted by probabilities. */
#ifndef ATTENTION_VALUES_H
#define ATTENTION_VALUES_H

#include "ops/attention/attention.h"

/* probabilities of ATTENTION_ROW_STEP rows, in ordinary memory: they are read one by one, which VTCM is slow at */
struct probabilities {
    uint16_t p[ATTENTION_ROW_STEP][ATTENTION_MAX_BLOCK] __attribute__((aligned(128)));
    HVX_Vector factor[ATTENTION_ROW_STEP]; /* qf32, in all lanes */
};

/*
 * sums[row] = sums[row] * factor[row] + the sum over keys of p[row][key] * value[key], for 1 .. ATTENTION_ROW_STEP
 * rows, all units of a block's values. The sums of rows are state_vectors apart; 3 rows need p[3] = 0 and sums of a
 * fourth.
 */
void attention_add_values(uint32_t rows, uint32_t units, const uint8_t *values, uint32_t keys,
                          const struct probabilities *p, HVX_Vector *sums, size_t state_vectors);

#endif
