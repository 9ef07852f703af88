/*
 * What the device's system offers to a DSP library, under the names of the vendor's SDK.
 *
 * With HTP_SDK_HEADERS the SDK's own headers are used. Without an SDK the files in declare/ stand in: they declare the
 * few functions and structs that platform/qurt uses, and layout.h holds both to what shipped DSP libraries do.
 *
 * Not every image has every function. Weak imports are NULL where the function is missing; each use tests that.
 */
#ifndef HTP_QURT_DECLARATIONS_H
#define HTP_QURT_DECLARATIONS_H

#ifdef HTP_SDK_HEADERS
#include <HAP_compute_res.h>
#include <HAP_debug.h>
#include <HAP_mem.h>
#include <HAP_perf.h>
#include <HAP_power.h>
#include <dspqueue.h>
#include <qurt.h>
int __HAP_user_etm_enable(void);
int __HAP_user_etm_disable(void);
#else
#include "platform/qurt/declare/compute_res.h"
#include "platform/qurt/declare/dspqueue.h"
#include "platform/qurt/declare/hap.h"
#include "platform/qurt/declare/qurt.h"
#endif

/* Lifts the cap of the bus clock in a DCVS_v3 request; v79 and later. */
int sysmon_set_dcvs_v3_protected_bus_corners(HAP_power_request_t *request, unsigned char on);

#pragma weak HAP_debug_v2
#pragma weak HAP_power_destroy_client
#pragma weak HAP_mmap_get
#pragma weak HAP_mmap_put
#pragma weak __HAP_user_etm_enable
#pragma weak __HAP_user_etm_disable
#pragma weak qurt_hvx_lock
#pragma weak qurt_hvx_unlock
#pragma weak sysmon_set_dcvs_v3_protected_bus_corners

#endif
