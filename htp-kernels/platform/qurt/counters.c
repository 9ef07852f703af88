/*
 * Cycles, packets and the hardware events of the performance monitor. Which events there are is in the architecture's
 * manual. The monitor belongs to the whole DSP: whoever sets it last has it.
 */
#include "platform/platform.h"
#include "platform/qurt/layout.h"
#include "runtime/libc.h"

/* where the number of counter i's event goes: its low 8 bits into one of two words, its high 2 bits into a third */
#define EVENT_LOW(event, i) (((event) & 0xffu) << 8 * ((i) % 4))
#define EVENT_HIGH(event, i) (((event) >> 8 & 3u) << 2 * (i))
_Static_assert(EVENT_LOW(0x111u, 1) == 0x1100 && EVENT_HIGH(0x111u, 1) == 1u << 2, "counter 1");
_Static_assert(EVENT_LOW(0x256u, 5) == 0x5600 && EVENT_HIGH(0x256u, 5) == 2u << 10, "counter 5");
_Static_assert(EVENT_LOW(0x3ffu, 7) == 0xff000000 && EVENT_HIGH(0x3ffu, 7) == 3u << 14, "counter 7");

static uint32_t counted; /* events */

int platform_count_events(const uint32_t *events, uint32_t n_events) {
    uint32_t low[2] = {0, 0}, high = 0;
    for (uint32_t i = 0; i < n_events; i++) {
        low[i / 4] |= EVENT_LOW(events[i], i);
        high |= EVENT_HIGH(events[i], i);
    }
    counted = n_events;
    if (n_events != 0) {
        qurt_pmu_set(QURT_PMUCFG, high);
        qurt_pmu_set(QURT_PMUEVTCFG, low[0]);
        qurt_pmu_set(QURT_PMUEVTCFG1, low[1]);
    }
    qurt_pmu_enable(n_events != 0);
    return 0;
}

void platform_read_events(uint32_t counts[PLATFORM_EVENTS]) {
    memset(counts, 0, PLATFORM_EVENTS * sizeof(*counts));
    for (uint32_t i = 0; i < counted; i++)
        counts[i] = qurt_pmu_get(i < 4 ? QURT_PMUCNT0 + (int)i : QURT_PMUCNT4 + (int)(i - 4));
}

struct platform_clock platform_read_clock(void) {
    struct platform_clock clock;
    __asm__ volatile("%0 = c15:14" : "=r"(clock.cycles));
    __asm__ volatile("%0 = c19:18" : "=r"(clock.packets));
    return clock;
}
