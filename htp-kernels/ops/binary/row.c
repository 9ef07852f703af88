/*
 * Rows of element-wise ops. Elements side by side are read and written as vectors, at any alignment, and not a byte
 * beyond them; all other rows are fetched element by element.
 */
#include "hvx/divide.h"
#include "hvx/half.h"
#include "ops/binary/binary.h"

#define SEGMENT_MIN 32 /* rows of b that repeat within a row of a: shorter ones are fetched by element */
#define MAX_ELEMENT 4  /* bytes */

HVX_INLINE HVX_Vector apply(uint32_t op, HVX_Vector a, HVX_Vector b) {
    switch (op) {
    case HTP_OP_ADD:
        return hvx_add_f32(a, b);
    case HTP_OP_SUB:
        return hvx_sub_f32(a, b);
    case HTP_OP_MUL:
        return hvx_mul_f32(a, b);
    default:
        return hvx_div_f32(a, b);
    }
}

/* ---- f32 ---- */

HVX_INLINE HVX_Vector load(bool aligned, const uint8_t *p) { return aligned ? hvx_load_aligned(p) : hvx_load(p); }

HVX_INLINE void store(bool aligned, uint8_t *p, HVX_Vector v) {
    if (aligned)
        hvx_store_aligned(p, v);
    else
        hvx_store(p, v);
}

/* b: one element for all, in every lane of `every` */
HVX_INLINE HVX_Vector apply_at(uint32_t op, bool one, bool aligned, const uint8_t *a, const uint8_t *b,
                               HVX_Vector every, uint32_t at) {
    return apply(op, load(aligned, a + at * HVX_BYTES), one ? every : load(aligned, b + at * HVX_BYTES));
}

HVX_INLINE void span_f32(uint32_t op, bool one, bool aligned, const uint8_t *a, const uint8_t *b, uint8_t *dst,
                         uint32_t count) {
    const uint32_t rest = count % HVX_WORDS * 4, step = one ? 4 : 8;
    HVX_Vector every = hvx_zero();
    if (one) {
        int32_t word;
        __builtin_memcpy(&word, __builtin_assume_aligned(b, 4), 4);
        every = hvx_splat_i32(word);
    }
    uint32_t vectors = count / HVX_WORDS;
    if (op != HTP_OP_DIV) {
        HVX_ROLLED
        for (uint32_t i = vectors / step; i > 0; i--) {
            /* read before anything is written: dst may be a source, and the compiler has to assume that it is */
            HVX_Vector y[8];
            HVX_UNROLL
            for (uint32_t k = 0; k < step; k++)
                y[k] = apply_at(op, one, aligned, a, b, every, k);
            HVX_UNROLL
            for (uint32_t k = 0; k < step; k++)
                store(aligned, dst + k * HVX_BYTES, y[k]);
            a += step * HVX_BYTES;
            b += one ? 0 : step * HVX_BYTES;
            dst += step * HVX_BYTES;
        }
        vectors %= step;
    }
    HVX_ROLLED
    for (uint32_t i = vectors; i > 0; i--) {
        store(aligned, dst, apply_at(op, one, aligned, a, b, every, 0));
        a += HVX_BYTES;
        b += one ? 0 : HVX_BYTES;
        dst += HVX_BYTES;
    }
    if (rest != 0)
        hvx_store_bytes(dst, rest, apply(op, hvx_load_bytes(a, rest), one ? every : hvx_load_bytes(b, rest)));
}

/*
 * The fast ones are for vector boundaries: `apart` for a dst that shares no memory with a source, so that the compiler
 * may move loads over stores, `onto` for a dst that is a, where it sees by itself that it may.
 */
#define DEFINE_F32(name, op, one)                                                                                  \
    static void name##_apart(const struct binary *t, const uint8_t *restrict a, const uint8_t *restrict b,         \
                             uint8_t *restrict dst, uint32_t count) {                                              \
        (void)t;                                                                                                   \
        span_f32(op, one, true, a, b, dst, count);                                                                 \
    }                                                                                                              \
    static void name##_onto(const struct binary *t, const uint8_t *a, const uint8_t *restrict b,                   \
                            uint8_t *restrict dst, uint32_t count) {                                               \
        (void)t;                                                                                                   \
        (void)a;                                                                                                   \
        span_f32(op, one, true, dst, b, dst, count);                                                               \
    }                                                                                                              \
    static void name##_any(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst,               \
                           uint32_t count) {                                                                       \
        (void)t;                                                                                                   \
        span_f32(op, one, false, a, b, dst, count);                                                                \
    }
DEFINE_F32(add, HTP_OP_ADD, false)
DEFINE_F32(sub, HTP_OP_SUB, false)
DEFINE_F32(mul, HTP_OP_MUL, false)
DEFINE_F32(div, HTP_OP_DIV, false)
DEFINE_F32(add_one, HTP_OP_ADD, true)
DEFINE_F32(sub_one, HTP_OP_SUB, true)
DEFINE_F32(mul_one, HTP_OP_MUL, true)
DEFINE_F32(div_one, HTP_OP_DIV, true)

enum { APART, ONTO, ANY, PLACES };

static binary_span_fn *find_f32(uint32_t op, bool one, uint32_t place) {
    static binary_span_fn *const spans[2][4][PLACES] = {
        {{add_apart, add_onto, add_any},
         {sub_apart, sub_onto, sub_any},
         {mul_apart, mul_onto, mul_any},
         {div_apart, div_onto, div_any}},
        {{add_one_apart, add_one_onto, add_one_any},
         {sub_one_apart, sub_one_onto, sub_one_any},
         {mul_one_apart, mul_one_onto, mul_one_any},
         {div_one_apart, div_one_onto, div_one_any}},
    };
    return spans[one][op - HTP_OP_ADD][place];
}

/* ---- all f16: even and odd elements apart, as the conversions give them ---- */

HVX_INLINE HVX_Vector apply_f16(uint32_t op, HVX_Vector a, HVX_Vector b) {
    const HVX_VectorPair x = hvx_f16_to_f32(a), y = hvx_f16_to_f32(b);
    return hvx_f32_to_f16(apply(op, Q6_V_lo_W(x), Q6_V_lo_W(y)), apply(op, Q6_V_hi_W(x), Q6_V_hi_W(y)));
}

HVX_INLINE HVX_Vector splat_half(const uint8_t *p) {
    uint16_t half;
    __builtin_memcpy(&half, __builtin_assume_aligned(p, 2), 2);
    return Q6_Vh_vsplat_R(half);
}

HVX_INLINE void span_f16(uint32_t op, bool one, const uint8_t *a, const uint8_t *b, uint8_t *dst, uint32_t count) {
    const uint32_t vectors = count / HVX_HALVES, rest = count % HVX_HALVES * 2;
    const HVX_Vector every = one ? splat_half(b) : hvx_zero();
    HVX_ROLLED
    for (uint32_t i = vectors; i > 0; i--) {
        hvx_store(dst, apply_f16(op, hvx_load(a), one ? every : hvx_load(b)));
        a += HVX_BYTES;
        b += one ? 0 : HVX_BYTES;
        dst += HVX_BYTES;
    }
    if (rest != 0)
        hvx_store_bytes(dst, rest, apply_f16(op, hvx_load_bytes(a, rest), one ? every : hvx_load_bytes(b, rest)));
}

#define SPAN_F16_CASE(op)                         \
    case op:                                      \
        if (one)                                  \
            span_f16(op, true, a, b, dst, count); \
        else                                      \
            span_f16(op, false, a, b, dst, count); \
        break;
HVX_INLINE void span_f16_op(const struct binary *t, bool one, const uint8_t *a, const uint8_t *b, uint8_t *dst,
                            uint32_t count) {
    switch (t->op) {
        SPAN_F16_CASE(HTP_OP_ADD)
        SPAN_F16_CASE(HTP_OP_SUB)
        SPAN_F16_CASE(HTP_OP_MUL)
        SPAN_F16_CASE(HTP_OP_DIV)
    default:
        break;
    }
}

static void f16_all(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst, uint32_t count) {
    span_f16_op(t, false, a, b, dst, count);
}

static void f16_one(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst, uint32_t count) {
    span_f16_op(t, true, a, b, dst, count);
}

/* ---- any types: 64 elements at a time, in order; the first `count` of them ---- */

static HVX_VectorPair widen(uint32_t type, HVX_Vector half) {
    return type == HTP_TYPE_F16 ? hvx_f16_to_f32_in_order(half) : hvx_bf16_to_f32(half);
}

static HVX_VectorPair fetch(uint32_t type, const uint8_t *p, uint32_t count) {
    if (type != HTP_TYPE_F32)
        return widen(type, count == HVX_HALVES ? hvx_load(p) : hvx_load_bytes(p, 2 * count));
    const HVX_Vector first = count >= HVX_WORDS ? hvx_load(p) : hvx_load_bytes(p, 4 * count);
    if (count <= HVX_WORDS)
        return Q6_W_vcombine_VV(hvx_zero(), first);
    p += HVX_BYTES;
    return Q6_W_vcombine_VV(count == HVX_HALVES ? hvx_load(p) : hvx_load_bytes(p, 4 * (count - HVX_WORDS)), first);
}

static HVX_VectorPair splat(uint32_t type, const uint8_t *p) {
    if (type != HTP_TYPE_F32)
        return widen(type, splat_half(p));
    int32_t word;
    __builtin_memcpy(&word, __builtin_assume_aligned(p, 4), 4);
    return Q6_W_vcombine_VV(hvx_splat_i32(word), hvx_splat_i32(word));
}

static void put(uint32_t type, uint8_t *p, uint32_t count, HVX_Vector first, HVX_Vector last) {
    if (type == HTP_TYPE_F16) {
        hvx_store_bytes(p, 2 * count, hvx_f32_to_f16_in_order(first, last));
    } else if (type == HTP_TYPE_BF16) {
        hvx_store_bytes(p, 2 * count, hvx_f32_to_bf16(first, last));
    } else {
        hvx_store_bytes(p, 4 * htp_min_u32(count, HVX_WORDS), first);
        if (count > HVX_WORDS)
            hvx_store_bytes(p + HVX_BYTES, 4 * (count - HVX_WORDS), last);
    }
}

static HVX_Vector apply_any(uint32_t op, HVX_Vector a, HVX_Vector b) { return apply(op, a, b); }

HVX_INLINE void span_types(const struct binary *t, bool one, const uint8_t *a, const uint8_t *b, uint8_t *dst,
                           uint32_t count) {
    const uint32_t a_type = t->a->type, b_type = t->b->type, dst_type = t->dst->type;
    const uint32_t a_bytes = htp_type_bytes(a_type), b_bytes = htp_type_bytes(b_type);
    const uint32_t dst_bytes = htp_type_bytes(dst_type);
    HVX_VectorPair y = splat(b_type, b);
    for (uint32_t i = 0, n; i < count; i += n) {
        n = htp_min_u32(count - i, HVX_HALVES);
        const HVX_VectorPair x = fetch(a_type, a + (size_t)i * a_bytes, n);
        if (!one)
            y = fetch(b_type, b + (size_t)i * b_bytes, n);
        put(dst_type, dst + (size_t)i * dst_bytes, n, apply_any(t->op, Q6_V_lo_W(x), Q6_V_lo_W(y)),
            apply_any(t->op, Q6_V_hi_W(x), Q6_V_hi_W(y)));
    }
}

static void types_all(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst, uint32_t count) {
    span_types(t, false, a, b, dst, count);
}

static void types_one(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst, uint32_t count) {
    span_types(t, true, a, b, dst, count);
}

/* ---- elements anywhere ---- */

static void copy_element(uint32_t size, uint8_t *to, const uint8_t *from) {
    if (size == 4)
        __builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), 4);
    else
        __builtin_memcpy(__builtin_assume_aligned(to, 2), __builtin_assume_aligned(from, 2), 2);
}

static void strided_row(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst) {
    uint8_t x[HVX_HALVES * MAX_ELEMENT] __attribute__((aligned(128))) = {0}, y[sizeof(x)] __attribute__((aligned(128)));
    uint8_t z[sizeof(x)] __attribute__((aligned(128)));
    const uint32_t a_size = htp_type_bytes(t->a->type), b_size = htp_type_bytes(t->b->type);
    const uint32_t dst_size = htp_type_bytes(t->dst->type);
    uint32_t b_index = 0;
    for (uint32_t i = 0, count; i < t->dst->ne[0]; i += count) {
        count = htp_min_u32(t->dst->ne[0] - i, HVX_HALVES);
        for (uint32_t k = 0; k < count; k++) {
            copy_element(a_size, x + k * a_size, a + (size_t)(i + k) * t->a->nb[0]);
            copy_element(b_size, y + k * b_size, b + (size_t)b_index * t->b->nb[0]);
            b_index = b_index + 1 == t->b->ne[0] ? 0 : b_index + 1;
        }
        t->span(t, x, y, z, count);
        for (uint32_t k = 0; k < count; k++)
            copy_element(dst_size, dst + (size_t)(i + k) * t->dst->nb[0], z + k * dst_size);
    }
}

void binary_row(const struct binary *t, const uint8_t *a, const uint8_t *b, uint8_t *dst) {
    if (t->segment == 0) {
        strided_row(t, a, b, dst);
        return;
    }
    const uint32_t a_bytes = t->segment * t->a->nb[0], dst_bytes = t->segment * t->dst->nb[0];
    for (uint32_t i = t->dst->ne[0] / t->segment; i > 0; i--) {
        t->span(t, a, b, dst, t->segment);
        a += a_bytes;
        dst += dst_bytes;
    }
}

/* ---- choice ---- */

bool binary_types_fit(const struct htp_view *a, const struct htp_view *b, const struct htp_view *dst) {
    if (a->type == HTP_TYPE_F32)
        return b->type == HTP_TYPE_F32 && dst->type == HTP_TYPE_F32;
    if (a->type != HTP_TYPE_F16 && a->type != HTP_TYPE_BF16)
        return false;
    return b->type == HTP_TYPE_F32 ? dst->type == a->type || dst->type == HTP_TYPE_F32
                                   : b->type == a->type && dst->type == a->type;
}

static bool side_by_side(const struct htp_view *v) { return v->nb[0] == htp_type_bytes(v->type); }

static bool same_memory(const struct htp_view *a, const struct htp_view *b) {
    bool same = a->data == b->data;
    for (uint32_t i = 0; i < HTP_MAX_DIMS; i++)
        same = same && (a->nb[i] == b->nb[i] || a->ne[i] == 1);
    return same;
}

/* f32, rows side by side */
static uint32_t place_of(const struct binary *t, bool one) {
    const bool b_aligned = one || (htp_rows_aligned(t->b) && t->segment % HVX_WORDS == 0) ||
                           (htp_rows_aligned(t->b) && t->segment == t->dst->ne[0]);
    if (!htp_rows_aligned(t->a) || !htp_rows_aligned(t->dst) || !b_aligned || htp_views_overlap(t->b, t->dst))
        return ANY;
    if (same_memory(t->a, t->dst))
        return ONTO;
    return htp_views_overlap(t->a, t->dst) ? ANY : APART;
}

void binary_choose(struct binary *t) {
    const uint32_t length = t->dst->ne[0], b_length = t->b->ne[0];
    bool one = b_length == 1;
    t->segment = one ? length : b_length;
    const bool b_fits = one || (side_by_side(t->b) && (b_length == length || b_length >= SEGMENT_MIN));
    if (!side_by_side(t->a) || !side_by_side(t->dst) || !b_fits) {
        t->segment = 0;
        one = false;
    }
    if (t->dst->type == HTP_TYPE_F32 && t->a->type == HTP_TYPE_F32)
        t->span = find_f32(t->op, one, t->segment == 0 ? ANY : place_of(t, one));
    else if (t->a->type == HTP_TYPE_F16 && t->b->type == HTP_TYPE_F16)
        t->span = one ? f16_one : f16_all;
    else
        t->span = one ? types_one : types_all;
}

void binary_choose_in_vtcm(struct binary *t) {
    const bool one = t->b->ne[0] == 1;
    if (t->a->type == HTP_TYPE_F32) /* parts of rows begin where those of b end */
        t->span = find_f32(t->op, one, t->segment == t->dst->ne[0] || t->segment % HVX_WORDS == 0 ? APART : ANY);
}
