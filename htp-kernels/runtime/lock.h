/* A lock for rare, short conflicts, built on platform_wait. */
#ifndef HTP_LOCK_H
#define HTP_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "platform/platform.h"

/* 0 free, 1 taken, 2 taken and perhaps waited for. Zero-initialised is free. */
struct htp_lock {
    _Atomic uint32_t state;
};

static inline void htp_lock_take(struct htp_lock *lock) {
    uint32_t expected = 0;
    if (atomic_compare_exchange_strong(&lock->state, &expected, 1))
        return;
    while (atomic_exchange(&lock->state, 2) != 0)
        platform_wait((volatile uint32_t *)&lock->state, 2);
}

static inline void htp_lock_give(struct htp_lock *lock) {
    if (atomic_exchange(&lock->state, 0) == 2)
        platform_wake_all((volatile uint32_t *)&lock->state);
}

#endif
