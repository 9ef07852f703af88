/*
 * Rotation: (a, b) becomes (a cos - b sin, a sin + b cos). For each step of pairs, all heads: cosines and sines stay in
 * registers. NORMAL has pairs side by side; f32 is dealt to vectors of a and of b, f16 comes that way from the
 * conversion. In the other modes a and b are apart. The incomplete step at the end reads and writes its own bytes only.
 */
#include "ops/rope/rope.h"

struct rows {
    const uint8_t *x;
    uint8_t *y;
    uint32_t x_step, y_step, count;
};

struct turned {
    HVX_Vector a, b;
};

/* f32 in, qf32 out */
HVX_INLINE struct turned turn_qf32(HVX_Vector a, HVX_Vector b, HVX_Vector c, HVX_Vector s) {
    return (struct turned){hvx_sub_qf32(hvx_mul_f32_qf32(a, c), hvx_mul_f32_qf32(b, s)),
                           hvx_add_qf32(hvx_mul_f32_qf32(a, s), hvx_mul_f32_qf32(b, c))};
}

HVX_INLINE struct turned turn(HVX_Vector a, HVX_Vector b, HVX_Vector c, HVX_Vector s) {
    const struct turned t = turn_qf32(a, b, c, s);
    return (struct turned){hvx_qf32_to_f32(t.a), hvx_qf32_to_f32(t.b)};
}

/* up to 128 bytes */
HVX_INLINE HVX_Vector load(bool aligned, const uint8_t *p, uint32_t bytes) {
    if (bytes < HVX_BYTES)
        return hvx_load_bytes(p, bytes);
    return aligned ? hvx_load_aligned(p) : hvx_load(p);
}
HVX_INLINE void store(bool aligned, uint8_t *p, uint32_t bytes, HVX_Vector v) {
    if (bytes < HVX_BYTES)
        hvx_store_bytes(p, bytes, v);
    else if (aligned)
        hvx_store_aligned(p, v);
    else
        hvx_store(p, v);
}

/* ---- f32 ---- */

/* up to 32 pairs: bytes of each side */
HVX_INLINE void apart_f32(const struct rows *r, uint32_t first, uint32_t distance, uint32_t bytes, HVX_Vector c,
                          HVX_Vector s, bool aligned) {
    const uint8_t *x = r->x + first;
    uint8_t *y = r->y + first;
    HVX_UNROLL_COUNT(2)
    for (uint32_t h = r->count; h > 0; h--, x += r->x_step, y += r->y_step) {
        const struct turned t = turn(load(aligned, x, bytes), load(aligned, x + distance, bytes), c, s);
        store(aligned, y, bytes, t.a);
        store(aligned, y + distance, bytes, t.b);
    }
}

/* up to 32 pairs: bytes of all, more than 128 in the second vector */
HVX_INLINE void neighbours_f32(const struct rows *r, uint32_t first, uint32_t bytes, HVX_Vector c, HVX_Vector s,
                               bool aligned) {
    const uint32_t low = bytes < HVX_BYTES ? bytes : HVX_BYTES, high = bytes - low;
    const uint8_t *x = r->x + first;
    uint8_t *y = r->y + first;
    HVX_UNROLL_COUNT(2)
    for (uint32_t h = r->count; h > 0; h--, x += r->x_step, y += r->y_step) {
        const HVX_Vector last = high == 0 ? hvx_zero() : load(aligned, x + HVX_BYTES, high);
        const HVX_VectorPair in = hvx_deal_words(load(aligned, x, low), last);
        const struct turned t = turn(Q6_V_lo_W(in), Q6_V_hi_W(in), c, s);
        const HVX_VectorPair out = hvx_interleave_words(t.a, t.b);
        store(aligned, y, low, Q6_V_lo_W(out));
        if (high != 0)
            store(aligned, y + HVX_BYTES, high, Q6_V_hi_W(out));
    }
}

/* ---- f16: rounded once ---- */

/* up to 64 pairs: bytes of each side */
HVX_INLINE void apart_f16(const struct rows *r, uint32_t first, uint32_t distance, uint32_t bytes, const float *c,
                          const float *s) {
    const HVX_Vector c0 = hvx_load_aligned(c), c1 = hvx_load_aligned(c + HVX_WORDS);
    const HVX_Vector s0 = hvx_load_aligned(s), s1 = hvx_load_aligned(s + HVX_WORDS);
    const uint8_t *x = r->x + first;
    uint8_t *y = r->y + first;
    HVX_ROLLED
    for (uint32_t h = r->count; h > 0; h--, x += r->x_step, y += r->y_step) {
        const HVX_VectorPair a = hvx_f16_to_f32_in_order(load(false, x, bytes));
        const HVX_VectorPair b = hvx_f16_to_f32_in_order(load(false, x + distance, bytes));
        const struct turned t0 = turn_qf32(Q6_V_lo_W(a), Q6_V_lo_W(b), c0, s0);
        const struct turned t1 = turn_qf32(Q6_V_hi_W(a), Q6_V_hi_W(b), c1, s1);
        store(false, y, bytes, Q6_Vh_vdeal_Vh(Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(t1.a, t0.a))));
        store(false, y + distance, bytes, Q6_Vh_vdeal_Vh(Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(t1.b, t0.b))));
    }
}

/* up to 32 pairs: bytes of all */
HVX_INLINE void neighbours_f16(const struct rows *r, uint32_t first, uint32_t bytes, HVX_Vector c, HVX_Vector s) {
    const uint8_t *x = r->x + first;
    uint8_t *y = r->y + first;
    HVX_ROLLED
    for (uint32_t h = r->count; h > 0; h--, x += r->x_step, y += r->y_step) {
        const HVX_VectorPair in = hvx_f16_to_f32(load(false, x, bytes));
        const struct turned t = turn_qf32(Q6_V_lo_W(in), Q6_V_hi_W(in), c, s);
        store(false, y, bytes, Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(t.b, t.a)));
    }
}

/* ---- all steps of a row ---- */

static HVX_NOINLINE void rotate_apart_f32(const struct rope *t, const struct rope_scratch *s, const struct rows *r) {
    for (uint32_t i = 0; i < t->pairs; i += HVX_WORDS) {
        const HVX_Vector c = hvx_load_aligned(s->cosine + i), n = hvx_load_aligned(s->sine + i);
        const uint32_t first = t->first + 4 * i, left = t->pairs - i;
        if (left < HVX_WORDS)
            apart_f32(r, first, t->distance, 4 * left, c, n, false);
        else if (t->aligned)
            apart_f32(r, first, t->distance, HVX_BYTES, c, n, true);
        else
            apart_f32(r, first, t->distance, HVX_BYTES, c, n, false);
    }
}

static HVX_NOINLINE void rotate_neighbours_f32(const struct rope *t, const struct rope_scratch *s,
                                               const struct rows *r) {
    for (uint32_t i = 0; i < t->pairs; i += HVX_WORDS) {
        const HVX_Vector c = hvx_load_aligned(s->cosine + i), n = hvx_load_aligned(s->sine + i);
        const uint32_t first = t->first + 8 * i, left = t->pairs - i;
        if (left < HVX_WORDS)
            neighbours_f32(r, first, 8 * left, c, n, false);
        else if (t->aligned)
            neighbours_f32(r, first, 2 * HVX_BYTES, c, n, true);
        else
            neighbours_f32(r, first, 2 * HVX_BYTES, c, n, false);
    }
}

static HVX_NOINLINE void rotate_apart_f16(const struct rope *t, const struct rope_scratch *s, const struct rows *r) {
    for (uint32_t i = 0; i < t->pairs; i += HVX_HALVES) {
        const uint32_t first = t->first + 2 * i, left = t->pairs - i;
        if (left < HVX_HALVES)
            apart_f16(r, first, t->distance, 2 * left, s->cosine + i, s->sine + i);
        else
            apart_f16(r, first, t->distance, HVX_BYTES, s->cosine + i, s->sine + i);
    }
}

static HVX_NOINLINE void rotate_neighbours_f16(const struct rope *t, const struct rope_scratch *s,
                                               const struct rows *r) {
    for (uint32_t i = 0; i < t->pairs; i += HVX_WORDS) {
        const HVX_Vector c = hvx_load_aligned(s->cosine + i), n = hvx_load_aligned(s->sine + i);
        const uint32_t first = t->first + 4 * i, left = t->pairs - i;
        if (left < HVX_WORDS)
            neighbours_f16(r, first, 4 * left, c, n);
        else
            neighbours_f16(r, first, HVX_BYTES, c, n);
    }
}

void rope_rotate(const struct rope *t, const struct rope_scratch *s, const uint8_t *x, uint8_t *y, uint32_t x_step,
                 uint32_t y_step, uint32_t heads) {
    const struct rows rows = {x, y, x_step, y_step, heads};
    const bool neighbours = t->params.mode == HTP_ROPE_NORMAL;
    if (t->size == 4)
        (neighbours ? rotate_neighbours_f32 : rotate_apart_f32)(t, s, &rows);
    else
        (neighbours ? rotate_neighbours_f16 : rotate_apart_f16)(t, s, &rows);
}
