/*
 * Rotation: (a, b) becomes (a cos - b sin, a sin + b cos). For one or two steps of pairs, all heads: cosines and sines
 * stay in registers. NORMAL has pairs side by side; f32 is dealt to vectors of a and of b, f16 comes that way from the
 * conversion. In the other modes a and b are apart. The incomplete step at the end reads and writes its own bytes only.
 */
#include "ops/rope/rope.h"

enum kind { APART_F32, NEIGHBOURS_F32, APART_F16, NEIGHBOURS_F16 };

struct rows {
    const uint8_t *x;
    uint8_t *y;
    uint32_t x_step, y_step, count;
};

/* a step of the table: one vector of f32 each, two for APART_F16 */
struct angles {
    HVX_Vector c[2], s[2];
};

/* where a step of a head is in its row: two vectors */
struct step {
    uint32_t second;   /* bytes from the first of its vectors to the second one */
    uint32_t bytes[2]; /* of each; 128 but for the last step */
};

struct turned {
    HVX_Vector a, b;
};

/* of a step, qf32; two for APART_F16 */
struct result {
    struct turned t[2];
};

HVX_INLINE uint32_t kind_pairs(enum kind kind) { return kind == APART_F16 ? HVX_HALVES : HVX_WORDS; }
HVX_INLINE uint32_t kind_bytes(enum kind kind) { return kind == NEIGHBOURS_F32 ? 2 * HVX_BYTES : HVX_BYTES; }

/* ---- a step of one head ---- */

/* f32 in, qf32 out */
HVX_INLINE struct turned turn_qf32(HVX_Vector a, HVX_Vector b, HVX_Vector c, HVX_Vector s) {
    return (struct turned){hvx_sub_qf32(hvx_mul_f32_qf32(a, c), hvx_mul_f32_qf32(b, s)),
                           hvx_add_qf32(hvx_mul_f32_qf32(a, s), hvx_mul_f32_qf32(b, c))};
}

/* a, b: as they are in memory */
HVX_INLINE struct result turn(enum kind kind, HVX_Vector a, HVX_Vector b, const struct angles *w) {
    struct result r;
    if (kind == APART_F16) {
        const HVX_VectorPair wide_a = hvx_f16_to_f32_in_order(a), wide_b = hvx_f16_to_f32_in_order(b);
        a = Q6_V_lo_W(wide_a);
        b = Q6_V_lo_W(wide_b);
        r.t[1] = turn_qf32(Q6_V_hi_W(wide_a), Q6_V_hi_W(wide_b), w->c[1], w->s[1]);
    } else if (kind != APART_F32) {
        const HVX_VectorPair in = kind == NEIGHBOURS_F32 ? hvx_deal_words(a, b) : hvx_f16_to_f32(a);
        a = Q6_V_lo_W(in);
        b = Q6_V_hi_W(in);
    }
    r.t[0] = turn_qf32(a, b, w->c[0], w->s[0]);
    if (kind != APART_F16)
        r.t[1] = r.t[0];
    return r;
}

/* 64 f16 in order, rounded once */
HVX_INLINE HVX_Vector narrow(HVX_Vector first, HVX_Vector last) {
    return Q6_Vh_vdeal_Vh(Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(last, first)));
}

/* as it goes to memory */
HVX_INLINE struct turned finish(enum kind kind, const struct result *r) {
    if (kind == APART_F16)
        return (struct turned){narrow(r->t[0].a, r->t[1].a), narrow(r->t[0].b, r->t[1].b)};
    if (kind == NEIGHBOURS_F16)
        return (struct turned){Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(r->t[0].b, r->t[0].a)), hvx_zero()};
    const struct turned t = {hvx_qf32_to_f32(r->t[0].a), hvx_qf32_to_f32(r->t[0].b)};
    if (kind == APART_F32)
        return t;
    const HVX_VectorPair out = hvx_interleave_words(t.a, t.b);
    return (struct turned){Q6_V_lo_W(out), Q6_V_hi_W(out)};
}

/* ---- memory: up to 128 bytes ---- */

HVX_INLINE HVX_Vector load(bool aligned, const uint8_t *p, uint32_t bytes) {
    if (bytes == 0)
        return hvx_zero();
    if (bytes < HVX_BYTES)
        return hvx_load_bytes(p, bytes);
    return aligned ? hvx_load_aligned(p) : hvx_load(p);
}
HVX_INLINE void store(bool aligned, uint8_t *p, uint32_t bytes, HVX_Vector v) {
    if (bytes == 0)
        return;
    if (bytes < HVX_BYTES)
        hvx_store_bytes(p, bytes, v);
    else if (aligned)
        hvx_store_aligned(p, v);
    else
        hvx_store(p, v);
}

/* ---- a step, or two, of all heads ---- */

/* what is the same for all heads, constants but for p and w; steps: 1 or 2 */
struct task {
    enum kind kind;
    bool aligned;
    uint32_t steps;
    struct step p;
    struct angles w[2];
};

HVX_INLINE void load_and_turn(const struct task *t, const uint8_t *x, struct result *r) {
    HVX_UNROLL
    for (uint32_t i = 0; i < t->steps; i++, x += kind_bytes(t->kind)) {
        const HVX_Vector a = load(t->aligned, x, t->p.bytes[0]);
        r[i] = turn(t->kind, a, load(t->aligned, x + t->p.second, t->p.bytes[1]), &t->w[i]);
    }
}

HVX_INLINE void finish_and_store(const struct task *t, uint8_t *y, const struct result *r) {
    HVX_UNROLL
    for (uint32_t i = 0; i < t->steps; i++, y += kind_bytes(t->kind)) {
        const struct turned v = finish(t->kind, &r[i]);
        store(t->aligned, y, t->p.bytes[0], v.a);
        store(t->aligned, y + t->p.second, t->p.bytes[1], v.b);
    }
}

/*
 * To the compiler x and y may overlap, as they do in place, so that it loads nothing ahead of a store. Hence each head
 * is loaded before the one in front of it is stored, and there is always work for all pipes.
 */
struct between {
    const uint8_t *x;
    uint8_t *y;
    struct result last[2]; /* of the head at x, not stored yet */
};

HVX_INLINE void next_head(const struct task *t, struct between *b, uint32_t x_step, uint32_t y_step) {
    struct result next[2];
    b->x += x_step;
    load_and_turn(t, b->x, next);
    finish_and_store(t, b->y, b->last);
    b->y += y_step;
    HVX_UNROLL
    for (uint32_t i = 0; i < t->steps; i++)
        b->last[i] = next[i];
}

HVX_INLINE void rotate_heads(const struct task *t, const struct rows *r) {
    const uint32_t x_step = r->x_step, y_step = r->y_step;
    struct between b = {.x = r->x, .y = r->y};
    load_and_turn(t, b.x, b.last);
    if (t->aligned && (t->kind == APART_F32 || t->kind == NEIGHBOURS_F32)) {
        HVX_UNROLL_COUNT(2)
        for (uint32_t h = r->count; h > 1; h--)
            next_head(t, &b, x_step, y_step);
    } else {
        HVX_ROLLED
        for (uint32_t h = r->count; h > 1; h--)
            next_head(t, &b, x_step, y_step);
    }
    finish_and_store(t, b.y, b.last);
}

/* pairs: whole vectors full, or what is left for the last step */
HVX_INLINE struct step step_of(enum kind kind, uint32_t distance, uint32_t pairs) {
    const uint32_t bytes = pairs * kind_bytes(kind) / kind_pairs(kind);
    if (kind == NEIGHBOURS_F16)
        return (struct step){0, {bytes, 0}};
    if (kind != NEIGHBOURS_F32)
        return (struct step){distance, {bytes, bytes}};
    const uint32_t first = bytes < HVX_BYTES ? bytes : HVX_BYTES;
    return (struct step){HVX_BYTES, {first, bytes - first}};
}

HVX_INLINE struct angles load_angles(enum kind kind, const float *cosine, const float *sine) {
    const HVX_Vector *c = (const HVX_Vector *)(const void *)cosine, *s = (const HVX_Vector *)(const void *)sine;
    const uint32_t last = kind == APART_F16 ? 1 : 0;
    return (struct angles){{c[0], c[last]}, {s[0], s[last]}};
}

HVX_INLINE void rotate(enum kind kind, bool aligned, uint32_t steps, const struct rows *r, const float *cosine,
                       const float *sine, uint32_t distance, uint32_t pairs) {
    struct task t = {.kind = kind, .aligned = aligned, .steps = steps, .p = step_of(kind, distance, pairs)};
    t.w[0] = t.w[1] = load_angles(kind, cosine, sine);
    if (steps == 2)
        t.w[1] = load_angles(kind, cosine + kind_pairs(kind), sine + kind_pairs(kind));
    rotate_heads(&t, r);
}

/* ---- functions of their own, which keeps registers free ---- */

/* distance: bytes between the elements of a pair; pairs: of an incomplete step */
typedef void rotate_fn(const struct rows *r, const float *cosine, const float *sine, uint32_t distance, uint32_t pairs);

#define DEFINE_ROTATE(name, kind, aligned, steps, step_pairs)                                                       \
    static HVX_NOINLINE void name(const struct rows *r, const float *cosine, const float *sine, uint32_t distance,  \
                                  uint32_t pairs) {                                                                 \
        (void)pairs;                                                                                                \
        rotate(kind, aligned, steps, r, cosine, sine, distance, step_pairs);                                        \
    }
#define DEFINE_ROTATES(name, kind)                                                          \
    DEFINE_ROTATE(name##_part, kind, false, 1, pairs)                                       \
    DEFINE_ROTATE(name##_one, kind, false, 1, kind_pairs(kind))                             \
    DEFINE_ROTATE(name##_two, kind, false, 2, kind_pairs(kind))                             \
    DEFINE_ROTATE(name##_two_aligned, kind, true, 2, kind_pairs(kind))                      \
    static void name(const struct rope *t, const struct rope_scratch *s, struct rows *r) {  \
        rotate_fn *const two = t->aligned ? name##_two_aligned : name##_two;                \
        rotate_steps(kind, t, s, r, name##_part, name##_one, two);                          \
    }

/* r moves along */
HVX_INLINE void rotate_steps(enum kind kind, const struct rope *t, const struct rope_scratch *s, struct rows *r,
                             rotate_fn *part, rotate_fn *one, rotate_fn *two) {
    const uint32_t pairs = kind_pairs(kind), bytes = kind_bytes(kind), distance = t->distance;
    const float *cosine = s->cosine, *sine = s->sine;
    uint32_t left = t->pairs;
    HVX_ROLLED
    for (; left >= 2 * pairs; left -= 2 * pairs, r->x += 2 * bytes, r->y += 2 * bytes) {
        two(r, cosine, sine, distance, left);
        cosine += 2 * pairs;
        sine += 2 * pairs;
    }
    if (left >= pairs) {
        one(r, cosine, sine, distance, left);
        left -= pairs;
        r->x += bytes;
        r->y += bytes;
        cosine += pairs;
        sine += pairs;
    }
    if (left != 0)
        part(r, cosine, sine, distance, left);
}
DEFINE_ROTATES(apart_f32, APART_F32)
DEFINE_ROTATES(neighbours_f32, NEIGHBOURS_F32)
DEFINE_ROTATES(apart_f16, APART_F16)
DEFINE_ROTATES(neighbours_f16, NEIGHBOURS_F16)
#undef DEFINE_ROTATES
#undef DEFINE_ROTATE

void rope_rotate(const struct rope *t, const struct rope_scratch *s, const uint8_t *x, uint8_t *y, uint32_t x_step,
                 uint32_t y_step, uint32_t heads) {
    struct rows rows = {x + t->first, y + t->first, x_step, y_step, heads};
    const bool neighbours = t->params.mode == HTP_ROPE_NORMAL;
    if (t->size == 4)
        (neighbours ? neighbours_f32 : apart_f32)(t, s, &rows);
    else
        (neighbours ? neighbours_f16 : apart_f16)(t, s, &rows);
}
