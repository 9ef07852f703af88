/*
 * htp_iface, the DSP end: takes the arguments of a remote call apart and calls the runtime.
 *
 * Method 0 opens a handle, 1 closes it; the others act on the session behind the handle. All primitive inputs of a
 * method come in one buffer, all outputs go into one. Buffers may be unaligned, so they are copied byte by byte.
 */
#include "skel/skel.h"

#include <stdbool.h>
#include <stddef.h>

#include "htp/wire.h"
#include "platform/platform.h"
#include "runtime/aee.h"
#include "runtime/libc.h"
#include "runtime/lock.h"
#include "runtime/runtime.h"

#define METHOD_OPEN 0
#define METHOD_CLOSE 1

/* the low 24 bits of a scalars word: numbers of input and output buffers, of input and output handles */
#define COUNTS(in, out, in_handles, out_handles) \
    ((uint32_t)(in) << 16 | (uint32_t)(out) << 8 | (uint32_t)(in_handles) << 4 | (uint32_t)(out_handles))
#define COUNTS_MASK 0x00ffffffu

#define MAX_HANDLES 8

struct session {
    bool open;
    uint32_t generation; /* so that a handle that was closed is not taken for a later one */
    struct htp_runtime *runtime;
};

static struct session sessions[MAX_HANDLES];
static struct htp_lock sessions_lock; /* the driver may call from several threads */

static bool has_bytes(const skel_arg *arg, size_t size) { return arg->buf.pv != NULL && arg->buf.nLen >= size; }

/* A handle is the generation in the upper half, the index + 1 in the lower one. NULL: no such session. */
static struct session *find_session(uint64_t handle) {
    const uint32_t index = (uint32_t)handle - 1; /* 0 becomes a number beyond the table */
    if (index >= MAX_HANDLES)
        return NULL;
    struct session *session = &sessions[index];
    return session->open && session->generation == (uint32_t)(handle >> 32) ? session : NULL;
}

static int open_session(skel_arg *args) {
    uint32_t length;
    if (!has_bytes(&args[0], sizeof(length)))
        return HTP_AEE_BAD_PARAMETER;
    memcpy(&length, args[0].buf.pv, sizeof(length));
    if (length == 0 || !has_bytes(&args[1], length) || ((const char *)args[1].buf.pv)[length - 1] != 0)
        return HTP_AEE_BAD_PARAMETER;
    for (uint32_t i = 0; i < MAX_HANDLES; i++) {
        struct session *session = &sessions[i];
        if (session->open)
            continue;
        session->open = true;
        session->generation++;
        session->runtime = NULL;
        args[2].h64 = (uint64_t)session->generation << 32 | (i + 1);
        return 0;
    }
    return HTP_AEE_NO_MEMORY;
}

static int stop_session(struct session *session) {
    if (session->runtime == NULL)
        return HTP_AEE_BAD_STATE;
    htp_runtime_stop(session->runtime);
    session->runtime = NULL;
    return 0;
}

static int close_session(const skel_arg *args) {
    struct session *session = find_session(args[0].h64);
    if (session == NULL)
        return HTP_AEE_BAD_PARAMETER;
    stop_session(session); /* if the host has not done so */
    session->open = false;
    return 0;
}

static int start_session(struct session *session, const skel_arg *args) {
    struct htp_iface_start start;
    if (!has_bytes(&args[0], sizeof(start)))
        return HTP_AEE_BAD_PARAMETER;
    if (session->runtime != NULL)
        return HTP_AEE_BAD_STATE;
    memcpy(&start, args[0].buf.pv, sizeof(start));
    return htp_runtime_start(&session->runtime, &start);
}

static int set_etm(const skel_arg *args) {
    struct htp_iface_etm etm;
    if (!has_bytes(&args[0], sizeof(etm)))
        return HTP_AEE_BAD_PARAMETER;
    memcpy(&etm, args[0].buf.pv, sizeof(etm));
    return platform_etm(etm.enable != 0);
}

static int count_events(const skel_arg *args) {
    struct htp_iface_events chosen;
    if (!has_bytes(&args[0], sizeof(chosen)))
        return HTP_AEE_BAD_PARAMETER;
    memcpy(&chosen, args[0].buf.pv, sizeof(chosen));
    if (chosen.n_events > HTP_MAX_EVENTS)
        return HTP_AEE_BAD_PARAMETER;
    for (uint32_t i = 0; i < chosen.n_events; i++) {
        if (chosen.events[i] >= HTP_EVENT_NUMBERS)
            return HTP_AEE_BAD_PARAMETER;
    }
    return platform_count_events(chosen.events, chosen.n_events);
}

static int get_hwinfo(const struct session *session, const skel_arg *args) {
    struct htp_iface_hwinfo info;
    if (!has_bytes(&args[0], sizeof(info)))
        return HTP_AEE_BAD_PARAMETER;
    htp_runtime_hwinfo(session->runtime, &info);
    memcpy(args[0].buf.pv, &info, sizeof(info));
    return 0;
}

/* What each method's scalars word must say; false: no such method. */
static bool method_counts(uint32_t method, uint32_t *counts) {
    switch (method) {
    case METHOD_OPEN:
        *counts = COUNTS(2, 0, 0, 1);
        return true;
    case METHOD_CLOSE:
        *counts = COUNTS(0, 0, 1, 0);
        return true;
    case HTP_IFACE_START:
    case HTP_IFACE_ETM:
    case HTP_IFACE_COUNT_EVENTS:
        *counts = COUNTS(1, 0, 0, 0);
        return true;
    case HTP_IFACE_STOP:
        *counts = COUNTS(0, 0, 0, 0);
        return true;
    case HTP_IFACE_HWINFO:
        *counts = COUNTS(0, 1, 0, 0);
        return true;
    default:
        return false;
    }
}

static int run_method(uint64_t handle, uint32_t method, skel_arg *args) {
    if (method == METHOD_OPEN)
        return open_session(args);
    if (method == METHOD_CLOSE)
        return close_session(args);
    struct session *session = find_session(handle);
    if (session == NULL)
        return HTP_AEE_BAD_PARAMETER;
    switch (method) {
    case HTP_IFACE_START:
        return start_session(session, args);
    case HTP_IFACE_STOP:
        return stop_session(session);
    case HTP_IFACE_ETM:
        return set_etm(args);
    case HTP_IFACE_COUNT_EVENTS:
        return count_events(args);
    case HTP_IFACE_HWINFO:
        return get_hwinfo(session, args);
    default:
        return HTP_AEE_UNSUPPORTED;
    }
}

__attribute__((visibility("default"))) int htp_iface_skel_handle_invoke(uint64_t handle, uint32_t scalars,
                                                                        skel_arg *args) {
    const uint32_t method = scalars >> 24 & 0x1f;
    uint32_t counts;
    if (!method_counts(method, &counts))
        return HTP_AEE_UNSUPPORTED;
    if ((scalars & COUNTS_MASK) != counts || (counts != 0 && args == NULL))
        return HTP_AEE_BAD_PARAMETER;
    htp_lock_take(&sessions_lock);
    const int error = run_method(handle, method, args);
    htp_lock_give(&sessions_lock);
    return error;
}
