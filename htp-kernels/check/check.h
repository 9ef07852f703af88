/*
 * The check program: every kernel against its scalar reference, on random, edge and strided shapes.
 *
 *   htp_check_main(argc, argv)   argv[1]: only this family, or "--print": all results of intrinsics, to compare builds.
 *                                0: all is well, 1: something failed
 *
 * A family is one folder of ops/ with a check.c, or the intrinsics (check/intrinsics.c). It reports every case through
 * check_case; the program prints a line a family, with a hash of all results of ops, which is the same for every build.
 */
#ifndef HTP_CHECK_H
#define HTP_CHECK_H

#include <stdbool.h>

#include "runtime/exec.h"

int htp_check_main(int argc, char **argv);

struct check {
    const char *family;
    uint32_t cases, failures;
    double worst; /* largest error, as a part of its limit */
    double worst_error, worst_limit;
};

/* One case: fails when error is above limit or not a number. what: printf text that names the case. */
void check_case(struct check *c, double error, double limit, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
/* A case that holds or does not. */
#define check_true(c, condition, ...) check_case((c), (condition) ? 0.0 : 1.0, 0.5, __VA_ARGS__)

/* ---- random numbers: the same on every run ---- */
uint32_t check_random(void);
uint32_t check_below(uint32_t n);
float check_uniform(void); /* -1 .. 1 */

/* ---- tensors with guarded memory ---- */
struct check_tensor {
    struct htp_view view;
    uint8_t *block; /* what was allocated: pattern, elements, pattern */
    size_t block_bytes;
    uint8_t *before; /* copy of the block, taken by check_remember */
};

/* nb NULL: contiguous. offset: bytes that the first element lies behind a 128-byte boundary. Memory holds a pattern. */
void check_make(struct check_tensor *t, uint32_t type, uint32_t layout, const uint32_t *ne, const uint32_t *nb,
                uint32_t offset);
void check_free(struct check_tensor *t);
double check_get(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3);
void check_set(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3, float value);
/* All bytes that are not part of an element (all, when `all`) are as they were at check_remember. */
void check_remember(struct check_tensor *t);
bool check_unchanged(const struct check_tensor *t, bool all);
uint32_t check_type_size(uint32_t type);

/* ---- running an op ---- */
struct check_run {
    struct htp_exec exec;
    int32_t params[HTP_MAX_PARAMS];
    uint8_t *vtcm_block;
};

void check_run_init(struct check_run *r, uint32_t op, uint32_t n_threads, size_t vtcm_size);
/* Fills VTCM with values that are NaN as f16 and f32, runs, looks that nothing behind VTCM was written. */
uint32_t check_run_op(struct check_run *r, uint32_t (*op)(struct htp_exec *));
bool check_vtcm_intact(const struct check_run *r);
bool check_vtcm_used(const struct check_run *r); /* whether the last run wrote to it */
void check_run_free(struct check_run *r);

/* ---- families ---- */
#define CHECK_FAMILIES(X) X(hvx) X(binary) X(norm) X(matmul) X(attention) X(gather) \
    X(reduce) X(copy) X(sort) X(conv) X(rope) X(softmax) X(unary) X(glu) \
    X(image) X(pattern) X(recurrent) X(resample) X(solve)
#define CHECK_DECLARE(name) void check_##name(struct check *c);
CHECK_FAMILIES(CHECK_DECLARE)
#undef CHECK_DECLARE

/* Family hvx, with every result of every intrinsic as a line of text. */
void check_print_intrinsics(struct check *c);

#endif
