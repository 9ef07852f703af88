/*
 * ROPE inside: what the files of this folder share.
 *
 *   rope.c     entry: checks, tokens and heads over threads, elements that are not rotated
 *   angles.c   which position and which power of theta_scale each pair has; the angles of a token
 *   table.c    angles to cosines and sines
 *   rotate.c   the rotation of rows
 *   ref.c      the definition, for check.c
 *
 * A pair: two elements of a row that are rotated together. Tables have an entry a pair and are padded to whole steps of
 * ROPE_STEP pairs; entries behind the last pair are never stored.
 */
#ifndef ROPE_H
#define ROPE_H

#include <stdbool.h>

#include "htp/params.h"
#include "hvx/wrap.h"
#include "runtime/exec.h"

#define ROPE_STEP 64
#define ROPE_CHAINS 4 /* positions of a token, in the modes with sections */

struct rope {
    const struct htp_view *src, *positions, *factors, *dst;
    struct htp_rope_params params;
    uint32_t pairs, padded;
    uint32_t size;     /* bytes of an element */
    uint32_t first;    /* bytes in front of the first rotated element of a row */
    uint32_t distance; /* bytes between the elements of a pair */
    uint32_t rotated;  /* bytes of all rotated elements */
    bool has_others;   /* elements that are not rotated have to be copied */
    bool aligned;      /* every vector of a row, whole steps only, is on a 128-byte boundary */

    /* angles.c */
    bool has_sections;
    bool same_steps;       /* entry i is its position times theta_scale^i, whichever position that is */
    uint32_t used_chains;  /* bit mask */
    uint32_t *entry;       /* with sections: where in the chains of a token an entry comes from */
    float *factor;         /* frequency factors, padded with 1; NULL: none */
    float position_limit;  /* |position| up to which table.c's own reduction holds */
    bool is_special;       /* there is more to an angle than a position times a power of theta_scale, or padding */
    bool interpolates;
};

/* Memory of a thread, all in VTCM and padded. */
struct rope_scratch {
    float *angle, *cosine, *sine;
    float *chains;                       /* ROPE_CHAINS of them */
    int32_t *remainder;                  /* see hvx_angle_reduce */
    uint32_t *flip;
};

HVX_INLINE float rope_position(const struct rope *t, uint32_t index) {
    int32_t p;
    __builtin_memcpy(&p, __builtin_assume_aligned(t->positions->data + (size_t)index * t->positions->nb[0], 4), 4);
    return (float)p;
}

HVX_INLINE void rope_chain(float *out, uint32_t count, float angle, float scale) {
    HVX_ROLLED
    for (uint32_t i = 0; i < count; i++) {
        out[i] = angle;
        angle *= scale;
    }
}

/* bytes of VTCM that all threads share, and that each thread needs */
size_t rope_shared_bytes(const struct rope *t);
size_t rope_thread_bytes(const struct rope *t);

/* Fills in the second part of t, with `vtcm` as memory for it. */
void rope_prepare_angles(struct rope *t, uint8_t *vtcm);
/*
 * The angles of a token. True: all of them are small enough for table.c's own reduction. The second function is for ops
 * that are not special.
 */
bool rope_special_angles(const struct rope *t, const struct rope_scratch *s, uint32_t token);
HVX_INLINE bool rope_plain_angles(const struct rope *t, const struct rope_scratch *s, uint32_t token) {
    const float p = rope_position(t, token);
    rope_chain(s->angle, t->pairs, p, t->params.theta_scale);
    return __builtin_fabsf(p) <= t->position_limit;
}

/* angles of a token, and their cosines and sines times the magnitude */
void rope_table(const struct rope *t, const struct rope_scratch *s, uint32_t token);
/* `heads` rows from x and y on, whose addresses differ by x_step and y_step */
void rope_rotate(const struct rope *t, const struct rope_scratch *s, const uint8_t *x, uint8_t *y, uint32_t x_step,
                 uint32_t y_step, uint32_t heads);

#endif
