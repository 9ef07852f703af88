/*
 * Worker threads that wait for rounds of work.
 *
 * One word, `signal`, starts a round: its upper bits count the rounds, its lower bits say how many threads take part.
 * A worker that does not take part must not look at fn and arg, since the caller may already be writing those of the
 * next round; it can tell from the word alone. A worker that does take part is waited for, so fn and arg are stable.
 *
 * Both sides spin for a few microseconds before they sleep: ops follow each other closely, and a sleep costs more than
 * many an op. Who wakes looks first whether anyone sleeps (`sleepers`, `caller_sleeps`). These accesses are all
 * sequentially consistent: either the sleeper sees the new word, or the waker sees the sleeper.
 */
#include "runtime/pool.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "platform/platform.h"
#include "runtime/aee.h"
#include "runtime/libc.h"

#define SPINS 300
#define WORKER_STACK (16 * 1024)

#define COUNT_BITS 5
#define COUNT_MASK ((1u << COUNT_BITS) - 1)
#define COUNT_STOP COUNT_MASK /* instead of a number of threads: the workers end */
_Static_assert(HTP_MAX_THREADS < COUNT_STOP, "a number of threads fits the signal word");

struct worker {
    struct htp_pool *pool;
    uint32_t index;
    struct platform_thread *thread;
};

struct htp_pool {
    _Atomic uint32_t signal;
    _Atomic uint32_t sleepers; /* workers that sleep on signal, or are about to */
    htp_thread_fn fn;
    void *arg;
    uint32_t n_threads;
    uint8_t line[128]; /* keeps what workers write away from what they poll */
    _Atomic uint32_t pending; /* workers that still run fn in this round */
    _Atomic uint32_t caller_sleeps;
    struct worker workers[HTP_MAX_THREADS - 1];
};

static inline void spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("pause");
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#elif defined(__hexagon__)
    __asm__ volatile("pause(#64)");
#endif
}

static void sleep_on(_Atomic uint32_t *word, uint32_t value) { platform_wait((volatile uint32_t *)word, value); }

static void wake(_Atomic uint32_t *word) { platform_wake_all((volatile uint32_t *)word); }

/* Returns the signal word once it differs from `seen`. */
static uint32_t next_signal(struct htp_pool *pool, uint32_t seen) {
    for (uint32_t i = 0; i < SPINS; i++) {
        const uint32_t signal = atomic_load(&pool->signal);
        if (signal != seen)
            return signal;
        spin_hint();
    }
    for (;;) {
        atomic_fetch_add(&pool->sleepers, 1);
        sleep_on(&pool->signal, seen);
        atomic_fetch_sub(&pool->sleepers, 1);
        const uint32_t signal = atomic_load(&pool->signal);
        if (signal != seen)
            return signal;
    }
}

static void worker_main(void *arg) {
    const struct worker *self = arg;
    struct htp_pool *pool = self->pool;
    uint32_t signal = 0;
    for (;;) {
        signal = next_signal(pool, signal);
        const uint32_t n = signal & COUNT_MASK;
        if (n == COUNT_STOP)
            return;
        if (self->index >= n)
            continue;
        pool->fn(pool->arg, self->index, n);
        if (atomic_fetch_sub(&pool->pending, 1) == 1 && atomic_load(&pool->caller_sleeps) != 0)
            wake(&pool->pending);
    }
}

/* Starts a round of n threads (or COUNT_STOP). Only the caller writes the word, so the load needs no order. */
static void send_signal(struct htp_pool *pool, uint32_t n) {
    const uint32_t old = atomic_load_explicit(&pool->signal, memory_order_relaxed);
    atomic_store(&pool->signal, (((old >> COUNT_BITS) + 1) << COUNT_BITS) | n);
    if (atomic_load(&pool->sleepers) != 0)
        wake(&pool->signal);
}

static void wait_for_workers(struct htp_pool *pool) {
    for (uint32_t i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->pending) == 0)
            return;
        spin_hint();
    }
    atomic_store(&pool->caller_sleeps, 1);
    for (;;) {
        const uint32_t pending = atomic_load(&pool->pending);
        if (pending == 0)
            break;
        sleep_on(&pool->pending, pending);
    }
    atomic_store(&pool->caller_sleeps, 0);
}

int htp_pool_start(struct htp_pool **out, uint32_t n_threads) {
    *out = NULL;
    if (n_threads == 0 || n_threads > HTP_MAX_THREADS)
        return HTP_AEE_BAD_PARAMETER;
    struct htp_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return HTP_AEE_NO_MEMORY;
    pool->n_threads = 1;
    for (uint32_t i = 1; i < n_threads; i++) {
        struct worker *worker = &pool->workers[i - 1];
        worker->pool = pool;
        worker->index = i;
        const int error = platform_thread_start(&worker->thread, "htp-worker", WORKER_STACK, worker_main, worker);
        if (error != 0) {
            htp_pool_stop(pool);
            return error;
        }
        pool->n_threads = i + 1;
    }
    *out = pool;
    return 0;
}

uint32_t htp_pool_threads(const struct htp_pool *pool) { return pool->n_threads; }

void htp_pool_run(struct htp_pool *pool, uint32_t n, htp_thread_fn fn, void *arg) {
    if (n <= 1 || n > pool->n_threads) { /* more parts than threads breaks the contract, but the work gets done */
        for (uint32_t i = 0; i < n; i++)
            fn(arg, i, n);
        return;
    }
    pool->fn = fn;
    pool->arg = arg;
    atomic_store(&pool->pending, n - 1);
    send_signal(pool, n);
    fn(arg, 0, n);
    wait_for_workers(pool);
}

void htp_pool_stop(struct htp_pool *pool) {
    if (pool == NULL)
        return;
    send_signal(pool, COUNT_STOP);
    for (uint32_t i = 1; i < pool->n_threads; i++)
        platform_thread_join(pool->workers[i - 1].thread);
    free(pool);
}
