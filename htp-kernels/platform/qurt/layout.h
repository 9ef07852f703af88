/*
 * The sizes and offsets that the device's system code relies on, as seen in shipped DSP libraries. A build against the
 * SDK's headers checks those too.
 */
#ifndef HTP_QURT_LAYOUT_H
#define HTP_QURT_LAYOUT_H

#include <stddef.h>

#include "platform/qurt/declarations.h"

#define HTP_AT(type, field, offset) \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " lies elsewhere on the device")
#define HTP_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size on the device")

HTP_SIZE(void *, 4);
HTP_SIZE(long, 4);
HTP_SIZE(HAP_Power_request_type, 1); /* short enums */

HTP_SIZE(qurt_thread_attr_t, 36);
HTP_AT(qurt_thread_attr_t, name, 0);
HTP_AT(qurt_thread_attr_t, priority, 18);
HTP_AT(qurt_thread_attr_t, stack_size, 24);
HTP_AT(qurt_thread_attr_t, stack_addr, 28);
#ifndef HTP_SDK_HEADERS
HTP_AT(qurt_thread_attr_t, tcb_partition, 16);
HTP_AT(qurt_thread_attr_t, stid, 17);
HTP_AT(qurt_thread_attr_t, flags, 20);
HTP_AT(qurt_thread_attr_t, bus_priority, 21);
HTP_AT(qurt_thread_attr_t, timetest_id, 22);
HTP_AT(qurt_thread_attr_t, detach_state, 32);
#endif

_Static_assert(QURT_PMUCNT0 == 0 && QURT_PMUCNT4 == 6, "counters have other numbers on the device");
_Static_assert(QURT_PMUCFG == 4 && QURT_PMUEVTCFG == 5 && QURT_PMUEVTCFG1 == 10, "other numbers on the device");

HTP_SIZE(HAP_power_request_t, 120);
HTP_AT(HAP_power_request_t, type, 0);
HTP_AT(HAP_power_request_t, hvx, 8);
HTP_AT(HAP_power_request_t, apptype, 8);
HTP_AT(HAP_power_request_t, hmx.power_up, 8);
HTP_AT(HAP_power_request_t, dcvs_v3.set_dcvs_enable, 8 + 0);
HTP_AT(HAP_power_request_t, dcvs_v3.dcvs_enable, 8 + 1);
HTP_AT(HAP_power_request_t, dcvs_v3.dcvs_option, 8 + 2);
HTP_AT(HAP_power_request_t, dcvs_v3.set_latency, 8 + 3);
HTP_AT(HAP_power_request_t, dcvs_v3.latency, 8 + 4);
HTP_AT(HAP_power_request_t, dcvs_v3.set_core_params, 8 + 8);
HTP_AT(HAP_power_request_t, dcvs_v3.core_params, 8 + 12);
HTP_AT(HAP_power_request_t, dcvs_v3.core_params.target_corner, 8 + 12);
HTP_AT(HAP_power_request_t, dcvs_v3.core_params.min_corner, 8 + 13);
HTP_AT(HAP_power_request_t, dcvs_v3.core_params.max_corner, 8 + 14);
HTP_AT(HAP_power_request_t, dcvs_v3.set_bus_params, 8 + 28);
HTP_AT(HAP_power_request_t, dcvs_v3.bus_params, 8 + 32);
HTP_AT(HAP_power_request_t, dcvs_v3.set_sleep_disable, 8 + 76);
HTP_AT(HAP_power_request_t, dcvs_v3.sleep_disable, 8 + 77);
HTP_AT(HAP_power_request_t, hmx_v2.set_power, 8 + 0);
HTP_AT(HAP_power_request_t, hmx_v2.power_up, 8 + 1);
HTP_AT(HAP_power_request_t, hmx_v2.set_clock, 8 + 2);
HTP_AT(HAP_power_request_t, hmx_v2.target_corner, 8 + 4);
HTP_AT(HAP_power_request_t, hmx_v2.min_corner, 8 + 6);
HTP_AT(HAP_power_request_t, hmx_v2.max_corner, 8 + 8);
HTP_AT(HAP_power_request_t, hmx_v2.perf_mode, 8 + 10);
#ifndef HTP_SDK_HEADERS
HTP_SIZE(HAP_dcvs_params_t, 16);
HTP_SIZE(HAP_power_dcvs_v3_payload, 80);
HTP_SIZE(HAP_power_hmx_v2_payload, 32);
HTP_AT(HAP_power_request_t, dcvs_v3.core_params.param1, 8 + 16);
HTP_AT(HAP_power_request_t, dcvs_v3.set_dcvs_v3_params, 8 + 48);
HTP_AT(HAP_power_request_t, dcvs_v3.dcvs_v3_params, 8 + 52);
HTP_AT(HAP_power_request_t, hmx_v2.pick_default, 8 + 3);
HTP_AT(HAP_power_request_t, hmx_v2.freq_mhz, 8 + 12);
HTP_AT(HAP_power_request_t, hmx_v2.floor_freq_mhz, 8 + 16);
HTP_AT(HAP_power_request_t, hmx_v2.reserved, 8 + 20);
HTP_SIZE(compute_res_attr_t, 160);
HTP_SIZE(compute_res_vtcm_page_t_list, 72);
#endif

HTP_SIZE(struct dspqueue_buffer, 24);
HTP_AT(struct dspqueue_buffer, fd, 0);
HTP_AT(struct dspqueue_buffer, size, 4);
HTP_AT(struct dspqueue_buffer, offset, 8);
HTP_AT(struct dspqueue_buffer, flags, 12);
HTP_AT(struct dspqueue_buffer, ptr, 16);

#endif
