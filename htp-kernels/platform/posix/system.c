/* Threads, what the simulated hardware has, VTCM and the log. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/platform.h"
#include "platform/posix/posix.h"
#include "runtime/aee.h"

/* ---- threads ---- */

#define MIN_STACK (1024 * 1024) /* the device's stacks are too small for host code and sanitizers */

struct platform_thread {
    pthread_t thread;
    platform_thread_fn fn;
    void *arg;
    char name[16];
};

static void *thread_main(void *arg) {
    struct platform_thread *thread = arg;
    prctl(PR_SET_NAME, thread->name);
    thread->fn(thread->arg);
    return NULL;
}

int platform_thread_start(struct platform_thread **out, const char *name, size_t stack_bytes, platform_thread_fn fn,
                          void *arg) {
    *out = NULL;
    struct platform_thread *thread = calloc(1, sizeof(*thread));
    if (thread == NULL)
        return HTP_AEE_NO_MEMORY;
    thread->fn = fn;
    thread->arg = arg;
    snprintf(thread->name, sizeof(thread->name), "%s", name);

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        error = pthread_attr_setstacksize(&attributes, stack_bytes > MIN_STACK ? stack_bytes : MIN_STACK);
        if (error == 0)
            error = pthread_create(&thread->thread, &attributes, thread_main, thread);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0) {
        free(thread);
        return HTP_AEE_NO_THREAD;
    }
    *out = thread;
    return 0;
}

void platform_thread_join(struct platform_thread *thread) {
    pthread_join(thread->thread, NULL);
    free(thread);
}

void platform_wait(volatile uint32_t *word, uint32_t value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void platform_wake_all(volatile uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- hardware ---- */

uint32_t posix_env(const char *name, uint32_t low, uint32_t high, uint32_t missing) {
    const char *text = getenv(name);
    if (text == NULL || *text == 0)
        return missing;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != 0)
        return missing;
    return value < (long long)low ? low : value > (long long)high ? high : (uint32_t)value;
}

uint32_t platform_arch(void) { return posix_env("HTP_SIM_ARCH", 68, 81, 73); }

uint32_t platform_hvx_units(void) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t units = online < 1 ? 1 : online > 4 ? 4 : (uint32_t)online;
    return posix_env("HTP_SIM_THREADS", 1, 16, units);
}

/*
 * hmx/model.c. It counts in f32, which is slow where the emulator has to do it: there it waits to be asked for.
 */
uint32_t platform_has_hmx(void) {
#if defined(__hexagon__)
    const uint32_t wanted = 0;
#else
    const uint32_t wanted = 1;
#endif
    return platform_arch() >= 73 && posix_env("HTP_SIM_HMX", 0, 1, wanted) != 0;
}

uint64_t platform_time_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

bool platform_power_up(bool want_hmx) { return want_hmx; }

void platform_power_down(void) {}

/* Trace hardware: accepted, without effect. */
int platform_etm(bool enable) {
    (void)enable;
    return 0;
}

/* ---- performance counters ---- */

/* There is no performance monitor to simulate. */
int platform_count_events(const uint32_t *events, uint32_t n_events) {
    (void)events;
    return n_events == 0 ? 0 : HTP_AEE_UNSUPPORTED;
}

void platform_read_events(uint32_t counts[PLATFORM_EVENTS]) { memset(counts, 0, PLATFORM_EVENTS * sizeof(*counts)); }

/* What the emulator counts; its counter has 32 bits and no name in assembly. */
static uint64_t executed_packets(void) {
#if defined(__hexagon__)
    static _Thread_local uint32_t last, wraps;
    register uint32_t count __asm__("r0");
    __asm__ volatile(".word 0x6a14c000" : "=r"(count)); /* r0 = c20 */
    wraps += count < last;
    last = count;
    return (uint64_t)wraps << 32 | count;
#else
    return 0;
#endif
}

/* A processor of 1 GHz: its cycles are nanoseconds. */
struct platform_clock platform_read_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t cycles = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return (struct platform_clock){.cycles = cycles, .packets = executed_packets()};
}

/* ---- VTCM ---- */

#define VTCM_BYTES (8u * 1024 * 1024)
#define VTCM_FILL 0xa5 /* not zero: a kernel must not rely on what it finds */

static pthread_mutex_t vtcm_lock = PTHREAD_MUTEX_INITIALIZER;
static void *vtcm;

int platform_vtcm_acquire(void **address, size_t *size, bool *hmx) {
    (void)hmx; /* the model is always there */
    *address = NULL;
    *size = 0;
    int error = 0;
    pthread_mutex_lock(&vtcm_lock);
    if (vtcm != NULL) {
        error = HTP_AEE_BUSY; /* one session a process */
    } else {
        void *memory = mmap(NULL, VTCM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            error = HTP_AEE_NO_MEMORY;
        } else {
            memset(memory, VTCM_FILL, VTCM_BYTES);
            vtcm = memory;
            *address = memory;
            *size = VTCM_BYTES;
        }
    }
    pthread_mutex_unlock(&vtcm_lock);
    return error;
}

void platform_vtcm_release(void) {
    pthread_mutex_lock(&vtcm_lock);
    if (vtcm != NULL)
        munmap(vtcm, VTCM_BYTES);
    vtcm = NULL;
    pthread_mutex_unlock(&vtcm_lock);
}

int platform_vtcm_begin(void) { return vtcm != NULL ? 0 : HTP_AEE_BAD_STATE; }

void platform_vtcm_end(void) {}

int platform_hmx_lock(void) { return 0; }

/* ---- log ---- */

void platform_log(uint32_t level, const char *text) {
    struct posix_header header = {.kind = POSIX_LOG, .a = level};
    if (posix_send(&header, text, (uint32_t)strlen(text)) != 0 && level >= PLATFORM_LOG_ERROR)
        fprintf(stderr, "htp-dsp: %s\n", text);
}
