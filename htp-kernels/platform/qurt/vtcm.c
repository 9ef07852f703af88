/*
 * VTCM in "cached" mode: the session keeps its claim, and its address, for as long as it lives, but may touch the
 * memory between begin and end only. In between another process can have it.
 */
#include "platform/platform.h"
#include "platform/qurt/layout.h"
#include "runtime/aee.h"
#include "runtime/libc.h"
#include "runtime/log.h"

#define ACQUIRE_TIMEOUT_US 1000000 /* at the start of a session */
#define BEGIN_TIMEOUT_US 10000000  /* at the start of a batch: a camera may hold it for some frames */

static unsigned int resource; /* 0: nothing acquired */
static volatile uint32_t wanted_elsewhere;
static bool hmx_locked; /* by the queue's thread */

/*
 * A client of higher priority waits. Giving VTCM up is for the thread that uses it, and each batch ends with that, so
 * there is nothing to do but to take note. The manager requires the callback.
 */
static int on_release_request(unsigned int context, void *unused) {
    (void)context;
    (void)unused;
    wanted_elsewhere = 1;
    return 0;
}

/* Asks for all of it, in one page where possible, and for the matrix unit. */
static int prepare(compute_res_attr_t *attr, bool hmx) {
    unsigned int size = 0;
    int error = HAP_compute_res_query_VTCM(0, &size, NULL, NULL, NULL);
    if (error == 0 && size == 0)
        error = HTP_AEE_NO_MEMORY;
    if (error == 0)
        error = HAP_compute_res_attr_init(attr);
    if (error == 0)
        error = HAP_compute_res_attr_set_serialize(attr, 0);
    if (error == 0)
        error = HAP_compute_res_attr_set_cache_mode(attr, 1);
    if (error == 0)
        error = HAP_compute_res_attr_set_vtcm_param_v2(attr, size, size, size);
    if (error == 0 && hmx)
        error = HAP_compute_res_attr_set_hmx_param(attr, 1);
    if (error == 0)
        error = HAP_compute_res_attr_set_release_callback(attr, on_release_request, NULL);
    return error;
}

static int acquire(void **address, size_t *size, bool hmx) {
    compute_res_attr_t attr;
    memset(&attr, 0, sizeof(attr));
    int error = prepare(&attr, hmx);
    if (error != 0) {
        HTP_ERROR("VTCM cannot be requested: error 0x%x", (unsigned)error);
        return error;
    }
    resource = HAP_compute_res_acquire(&attr, ACQUIRE_TIMEOUT_US);
    if (resource == 0) {
        HTP_ERROR("VTCM is in use by another process");
        return HTP_AEE_NO_MEMORY;
    }
    void *memory = NULL;
    unsigned int bytes = 0;
    error = HAP_compute_res_attr_get_vtcm_ptr_v2(&attr, &memory, &bytes);
    if (error == 0 && (memory == NULL || bytes == 0))
        error = HTP_AEE_NO_MEMORY;
    if (error != 0) {
        platform_vtcm_release();
        return error;
    }
    *address = memory;
    *size = bytes;
    return 0;
}

int platform_vtcm_acquire(void **address, size_t *size, bool *hmx) {
    *address = NULL;
    *size = 0;
    if (resource != 0)
        return HTP_AEE_BUSY; /* one session a process */
    int error = acquire(address, size, *hmx);
    if (error != 0 && *hmx) {
        HTP_WARN("no VTCM together with the matrix unit: trying without");
        *hmx = false;
        error = acquire(address, size, false);
    }
    return error;
}

void platform_vtcm_release(void) {
    if (resource != 0)
        HAP_compute_res_release(resource);
    resource = 0;
}

int platform_vtcm_begin(void) {
    wanted_elsewhere = 0;
    return resource == 0 ? HTP_AEE_BAD_STATE : HAP_compute_res_acquire_cached(resource, BEGIN_TIMEOUT_US);
}

int platform_hmx_lock(void) {
    if (!hmx_locked) {
        const int error = HAP_compute_res_hmx_lock(resource);
        if (error != 0)
            return error;
        hmx_locked = true;
    }
    return 0;
}

void platform_vtcm_end(void) {
    if (hmx_locked)
        HAP_compute_res_hmx_unlock(resource);
    hmx_locked = false;
    HAP_compute_res_release_cached(resource);
    if (wanted_elsewhere)
        HTP_DEBUG("VTCM released for another process");
}
