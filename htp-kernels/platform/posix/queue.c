/*
 * Packet queues. The receiver thread puts packets into a queue's list; a thread of the queue takes them out, once the
 * runtime has opened it. Packets that come earlier wait, as they do in the driver's shared memory on the device.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "platform/platform.h"
#include "platform/posix/posix.h"
#include "runtime/aee.h"
#include "runtime/log.h"

#define MAX_WAITING_BYTES (16u * 1024 * 1024) /* no more than a dspqueue holds; the driver stops writing much earlier */

struct packet {
    struct packet *next;
    uint32_t length;
    uint8_t message[];
};

struct platform_queue {
    struct platform_queue *next;
    uint64_t id;
    uint32_t response_bytes;
    uint32_t waiting_bytes;
    struct packet *first, **last; /* last: where the next one is hung */
    bool declared;                /* the host has it */
    bool opened;                  /* the runtime has it; the queue lives as long as one of both */
    bool closing;
    pthread_cond_t changed;
    struct platform_thread *thread;
    platform_packet_fn packet;
    void *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and all that is in it */
static struct platform_queue *queues;

static struct platform_queue *find(uint64_t id) {
    for (struct platform_queue *queue = queues; queue != NULL; queue = queue->next) {
        if (queue->declared && queue->id == id)
            return queue;
    }
    return NULL;
}

static void clear_packets(struct platform_queue *queue) {
    while (queue->first != NULL) {
        struct packet *packet = queue->first;
        queue->first = packet->next;
        free(packet);
    }
    queue->last = &queue->first;
    queue->waiting_bytes = 0;
}

static void free_if_unused(struct platform_queue *queue) {
    if (queue->declared || queue->opened)
        return;
    struct platform_queue **link = &queues;
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
    clear_packets(queue);
    pthread_cond_destroy(&queue->changed);
    free(queue);
}

void posix_queue_declare(uint64_t id, uint32_t response_bytes) {
    const char *problem = NULL;
    struct platform_queue *queue = calloc(1, sizeof(*queue));
    pthread_mutex_lock(&lock);
    if (queue == NULL) {
        problem = "no memory";
    } else if (find(id) != NULL) {
        problem = "exists already";
        free(queue);
    } else {
        queue->id = id;
        queue->response_bytes = response_bytes;
        queue->last = &queue->first;
        queue->declared = true;
        pthread_cond_init(&queue->changed, NULL);
        queue->next = queues;
        queues = queue;
    }
    pthread_mutex_unlock(&lock);
    if (problem != NULL)
        HTP_ERROR("queue %llu: %s", (unsigned long long)id, problem);
}

void posix_queue_remove(uint64_t id) {
    pthread_mutex_lock(&lock);
    struct platform_queue *queue = find(id);
    if (queue != NULL) {
        queue->declared = false;
        clear_packets(queue);
        free_if_unused(queue);
    }
    pthread_mutex_unlock(&lock);
}

void posix_queue_deliver(uint64_t id, const uint8_t *message, uint32_t length) {
    const char *problem = NULL;
    struct packet *packet = malloc(sizeof(*packet) + length);
    pthread_mutex_lock(&lock);
    struct platform_queue *queue = find(id);
    if (packet == NULL) {
        problem = "no memory";
    } else if (queue == NULL) {
        problem = "no such queue";
    } else if (length > MAX_WAITING_BYTES - queue->waiting_bytes) {
        problem = "queue full";
    } else {
        packet->next = NULL;
        packet->length = length;
        memcpy(packet->message, message, length);
        *queue->last = packet;
        queue->last = &packet->next;
        queue->waiting_bytes += length;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&lock);
    if (problem != NULL) {
        free(packet);
        HTP_ERROR("packet for queue %llu lost: %s", (unsigned long long)id, problem);
    }
}

/* The next packet, or NULL when the queue is to be closed. */
static struct packet *take_packet(struct platform_queue *queue) {
    struct packet *packet = NULL;
    pthread_mutex_lock(&lock);
    while (queue->first == NULL && !queue->closing)
        pthread_cond_wait(&queue->changed, &lock);
    if (!queue->closing) {
        packet = queue->first;
        queue->first = packet->next;
        if (queue->first == NULL)
            queue->last = &queue->first;
        queue->waiting_bytes -= packet->length;
    }
    pthread_mutex_unlock(&lock);
    return packet;
}

static void queue_main(void *arg) {
    struct platform_queue *queue = arg;
    for (;;) {
        struct packet *packet = take_packet(queue);
        if (packet == NULL)
            return;
        queue->packet(queue->context, packet->message, packet->length);
        free(packet);
    }
}

int platform_queue_open(struct platform_queue **out, uint64_t id, platform_packet_fn packet, void *context) {
    *out = NULL;
    pthread_mutex_lock(&lock);
    struct platform_queue *queue = find(id);
    int error = queue == NULL ? HTP_AEE_BAD_PARAMETER : queue->opened ? HTP_AEE_BUSY : 0;
    if (error == 0) {
        queue->packet = packet;
        queue->context = context;
        queue->closing = false;
        *out = queue; /* before the thread starts: the callback may use it */
        error = platform_thread_start(&queue->thread, "htp-queue", 0, queue_main, queue);
        queue->opened = error == 0;
        if (error != 0)
            *out = NULL;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int platform_queue_send(struct platform_queue *queue, const void *message, uint32_t length) {
    pthread_mutex_lock(&lock);
    const bool declared = queue->declared;
    pthread_mutex_unlock(&lock);
    if (!declared)
        return HTP_AEE_BAD_STATE;
    if (length > queue->response_bytes)
        return HTP_AEE_BAD_PARAMETER;
    struct posix_header header = {.kind = POSIX_PACKET, .a = (uint32_t)queue->id, .b = (uint32_t)(queue->id >> 32)};
    return posix_send(&header, message, length) == 0 ? 0 : HTP_AEE_FAILED;
}

void platform_queue_close(struct platform_queue *queue) {
    pthread_mutex_lock(&lock);
    queue->closing = true;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&lock);
    platform_thread_join(queue->thread);
    pthread_mutex_lock(&lock);
    queue->opened = false;
    free_if_unused(queue);
    pthread_mutex_unlock(&lock);
}
