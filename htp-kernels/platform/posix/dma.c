/* Copies at the time of the wait: see runtime/dma.h for why. */
#include "runtime/dma.h"

#include <string.h>

void htp_dma_init(struct htp_dma *queue) { memset(queue, 0, sizeof(*queue)); }

void htp_dma_push(struct htp_dma *queue, void *dst, uint32_t dst_stride, const void *src, uint32_t src_stride,
                  uint32_t row_bytes, uint32_t rows) {
    if (queue->pushed - queue->done == HTP_DMA_DEPTH)
        htp_dma_wait(queue);
    queue->copy[queue->pushed % HTP_DMA_DEPTH] = (struct htp_dma_copy){
        .dst = dst,
        .src = src,
        .dst_stride = dst_stride,
        .src_stride = src_stride,
        .row_bytes = row_bytes,
        .rows = rows,
    };
    queue->pushed++;
}

void htp_dma_wait(struct htp_dma *queue) {
    if (queue->done == queue->pushed)
        return;
    const struct htp_dma_copy *copy = &queue->copy[queue->done % HTP_DMA_DEPTH];
    for (uint32_t row = 0; row < copy->rows; row++)
        memcpy(copy->dst + (size_t)row * copy->dst_stride, copy->src + (size_t)row * copy->src_stride,
               copy->row_bytes);
    queue->done++;
}

void htp_dma_wait_all(struct htp_dma *queue) {
    while (queue->done != queue->pushed)
        htp_dma_wait(queue);
}
