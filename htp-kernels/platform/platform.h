/*
 * What the runtime needs from the system it runs on. Two implementations: posix/ (the simulated DSP: a Linux process,
 * built for the host or for Hexagon Linux) and qurt/ (the device).
 *
 * Functions that can fail return 0 on success and a DSP error code (AEE_*, 0x80000400 + n) otherwise.
 */
#ifndef HTP_PLATFORM_H
#define HTP_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- threads ---- */
struct platform_thread;
typedef void (*platform_thread_fn)(void *arg);
/* stack_bytes is a hint on posix */
int platform_thread_start(struct platform_thread **thread, const char *name, size_t stack_bytes, platform_thread_fn fn,
                          void *arg);
void platform_thread_join(struct platform_thread *thread);
/* Sleeps while *word == value; may return early, so callers look again in a loop. */
void platform_wait(volatile uint32_t *word, uint32_t value);
/* Wakes every thread that sleeps on word. */
void platform_wake_all(volatile uint32_t *word);

/* ---- what the hardware has ---- */
uint32_t platform_arch(void);       /* 68, 69, 73, 75, 79, 81 */
uint32_t platform_hvx_units(void);  /* HVX contexts that may run at the same time */
uint32_t platform_has_hmx(void);
uint64_t platform_time_us(void);

/* ---- memory ---- */
/* Maps a shared buffer of the host (registered there with fastrpc_mmap) into this process. NULL on failure. */
void *platform_map(uint32_t fd, size_t size);
void platform_unmap(void *address, size_t size);
/*
 * Names the registration that fd stands for at this moment: 0 when the host has none, and another number than before
 * when the host has unregistered fd since, even if it has registered it again. A mapping that was made under another
 * number is stale.
 */
uint32_t platform_map_generation(uint32_t fd);
/* Makes what the host wrote visible here (invalidate), and what was written here visible to the host (flush). */
void platform_cache_invalidate(const void *address, size_t size);
void platform_cache_flush(const void *address, size_t size);

/* ---- VTCM ---- */
/*
 * Acquires the session's VTCM; *size receives the bytes. It stays at one address until released. *hmx: whether the
 * matrix unit is wanted too; becomes false when VTCM comes without it.
 */
int platform_vtcm_acquire(void **address, size_t *size, bool *hmx);
void platform_vtcm_release(void);
/* Brackets each batch: VTCM may be lent to another process in between. */
int platform_vtcm_begin(void);
void platform_vtcm_end(void);
/*
 * Takes the matrix unit, which has been acquired and has power, for the calling thread, until that thread calls
 * platform_vtcm_end. Another call before that changes nothing.
 */
int platform_hmx_lock(void);

/* ---- power ---- */
/*
 * Asks for full clocks and HVX power, and power for the matrix unit where it is wanted. A refusal is logged, not an
 * error. Returns whether the matrix unit has power: without it, its first instruction would not end.
 */
bool platform_power_up(bool want_hmx);
void platform_power_down(void);
int platform_etm(bool enable);

/* ---- performance counters ---- */
#define PLATFORM_EVENTS 8
/* Chooses the hardware events to count, at most PLATFORM_EVENTS of them, known numbers; none: nothing is counted. */
int platform_count_events(const uint32_t *events, uint32_t n_events);
/* The counts of the events as chosen, which wrap around; 0 for those that are not. */
void platform_read_events(uint32_t counts[PLATFORM_EVENTS]);
/* Cycles of the processor, and packets that this thread has executed: always 0 where nobody counts these. */
struct platform_clock {
    uint64_t cycles, packets;
};
struct platform_clock platform_read_clock(void);

/* ---- queue ---- */
struct platform_queue;
/* packet: one queue packet that has arrived. Called on a thread of the platform, one call at a time a queue. */
typedef void (*platform_packet_fn)(void *context, const uint8_t *message, uint32_t length);
/* *queue is set before the first packet is delivered. */
int platform_queue_open(struct platform_queue **queue, uint64_t id, platform_packet_fn packet, void *context);
int platform_queue_send(struct platform_queue *queue, const void *message, uint32_t length);
/* After it returns no packet callback runs any more. */
void platform_queue_close(struct platform_queue *queue);

/* ---- log ---- */
enum platform_log_level {
    PLATFORM_LOG_DEBUG = 0,
    PLATFORM_LOG_INFO = 1,
    PLATFORM_LOG_WARN = 2,
    PLATFORM_LOG_ERROR = 3,
};
/* text: one line without a newline. No formatting here: varargs differ between the builds, see runtime/log.h. */
void platform_log(uint32_t level, const char *text);

#endif
