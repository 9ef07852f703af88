/*
 * What host and DSP say to each other.
 *
 * The host writes a batch (header, buffer table, tensor table, op table) into a command buffer in shared memory and
 * sends one htp_request through the queue. The DSP runs the ops in order and sends exactly one htp_response for every
 * packet that it takes from the queue, whatever the packet holds.
 *
 * All fields have a fixed width and natural alignment, so a 64-bit host and a 32-bit DSP agree; there are no enums,
 * pointers or bit-fields in a struct. Little endian on both sides.
 */
#ifndef HTP_WIRE_H
#define HTP_WIRE_H

#include <stdint.h>

#include "op_list.h"
#include "status.h"
#include "type_list.h"

#define HTP_WIRE_VERSION 3
#define HTP_REQUEST_MAGIC 0x51505448u  /* "HTPQ" */
#define HTP_RESPONSE_MAGIC 0x52505448u /* "HTPR" */
#define HTP_BATCH_MAGIC 0x42505448u    /* "HTPB" */

#define HTP_MAX_DIMS 4
#define HTP_MAX_SRC 8
#define HTP_MAX_PARAMS 16      /* 32-bit words: ggml's op_params */
#define HTP_MAX_BUFFERS 64     /* of a batch */
#define HTP_MAX_TENSORS 16384  /* of a batch */
#define HTP_MAX_OPS 4096       /* of a batch */
#define HTP_MAX_EVENTS 8       /* hardware events that are counted at a time */
#define HTP_EVENT_NUMBERS 1024 /* their numbers are below this */
#define HTP_NO_TENSOR 0xffffu

/* A queue packet, host to DSP: run the batch at [offset, offset + size) of the command buffer fd. */
struct htp_request {
    uint32_t magic;   /* HTP_REQUEST_MAGIC */
    uint32_t version; /* HTP_WIRE_VERSION */
    uint32_t seq;     /* chosen by the host, comes back in the response */
    uint32_t fd;      /* command buffer, registered by the host for this session */
    uint32_t offset;  /* of the batch header, multiple of 128 */
    uint32_t size;    /* bytes of the whole batch, header included */
    uint32_t fd_size; /* bytes of the whole command buffer, so that the DSP can map it */
    uint32_t flags;   /* 0 */
};

/* A queue packet, DSP to host. */
struct htp_response {
    uint32_t magic;    /* HTP_RESPONSE_MAGIC */
    uint32_t seq;      /* of the request, 0 when the packet was too short to tell */
    uint32_t status;   /* enum htp_status */
    uint32_t op_index; /* the op that failed, HTP_NO_TENSOR when none */
    uint32_t ops_done; /* how many ops were completed */
    uint32_t detail;   /* failed: a number that helps to find the cause; otherwise how many ops used the matrix unit */
    uint64_t usecs;    /* from taking the packet to sending the response */
};

/* Start of a batch in the command buffer. Tables are at byte offsets from the header, multiples of 8. */
struct htp_batch {
    uint32_t magic;   /* HTP_BATCH_MAGIC */
    uint32_t version; /* HTP_WIRE_VERSION */
    uint32_t n_buffers;
    uint32_t n_tensors;
    uint32_t n_ops;
    uint32_t buffers_offset; /* struct htp_buffer[n_buffers] */
    uint32_t tensors_offset; /* struct htp_tensor[n_tensors] */
    uint32_t ops_offset;     /* struct htp_op_desc[n_ops] */
    uint32_t profile_offset; /* struct htp_op_profile[n_ops], which the DSP writes; 0: not wanted */
    uint32_t reserved;
};

/* A shared buffer that tensors of the batch lie in. */
struct htp_buffer {
    uint32_t fd;
    uint32_t reserved;
    uint64_t size; /* bytes of the whole buffer */
};

/* ne and nb as in ggml, dimension 0 innermost. nb[0] is the size of a block for quantised types. */
struct htp_tensor {
    uint32_t buffer; /* index into the buffer table */
    uint16_t type;   /* enum htp_type */
    uint16_t layout; /* enum htp_layout */
    uint64_t offset; /* of the first element in the buffer */
    uint32_t ne[HTP_MAX_DIMS];
    uint32_t nb[HTP_MAX_DIMS];
};

struct htp_op_desc {
    uint16_t op; /* enum htp_op */
    uint16_t flags;
    uint16_t dst;              /* tensor index */
    uint16_t n_src;            /* entries used of src; an optional source that is absent is HTP_NO_TENSOR */
    uint16_t src[HTP_MAX_SRC]; /* tensor indices */
    int32_t params[HTP_MAX_PARAMS]; /* meaning: include/htp/params.h */
};

/* What an op cost. Written for ops that were completed. */
struct htp_op_profile {
    uint64_t start;   /* processor cycles of the DSP when the op began */
    uint64_t cycles;  /* how many it took */
    uint64_t packets; /* executed by one of its threads, thread 0; 0 where nobody counts */
    uint32_t usecs;
    uint32_t hmx;                    /* 1: it used the matrix unit */
    uint32_t events[HTP_MAX_EVENTS]; /* counted meanwhile on the whole DSP, see HTP_IFACE_COUNT_EVENTS */
};

/* htp_iface: the FastRPC interface. Methods 0 and 1 are open and close. */
#define HTP_IFACE_START 2
#define HTP_IFACE_STOP 3
#define HTP_IFACE_ETM 4
#define HTP_IFACE_HWINFO 5
#define HTP_IFACE_COUNT_EVENTS 6

/* input of HTP_IFACE_START */
struct htp_iface_start {
    uint32_t session_id;
    uint32_t n_hvx;    /* worker threads with an HVX context each; 0 = all that the DSP has */
    uint64_t queue_id; /* from dspqueue_export */
    uint32_t use_hmx;
    uint32_t version; /* HTP_WIRE_VERSION: a library of another version refuses to start */
};

/* input of HTP_IFACE_ETM */
struct htp_iface_etm {
    uint32_t enable;
};

/* input of HTP_IFACE_COUNT_EVENTS: the hardware events for htp_op_profile from now on */
struct htp_iface_events {
    uint32_t n_events;               /* 0: no more counting */
    uint32_t events[HTP_MAX_EVENTS]; /* numbers of the DSP's performance monitor */
};

/* output of HTP_IFACE_HWINFO */
struct htp_iface_hwinfo {
    uint32_t arch;       /* 68, 69, 73, 75, 79, 81 */
    uint32_t n_hvx;      /* HVX contexts */
    uint32_t vtcm_bytes; /* VTCM that the session holds, 0 before start */
    uint32_t has_hmx;
    uint32_t version; /* HTP_WIRE_VERSION */
    uint32_t reserved;
};

#if defined(__cplusplus)
#define HTP_STATIC_ASSERT static_assert
#else
#define HTP_STATIC_ASSERT _Static_assert
#endif
HTP_STATIC_ASSERT(sizeof(struct htp_request) == 32, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_response) == 32, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_batch) == 40, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_buffer) == 16, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_tensor) == 48, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_op_desc) == 88, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_op_profile) == 64, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_iface_events) == 36, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_iface_start) == 24, "wire layout");
HTP_STATIC_ASSERT(sizeof(struct htp_iface_hwinfo) == 24, "wire layout");

#endif
