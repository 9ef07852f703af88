/*
 * Copies between DDR and VTCM that run beside the computation. A queue belongs to one thread, and a thread has copies in
 * flight in one queue at a time (the device has one engine a thread).
 *
 *   htp_dma_init(&q);
 *   htp_dma_push(&q, vtcm, vtcm_stride, ddr, ddr_stride, row_bytes, rows);   // starts
 *   ...
 *   htp_dma_wait(&q);   // the oldest copy that was pushed and not yet waited for is complete
 *
 * The posix build copies at the time of the wait, not of the push, so that a kernel that reads too early, or lets the
 * source change, gives wrong results there as well.
 */
#ifndef HTP_DMA_H
#define HTP_DMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef HTP_PLATFORM_QURT
#include "platform/qurt/dma_engine.h"
#endif

#define HTP_DMA_DEPTH 16 /* copies in flight; one more push waits for the oldest */

struct htp_dma_copy {
    uint8_t *dst;
    const uint8_t *src;
    uint32_t dst_stride, src_stride, row_bytes, rows;
};

struct htp_dma {
    struct htp_dma_copy copy[HTP_DMA_DEPTH];
    uint32_t pushed, done; /* running counts */
#ifdef HTP_PLATFORM_QURT
    struct qurt_dma_engine engine;
#endif
};

void htp_dma_init(struct htp_dma *queue);
void htp_dma_push(struct htp_dma *queue, void *dst, uint32_t dst_stride, const void *src, uint32_t src_stride,
                  uint32_t row_bytes, uint32_t rows);
void htp_dma_wait(struct htp_dma *queue);     /* the oldest */
void htp_dma_wait_all(struct htp_dma *queue); /* every one */

#endif
