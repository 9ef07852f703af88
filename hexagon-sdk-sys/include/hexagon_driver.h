/*
 * The part of Qualcomm's FastRPC, rpcmem and dspqueue interfaces that this project uses.
 *
 * Written from interface facts: names, values and layouts only. With HEXAGON_SDK_ROOT set, build.rs generates bindings
 * from the SDK's own headers as well, and the tests in src/layout.rs compare the two.
 *
 * Every function returns an AEEResult: 0 on success, else one of the AEE_* codes below (or another code of the driver).
 */
#ifndef HEXAGON_DRIVER_H
#define HEXAGON_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* ---- error codes (AEEStdErr): the ones that users meet ---- */
#define AEE_SUCCESS          0x00
#define AEE_EFAILED          0x01
#define AEE_ENOMEMORY        0x02
#define AEE_EEXPIRED         0x0c /* time-out */
#define AEE_EBADSTATE        0x0d
#define AEE_EBADPARM         0x0e
#define AEE_EBADITEM         0x10
#define AEE_EUNSUPPORTED     0x14
#define AEE_EINTERRUPTED     0x2e /* the DSP process died */
#define AEE_ENOSUCHDEVICE    0x43
#define AEE_ENOSUCHMAP       0x48
#define AEE_ECONNREFUSED     0x72 /* permissions on the device node, daemon not running */
#define AEE_EWOULDBLOCK      0x204

/* the same kinds of code, as the DSP reports them */
#define DSP_AEE_OFFSET       0x80000400u
#define DSP_AEE_EUNABLETOLOAD (DSP_AEE_OFFSET + 0x06) /* skel missing, wrong architecture or unsigned */
#define DSP_AEE_EBADPARM     (DSP_AEE_OFFSET + 0x0e)
#define DSP_AEE_EUNSUPPORTED (DSP_AEE_OFFSET + 0x14)
#define DSP_AEE_ENOSUCH      (DSP_AEE_OFFSET + 0x16)

/* ---- rpcmem: memory that host and DSP share ---- */
#define RPCMEM_HEAP_ID_SYSTEM 25
#define RPCMEM_DEFAULT_FLAGS  1          /* cached */
#define RPCMEM_HEAP_NOREG     0x40000000 /* the caller maps it with fastrpc_mmap */

typedef void *(*rpcmem_alloc_fn)(int heap, uint32_t flags, int size);
typedef void *(*rpcmem_alloc2_fn)(int heap, uint32_t flags, size_t size);
typedef void (*rpcmem_free_fn)(void *ptr);
typedef int (*rpcmem_to_fd_fn)(void *ptr);

#define FASTRPC_MAP_STATIC     0
#define FASTRPC_MAP_RESERVED   1
#define FASTRPC_MAP_FD         2
#define FASTRPC_MAP_FD_DELAYED 3
#define FASTRPC_MAP_FD_NOMAP   16

typedef int (*fastrpc_mmap_fn)(int domain, int fd, void *addr, int offset, size_t length, int flags);
typedef int (*fastrpc_munmap_fn)(int domain, int fd, void *addr, size_t length);

/* ---- remote calls ---- */
#define ADSP_DOMAIN_ID  0
#define MDSP_DOMAIN_ID  1
#define SDSP_DOMAIN_ID  2
#define CDSP_DOMAIN_ID  3
#define CDSP1_DOMAIN_ID 4

typedef uint64_t remote_handle64;

typedef struct {
    void *pv;
    size_t nLen;
} remote_buf;

typedef union {
    remote_buf buf;
    uint32_t h;
    remote_handle64 h64;
} remote_arg;

typedef int (*remote_handle64_open_fn)(const char *uri, remote_handle64 *handle);
typedef int (*remote_handle64_invoke_fn)(remote_handle64 handle, uint32_t scalars, remote_arg *args);
typedef int (*remote_handle64_close_fn)(remote_handle64 handle);
typedef int (*remote_handle_control_fn)(uint32_t request, void *data, uint32_t length);
typedef int (*remote_handle64_control_fn)(remote_handle64 handle, uint32_t request, void *data, uint32_t length);
typedef int (*remote_session_control_fn)(uint32_t request, void *data, uint32_t length);
typedef int (*remote_system_request_fn)(void *request);

/* requests of remote_session_control */
#define DSPRPC_CONTROL_UNSIGNED_MODULE           2
#define FASTRPC_REMOTE_PROCESS_KILL              6
#define FASTRPC_REGISTER_STATUS_NOTIFICATIONS    11
#define FASTRPC_RESERVE_NEW_SESSION              13
#define FASTRPC_GET_EFFECTIVE_DOMAIN_ID          14
#define FASTRPC_GET_URI                          15

/* requests of remote_handle_control and remote_handle64_control */
#define DSPRPC_CONTROL_LATENCY 1
#define DSPRPC_GET_DSP_INFO    2

/* attributes of DSPRPC_GET_DSP_INFO */
#define DSP_ATTR_DOMAIN_SUPPORT      0
#define DSP_ATTR_UNSIGNED_PD_SUPPORT 1
#define DSP_ATTR_HVX_SUPPORT_128B    3
#define DSP_ATTR_VTCM_PAGE           4
#define DSP_ATTR_VTCM_COUNT          5
#define DSP_ATTR_ARCH_VER            6 /* low byte: 0x68, 0x69, 0x73, 0x75, 0x79, 0x81 */
#define DSP_ATTR_HMX_SUPPORT_DEPTH   7

struct remote_dsp_capability {
    uint32_t domain;
    uint32_t attribute_ID;
    uint32_t capability;
};

struct remote_rpc_control_unsigned_module {
    int32_t domain;
    int32_t enable;
};

/* of FASTRPC_REMOTE_PROCESS_KILL: ends a DSP process that hangs, so that its handles can be closed */
struct remote_rpc_process_clean_params {
    int32_t domain;
};

struct remote_rpc_control_latency {
    uint32_t enable;
    uint32_t latency; /* microseconds, 0 = default */
};

struct remote_rpc_reserve_new_session {
    char *domain_name;
    uint32_t domain_name_len;
    char *session_name;
    uint32_t session_name_len;
    uint32_t effective_domain_id; /* out */
    uint32_t session_id;          /* out */
};

struct remote_rpc_get_uri {
    char *domain_name;
    uint32_t domain_name_len;
    uint32_t session_id;
    char *module_uri;
    uint32_t module_uri_len;
    char *uri; /* out, filled up to uri_len with a terminating NUL */
    uint32_t uri_len;
};

/* ---- dspqueue: packets between host and DSP ---- */
typedef struct dspqueue *dspqueue_t;

#define DSPQUEUE_TIMEOUT_NONE 0xffffffffu /* wait for ever */

#define DSPQUEUE_BUFFER_FLAG_REF                  0x04
#define DSPQUEUE_BUFFER_FLAG_DEREF                0x08
#define DSPQUEUE_BUFFER_FLAG_FLUSH_SENDER         0x10
#define DSPQUEUE_BUFFER_FLAG_INVALIDATE_SENDER    0x20
#define DSPQUEUE_BUFFER_FLAG_FLUSH_RECIPIENT      0x40
#define DSPQUEUE_BUFFER_FLAG_INVALIDATE_RECIPIENT 0x80

struct dspqueue_buffer {
    uint32_t fd;
    uint32_t size;
    uint32_t offset;
    uint32_t flags;
    union {
        void *ptr;
        uint64_t address;
    };
};

typedef void (*dspqueue_callback_fn)(dspqueue_t queue, int error, void *context);

typedef int (*dspqueue_create_fn)(int domain, uint32_t flags, uint32_t request_bytes, uint32_t response_bytes,
                                  dspqueue_callback_fn packet_callback, dspqueue_callback_fn error_callback,
                                  void *context, dspqueue_t *queue);
typedef int (*dspqueue_close_fn)(dspqueue_t queue);
typedef int (*dspqueue_export_fn)(dspqueue_t queue, uint64_t *queue_id);
typedef int (*dspqueue_write_fn)(dspqueue_t queue, uint32_t flags, uint32_t num_buffers,
                                 struct dspqueue_buffer *buffers, uint32_t message_length, const uint8_t *message,
                                 uint32_t timeout_us);
typedef int (*dspqueue_read_fn)(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                                struct dspqueue_buffer *buffers, uint32_t max_message_length,
                                uint32_t *message_length, uint8_t *message, uint32_t timeout_us);
typedef int (*dspqueue_read_noblock_fn)(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers,
                                        uint32_t *num_buffers, struct dspqueue_buffer *buffers,
                                        uint32_t max_message_length, uint32_t *message_length, uint8_t *message);

#endif
