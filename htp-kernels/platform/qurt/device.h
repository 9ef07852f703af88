/*
 * Parts of the platform on the device. Nothing here was ever run on silicon: see README.md of htp-kernels.
 *
 *   threads.c  threads, sleeping and waking    power.c   clock and power votes
 *   memory.c   the host's buffers, caches      queue.c   the packet queue
 *   vtcm.c     VTCM                            dma.c     user DMA engine
 *   system.c   hardware, time, log, trace      module.c  what the loader looks for in the library
 *
 *   declarations.h, declare/, layout.h         the system's functions and structs
 */
#ifndef HTP_QURT_DEVICE_H
#define HTP_QURT_DEVICE_H

#include <stdint.h>

/*
 * A number that changes with every packet, never 0. It is written and read by the queue's thread, which also runs all
 * mapping and cache maintenance.
 */
uint32_t qurt_packet_number(void);

#endif
