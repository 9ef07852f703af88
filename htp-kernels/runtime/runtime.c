/* Sessions: start and stop, and what happens to a packet. */
#include "runtime/runtime.h"

#include <stdbool.h>

#include "platform/platform.h"
#include "runtime/aee.h"
#include "runtime/batch.h"
#include "runtime/libc.h"
#include "runtime/log.h"
#include "runtime/maps.h"
#include "runtime/pool.h"

struct htp_runtime {
    uint32_t session_id;
    struct platform_queue *queue;
    struct htp_pool *pool;
    uint8_t *vtcm;
    size_t vtcm_size;
    bool hmx; /* the session has the matrix unit, powered */
    /* used by the queue's thread only */
    struct htp_maps maps;
    struct htp_work work;
};

void htp_parallel(struct htp_exec *exec, uint32_t n, htp_thread_fn fn, void *arg) {
    if (exec->runtime != NULL) {
        htp_pool_run(exec->runtime->pool, n, fn, arg);
        return;
    }
    for (uint32_t i = 0; i < n; i++) /* a kernel under test, without a session */
        fn(arg, i, n);
}

bool htp_hmx_begin(struct htp_exec *exec) {
    if (!exec->hmx)
        return false;
    const int error = platform_hmx_lock();
    if (error != 0)
        HTP_WARN("the matrix unit cannot be locked: error 0x%x", (unsigned)error);
    exec->hmx = error == 0;
    return exec->hmx;
}

/* ---- packets ---- */

/* What has been done of a batch. */
struct progress {
    uint32_t ops_done, hmx_ops;
};

HTP_STATIC_ASSERT(HTP_MAX_EVENTS == PLATFORM_EVENTS, "as many events as the platform counts");

static bool is_empty(const struct htp_view *v) {
    return v->ne[0] == 0 || v->ne[1] == 0 || v->ne[2] == 0 || v->ne[3] == 0;
}

static uint32_t run_op(struct htp_runtime *rt, const struct htp_op_desc *op, struct htp_fault *fault,
                       struct progress *progress) {
    const struct htp_slot *slots = rt->work.slots;
    struct htp_exec exec = {
        .runtime = rt,
        .op = op->op,
        .n_src = op->n_src,
        .dst = &slots[op->dst].view,
        .params = op->params,
        .n_threads = htp_pool_threads(rt->pool),
        .vtcm = rt->vtcm,
        .vtcm_size = rt->vtcm_size,
        .hmx = rt->hmx,
    };
    if (is_empty(exec.dst))
        return HTP_STATUS_OK;
    for (uint32_t i = 0; i < op->n_src; i++) {
        if (op->src[i] != HTP_NO_TENSOR)
            exec.src[i] = &slots[op->src[i]].view;
    }
    const uint32_t status = htp_op_run(&exec);
    fault->detail = exec.detail;
    progress->hmx_ops += exec.used_hmx;
    return status;
}

/* The same, and what it cost goes into the batch's profile. */
static uint32_t run_profiled(struct htp_runtime *rt, uint32_t index, struct htp_fault *fault,
                             struct progress *progress) {
    uint32_t events_before[HTP_MAX_EVENTS], events_after[HTP_MAX_EVENTS];
    const uint32_t hmx_ops = progress->hmx_ops;
    /* the clock is read next to the op, for reading events takes a while */
    platform_read_events(events_before);
    const uint64_t begin = platform_time_us();
    const struct platform_clock before = platform_read_clock();
    const uint32_t status = run_op(rt, &rt->work.ops[index], fault, progress);
    const struct platform_clock after = platform_read_clock();
    struct htp_op_profile profile = {
        .start = before.cycles,
        .cycles = after.cycles - before.cycles,
        .packets = after.packets - before.packets,
        .usecs = (uint32_t)(platform_time_us() - begin),
        .hmx = progress->hmx_ops - hmx_ops,
    };
    platform_read_events(events_after);
    for (uint32_t i = 0; i < HTP_MAX_EVENTS; i++)
        profile.events[i] = events_after[i] - events_before[i];
    if (status == HTP_STATUS_OK)
        memcpy(rt->work.profile + index * sizeof(profile), &profile, sizeof(profile));
    return status;
}

static uint32_t run_ops(struct htp_runtime *rt, struct htp_fault *fault, struct progress *progress) {
    const struct htp_work *work = &rt->work;
    uint32_t status = HTP_STATUS_OK;
    if (work->n_ops == 0)
        return HTP_STATUS_OK;
    const int error = platform_vtcm_begin();
    if (error != 0) {
        fault->detail = (uint32_t)error;
        return HTP_STATUS_NO_VTCM;
    }
    for (uint32_t i = 0; i < work->n_tensors; i++) {
        if (work->slots[i].is_read && work->slots[i].bytes > 0)
            platform_cache_invalidate(work->slots[i].view.data, work->slots[i].bytes);
    }
    for (uint32_t i = 0; i < work->n_ops; i++) {
        status = work->profile != NULL ? run_profiled(rt, i, fault, progress)
                                       : run_op(rt, &work->ops[i], fault, progress);
        if (status != HTP_STATUS_OK) {
            fault->op_index = i;
            break;
        }
        progress->ops_done = i + 1;
    }
    for (uint32_t i = 0; i < work->n_tensors; i++) {
        if (work->slots[i].is_written && work->slots[i].bytes > 0)
            platform_cache_flush(work->slots[i].view.data, work->slots[i].bytes);
    }
    if (work->profile != NULL)
        platform_cache_flush(work->profile, progress->ops_done * sizeof(struct htp_op_profile));
    platform_vtcm_end();
    return status;
}

static uint32_t run_request(struct htp_runtime *rt, const struct htp_request *request, struct htp_fault *fault,
                            struct progress *progress) {
    uint32_t status = htp_check_request(request, fault);
    if (status != HTP_STATUS_OK)
        return status;
    htp_maps_begin(&rt->maps);
    uint8_t *commands = htp_maps_get(&rt->maps, request->fd, request->fd_size);
    if (commands == NULL) {
        fault->detail = HTP_NO_TENSOR; /* not a buffer of the table */
        return HTP_STATUS_BAD_BUFFER;
    }
    uint8_t *batch = commands + request->offset;
    platform_cache_invalidate(batch, request->size);
    status = htp_load_batch(&rt->work, &rt->maps, batch, request->size, fault);
    return status == HTP_STATUS_OK ? run_ops(rt, fault, progress) : status;
}

void htp_runtime_packet(struct htp_runtime *rt, const uint8_t *message, uint32_t length,
                        struct htp_response *response) {
    const uint64_t begin = platform_time_us();
    struct htp_request request = {0};
    struct htp_fault fault = {.op_index = HTP_NO_TENSOR, .detail = 0};
    uint32_t status = HTP_STATUS_BAD_PACKET;
    struct progress progress = {0, 0};

    if (length > 0)
        memcpy(&request, message, length < sizeof(request) ? length : sizeof(request));
    if (length < offsetof(struct htp_request, seq) + sizeof(request.seq))
        request.seq = 0;
    if (length == sizeof(request))
        status = run_request(rt, &request, &fault, &progress);
    else
        fault.detail = length;
    if (status != HTP_STATUS_OK)
        HTP_WARN("session %u: batch %u failed: status %u, op %u, detail %u", (unsigned)rt->session_id,
                 (unsigned)request.seq, (unsigned)status, (unsigned)fault.op_index, (unsigned)fault.detail);

    *response = (struct htp_response){
        .magic = HTP_RESPONSE_MAGIC,
        .seq = request.seq,
        .status = status,
        .op_index = fault.op_index,
        .ops_done = progress.ops_done,
        .detail = status == HTP_STATUS_OK ? progress.hmx_ops : fault.detail,
        .usecs = platform_time_us() - begin,
    };
}

/* The one place that answers, so a packet gets one response whatever becomes of it. */
static void on_packet(void *context, const uint8_t *message, uint32_t length) {
    struct htp_runtime *rt = context;
    struct htp_response response;
    htp_runtime_packet(rt, message, length, &response);
    const int error = platform_queue_send(rt->queue, &response, sizeof(response));
    if (error != 0)
        HTP_ERROR("session %u: response %u not sent: error 0x%x", (unsigned)rt->session_id, (unsigned)response.seq,
                  (unsigned)error);
}

/* ---- sessions ---- */

static uint32_t choose_threads(uint32_t wanted) {
    const uint32_t n = wanted != 0 ? wanted : platform_hvx_units();
    return n == 0 ? 1 : htp_min_u32(n, HTP_MAX_THREADS);
}

int htp_runtime_start(struct htp_runtime **runtime, const struct htp_iface_start *args) {
    *runtime = NULL;
    if (args->version != HTP_WIRE_VERSION) {
        HTP_ERROR("this DSP library speaks version %u, the host %u", HTP_WIRE_VERSION, (unsigned)args->version);
        return HTP_AEE_BAD_VERSION;
    }
    struct htp_runtime *rt = calloc(1, sizeof(*rt));
    if (rt == NULL)
        return HTP_AEE_NO_MEMORY;
    rt->session_id = args->session_id;

    void *vtcm = NULL;
    rt->hmx = args->use_hmx != 0 && platform_has_hmx() != 0;
    int error = platform_vtcm_acquire(&vtcm, &rt->vtcm_size, &rt->hmx);
    if (error != 0)
        goto no_vtcm;
    rt->vtcm = vtcm;
    rt->hmx = platform_power_up(rt->hmx);
    error = htp_pool_start(&rt->pool, choose_threads(args->n_hvx));
    if (error != 0)
        goto no_pool;
    /* last: from here on packets arrive */
    error = platform_queue_open(&rt->queue, args->queue_id, on_packet, rt);
    if (error != 0)
        goto no_queue;
    *runtime = rt;
    return 0;

no_queue:
    htp_pool_stop(rt->pool);
no_pool:
    platform_power_down();
    platform_vtcm_release();
no_vtcm:
    HTP_ERROR("session %u does not start: error 0x%x", (unsigned)args->session_id, (unsigned)error);
    free(rt);
    return error;
}

void htp_runtime_stop(struct htp_runtime *rt) {
    if (rt == NULL)
        return;
    platform_queue_close(rt->queue);
    htp_pool_stop(rt->pool);
    htp_maps_release(&rt->maps);
    htp_free_work(&rt->work);
    platform_power_down();
    platform_vtcm_release();
    free(rt);
}

void htp_runtime_hwinfo(const struct htp_runtime *rt, struct htp_iface_hwinfo *info) {
    *info = (struct htp_iface_hwinfo){
        .arch = platform_arch(),
        .n_hvx = platform_hvx_units(),
        .vtcm_bytes = rt == NULL ? 0 : (uint32_t)rt->vtcm_size,
        .has_hmx = platform_has_hmx(),
        .version = HTP_WIRE_VERSION,
    };
}
