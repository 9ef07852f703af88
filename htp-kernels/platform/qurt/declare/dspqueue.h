/* Stands in for the SDK's dspqueue.h: the DSP end of a packet queue. */
#ifndef HTP_DECLARE_DSPQUEUE_H
#define HTP_DECLARE_DSPQUEUE_H

#include <stdint.h>

typedef struct dspqueue *dspqueue_t;
typedef int AEEResult;

struct dspqueue_buffer {
    uint32_t fd, size, offset, flags;
    union {
        void *ptr;
        uint64_t address;
    };
};

typedef void (*dspqueue_callback_t)(dspqueue_t queue, AEEResult error, void *context);

AEEResult dspqueue_import(uint64_t id, dspqueue_callback_t packet, dspqueue_callback_t error, void *context,
                          dspqueue_t *queue);
AEEResult dspqueue_close(dspqueue_t queue);
AEEResult dspqueue_read_noblock(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                                struct dspqueue_buffer *buffers, uint32_t max_message_length,
                                uint32_t *message_length, uint8_t *message);
AEEResult dspqueue_write(dspqueue_t queue, uint32_t flags, uint32_t num_buffers, struct dspqueue_buffer *buffers,
                         uint32_t message_length, const uint8_t *message, uint32_t timeout_us);

#endif
