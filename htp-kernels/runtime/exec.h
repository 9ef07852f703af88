/*
 * What an op kernel sees: its tensors, checked and addressable, the worker threads, VTCM and DMA.
 *
 * An op entry is `uint32_t htp_<family>(struct htp_exec *)`, named in include/htp/op_list.h by family, defined in
 * ops/<family>/. It returns an enum htp_status. Before it is called the runtime has checked that the op's tensor
 * indices exist, that each type and layout is known and that every element of a ROWS tensor (every tile of a TILES
 * tensor) lies inside its buffer. The op itself checks what only it knows: number of sources, types, shapes.
 */
#ifndef HTP_EXEC_H
#define HTP_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "htp/wire.h"

struct htp_view {
    uint8_t *data; /* first element */
    uint32_t type, layout;
    uint32_t ne[HTP_MAX_DIMS];
    uint32_t nb[HTP_MAX_DIMS];
};

struct htp_runtime;

struct htp_exec {
    struct htp_runtime *runtime;
    uint32_t op; /* enum htp_op */
    uint32_t n_src;
    const struct htp_view *src[HTP_MAX_SRC]; /* NULL when absent */
    const struct htp_view *dst;
    const int32_t *params; /* HTP_MAX_PARAMS words */
    uint32_t n_threads;    /* worker threads, the caller included; at least 1 */
    uint8_t *vtcm;         /* 128-byte aligned; the op may use all of it and finds nothing of value in it */
    size_t vtcm_size;
    uint32_t detail; /* out: goes into the response when the op fails */
    bool hmx;        /* the matrix unit may be used: ask htp_hmx_begin */
    bool used_hmx;   /* out: it was */
};

/*
 * Runs fn(arg, i, n) for i = 0 .. n-1, each on a thread of its own with an HVX context; i = 0 runs on the caller.
 * n must be 1 .. exec->n_threads. Returns when all have returned. Not to be nested.
 */
typedef void (*htp_thread_fn)(void *arg, uint32_t i, uint32_t n);
void htp_parallel(struct htp_exec *exec, uint32_t n, htp_thread_fn fn, void *arg);

/*
 * Takes the matrix unit for the thread that runs the op (thread 0 of htp_parallel); it stays taken until the batch
 * ends.
 * False: there is none, or the host does not want it, or another process has it.
 */
bool htp_hmx_begin(struct htp_exec *exec);

/* ---- small helpers ---- */
/* the status of an op that cannot be done; detail: which part of it, for the host's message */
static inline uint32_t htp_fail(struct htp_exec *exec, uint32_t status, uint32_t detail) {
    exec->detail = detail;
    return status;
}
static inline uint32_t htp_min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t htp_div_up(uint32_t a, uint32_t b) { return a / b + (a % b != 0); }
static inline size_t htp_round_up(size_t a, size_t b) { return (a + b - 1) / b * b; }
/* rows of a tensor: product of all dimensions but the innermost (fits: the runtime has checked it) */
static inline uint32_t htp_rows(const struct htp_view *t) { return t->ne[1] * t->ne[2] * t->ne[3]; }
/* address of row (i1, i2, i3); offsets are summed in size_t, which the runtime's range check covers */
static inline uint8_t *htp_row(const struct htp_view *t, uint32_t i1, uint32_t i2, uint32_t i3) {
    return t->data + (size_t)i1 * t->nb[1] + (size_t)i2 * t->nb[2] + (size_t)i3 * t->nb[3];
}

#endif
