/* What the hardware has, time, log and trace. */
#include "platform/platform.h"
#include "platform/qurt/layout.h"
#include "runtime/aee.h"

uint32_t platform_arch(void) { return __HEXAGON_ARCH__; }

uint32_t platform_hvx_units(void) {
    const int units = qurt_hvx_get_units();
    const uint32_t contexts = units < 0 ? 0 : (uint32_t)units >> 8 & 0xff;
    return contexts == 0 ? 1 : contexts; /* a DSP without HVX fails at the first vector instruction: none is known */
}

/* Nothing on this side names the chip's units. A resource manager that can lock the matrix unit is taken for a yes. */
uint32_t platform_has_hmx(void) {
#if __HEXAGON_ARCH__ >= 73
    return compute_resource_hmx_lock != NULL;
#else
    return 0;
#endif
}

uint64_t platform_time_us(void) {
    uint64_t count;
    __asm__ volatile("%0 = c31:30" : "=r"(count)); /* runs at 19.2 MHz whatever the clocks do */
    return HAP_perf_qtimer_count_to_us(count);
}

int platform_etm(bool enable) {
    if (__HAP_user_etm_enable == NULL || __HAP_user_etm_disable == NULL)
        return HTP_AEE_UNSUPPORTED;
    return enable ? __HAP_user_etm_enable() : __HAP_user_etm_disable();
}

static int log_level(uint32_t level) {
    switch (level) {
    case PLATFORM_LOG_DEBUG:
        return HAP_LEVEL_LOW;
    case PLATFORM_LOG_INFO:
        return HAP_LEVEL_MEDIUM;
    case PLATFORM_LOG_WARN:
        return HAP_LEVEL_HIGH;
    default:
        return HAP_LEVEL_ERROR;
    }
}

void platform_log(uint32_t level, const char *text) {
    if (HAP_debug_v2 != NULL)
        HAP_debug_v2(log_level(level), "htp", 0, "%s", text);
    else
        HAP_debug(text, log_level(level), "htp", 0);
}
