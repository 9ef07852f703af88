/* What struct htp_dma holds besides the copies when the user DMA engine makes them. */
#ifndef HTP_QURT_DMA_ENGINE_H
#define HTP_QURT_DMA_ENGINE_H

#include <stdint.h>

/* A descriptor as the engine reads it. Linear ones use the first four words. */
struct qurt_dma_descriptor {
    volatile uint32_t next, control, source, destination, word4, word5, word6, word7;
} __attribute__((aligned(32)));
_Static_assert(sizeof(struct qurt_dma_descriptor) == 32, "descriptor layout");

/* How far a copy has been handed to the engine. */
struct qurt_dma_cursor {
    uint32_t row, column;
};

#define QURT_DMA_DEPTH 16 /* HTP_DMA_DEPTH */

struct qurt_dma_engine {
    struct qurt_dma_descriptor descriptor[QURT_DMA_DEPTH]; /* of copy[i] */
    struct qurt_dma_descriptor spare[2]; /* for the later parts of a copy that one descriptor cannot describe */
    struct qurt_dma_cursor cursor[QURT_DMA_DEPTH];
    struct qurt_dma_descriptor *tail; /* the last one linked */
    uint32_t broken;                  /* the engine has reported an error: copy without it */
};

#endif
