/*
 * The host's buffers, and the caches.
 *
 * A buffer that the host registers is mapped into this process by the driver, and stays so until the host unregisters
 * it; HAP_mmap_get tells the address. So there is nothing to map or to unmap here, and the address serves as the
 * generation of the registration: as long as fd stands for the same address, a pointer to it is good.
 *
 * Where an image does not tell (no HAP_mmap_get, or it fails), the buffer is mapped here a second time. Such a mapping
 * does not show that the host has registered another buffer since, so it is good for one packet only.
 *
 * The driver does not tell the size of a registration: on the device the size in the host's buffer table is trusted.
 * A host that lies brings down its own DSP process.
 */
#include "platform/platform.h"
#include "platform/qurt/device.h"
#include "platform/qurt/layout.h"
#include "runtime/maps.h"

#define FLUSH_ALL_ABOVE (256u * 1024) /* bytes: from here on one pass over the caches costs less than one over memory */
#define CACHE_LINE 128

/* ---- mappings ---- */

/* made by HAP_mmap: all are of the current packet, or about to be given up */
struct own_map {
    void *address; /* NULL: free */
    uint32_t fd;
    uint32_t packet;
};
static struct own_map own_maps[HTP_MAX_MAPS];

static struct own_map *find_own(uint32_t fd) {
    for (uint32_t i = 0; i < HTP_MAX_MAPS; i++) {
        if (own_maps[i].address != NULL && own_maps[i].fd == fd && own_maps[i].packet == qurt_packet_number())
            return &own_maps[i];
    }
    return NULL;
}

/* Where the driver has mapped fd. NULL: not registered, or the image does not tell. */
static void *driver_address(uint32_t fd) {
    if (HAP_mmap_get == NULL || HAP_mmap_put == NULL)
        return NULL;
    void *address = NULL;
    uint64_t physical;
    if (HAP_mmap_get((int)fd, &address, &physical) != 0)
        return NULL;
    HAP_mmap_put((int)fd); /* the host's registration keeps it mapped: no reference of ours may outlive that */
    return address;
}

/* Of mappings that are good for this packet only. Odd, as no address of a page is. */
static uint32_t packet_generation(void) { return qurt_packet_number() << 1 | 1; }

uint32_t platform_map_generation(uint32_t fd) {
    void *address = find_own(fd) != NULL ? NULL : driver_address(fd);
    return address != NULL ? (uint32_t)(uintptr_t)address : packet_generation();
}

static void *map_again(uint32_t fd, size_t size) {
    struct own_map *map = own_maps;
    while (map < own_maps + HTP_MAX_MAPS && map->address != NULL)
        map++;
    if (map == own_maps + HTP_MAX_MAPS)
        return NULL;
    void *address = HAP_mmap(NULL, (int)size, HAP_PROT_READ | HAP_PROT_WRITE, 0, (int)fd, 0);
    if (address == NULL || address == (void *)-1)
        return NULL;
    *map = (struct own_map){.address = address, .fd = fd, .packet = qurt_packet_number()};
    return address;
}

void *platform_map(uint32_t fd, size_t size) {
    if (fd > INT32_MAX || size == 0 || size > INT32_MAX)
        return NULL;
    void *address = find_own(fd) != NULL ? NULL : driver_address(fd);
    return address != NULL ? address : map_again(fd, size);
}

void platform_unmap(void *address, size_t size) {
    for (uint32_t i = 0; i < HTP_MAX_MAPS; i++) {
        if (own_maps[i].address == address) {
            HAP_munmap(address, (int)size);
            own_maps[i].address = NULL;
            return;
        }
    }
}

/* ---- caches ---- */

/*
 * A batch may use a gigabyte of weights, line by line that takes longer than the ops. So a large range becomes one
 * flush of everything, and once everything was flushed for a packet there is nothing left to do for its other ranges:
 * the runtime invalidates all inputs before the first op and flushes all outputs after the last.
 */
static uint32_t invalidated_packet, flushed_packet;

static bool flush_all(void) {
    return qurt_mem_cache_clean(0, 0, QURT_MEM_CACHE_FLUSH_INVALIDATE_ALL, QURT_MEM_DCACHE) == QURT_EOK;
}

/* Writes back and drops: a line at the edge may hold somebody else's new data. */
static void clean_range(const void *address, size_t size) {
    const uintptr_t end = (uintptr_t)address + size;
    for (uintptr_t line = (uintptr_t)address & ~(uintptr_t)(CACHE_LINE - 1); line < end; line += CACHE_LINE)
        __asm__ volatile("dccleaninva(%0)" : : "r"(line) : "memory");
    __asm__ volatile("syncht" : : : "memory");
}

static void maintain(const void *address, size_t size, uint32_t *done_for) {
    if (*done_for == qurt_packet_number())
        return;
    if (size >= FLUSH_ALL_ABOVE && flush_all())
        *done_for = qurt_packet_number();
    else
        clean_range(address, size);
}

void platform_cache_invalidate(const void *address, size_t size) { maintain(address, size, &invalidated_packet); }

void platform_cache_flush(const void *address, size_t size) { maintain(address, size, &flushed_packet); }
