/*
 * The packet queue. The driver's callback only says that packets have come; they are taken out and run by a thread of
 * our own, whose stack and priority we know.
 */
#include <stdatomic.h>

#include "platform/platform.h"
#include "platform/qurt/device.h"
#include "platform/qurt/layout.h"
#include "runtime/aee.h"
#include "runtime/libc.h"
#include "runtime/log.h"

#define QUEUE_STACK (32 * 1024)    /* runs a share of each op, and the runtime below it */
#define MAX_MESSAGE 65536          /* what a queue can carry: no packet is too large to be taken out */
#define MAX_BUFFERS 64
#define SEND_TIMEOUT_US 1000000    /* a host that reads no responses for so long is gone */
#define QUEUE_EMPTY 516            /* AEE_EWOULDBLOCK */
#define QUEUE_EXPIRED HTP_AEE(0xcu) /* AEE_EEXPIRED: some images say this */

struct platform_queue {
    dspqueue_t handle;
    platform_packet_fn packet;
    void *context;
    struct platform_thread *thread;
    _Atomic uint32_t events; /* counts callbacks; the thread sleeps on it */
    _Atomic uint32_t closing;
    struct dspqueue_buffer buffers[MAX_BUFFERS];
    uint8_t message[MAX_MESSAGE];
};

static uint32_t packet_number;

uint32_t qurt_packet_number(void) { return packet_number; }

static void next_packet_number(void) {
    if (++packet_number == 0)
        packet_number = 1;
}

static void notify(struct platform_queue *queue) {
    atomic_fetch_add(&queue->events, 1);
    platform_wake_all((volatile uint32_t *)&queue->events);
}

static void on_packets(dspqueue_t handle, AEEResult error, void *context) {
    (void)handle;
    (void)error;
    notify(context);
}

static void on_error(dspqueue_t handle, AEEResult error, void *context) {
    (void)handle;
    (void)context;
    HTP_ERROR("packet queue failed: error 0x%x", (unsigned)error);
}

/* Runs all packets that are there. */
static void drain(struct platform_queue *queue) {
    while (atomic_load(&queue->closing) == 0) {
        uint32_t flags = 0, n_buffers = 0, length = 0;
        const int error = dspqueue_read_noblock(queue->handle, &flags, MAX_BUFFERS, &n_buffers, queue->buffers,
                                                MAX_MESSAGE, &length, queue->message);
        if (error != 0) {
            if (error != QUEUE_EMPTY && error != QUEUE_EXPIRED)
                HTP_ERROR("packet not read: error 0x%x", (unsigned)error);
            return;
        }
        next_packet_number();
        queue->packet(queue->context, queue->message, length);
    }
}

static void queue_main(void *arg) {
    struct platform_queue *queue = arg;
    while (atomic_load(&queue->closing) == 0) {
        const uint32_t events = atomic_load(&queue->events); /* before looking: a packet that comes later counts up */
        drain(queue);
        if (atomic_load(&queue->closing) == 0)
            platform_wait((volatile uint32_t *)&queue->events, events);
    }
}

int platform_queue_open(struct platform_queue **out, uint64_t id, platform_packet_fn packet, void *context) {
    *out = NULL;
    struct platform_queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL)
        return HTP_AEE_NO_MEMORY;
    queue->packet = packet;
    queue->context = context;
    int error = dspqueue_import(id, on_packets, on_error, queue, &queue->handle);
    if (error != 0) {
        free(queue);
        return error;
    }
    *out = queue; /* before the thread starts: the packet function may use it */
    error = platform_thread_start(&queue->thread, "htp-queue", QUEUE_STACK, queue_main, queue);
    if (error != 0) {
        *out = NULL;
        dspqueue_close(queue->handle);
        free(queue);
    }
    return error;
}

int platform_queue_send(struct platform_queue *queue, const void *message, uint32_t length) {
    return dspqueue_write(queue->handle, 0, 0, NULL, length, message, SEND_TIMEOUT_US);
}

void platform_queue_close(struct platform_queue *queue) {
    atomic_store(&queue->closing, 1);
    notify(queue);
    platform_thread_join(queue->thread);
    dspqueue_close(queue->handle); /* ends the callbacks */
    free(queue);
}
