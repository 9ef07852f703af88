/*
 * A batch, taken out of the command buffer and checked.
 *
 * The command buffer is shared with the host, which could change it at any time. So each table is copied before it is
 * looked at, and only the copies are used afterwards.
 */
#ifndef HTP_BATCH_H
#define HTP_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "htp/wire.h"
#include "runtime/exec.h"
#include "runtime/maps.h"

/* A tensor of the batch. */
struct htp_slot {
    struct htp_view view;
    size_t bytes; /* from the first element to behind the last, 0 when there is none */
    uint8_t is_read, is_written;
};

struct htp_space {
    uint8_t *address;
    uint64_t size;
};

struct htp_work {
    uint32_t n_buffers, n_tensors, n_ops;
    struct htp_space buffers[HTP_MAX_BUFFERS];
    struct htp_slot *slots;
    struct htp_op_desc *ops;
    uint8_t *profile; /* struct htp_op_profile[n_ops] in the command buffer, to be written; NULL: not wanted */
    uint32_t slots_room, ops_room; /* entries allocated, kept from batch to batch */
};

/* What a response says about a failure. */
struct htp_fault {
    uint32_t op_index; /* HTP_NO_TENSOR when no op is to blame */
    uint32_t detail;
};

/* `detail` of HTP_STATUS_BAD_BATCH: what is wrong */
#define HTP_BATCH_OUTSIDE 1  /* the batch does not lie in the command buffer, or not at a multiple of 128 */
#define HTP_BATCH_HEADER 2   /* magic number or version */
#define HTP_BATCH_BUFFERS 3  /* buffer table: count, alignment or range; the others likewise */
#define HTP_BATCH_TENSORS 4
#define HTP_BATCH_OPS 5
#define HTP_BATCH_PROFILE 6

/* The checks that need no memory: enum htp_status. */
uint32_t htp_check_request(const struct htp_request *request, struct htp_fault *fault);
/* Fills `work` from the batch of `size` bytes, and only reads these; returns an enum htp_status. All is checked when it
 * is OK. */
uint32_t htp_load_batch(struct htp_work *work, struct htp_maps *maps, uint8_t *batch, uint32_t size,
                        struct htp_fault *fault);
void htp_free_work(struct htp_work *work);

/* dispatch.c: the op kernels, by op number */
int htp_op_known(uint32_t op);
uint32_t htp_op_run(struct htp_exec *exec);

#endif
