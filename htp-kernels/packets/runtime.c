/* What kernels need of the runtime. DMA costs nothing here: on the device it works beside the thread. */
#include "hmx/hmx.h"
#include "runtime/dma.h"
#include "runtime/exec.h"

void htp_parallel(struct htp_exec *exec, uint32_t n, htp_thread_fn fn, void *arg) {
    (void)exec;
    for (uint32_t i = 0; i < n; i++)
        fn(arg, i, n);
}

/* The emulator has no matrix unit. What HVX does for it is counted kernel by kernel (hmx.c). */
bool htp_hmx_begin(struct htp_exec *exec) {
    (void)exec;
    return false;
}

void hmx_clear(void) {}

void hmx_set_scales(const uint8_t *table) { (void)table; }

void hmx_multiply(const uint8_t *activations, const uint8_t *weights, uint32_t n) {
    (void)activations, (void)weights, (void)n;
}

void hmx_store(uint8_t *tile) { (void)tile; }

void htp_dma_init(struct htp_dma *queue) { queue->pushed = queue->done = 0; }

/* Nothing is copied: kernels work on what VTCM holds, and no count depends on that. */
void htp_dma_push(struct htp_dma *queue, void *dst, uint32_t dst_stride, const void *src, uint32_t src_stride,
                  uint32_t row_bytes, uint32_t rows) {
    (void)dst, (void)dst_stride, (void)src, (void)src_stride, (void)row_bytes, (void)rows;
    queue->pushed++;
}

void htp_dma_wait(struct htp_dma *queue) { queue->done++; }

void htp_dma_wait_all(struct htp_dma *queue) { queue->done = queue->pushed; }
