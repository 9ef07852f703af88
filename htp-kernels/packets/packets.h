/*
 * Counting what kernels cost: instruction packets, instructions and HVX instructions, as qemu-hexagon counts them.
 *
 * A driver, packets/<family>.c, calls the kernels of its family with the shapes that matter:
 *
 *     packets_begin();
 *     gemv_q4_0(...);
 *     packets_end("1024 weights", k * n / 1024.0, "gemv q4_0 K=%u", k);
 *
 * `cargo xtask packets` compiles the kernels as for the DSP library of v73, replaces the float vector instructions of
 * the assembly text by integer ones, which the emulator knows, and runs the drivers. So the numbers that kernels
 * compute are meaningless and must not decide what they do, but the counts are those of the DSP library. A packet is
 * not a cycle: stalls, memory and DMA are not in it.
 */
#ifndef HTP_PACKETS_H
#define HTP_PACKETS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/exec.h"

/* Drivers; each reports under its family's name. */
#define PACKETS_FAMILIES(X) X(attention) X(binary) X(conv) X(copy) X(gather) X(glu) X(hmx) X(matmul) X(norm) \
    X(image) X(pattern) X(recurrent) X(reduce) X(resample) X(rope) X(softmax) X(solve) X(sort) X(unary)
#define PACKETS_DECLARE(name) void packets_##name(void);
PACKETS_FAMILIES(PACKETS_DECLARE)
#undef PACKETS_DECLARE

/* Counting starts, and ends with a report: so many units of work have been done. what: printf text, the case's name. */
void packets_begin(void);
/* packets_deduct instead of packets_end: what was counted is taken off the next count, which starts. */
void packets_deduct(void);
void packets_end(const char *unit, double units, const char *what, ...) __attribute__((format(printf, 3, 4)));

/* Memory on a page boundary, with random contents. The program ends soon enough to never free it. */
uint8_t *packets_memory(size_t bytes);
/* A contiguous tensor of any type, with random bits; f32 are numbers between 1/2 and 8 or their negatives, as scalar
 * code may take other ways for infinities and the like. */
struct htp_view packets_tensor(uint32_t type, uint32_t ne0, uint32_t ne1);

/* An op with one thread and VTCM as on a device. Sources are views that outlive the call. */
void packets_exec(struct htp_exec *exec, uint32_t op, const int32_t *params, const struct htp_view *src0,
                  const struct htp_view *src1, const struct htp_view *dst);
/* Runs it, and ends the program when the op refuses. */
void packets_run(struct htp_exec *exec, uint32_t (*op)(struct htp_exec *));

#endif
