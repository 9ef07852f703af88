/*
 * Power and clock votes. The DSP sums up the votes of all its clients; a vote that is refused costs speed, not
 * correctness, and is logged.
 */
#include "platform/platform.h"
#include "platform/qurt/layout.h"
#include "runtime/libc.h"
#include "runtime/log.h"

static char client; /* its address is our name as a voter */
static bool hmx_powered;

static HAP_power_request_t new_request(HAP_Power_request_type type) {
    HAP_power_request_t request;
    memset(&request, 0, sizeof(request));
    request.type = type;
    return request;
}

static bool vote(HAP_power_request_t *request, const char *what) {
    const int error = HAP_power_set(&client, request);
    if (error != 0)
        HTP_WARN("power: %s refused: error 0x%x", what, (unsigned)error);
    return error == 0;
}

static void vote_class(void) {
    HAP_power_request_t request = new_request(HAP_power_set_apptype);
    request.apptype = HAP_POWER_COMPUTE_CLIENT_CLASS;
    vote(&request, "client class");
}

/* Fixed clocks: core and bus at `corner`. With `automatic` the DSP chooses them again. */
static void vote_clocks(HAP_dcvs_voltage_corner_t corner, bool automatic, const char *what) {
    HAP_power_request_t request = new_request(HAP_power_set_DCVS_v3);
    request.dcvs_v3.set_dcvs_enable = TRUE;
    request.dcvs_v3.dcvs_enable = automatic;
    if (automatic)
        request.dcvs_v3.dcvs_option = HAP_DCVS_V2_ADJUST_UP_DOWN;
    request.dcvs_v3.set_core_params = TRUE;
    request.dcvs_v3.core_params.target_corner = corner;
    request.dcvs_v3.core_params.min_corner = corner;
    request.dcvs_v3.core_params.max_corner = corner;
    request.dcvs_v3.set_bus_params = TRUE;
    request.dcvs_v3.bus_params.target_corner = corner;
    request.dcvs_v3.bus_params.min_corner = corner;
    request.dcvs_v3.bus_params.max_corner = corner;
    request.dcvs_v3.set_sleep_disable = TRUE;
    request.dcvs_v3.sleep_disable = !automatic;
#if __HEXAGON_ARCH__ >= 79
    if (!automatic && sysmon_set_dcvs_v3_protected_bus_corners != NULL)
        sysmon_set_dcvs_v3_protected_bus_corners(&request, 1);
#endif
    vote(&request, what);
}

static void vote_hvx(bool on) {
    HAP_power_request_t request = new_request(HAP_power_set_HVX);
    request.hvx.power_up = on;
    vote(&request, on ? "HVX power" : "HVX power down");
}

/* Power for the matrix unit alone: what v73 has, and what later ones may fall back to. */
static bool vote_hmx_power(bool on) {
    HAP_power_request_t request = new_request(HAP_power_set_HMX);
    request.hmx.power_up = on;
    return vote(&request, on ? "HMX power" : "HMX power down");
}

/* From v75 on it may have a clock of its own; a chip where it has none refuses such a vote. */
static bool vote_hmx(bool on) {
#if __HEXAGON_ARCH__ >= 75
    HAP_power_request_t request = new_request(HAP_power_set_HMX_v2);
    request.hmx_v2.set_power = TRUE;
    request.hmx_v2.power_up = on;
    if (on) {
        request.hmx_v2.set_clock = TRUE;
        request.hmx_v2.target_corner = HAP_DCVS_EXP_VCORNER_MAX;
        request.hmx_v2.min_corner = HAP_DCVS_EXP_VCORNER_MAX;
        request.hmx_v2.max_corner = HAP_DCVS_EXP_VCORNER_MAX;
        request.hmx_v2.perf_mode = HAP_CLK_PERF_HIGH;
    }
    return vote(&request, on ? "HMX power and clock" : "HMX power down") || vote_hmx_power(on);
#else
    return vote_hmx_power(on);
#endif
}

bool platform_power_up(bool want_hmx) {
    vote_class();
    vote_clocks(HAP_DCVS_VCORNER_MAX, false, "full clocks");
    vote_hvx(true);
    hmx_powered = want_hmx && vote_hmx(true);
    return hmx_powered;
}

void platform_power_down(void) {
    if (hmx_powered)
        vote_hmx(false);
    hmx_powered = false;
    vote_hvx(false);
    vote_clocks(HAP_DCVS_VCORNER_DISABLE, true, "automatic clocks");
    if (HAP_power_destroy_client != NULL)
        HAP_power_destroy_client(&client);
}
