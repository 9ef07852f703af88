/*
 * Softmax of one row in three passes, 64 elements a step.
 *
 *   scores   t = x * scale + mask into `work`, and the largest. Without a mask t is x, which stays where it is.
 *   powers   -2^((t - largest) * factor) into `work`, and their sum
 *   divide   work / sum into y: there the signs are lost
 *
 * No float infinity and no NaN enters float instructions, as the hardware's internal formats have none: where the mask
 * is -infinity, a large negative number is added instead. It drowns every score, and the power is exactly zero. That
 * holds for rows whose scores are within the limit of the head; the first pass also looks for values beyond it, and for
 * infinities and NaN, in the upper halves of the bits. A row that has them gets its scores from exact.c instead.
 *
 * Rows of at most ORDERED_MOST elements without a mask get powers to the last places of f32: experts are chosen by what
 * comes out, and the powers of other rows, 3e-5 off, would change the order of neighbours.
 *
 * The same for vectors at any address and, with half the memory instructions, for rows that lie on 128-byte boundaries.
 */
#include <float.h>

#include "hvx/exact.h"
#include "ops/softmax/softmax.h"

#define MASKED (-65504.0f * 65504.0f) /* what stands for -infinity in a mask, in units of the slope */
#define ALL_MASKED -2.5e9f            /* a largest score below this: nothing but masked elements */
#define ORDERED_MOST 512              /* no model has more experts */
#define SUM_BLOCKS 64                 /* blocks that are added up before their sum goes to the sum of the row */

#define NO_MASK 0
#define MASK_F16 1
#define MASK_F32 2

/* ---- memory ---- */

HVX_INLINE HVX_Vector load(bool aligned, const uint8_t *p) { return aligned ? hvx_load_aligned(p) : hvx_load(p); }
HVX_INLINE void store(bool aligned, uint8_t *p, HVX_Vector v) {
    if (aligned)
        hvx_store_aligned(p, v);
    else
        hvx_store(p, v);
}

/* NULL is */
HVX_INLINE bool are_aligned(const void *p, const void *q, const void *r) {
    return ((uintptr_t)p | (uintptr_t)q | (uintptr_t)r) % HVX_BYTES == 0;
}

/* one of the two vectors of an incomplete block, 1..63 elements; zero behind the end */
HVX_INLINE HVX_Vector load_tail(const uint8_t *p, uint32_t elements, uint32_t index) {
    const uint32_t before = index * HVX_WORDS;
    if (elements <= before)
        return hvx_zero();
    p += index * HVX_BYTES;
    return elements - before >= HVX_WORDS ? hvx_load(p) : hvx_load_bytes(p, 4 * (elements - before));
}

/* which lanes of that vector are elements */
HVX_INLINE HVX_VectorPred tail_lanes(uint32_t elements, uint32_t index) {
    const uint32_t before = index * HVX_WORDS;
    if (elements <= before)
        return Q6_Q_vsetq_R(0);
    return Q6_Q_vsetq2_R((int32_t)(4 * htp_min_u32(elements - before, HVX_WORDS)));
}

/* ---- pass 1 ---- */

struct state {
    HVX_Vector largest[2];
    HVX_Vector range;      /* of x: largest upper half-words, without sign */
    HVX_Vector mask_range; /* of finite mask elements, likewise */
};

/* The largest of upper half-words, shifted left by one: the sign is gone, exponents and first places are compared. */
HVX_INLINE HVX_Vector widen_range(HVX_Vector range, HVX_Vector halves) {
    return Q6_Vuh_vmax_VuhVuh(range, Q6_Vh_vadd_VhVh(halves, halves));
}
HVX_INLINE HVX_Vector widen_range_f32(HVX_Vector range, HVX_Vector a, HVX_Vector b) {
    return widen_range(range, Q6_Vh_vshuffo_VhVh(b, a));
}
#define RANGE_FINITE_F16 0xf7ffu    /* f16 */
#define RANGE_MASK_F32 0x9cdcu      /* f32 1e9 */

struct pair {
    HVX_Vector first, last;
};

/* mask: f16 in order */
HVX_INLINE struct pair add_mask_f16(struct state *s, HVX_Vector a, HVX_Vector b, HVX_Vector mask) {
    const HVX_Vector infinity = Q6_Vh_vsplat_R(0xfc00), lowest = Q6_Vh_vsplat_R(0xfbff);
    const HVX_Vector highest = Q6_Vh_vsplat_R(0x7bff);
    const HVX_Vector h = Q6_Vh_vshuff_Vh(mask);
    const HVX_VectorPred masked = Q6_Q_vcmp_eq_VhVh(h, infinity);
    const HVX_Vector value = Q6_V_vmux_QVV(masked, lowest, h);
    const HVX_VectorPair m = hvx_mul_f16_qf32(value, Q6_V_vmux_QVV(masked, highest, hvx_splat_i32(HVX_HALF_ONE)));
    s->mask_range = widen_range(s->mask_range, value);
    const struct pair t = {hvx_qf32_to_f32(hvx_add_qf32(a, Q6_V_lo_W(m))),
                           hvx_qf32_to_f32(hvx_add_qf32(b, Q6_V_hi_W(m)))};
    return t;
}

HVX_INLINE struct pair add_mask_f32(struct state *s, HVX_Vector a, HVX_Vector b, HVX_Vector m, HVX_Vector n) {
    const HVX_Vector infinity = hvx_splat_i32((int32_t)0xff800000u), low = hvx_splat_f32(MASKED), zero = hvx_zero();
    const HVX_VectorPred first = Q6_Q_vcmp_eq_VwVw(m, infinity), last = Q6_Q_vcmp_eq_VwVw(n, infinity);
    s->mask_range = widen_range_f32(s->mask_range, Q6_V_vmux_QVV(first, zero, m), Q6_V_vmux_QVV(last, zero, n));
    const struct pair t = {hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(a, Q6_V_vmux_QVV(first, low, m))),
                           hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(b, Q6_V_vmux_QVV(last, low, n)))};
    return t;
}

/* scores of a block; m, n: its mask (n: f32 only) */
HVX_INLINE struct pair score(struct state *s, uint32_t kind, HVX_Vector x0, HVX_Vector x1, HVX_Vector m, HVX_Vector n,
                             HVX_Vector scale) {
    struct pair t = {x0, x1};
    s->range = widen_range_f32(s->range, x0, x1);
    if (kind == MASK_F16)
        t = add_mask_f16(s, hvx_mul_f32_qf32(x0, scale), hvx_mul_f32_qf32(x1, scale), m);
    if (kind == MASK_F32)
        t = add_mask_f32(s, hvx_mul_f32_qf32(x0, scale), hvx_mul_f32_qf32(x1, scale), m, n);
    return t;
}

HVX_INLINE void keep_largest(struct state *s, struct pair t) {
    s->largest[0] = Q6_Vsf_vmax_VsfVsf(s->largest[0], t.first);
    s->largest[1] = Q6_Vsf_vmax_VsfVsf(s->largest[1], t.last);
}

HVX_INLINE uint32_t lane_0(HVX_Vector v) {
    uint32_t words[HVX_WORDS] __attribute__((aligned(128)));
    hvx_store_aligned((uint8_t *)words, v);
    return words[0];
}

/* not zero where a range is above its limit */
HVX_INLINE HVX_Vector beyond(HVX_Vector range, uint32_t limit) {
    const HVX_Vector l = Q6_Vh_vsplat_R((int32_t)limit);
    return Q6_V_vxor_VV(Q6_Vuh_vmax_VuhVuh(range, l), l);
}

HVX_INLINE bool any_bit(HVX_Vector v) {
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        v = Q6_V_vor_VV(v, Q6_V_vror_VR(v, bytes));
    return lane_0(v) != 0;
}

/*
 * The whole blocks. x and mask are not what is written, and the restrict of functions that are not inlined (below)
 * tells the compiler so: blocks overlap in the schedule, which doubles the speed.
 */
HVX_INLINE void block_scores(const uint8_t *restrict x, const uint8_t *restrict mask, uint8_t *restrict work,
                             uint32_t blocks, HVX_Vector scale, struct state *state, uint32_t kind, bool aligned) {
    const uint32_t mask_bytes = kind == MASK_F16 ? HVX_BYTES : 2 * HVX_BYTES;
    struct state s = *state;
    HVX_UNROLL_COUNT(8)
    for (uint32_t i = 0; i < blocks; i++) {
        const uint8_t *from = x + 2 * HVX_BYTES * i, *m = mask + mask_bytes * i;
        uint8_t *to = work + 2 * HVX_BYTES * i;
        const HVX_Vector m0 = kind == NO_MASK ? hvx_zero() : load(aligned, m);
        const HVX_Vector m1 = kind == MASK_F32 ? load(aligned, m + HVX_BYTES) : hvx_zero();
        const struct pair t = score(&s, kind, load(aligned, from), load(aligned, from + HVX_BYTES), m0, m1, scale);
        keep_largest(&s, t);
        if (kind != NO_MASK) {
            store(aligned, to, t.first);
            store(aligned, to + HVX_BYTES, t.last);
        }
    }
    *state = s;
}

/* the incomplete block; lanes behind its end get the lowest score */
HVX_INLINE void tail_scores(const uint8_t *x, const uint8_t *mask, uint32_t elements, HVX_Vector scale, struct state *s,
                            uint32_t kind, HVX_Vector *out) {
    const HVX_Vector lowest = hvx_splat_f32(-FLT_MAX);
    HVX_Vector m = hvx_zero(), n = hvx_zero();
    if (kind == MASK_F16)
        m = hvx_load_bytes(mask, 2 * elements);
    if (kind == MASK_F32) {
        m = load_tail(mask, elements, 0);
        n = load_tail(mask, elements, 1);
    }
    const struct pair t = score(s, kind, load_tail(x, elements, 0), load_tail(x, elements, 1), m, n, scale);
    const struct pair inside = {Q6_V_vmux_QVV(tail_lanes(elements, 0), t.first, lowest),
                                Q6_V_vmux_QVV(tail_lanes(elements, 1), t.last, lowest)};
    keep_largest(s, inside);
    out[0] = inside.first;
    out[1] = inside.last;
}

/* all elements; false: the row is not for this file */
HVX_INLINE bool scores(const uint8_t *restrict x, const uint8_t *restrict mask, uint8_t *restrict work,
                       uint32_t elements, const struct softmax_head *head, struct softmax_scores *out, uint32_t kind,
                       bool aligned) {
    const HVX_Vector scale = hvx_splat_f32(head->unit_scale), lowest = hvx_splat_f32(-FLT_MAX);
    const uint32_t blocks = elements / SOFTMAX_BLOCK, rest = elements % SOFTMAX_BLOCK;
    struct state s = {{lowest, lowest}, hvx_zero(), hvx_zero()};
    if (blocks != 0)
        block_scores(x, mask, work, blocks, scale, &s, kind, aligned);
    if (rest != 0) {
        const size_t done = (size_t)blocks * 2 * HVX_BYTES, mask_done = kind == MASK_F16 ? done / 2 : done;
        tail_scores(x + done, kind == NO_MASK ? NULL : mask + mask_done, rest, scale, &s, kind, out->tail);
    }
    HVX_Vector largest = Q6_Vsf_vmax_VsfVsf(s.largest[0], s.largest[1]);
    if (head->has_sink)
        largest = Q6_Vsf_vmax_VsfVsf(largest, hvx_splat_f32(head->unit_sink));
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2)
        largest = Q6_Vsf_vmax_VsfVsf(largest, Q6_V_vror_VR(largest, bytes));
    out->largest = largest;
    HVX_Vector bad = beyond(s.range, head->limit);
    if (kind == NO_MASK)
        return !any_bit(bad);
    bad = Q6_V_vor_VV(bad, beyond(s.mask_range, kind == MASK_F16 ? RANGE_FINITE_F16 : RANGE_MASK_F32));
    /* below zero a lower float has larger bits */
    return !any_bit(bad) && lane_0(largest) <= (uint32_t)hvx_f32_bits(ALL_MASKED);
}

#define DEFINE_SCORES(name, kind, aligned)                                                                            \
    static HVX_NOINLINE bool name(const uint8_t *restrict x, const uint8_t *restrict mask, uint8_t *restrict work,   \
                                  uint32_t elements, const struct softmax_head *head, struct softmax_scores *out) {  \
        return scores(x, mask, work, elements, head, out, kind, aligned);                                             \
    }
DEFINE_SCORES(scores_plain, NO_MASK, false)
DEFINE_SCORES(scores_plain_aligned, NO_MASK, true)
DEFINE_SCORES(scores_f16, MASK_F16, false)
DEFINE_SCORES(scores_f16_aligned, MASK_F16, true)
DEFINE_SCORES(scores_f32, MASK_F32, false)
DEFINE_SCORES(scores_f32_aligned, MASK_F32, true)
#undef DEFINE_SCORES

/* ---- pass 2 ---- */

/* largest: f32, factor: qf32, both in all lanes */
HVX_INLINE HVX_Vector exponent(HVX_Vector t, HVX_Vector largest, HVX_Vector factor) {
    const HVX_Vector product = hvx_mul_qf32(Q6_Vqf32_vsub_VsfVsf(t, largest), factor);
    return hvx_qf32_to_f32(Q6_Vqf32_vadd_Vqf32Vsf(product, hvx_splat_f32(HVX_EXP2_OFFSET)));
}

/* all powers with a minus */
HVX_INLINE HVX_VectorPair power(HVX_Vector t0, HVX_Vector t1, HVX_Vector largest, HVX_Vector factor) {
    return hvx_minus_exp2_255(exponent(t0, largest, factor), exponent(t1, largest, factor));
}

/* the same to the last places */
HVX_INLINE HVX_VectorPair ordered_power(HVX_Vector t0, HVX_Vector t1, HVX_Vector largest, HVX_Vector factor) {
    const HVX_Vector sign = hvx_splat_i32(INT32_MIN);
    const HVX_Vector u = hvx_qf32_to_f32(hvx_mul_qf32(Q6_Vqf32_vsub_VsfVsf(largest, t0), factor));
    const HVX_Vector v = hvx_qf32_to_f32(hvx_mul_qf32(Q6_Vqf32_vsub_VsfVsf(largest, t1), factor));
    return Q6_W_vcombine_VV(Q6_V_vxor_VV(hvx_exp2_minus_exact(v), sign), Q6_V_vxor_VV(hvx_exp2_minus_exact(u), sign));
}

/* Whole blocks, from t or in place from work; their sum, in qf32. Functions of their own as above. */
HVX_INLINE HVX_Vector powers(const uint8_t *restrict t, uint8_t *restrict work, uint32_t blocks, HVX_Vector largest,
                             HVX_Vector factor, bool in_place, bool aligned) {
    HVX_Vector first = hvx_zero(), last = hvx_zero();
    HVX_UNROLL_COUNT(8)
    for (uint32_t i = 0; i < blocks; i++) {
        uint8_t *to = work + 2 * HVX_BYTES * i;
        const uint8_t *from = in_place ? to : t + 2 * HVX_BYTES * i;
        const HVX_VectorPair p = power(load(aligned, from), load(aligned, from + HVX_BYTES), largest, factor);
        first = Q6_Vqf32_vadd_Vqf32Vsf(first, Q6_V_lo_W(p));
        last = Q6_Vqf32_vadd_Vqf32Vsf(last, Q6_V_hi_W(p));
        store(aligned, to, Q6_V_lo_W(p));
        store(aligned, to + HVX_BYTES, Q6_V_hi_W(p));
    }
    return hvx_add_qf32(first, last);
}

typedef HVX_Vector powers_fn(const uint8_t *restrict t, uint8_t *restrict work, uint32_t blocks, HVX_Vector largest,
                             HVX_Vector factor);
#define POWERS(name, in_place, aligned)                                                                               \
    static HVX_NOINLINE HVX_Vector name(const uint8_t *restrict t, uint8_t *restrict work, uint32_t blocks,          \
                                        HVX_Vector largest, HVX_Vector factor) {                                     \
        return powers(t, work, blocks, largest, factor, in_place, aligned);                                          \
    }
POWERS(powers_any, false, false)
POWERS(powers_aligned, false, true)
POWERS(powers_in_place, true, false)
POWERS(powers_in_place_aligned, true, true)
#undef POWERS

/* of few blocks; t may be work */
static HVX_NOINLINE HVX_Vector ordered_powers(const uint8_t *t, uint8_t *work, uint32_t blocks, HVX_Vector largest,
                                              HVX_Vector factor) {
    HVX_Vector sum = hvx_zero();
    for (uint32_t i = 0; i < blocks; i++, t += 2 * HVX_BYTES, work += 2 * HVX_BYTES) {
        const HVX_VectorPair p = ordered_power(hvx_load(t), hvx_load(t + HVX_BYTES), largest, factor);
        sum = hvx_add_qf32(sum, Q6_Vqf32_vadd_VsfVsf(Q6_V_lo_W(p), Q6_V_hi_W(p)));
        hvx_store(work, Q6_V_lo_W(p));
        hvx_store(work + HVX_BYTES, Q6_V_hi_W(p));
    }
    return sum;
}

/* The whole blocks of a row. Sums of many terms are made of sums of few, so that rounding does not add up. */
static HVX_Vector all_powers(const uint8_t *t, uint8_t *work, uint32_t blocks, HVX_Vector largest, HVX_Vector factor) {
    const bool aligned = are_aligned(t, work, NULL);
    powers_fn *const apart = aligned ? powers_aligned : powers_any;
    powers_fn *const run = t != work ? apart : aligned ? powers_in_place_aligned : powers_in_place;
    HVX_Vector total = hvx_zero();
    for (uint32_t count; blocks > 0; blocks -= count) {
        count = htp_min_u32(blocks, SUM_BLOCKS);
        total = hvx_add_qf32(total, run(t, work, count, largest, factor));
        t += 2 * HVX_BYTES * count;
        work += 2 * HVX_BYTES * count;
    }
    return total;
}

/* ---- pass 3 ---- */

HVX_INLINE void multiply(const uint8_t *restrict from, uint8_t *restrict to, uint32_t vectors, HVX_Vector factor,
                         bool in_place, bool aligned) {
    HVX_UNROLL_COUNT(8)
    for (uint32_t i = 0; i < vectors; i++) {
        uint8_t *target = to + (size_t)HVX_BYTES * i;
        const HVX_Vector v = load(aligned, in_place ? target : from + (size_t)HVX_BYTES * i);
        store(aligned, target, hvx_mul_f32(v, factor));
    }
}

static HVX_NOINLINE void multiply_any(const uint8_t *restrict from, uint8_t *restrict to, uint32_t vectors,
                                      HVX_Vector factor) {
    multiply(from, to, vectors, factor, false, false);
}
static HVX_NOINLINE void multiply_aligned(const uint8_t *restrict from, uint8_t *restrict to, uint32_t vectors,
                                          HVX_Vector factor) {
    multiply(from, to, vectors, factor, false, true);
}
static HVX_NOINLINE void multiply_in_place(uint8_t *to, uint32_t vectors, HVX_Vector factor) {
    multiply(NULL, to, vectors, factor, true, false);
}

static void multiply_all(const uint8_t *from, uint8_t *to, uint32_t vectors, HVX_Vector factor) {
    if (from == to)
        multiply_in_place(to, vectors, factor);
    else if (are_aligned(from, to, NULL))
        multiply_aligned(from, to, vectors, factor);
    else
        multiply_any(from, to, vectors, factor);
}

/* ---- the row ---- */

static void store_tail(uint8_t *to, uint32_t elements, HVX_Vector first, HVX_Vector last) {
    hvx_store_bytes(to, 4 * htp_min_u32(elements, HVX_WORDS), first);
    if (elements > HVX_WORDS)
        hvx_store_bytes(to + HVX_BYTES, 4 * (elements - HVX_WORDS), last);
}

static void fill(const struct softmax_row *r, HVX_Vector value) {
    uint8_t *y = r->y;
    for (uint32_t i = r->elements / HVX_WORDS; i > 0; i--, y += HVX_BYTES)
        hvx_store(y, value);
    if (r->elements % HVX_WORDS != 0)
        hvx_store_bytes(y, r->elements % HVX_WORDS * 4, value);
}

static bool fast_scores(const struct softmax_row *r, const struct softmax_head *head, struct softmax_scores *s) {
    /* the scores would overwrite x, which exact.c may need yet */
    if (!head->plain || (r->mask != NULL && r->work == r->x))
        return false;
    const bool aligned = are_aligned(r->x, r->work, r->mask);
    if (r->mask == NULL)
        return (aligned ? scores_plain_aligned : scores_plain)(r->x, r->mask, r->work, r->elements, head, s);
    if (head->mask_is_f16)
        return (aligned ? scores_f16_aligned : scores_f16)(r->x, r->mask, r->work, r->elements, head, s);
    return (aligned ? scores_f32_aligned : scores_f32)(r->x, r->mask, r->work, r->elements, head, s);
}

/* Passes 2 and 3. t: scores of the whole blocks; factor: from their unit to powers of two; sink: in the same unit. */
HVX_INLINE void finish(const struct softmax_row *r, const struct softmax_head *head, const struct softmax_scores *s,
                       const uint8_t *t, float factor, float sink, bool ordered) {
    const HVX_Vector factor_q = hvx_f32_to_qf32(hvx_splat_f32(factor));
    const uint32_t blocks = r->elements / SOFTMAX_BLOCK, rest = softmax_tail(r);
    HVX_Vector sum = (ordered ? ordered_powers : all_powers)(t, r->work, blocks, s->largest, factor_q);
    HVX_VectorPair tail = Q6_W_vcombine_VV(hvx_zero(), hvx_zero());
    if (rest != 0) {
        tail = (ordered ? ordered_power : power)(s->tail[0], s->tail[1], s->largest, factor_q);
        const HVX_Vector first = Q6_V_vand_QV(tail_lanes(rest, 0), Q6_V_lo_W(tail));
        const HVX_Vector last = Q6_V_vand_QV(tail_lanes(rest, 1), Q6_V_hi_W(tail));
        sum = hvx_add_qf32(sum, Q6_Vqf32_vadd_VsfVsf(first, last));
    }
    sum = hvx_sum_qf32(sum);
    if (head->has_sink) {
        const HVX_Vector t0 = hvx_splat_f32(sink);
        sum = hvx_add_f32(sum, Q6_V_lo_W((ordered ? ordered_power : power)(t0, t0, s->largest, factor_q)));
    }
    const HVX_Vector sign = hvx_splat_i32(INT32_MIN);
    const HVX_Vector inverse = Q6_V_vxor_VV(hvx_reciprocal_f32(Q6_V_vxor_VV(sum, sign)), sign);
    multiply_all(r->work, r->y, 2 * blocks, inverse);
    if (rest != 0)
        store_tail(r->y + (size_t)blocks * 2 * HVX_BYTES, rest, hvx_mul_f32(Q6_V_lo_W(tail), inverse),
                   hvx_mul_f32(Q6_V_hi_W(tail), inverse));
}

/* apart from the rest, whose code it would slow down */
static HVX_NOINLINE void finish_ordered(const struct softmax_row *r, const struct softmax_head *head,
                                        const struct softmax_scores *s, const uint8_t *t, float factor, float sink) {
    finish(r, head, s, t, factor, sink, true);
}

void softmax_row(const struct softmax_row *r, const struct softmax_head *head) {
    struct softmax_scores s = {{hvx_zero(), hvx_zero()}, hvx_zero()};
    float factor = head->unit_factor, sink = head->unit_sink;
    const uint8_t *t = r->mask != NULL ? r->work : r->x;
    if (!fast_scores(r, head, &s)) {
        if (!softmax_exact_scores(r, head, &s)) {
            fill(r, hvx_splat_i32(0x7fc00000));
            return;
        }
        factor = SOFTMAX_LOG2E;
        sink = head->sink < -FLT_MAX ? -FLT_MAX : head->sink;
        t = r->work;
    }
    if (r->mask == NULL && r->elements <= ORDERED_MOST)
        finish_ordered(r, head, &s, t, factor, sink);
    else
        finish(r, head, &s, t, factor, sink, false);
}
