/*
 * Parts of the simulated DSP process. The messages are those of htp-sim/PROTOCOL.md.
 *
 *   process.c  entry, receiver thread, remote calls     queue.c   queues and their threads
 *   system.c   threads, hardware, VTCM, log             memory.c  shared buffers of the host
 *   dma.c      copies to and from VTCM                  main.c    a main() for builds without Rust
 */
#ifndef HTP_POSIX_H
#define HTP_POSIX_H

#include <stddef.h>
#include <stdint.h>

/* kinds of messages */
#define POSIX_CALL 1
#define POSIX_REPLY 2
#define POSIX_MAP 3
#define POSIX_UNMAP 4
#define POSIX_QUEUE 5
#define POSIX_QUEUE_CLOSE 6
#define POSIX_PACKET 7
#define POSIX_LOG 8

struct posix_header {
    uint32_t kind, seq, a, b, c, d, result, bytes;
};
_Static_assert(sizeof(struct posix_header) == 32, "message layout");

/* Program entry. Returns an exit code only when it cannot begin; ends the process with 0 when the host goes away. */
int htp_dsp_main(void);

/* Sends one message; sets header->bytes. 0, or -1: the process has no host, or it is gone. Any thread. */
int posix_send(struct posix_header *header, const void *data, uint32_t bytes);

/* What the host says about its buffers and queues, in the order in which it says it. */
void posix_map_declare(uint32_t fd, uint64_t size);
void posix_map_remove(uint32_t fd);
void posix_queue_declare(uint64_t id, uint32_t response_bytes);
void posix_queue_remove(uint64_t id);
void posix_queue_deliver(uint64_t id, const uint8_t *message, uint32_t length);

/* A number from the environment, within [low, high]; `missing` when it is not set or not a number. */
uint32_t posix_env(const char *name, uint32_t low, uint32_t high, uint32_t missing);

#endif
