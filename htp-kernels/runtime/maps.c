#include "runtime/maps.h"

#include <stdbool.h>

#include "platform/platform.h"

static void drop(struct htp_maps *maps, uint32_t index) {
    platform_unmap(maps->map[index].address, maps->map[index].size);
    maps->map[index] = maps->map[--maps->count];
}

/* Gives up the mapping that was not used for the longest time, but none of this batch. */
static bool drop_oldest(struct htp_maps *maps) {
    uint32_t oldest = maps->count;
    for (uint32_t i = 0; i < maps->count; i++) {
        if (maps->map[i].used < maps->batch && (oldest == maps->count || maps->map[i].used < maps->map[oldest].used))
            oldest = i;
    }
    if (oldest == maps->count)
        return false;
    drop(maps, oldest);
    return true;
}

void htp_maps_begin(struct htp_maps *maps) {
    maps->batch++;
    for (uint32_t i = maps->count; i-- > 0;) {
        if (platform_map_generation(maps->map[i].fd) != maps->map[i].generation)
            drop(maps, i);
    }
}

uint8_t *htp_maps_get(struct htp_maps *maps, uint32_t fd, size_t size) {
    /* Read before mapping: should the buffer change hands in between, the next batch sees another number. */
    const uint32_t generation = platform_map_generation(fd);
    if (generation == 0 || size == 0)
        return NULL;
    for (uint32_t i = 0; i < maps->count; i++) {
        struct htp_map *map = &maps->map[i];
        if (map->fd != fd || map->generation != generation)
            continue;
        if (map->size >= size) {
            map->used = maps->batch;
            return map->address;
        }
        if (map->used < maps->batch) { /* too small, and nothing of this batch points into it */
            drop(maps, i);
            break;
        }
    }
    if (maps->count == HTP_MAX_MAPS && !drop_oldest(maps))
        return NULL;
    uint8_t *address = platform_map(fd, size);
    while (address == NULL && drop_oldest(maps)) /* perhaps short of address space */
        address = platform_map(fd, size);
    if (address == NULL)
        return NULL;
    maps->map[maps->count++] =
        (struct htp_map){.address = address, .size = size, .fd = fd, .generation = generation, .used = maps->batch};
    return address;
}

void htp_maps_release(struct htp_maps *maps) {
    while (maps->count > 0)
        drop(maps, maps->count - 1);
}
