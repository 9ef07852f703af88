/* Takes a batch apart. The order of the checks is part of the interface: each may rely on those before it. */
#include "runtime/batch.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/libc.h"
#include "runtime/tensor_check.h"

#define BATCH_ALIGN 128
#define TABLE_ALIGN 8

/* Copies from shared memory. Behind the fence the compiler cannot use the original in place of the copy. */
static void take(void *copy, const uint8_t *shared, size_t size) {
    memcpy(copy, shared, size);
    atomic_signal_fence(memory_order_seq_cst);
}

uint32_t htp_check_request(const struct htp_request *r, struct htp_fault *fault) {
    if (r->magic != HTP_REQUEST_MAGIC || r->version != HTP_WIRE_VERSION || r->flags != 0)
        return HTP_STATUS_BAD_PACKET;
    if (r->offset % BATCH_ALIGN != 0 || r->size < sizeof(struct htp_batch) ||
        (uint64_t)r->offset + r->size > r->fd_size) {
        fault->detail = HTP_BATCH_OUTSIDE;
        return HTP_STATUS_BAD_BATCH;
    }
    return HTP_STATUS_OK;
}

static bool table_fits(uint32_t offset, uint32_t count, uint32_t limit, size_t entry, uint32_t size) {
    return count <= limit && offset % TABLE_ALIGN == 0 && offset >= sizeof(struct htp_batch) &&
           (uint64_t)offset + (uint64_t)count * entry <= size;
}

static uint32_t check_header(const struct htp_batch *b, uint32_t size, struct htp_fault *fault) {
    if (b->magic != HTP_BATCH_MAGIC || b->version != HTP_WIRE_VERSION)
        fault->detail = HTP_BATCH_HEADER;
    else if (!table_fits(b->buffers_offset, b->n_buffers, HTP_MAX_BUFFERS, sizeof(struct htp_buffer), size))
        fault->detail = HTP_BATCH_BUFFERS;
    else if (!table_fits(b->tensors_offset, b->n_tensors, HTP_MAX_TENSORS, sizeof(struct htp_tensor), size))
        fault->detail = HTP_BATCH_TENSORS;
    else if (!table_fits(b->ops_offset, b->n_ops, HTP_MAX_OPS, sizeof(struct htp_op_desc), size))
        fault->detail = HTP_BATCH_OPS;
    else if (b->profile_offset != 0 &&
             !table_fits(b->profile_offset, b->n_ops, HTP_MAX_OPS, sizeof(struct htp_op_profile), size))
        fault->detail = HTP_BATCH_PROFILE;
    else
        return HTP_STATUS_OK;
    return HTP_STATUS_BAD_BATCH;
}

static uint32_t load_buffers(struct htp_work *work, struct htp_maps *maps, const uint8_t *table,
                             struct htp_fault *fault) {
    for (uint32_t i = 0; i < work->n_buffers; i++) {
        struct htp_buffer buffer;
        take(&buffer, table + i * sizeof(buffer), sizeof(buffer));
        uint8_t *address = NULL;
        if (buffer.size <= PTRDIFF_MAX)
            address = htp_maps_get(maps, buffer.fd, (size_t)buffer.size);
        if (address == NULL) {
            fault->detail = i;
            return HTP_STATUS_BAD_BUFFER;
        }
        work->buffers[i] = (struct htp_space){.address = address, .size = buffer.size};
    }
    return HTP_STATUS_OK;
}

static uint32_t load_tensors(struct htp_work *work, const uint8_t *table, struct htp_fault *fault) {
    for (uint32_t i = 0; i < work->n_tensors; i++) {
        struct htp_tensor tensor;
        uint64_t bytes;
        take(&tensor, table + i * sizeof(tensor), sizeof(tensor));
        if (tensor.buffer >= work->n_buffers ||
            !htp_tensor_fits(&tensor, work->buffers[tensor.buffer].size, &bytes)) {
            fault->detail = i;
            return HTP_STATUS_BAD_TENSOR;
        }
        struct htp_slot *slot = &work->slots[i];
        memset(slot, 0, sizeof(*slot));
        slot->bytes = (size_t)bytes; /* no more than the buffer, which is mapped */
        slot->view.data = work->buffers[tensor.buffer].address + (size_t)tensor.offset;
        slot->view.type = tensor.type;
        slot->view.layout = tensor.layout;
        memcpy(slot->view.ne, tensor.ne, sizeof(tensor.ne));
        memcpy(slot->view.nb, tensor.nb, sizeof(tensor.nb));
    }
    return HTP_STATUS_OK;
}

static uint32_t check_op(struct htp_work *work, const struct htp_op_desc *op, struct htp_fault *fault) {
    if (!htp_op_known(op->op)) {
        fault->detail = op->op;
        return HTP_STATUS_UNSUPPORTED;
    }
    if (op->n_src > HTP_MAX_SRC) {
        fault->detail = op->n_src;
        return HTP_STATUS_BAD_OP;
    }
    if (op->dst >= work->n_tensors) {
        fault->detail = op->dst;
        return HTP_STATUS_BAD_OP;
    }
    work->slots[op->dst].is_written = 1;
    for (uint32_t i = 0; i < op->n_src; i++) {
        if (op->src[i] == HTP_NO_TENSOR)
            continue;
        if (op->src[i] >= work->n_tensors) {
            fault->detail = op->src[i];
            return HTP_STATUS_BAD_OP;
        }
        work->slots[op->src[i]].is_read = 1;
    }
    return HTP_STATUS_OK;
}

static uint32_t load_ops(struct htp_work *work, const uint8_t *table, struct htp_fault *fault) {
    if (work->n_ops > 0)
        take(work->ops, table, work->n_ops * sizeof(*work->ops));
    for (uint32_t i = 0; i < work->n_ops; i++) {
        const uint32_t status = check_op(work, &work->ops[i], fault);
        if (status != HTP_STATUS_OK) {
            fault->op_index = i;
            return status;
        }
    }
    return HTP_STATUS_OK;
}

/* At least n entries (below 2^15, so no size overflows); the old content is not kept. */
static void *grow(void *table, uint32_t *room, uint32_t n, size_t entry) {
    if (n <= *room)
        return table;
    uint32_t target = 64;
    while (target < n)
        target *= 2;
    free(table);
    table = malloc(target * entry);
    *room = table == NULL ? 0 : target;
    return table;
}

uint32_t htp_load_batch(struct htp_work *work, struct htp_maps *maps, uint8_t *batch, uint32_t size,
                        struct htp_fault *fault) {
    struct htp_batch header;
    take(&header, batch, sizeof(header));
    uint32_t status = check_header(&header, size, fault);
    if (status != HTP_STATUS_OK)
        return status;

    work->n_buffers = header.n_buffers;
    work->n_tensors = header.n_tensors;
    work->n_ops = header.n_ops;
    work->profile = header.profile_offset != 0 ? batch + header.profile_offset : NULL;
    work->slots = grow(work->slots, &work->slots_room, work->n_tensors, sizeof(*work->slots));
    work->ops = grow(work->ops, &work->ops_room, work->n_ops, sizeof(*work->ops));
    if (work->slots_room < work->n_tensors || work->ops_room < work->n_ops)
        return HTP_STATUS_NO_MEMORY;

    status = load_buffers(work, maps, batch + header.buffers_offset, fault);
    if (status == HTP_STATUS_OK)
        status = load_tensors(work, batch + header.tensors_offset, fault);
    if (status == HTP_STATUS_OK)
        status = load_ops(work, batch + header.ops_offset, fault);
    return status;
}

void htp_free_work(struct htp_work *work) {
    free(work->slots);
    free(work->ops);
    memset(work, 0, sizeof(*work));
}
