/*
 * Stands in for the SDK's HAP_power.h, HAP_mem.h, HAP_perf.h, HAP_debug.h and HAP_etm.h: power and clock votes, shared
 * memory, time, log, trace. Booleans and small enums are one byte (the DSP's ABI has short enums). Layouts are checked
 * in layout.h.
 */
#ifndef HTP_DECLARE_HAP_H
#define HTP_DECLARE_HAP_H

#include <stdint.h>

#ifndef TRUE
#define TRUE 1
#define FALSE 0
#endif

/* ---- power ---- */
typedef enum {
    HAP_power_set_HVX = 2,
    HAP_power_set_apptype = 3,
    HAP_power_set_DCVS_v3 = 12,
    HAP_power_set_HMX = 13,
    HAP_power_set_HMX_v2 = 14
} HAP_Power_request_type;

typedef enum { HAP_POWER_COMPUTE_CLIENT_CLASS = 4 } HAP_power_app_type_payload;

typedef enum { HAP_DCVS_V2_ADJUST_UP_DOWN = 1, HAP_DCVS_V2_PERFORMANCE_MODE = 0x10 } HAP_dcvs_v2_option;

typedef enum { HAP_DCVS_VCORNER_DISABLE = 0, HAP_DCVS_VCORNER_MAX = 255 } HAP_dcvs_voltage_corner_t;

#define HAP_DCVS_EXP_VCORNER_MAX 0xffff
#define HAP_CLK_PERF_HIGH 0

typedef struct {
    uint8_t power_up;
} HAP_power_on_t;

typedef struct {
    HAP_dcvs_voltage_corner_t target_corner, min_corner, max_corner;
    uint32_t param1, param2, param3;
} HAP_dcvs_params_t;

typedef struct {
    uint8_t set_dcvs_enable, dcvs_enable;
    HAP_dcvs_v2_option dcvs_option;
    uint8_t set_latency;
    uint32_t latency;
    uint8_t set_core_params;
    HAP_dcvs_params_t core_params;
    uint8_t set_bus_params;
    HAP_dcvs_params_t bus_params;
    uint8_t set_dcvs_v3_params;
    uint32_t dcvs_v3_params[6];
    uint8_t set_sleep_disable, sleep_disable;
} HAP_power_dcvs_v3_payload;

typedef struct {
    uint8_t set_power, power_up, set_clock, pick_default;
    uint16_t target_corner, min_corner, max_corner;
    uint8_t perf_mode;
    uint32_t freq_mhz, floor_freq_mhz;
    uint32_t reserved[3];
} HAP_power_hmx_v2_payload;

typedef struct {
    HAP_Power_request_type type;
    union {
        HAP_power_on_t hvx;
        HAP_power_on_t hmx;
        HAP_power_app_type_payload apptype;
        HAP_power_dcvs_v3_payload dcvs_v3;
        HAP_power_hmx_v2_payload hmx_v2;
        uint64_t size[14]; /* the union is this large, and aligned like this */
    };
} HAP_power_request_t;

int HAP_power_set(void *context, HAP_power_request_t *request);
int HAP_power_destroy_client(void *context);

/* ---- memory of the host ---- */
#define HAP_PROT_READ 1
#define HAP_PROT_WRITE 2
void *HAP_mmap(void *address, int length, int prot, int flags, int fd, long offset); /* -1: failed */
int HAP_munmap(void *address, int length);
int HAP_mmap_get(int fd, void **address, uint64_t *physical);
int HAP_mmap_put(int fd);

/* ---- time, log, trace ---- */
uint64_t HAP_perf_qtimer_count_to_us(uint64_t count);

#define HAP_LEVEL_LOW 0
#define HAP_LEVEL_MEDIUM 1
#define HAP_LEVEL_HIGH 2
#define HAP_LEVEL_ERROR 3
void HAP_debug_v2(int level, const char *file, int line, const char *format, ...);
void HAP_debug(const char *text, int level, const char *file, int line);

int __HAP_user_etm_enable(void);
int __HAP_user_etm_disable(void);

#endif
