/*
 * A DSP session: started by the host through htp_iface (skel/), it takes packets from its queue, checks and runs
 * batches, and answers each packet with one response.
 */
#ifndef HTP_RUNTIME_H
#define HTP_RUNTIME_H

#include <stdint.h>

#include "htp/wire.h"

struct htp_runtime;

/* 0 or a DSP error code. On success the session serves its queue until stopped. */
int htp_runtime_start(struct htp_runtime **runtime, const struct htp_iface_start *args);
/* Waits for the batch that runs, then closes the queue, the threads, the mappings and VTCM. */
void htp_runtime_stop(struct htp_runtime *runtime);
void htp_runtime_hwinfo(const struct htp_runtime *runtime, struct htp_iface_hwinfo *info); /* runtime may be NULL */

/* Runs one packet and fills the response: what the queue callback does, without the queue. For tests. */
void htp_runtime_packet(struct htp_runtime *runtime, const uint8_t *message, uint32_t length,
                        struct htp_response *response);

#endif
