/* The htp_iface entry point as FastRPC calls it: on the device from the loader, in the simulator from platform/posix. */
#ifndef HTP_SKEL_H
#define HTP_SKEL_H

#include <stdint.h>

/* One argument: a buffer, or a handle stored in place. Pointer and length have the width of the machine. */
typedef union {
    struct {
        void *pv;
        uint32_t nLen; /* size_t on a 64-bit build would only pad */
    } buf;
    uint32_t h;
    uint64_t h64;
} skel_arg;

int htp_iface_skel_handle_invoke(uint64_t handle, uint32_t scalars, skel_arg *args);

#endif
