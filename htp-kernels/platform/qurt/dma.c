/*
 * Copies by the user DMA engine.
 *
 * The engine works through a chain of descriptors. dmlink appends one behind the last (`tail`) and starts an engine
 * that is idle; a first tail that describes nothing makes the first copy no special case. The engine sets a bit in a
 * descriptor that is complete. It reads and writes through the L2 cache, so caches need no maintenance.
 *
 * Descriptors have narrow fields. A copy that does not fit one is done in parts: the push starts the first, the wait
 * does the others.
 *
 * Each hardware thread has one engine, and it knows one chain. So a thread must not have copies in flight in two
 * queues at a time: the second chain would never be looked at.
 */
#include <stdbool.h>

#include "runtime/dma.h"
#include "runtime/libc.h"
#include "runtime/log.h"

_Static_assert(QURT_DMA_DEPTH == HTP_DMA_DEPTH, "one descriptor a copy");

#define CONTROL_DONE (1u << 31)
#define CONTROL_2D (1u << 24) /* 32 bytes instead of 16 */
#define LINEAR_MAX 0xf00000u  /* bytes; the field has 24 bits */
#define ROWS_MAX 0xffffu
#if __HEXAGON_ARCH__ >= 75
#define WIDTH_MAX 0xffffffu /* of a row, and of strides */
#define TYPE_2D_WIDE 9
#else
#define WIDTH_MAX 0xffffu
#endif

#define STATUS_MASK 3u
#define STATUS_ERROR 2u

/* ---- descriptors ---- */

static uint32_t word_of(const void *address) { return (uint32_t)(uintptr_t)address; }

static void describe_linear(struct qurt_dma_descriptor *d, uint8_t *dst, const uint8_t *src, uint32_t bytes) {
    d->next = 0;
    d->control = bytes;
    d->source = word_of(src);
    d->destination = word_of(dst);
}

static void describe_rows(struct qurt_dma_descriptor *d, const struct htp_dma_copy *copy, uint8_t *dst,
                          const uint8_t *src, uint32_t rows) {
    d->next = 0;
    d->source = word_of(src);
    d->destination = word_of(dst);
#if __HEXAGON_ARCH__ >= 75
    d->control = CONTROL_2D | copy->dst_stride;
    d->word4 = TYPE_2D_WIDE;
    d->word5 = copy->row_bytes | (rows & 0xff) << 24;
    d->word6 = rows >> 8 | copy->src_stride << 8;
#else
    d->control = CONTROL_2D;
    d->word4 = 0;
    d->word5 = copy->row_bytes | rows << 16;
    d->word6 = copy->src_stride | copy->dst_stride << 16;
#endif
    d->word7 = 0;
}

static bool is_finished(const struct htp_dma_copy *copy, const struct qurt_dma_cursor *at) {
    return at->row == copy->rows || copy->row_bytes == 0;
}

/* Describes as much of the rest as fits one descriptor, and moves the cursor behind it. */
static void describe_part(struct qurt_dma_descriptor *d, const struct htp_dma_copy *copy, struct qurt_dma_cursor *at) {
    uint8_t *dst = copy->dst + (size_t)at->row * copy->dst_stride + at->column;
    const uint8_t *src = copy->src + (size_t)at->row * copy->src_stride + at->column;
    uint32_t rows = copy->rows - at->row;
    if (rows > 1 && at->column == 0 && copy->row_bytes <= WIDTH_MAX && copy->src_stride <= WIDTH_MAX &&
        copy->dst_stride <= WIDTH_MAX) {
        if (rows > ROWS_MAX)
            rows = ROWS_MAX;
        describe_rows(d, copy, dst, src, rows);
        at->row += rows;
        return;
    }
    uint32_t bytes = copy->row_bytes - at->column;
    if (bytes > LINEAR_MAX)
        bytes = LINEAR_MAX;
    describe_linear(d, dst, src, bytes);
    at->column += bytes;
    if (at->column == copy->row_bytes) {
        at->column = 0;
        at->row++;
    }
}

/* ---- the engine ---- */

/* The release makes the descriptor, and what was written to the source, visible before the engine can look. */
static void link_descriptor(struct qurt_dma_engine *engine, struct qurt_dma_descriptor *d) {
    __asm__ volatile("release(%0):at" : : "r"(d) : "memory");
    __asm__ volatile("dmlink(%0, %1)" : : "r"(engine->tail), "r"(d) : "memory");
    engine->tail = d;
}

static uint32_t poll_status(void) {
    uint32_t status;
    __asm__ volatile("%0 = dmpoll" : "=r"(status) : : "memory");
    return status & STATUS_MASK;
}

/* False when the engine has stopped with an error. */
static bool wait_for(const struct qurt_dma_descriptor *d) {
    while ((d->control & CONTROL_DONE) == 0) {
        if (poll_status() == STATUS_ERROR && (d->control & CONTROL_DONE) == 0)
            return false;
    }
    __asm__ volatile("" : : : "memory"); /* what was copied is read after this */
    return true;
}

static bool run_copy(struct htp_dma *queue, uint32_t slot) {
    struct qurt_dma_engine *engine = &queue->engine;
    const struct htp_dma_copy *copy = &queue->copy[slot];
    struct qurt_dma_cursor *at = &engine->cursor[slot];
    if (!wait_for(&engine->descriptor[slot]))
        return false;
    while (!is_finished(copy, at)) {
        /* not the tail, which is still part of the chain */
        struct qurt_dma_descriptor *d = &engine->spare[engine->tail == &engine->spare[0]];
        describe_part(d, copy, at);
        link_descriptor(engine, d);
        if (!wait_for(d))
            return false;
    }
    return true;
}

static void copy_without_engine(const struct htp_dma_copy *copy) {
    for (uint32_t row = 0; row < copy->rows; row++)
        memcpy(copy->dst + (size_t)row * copy->dst_stride, copy->src + (size_t)row * copy->src_stride,
               copy->row_bytes);
}

/* ---- runtime/dma.h ---- */

void htp_dma_init(struct htp_dma *queue) {
    memset(queue, 0, sizeof(*queue));
    queue->engine.tail = &queue->engine.spare[0];
}

void htp_dma_push(struct htp_dma *queue, void *dst, uint32_t dst_stride, const void *src, uint32_t src_stride,
                  uint32_t row_bytes, uint32_t rows) {
    if (queue->pushed - queue->done == HTP_DMA_DEPTH)
        htp_dma_wait(queue);
    const uint32_t slot = queue->pushed % HTP_DMA_DEPTH;
    struct htp_dma_copy *copy = &queue->copy[slot];
    *copy = (struct htp_dma_copy){.dst = dst,
                                  .src = src,
                                  .dst_stride = dst_stride,
                                  .src_stride = src_stride,
                                  .row_bytes = row_bytes,
                                  .rows = rows};
    if (rows > 1 && dst_stride == row_bytes && src_stride == row_bytes) { /* without gaps: one long row */
        copy->row_bytes = row_bytes * rows; /* fits: it is memory */
        copy->rows = 1;
    }
    queue->pushed++;

    struct qurt_dma_engine *engine = &queue->engine;
    struct qurt_dma_descriptor *d = &engine->descriptor[slot];
    struct qurt_dma_cursor *at = &engine->cursor[slot];
    *at = (struct qurt_dma_cursor){0};
    if (engine->broken || is_finished(copy, at)) {
        d->control = CONTROL_DONE; /* nothing for the engine */
        return;
    }
    describe_part(d, copy, at);
    link_descriptor(engine, d);
}

void htp_dma_wait(struct htp_dma *queue) {
    if (queue->done == queue->pushed)
        return;
    const uint32_t slot = queue->done % HTP_DMA_DEPTH;
    if (!queue->engine.broken && !run_copy(queue, slot)) {
        queue->engine.broken = 1;
        HTP_ERROR("DMA engine stopped with an error: copying without it");
    }
    if (queue->engine.broken)
        copy_without_engine(&queue->copy[slot]);
    queue->done++;
}

void htp_dma_wait_all(struct htp_dma *queue) {
    while (queue->done != queue->pushed)
        htp_dma_wait(queue);
}
