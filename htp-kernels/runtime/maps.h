/*
 * Shared buffers of the host that this session has mapped. A mapping is kept from batch to batch, and replaced when
 * the host has unregistered the buffer since (platform_map_generation tells): a file descriptor number that the host
 * uses again for another buffer never reaches the old memory.
 */
#ifndef HTP_MAPS_H
#define HTP_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "htp/wire.h"

#define HTP_MAX_MAPS 128
/* a batch holds on to its buffers and the command buffer, so there is always a mapping to give up */
_Static_assert(HTP_MAX_MAPS > HTP_MAX_BUFFERS + 1, "one batch fits");

struct htp_map {
    uint8_t *address;
    size_t size;
    uint32_t fd;
    uint32_t generation;
    uint64_t used; /* number of the batch that used it last */
};

struct htp_maps {
    struct htp_map map[HTP_MAX_MAPS];
    uint32_t count;
    uint64_t batch;
};

/* A new batch: gives up what the host has unregistered. Addresses of the batch before are no longer valid. */
void htp_maps_begin(struct htp_maps *maps);
/* Address of the buffer, valid until the next htp_maps_begin; NULL: not registered, smaller than size, or no room. */
uint8_t *htp_maps_get(struct htp_maps *maps, uint32_t fd, size_t size);
void htp_maps_release(struct htp_maps *maps);

#endif
