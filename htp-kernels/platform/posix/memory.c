/* Shared buffers: files of the host, opened through /proc and mapped shared. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/platform.h"
#include "platform/posix/posix.h"
#include "runtime/log.h"

#define MAX_FD 65536 /* the table below is indexed by the host's fd numbers; more is taken for a mistake */

struct buffer {
    uint64_t size;
    uint32_t generation; /* 0: not registered */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *buffers;
static uint32_t room;
static uint32_t last_generation;

static int make_room(uint32_t fd) {
    if (fd < room)
        return 0;
    uint32_t wanted = 256;
    while (wanted <= fd)
        wanted *= 2;
    struct buffer *grown = realloc(buffers, wanted * sizeof(*grown));
    if (grown == NULL)
        return -1;
    memset(grown + room, 0, (wanted - room) * sizeof(*grown));
    buffers = grown;
    room = wanted;
    return 0;
}

/* Every declaration is a new generation: the number may stand for another file, or for the same one with a new size. */
void posix_map_declare(uint32_t fd, uint64_t size) {
    int failed = 1;
    pthread_mutex_lock(&lock);
    if (fd < MAX_FD && size > 0 && make_room(fd) == 0) {
        if (++last_generation == 0)
            last_generation = 1;
        buffers[fd] = (struct buffer){.size = size, .generation = last_generation};
        failed = 0;
    }
    pthread_mutex_unlock(&lock);
    if (failed)
        HTP_ERROR("buffer fd %u of %llu bytes refused", (unsigned)fd, (unsigned long long)size);
}

void posix_map_remove(uint32_t fd) {
    pthread_mutex_lock(&lock);
    if (fd < room)
        buffers[fd] = (struct buffer){0};
    pthread_mutex_unlock(&lock);
}

uint32_t platform_map_generation(uint32_t fd) {
    pthread_mutex_lock(&lock);
    const uint32_t generation = fd < room ? buffers[fd].generation : 0;
    pthread_mutex_unlock(&lock);
    return generation;
}

static uint64_t declared_size(uint32_t fd) {
    pthread_mutex_lock(&lock);
    const uint64_t size = fd < room ? buffers[fd].size : 0;
    pthread_mutex_unlock(&lock);
    return size;
}

void *platform_map(uint32_t fd, size_t size) {
    if (size == 0 || declared_size(fd) < size)
        return NULL;
    char path[64];
    const uint32_t host = posix_env("HTP_SIM_HOST_PID", 1, INT32_MAX, (uint32_t)getpid());
    snprintf(path, sizeof(path), "/proc/%u/fd/%u", (unsigned)host, (unsigned)fd);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    struct stat info;
    void *address = MAP_FAILED;
    /* a mapping beyond the end of the file would end this process at the first access */
    if (fstat(file, &info) == 0 && info.st_size >= 0 && (uint64_t)info.st_size >= size)
        address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return address == MAP_FAILED ? NULL : address;
}

void platform_unmap(void *address, size_t size) { munmap(address, size); }

/* Linux keeps shared memory coherent. */
void platform_cache_invalidate(const void *address, size_t size) {
    (void)address;
    (void)size;
}

void platform_cache_flush(const void *address, size_t size) {
    (void)address;
    (void)size;
}
