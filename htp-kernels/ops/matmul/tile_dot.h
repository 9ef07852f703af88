/*
 * Dot products of quantised column tiles with quantised activation rows. TILE_DOT_KERNELS instantiates them for a type
 * (q4_0.c and its neighbours).
 *
 * Weight rows (outputs) stay in lanes: a weight vector is the vector operand of vrmpy as it is stored, the activation
 * bytes sit in scalar registers, 8 of them (one double word) for one 4-bit vector. Nothing is reduced across lanes, so
 * a short K costs no more than a long one.
 *
 *   zero point   weights are unsigned; the accumulator starts at -zero * sum(activations) of the block
 *   nibbles      MXFP4, IQ4_NL: looked up. Others, GEMV: high nibbles masked but not shifted, in an accumulator of
 *                their own, which vasracc adds at the end of the block (exact: it is a multiple of 16). GEMM: shifted
 *                once for all rows
 *   scales       f16 weight scales of two blocks become two f32 vectors at once; an exponent byte (MXFP4) moves to its
 *                place in an f32. Times the row's f32 scale. Then one multiplication and one addition for a block. Sums
 *                stay in qf32 until the end
 *   minima       Q4_1: times scale * sum(activations) of the block, one more multiplication and addition
 *
 * GEMV: 1 activation row, several column tiles a pass share the activation loads.
 * GEMM: 2 to 4 activation rows, a column tile a pass: loads and unpacking of weights are shared by the rows.
 *
 * The float part of a block is done one block late in GEMV, beside the integer part of the next: it hides the latency
 * of the conversions. All loops over tiles, rows and groups have constant counts and are unrolled.
 */
#ifndef MATMUL_TILE_DOT_H
#define MATMUL_TILE_DOT_H

#include "ops/matmul/kernels.h"
#include "ops/matmul/matmul.h"

#define TILE_DOT_STEPS 4 /* of 8 k in a block */
#ifndef TMAJOR
#define TMAJOR 0
#endif
#ifndef INTER
#define INTER 0
#endif
#ifndef NOTLATE
#define NOTLATE 0
#endif
#ifndef MINPOS
#define MINPOS 4
#endif

/* A double word of activation bytes. */
typedef int64_t tile_dot_bytes __attribute__((may_alias));
typedef const struct activation_record __attribute__((may_alias)) *tile_dot_records;

/* ---- nibbles ---- */

/*
 * Tables for vlut32, entry i in byte 2i. Its index is the low 5 bits of a byte: with a low nibble the lowest bit of the
 * high one comes along, so the 16 entries are there twice. Values have the type's zero added.
 */
#define TILE_DOT_16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    a, 0, b, 0, c, 0, d, 0, e, 0, f, 0, g, 0, h, 0, i, 0, j, 0, k, 0, l, 0, m, 0, n, 0, o, 0, p, 0
/* 2 * (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives) */
#define TILE_DOT_MXFP4 TILE_DOT_16(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0)
/* -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 */
#define TILE_DOT_IQ4_NL TILE_DOT_16(0, 23, 44, 62, 78, 92, 105, 117, 128, 140, 152, 165, 180, 196, 216, 240)
static const uint8_t tile_dot_mxfp4[HVX_BYTES] __attribute__((aligned(128))) = {TILE_DOT_MXFP4, TILE_DOT_MXFP4};
static const uint8_t tile_dot_iq4_nl[HVX_BYTES] __attribute__((aligned(128))) = {TILE_DOT_IQ4_NL, TILE_DOT_IQ4_NL};

HVX_INLINE bool tile_dot_has_table(uint32_t type) { return type == HTP_TYPE_MXFP4 || type == HTP_TYPE_IQ4_NL; }

/* anything for types without a table */
HVX_INLINE HVX_Vector tile_dot_table(uint32_t type) {
    if (!tile_dot_has_table(type))
        return hvx_zero();
    return *(const HVX_Vector *)(const void *)(type == HTP_TYPE_MXFP4 ? tile_dot_mxfp4 : tile_dot_iq4_nl);
}

HVX_INLINE HVX_Vector tile_dot_low(uint32_t type, HVX_Vector v, HVX_Vector table) {
    return tile_dot_has_table(type) ? Q6_Vb_vlut32_VbVbR_nomatch(v, table, 0)
                                    : Q6_V_vand_VV(v, Q6_Vb_vsplat_R(0x0f));
}

HVX_INLINE HVX_Vector tile_dot_high(uint32_t type, HVX_Vector v, HVX_Vector table) {
    const HVX_Vector nibbles = Q6_Vub_vlsr_VubR(v, 4);
    return tile_dot_has_table(type) ? Q6_Vb_vlut32_VbVbR_nomatch(nibbles, table, 0) : nibbles;
}

/* ---- scales ---- */

/* What the scale vectors of a group hold; which member is used depends on the type. */
struct tile_dot_scales {
    HVX_VectorPair pair, minima; /* qf32 */
    HVX_Vector exponents;        /* MXFP4: bytes */
};

/* factor: f16, of the even and the odd block */
HVX_INLINE void tile_dot_load_scales(uint32_t type, const HVX_Vector *v, HVX_Vector factor, struct tile_dot_scales *s) {
    if (type == HTP_TYPE_MXFP4) {
        s->exponents = v[0];
        return;
    }
    s->pair = hvx_mul_f16_qf32(v[0], factor);
    if (type == HTP_TYPE_Q4_1)
        s->minima = hvx_mul_f16_qf32(v[1], hvx_splat_i32(HVX_HALF_ONE));
}

HVX_INLINE bool tile_dot_narrow(uint32_t type, bool wide) { return !wide && type != HTP_TYPE_MXFP4; }

HVX_INLINE HVX_Vector tile_dot_factor(uint32_t type, bool wide, tile_dot_records record) {
    return hvx_splat_i32(tile_dot_narrow(type, wide) ? (int32_t)record->halves : HVX_HALF_ONE);
}

HVX_INLINE HVX_Vector tile_dot_half(HVX_VectorPair pair, int b) {
    return hvx_qf32_to_f32(b ? Q6_V_hi_W(pair) : Q6_V_lo_W(pair));
}

/*
 * The weights' scales of block b of a group, f32. MXFP4: ggml's rule is 2^(byte - 128) for every byte, with a table of
 * doubled values. Here it is 2^(byte - 127), and the row's scale has the half: so the byte is the exponent field as it
 * is, but for 0, a subnormal, and 255, which an f32 does not reach; the largest f32 is within rounding of it.
 */
HVX_INLINE HVX_Vector tile_dot_weight_scale(uint32_t type, const struct tile_dot_scales *s, int b) {
    if (type != HTP_TYPE_MXFP4)
        return tile_dot_half(s->pair, b);
    const HVX_Vector word = s->exponents;
    const HVX_Vector moved = b == 3 ? Q6_Vuw_vlsr_VuwR(word, 1) : Q6_Vw_vasl_VwR(word, 23 - 8 * b);
    const HVX_Vector e = Q6_V_vand_VV(moved, hvx_splat_i32(0x7f800000));
    const HVX_Vector at_least = Q6_Vw_vmax_VwVw(e, hvx_splat_i32(0x00400000));
    return Q6_Vw_vmin_VwVw(at_least, hvx_splat_i32(0x7f7fffff));
}

HVX_INLINE HVX_Vector tile_dot_start(uint32_t type, tile_dot_records record, int half) {
    return type == HTP_TYPE_Q4_1 ? hvx_zero() : hvx_splat_i32(record->start[half]);
}

HVX_INLINE HVX_Vector tile_dot_add(HVX_Vector sum, HVX_Vector dot, HVX_Vector scale) {
    return hvx_add_qf32(sum, hvx_mul_f32_qf32(hvx_i32_to_f32(dot), scale));
}

HVX_INLINE HVX_Vector tile_dot_add_minimum(HVX_Vector sum, HVX_Vector minimum, tile_dot_records record, int half) {
    return hvx_add_qf32(sum, hvx_mul_f32_qf32(minimum, hvx_splat_f32(record->scaled_sum[half])));
}

/* ---- GEMV ---- */

struct gemv_sum {
    HVX_Vector sum;        /* qf32 */
    HVX_Vector dot, scale; /* of a block that sum does not hold yet: i32, f32 */
};

/* 8 k of a tile: low, high are the accumulators (high: 16 times its value) */
HVX_INLINE void gemv_step(uint32_t type, const HVX_Vector *x, int g, int64_t a, HVX_Vector table, HVX_Vector *low,
                          HVX_Vector *high) {
    const int32_t a0 = (int32_t)a, a1 = (int32_t)(a >> 32);
    if (type == HTP_TYPE_Q8_0) {
        *low = Q6_Vw_vrmpyacc_VwVubRb(*low, x[2 * g], a0);
        *low = Q6_Vw_vrmpyacc_VwVubRb(*low, x[2 * g + 1], a1);
        return;
    }
    const HVX_Vector lower = tile_dot_low(type, x[g], table);
    *low = type == HTP_TYPE_Q4_1 && g == 0 ? Q6_Vw_vrmpy_VubRb(lower, a0) : Q6_Vw_vrmpyacc_VwVubRb(*low, lower, a0);
    if (tile_dot_has_table(type)) {
        *low = Q6_Vw_vrmpyacc_VwVubRb(*low, tile_dot_high(type, x[g], table), a1);
        return;
    }
    const HVX_Vector upper = Q6_V_vand_VV(x[g], Q6_Vb_vsplat_R(0xf0));
    *high = g == 0 ? Q6_Vw_vrmpy_VubRb(upper, a1) : Q6_Vw_vrmpyacc_VwVubRb(*high, upper, a1);
}

/* A block of n tiles. Quants at w[t] + at; b: its place in the scales; half: in the record. */
HVX_INLINE void gemv_block(uint32_t type, bool wide, int n, const HVX_Vector *const *w, int at,
                           const struct tile_dot_scales *scales, int b, const tile_dot_bytes *q,
                           tile_dot_records record, int half, HVX_Vector table, struct gemv_sum *s) {
    const bool narrow = tile_dot_narrow(type, wide);
    const HVX_Vector start = tile_dot_start(type, record, half);
    const HVX_Vector row_scale = narrow ? hvx_zero() : hvx_splat_f32(record->scale[half]);
#if INTER
    HVX_Vector lows[4], highs[4];
    HVX_UNROLL
    for (int t = 0; t < n; t++)
        lows[t] = start;
    HVX_UNROLL
    for (int g = 0; g < TILE_DOT_STEPS; g++)
        HVX_UNROLL
        for (int t = 0; t < n; t++)
            gemv_step(type, w[t] + at, g, q[g], table, &lows[t], &highs[t]);
#endif
    HVX_UNROLL
    for (int t = 0; t < n; t++) {
        HVX_Vector low = start, high = hvx_zero();
#if SCF
        HVX_Vector nsc = tile_dot_weight_scale(type, &scales[t], b);
        if (!narrow)
            nsc = hvx_mul_f32(nsc, row_scale);
#endif
#if SCF==2
        s[t].sum = tile_dot_add(s[t].sum, s[t].dot, s[t].scale);
#endif
#if INTER
        low = lows[t]; high = highs[t];
#else
        HVX_UNROLL
        for (int g = 0; g < TILE_DOT_STEPS; g++)
            gemv_step(type, w[t] + at, g, q[g], table, &low, &high);
#endif
        if (type == HTP_TYPE_Q4_0 || type == HTP_TYPE_Q4_1)
            low = Q6_Vw_vasracc_VwVwR(low, high, 4);
#if NOTLATE
        HVX_Vector sc = tile_dot_weight_scale(type, &scales[t], b);
        if (!narrow)
            sc = hvx_mul_f32(sc, row_scale);
        s[t].sum = tile_dot_add(s[t].sum, low, sc);
        continue;
#endif
#if SCF==2
        s[t].dot = low;
        s[t].scale = nsc;
        continue;
#endif
        s[t].sum = tile_dot_add(s[t].sum, s[t].dot, s[t].scale);
        s[t].dot = low;
#if SCF
        s[t].scale = nsc;
        continue;
#endif
        s[t].scale = tile_dot_weight_scale(type, &scales[t], b);
        if (!narrow)
            s[t].scale = hvx_mul_f32(s[t].scale, row_scale);
    }
}

#if PREQ
#define TOQ(x) (x)
#else
#define TOQ(x) hvx_f32_to_qf32(x)
#endif
#define MIN4(t) if (type == HTP_TYPE_Q4_1) { \
                s[t].sum = hvx_add_qf32(s[t].sum, hvx_mul_qf32(Q6_V_lo_W(scales[t].minima), TOQ(hvx_splat_i32(record->start[0])))); \
                s[t].sum = hvx_add_qf32(s[t].sum, hvx_mul_qf32(Q6_V_hi_W(scales[t].minima), TOQ(hvx_splat_i32(record->start[1])))); \
            }
HVX_INLINE void gemv_pass(uint32_t type, bool wide, int n, const uint8_t *data, size_t tile_bytes, uint32_t blocks,
                          const struct activation_slice *a, HVX_Vector *sums) {
    const int vectors = (int)htp_tile_quant_vectors(type), group = (int)htp_tile_scale_group(type);
    const HVX_Vector table = tile_dot_table(type);
    const HVX_Vector *w[KERNEL_MAX_TILES];
    struct tile_dot_scales scales[KERNEL_MAX_TILES];
    struct gemv_sum s[KERNEL_MAX_TILES];
    HVX_UNROLL
    for (int t = 0; t < n; t++) {
        w[t] = (const HVX_Vector *)(const void *)(data + t * tile_bytes);
        s[t].sum = s[t].dot = s[t].scale = hvx_zero();
    }
    const tile_dot_bytes *q = (const tile_dot_bytes *)(const void *)a->quants;
    tile_dot_records record = (tile_dot_records)(const void *)a->records;
    HVX_ROLLED
    for (uint32_t i = blocks / (uint32_t)group; i > 0; i--) {
        const HVX_Vector factor = tile_dot_factor(type, wide, record);
        HVX_UNROLL
        for (int t = 0; t < n; t++) {
            if (MINPOS==6 && t>0) MIN4(t-1)
            if (MINPOS==8 && t>1) MIN4(t-2)
            if (TMAJOR && t > 0) {
        HVX_UNROLL
        for (int b = 0; b < group; b++)
            gemv_block(type, wide, 1, w+t-1, b * vectors, scales+t-1, b, q + TILE_DOT_STEPS * b, record + b / 2, b % 2, table, s+t-1);
            }
            tile_dot_load_scales(type, w[t] + group * vectors, factor, &scales[t]);
            if (type == HTP_TYPE_Q4_1 && MINPOS==0) {
                s[t].sum = tile_dot_add_minimum(s[t].sum, tile_dot_half(scales[t].minima, 0), record, 0);
                s[t].sum = tile_dot_add_minimum(s[t].sum, tile_dot_half(scales[t].minima, 1), record, 1);
            }
            if (type == HTP_TYPE_Q4_1 && MINPOS==3) {
                HVX_VectorPair m1 = hvx_mul_f16_qf32(w[t][group*vectors+1],hvx_splat_i32(record->start[0]));
                HVX_VectorPair m2 = hvx_mul_f16_qf32(w[t][group*vectors+1],hvx_splat_i32(record->start[1]));
                s[t].sum = hvx_add_qf32(s[t].sum, Q6_V_lo_W(m1));
                s[t].sum = hvx_add_qf32(s[t].sum, Q6_V_hi_W(m1));
                s[t].sum = hvx_add_qf32(s[t].sum, Q6_V_lo_W(m2));
                s[t].sum = hvx_add_qf32(s[t].sum, Q6_V_hi_W(m2));
            }
            if (type == HTP_TYPE_Q4_1 && MINPOS==5) {
                HVX_VectorPair m1 = hvx_mul_f16_qf32(w[t][group*vectors+1],hvx_splat_i32(record->start[0]));
                s[t].sum = hvx_add_qf32(s[t].sum, Q6_V_lo_W(m1));
                s[t].sum = hvx_add_qf32(s[t].sum, Q6_V_hi_W(m1));
            }
            if (MINPOS==4) MIN4(t)
            if (MINPOS==7 && t>0) MIN4(t-1)
        }
        if (MINPOS==6) MIN4(n-1)
        if (MINPOS==8 && n > 1) MIN4(n-2)
        if (MINPOS==1 && type == HTP_TYPE_Q4_1)
        HVX_UNROLL
        for (int t = 0; t < n; t++) {
                s[t].sum = tile_dot_add_minimum(s[t].sum, tile_dot_half(scales[t].minima, 0), record, 0);
                s[t].sum = tile_dot_add_minimum(s[t].sum, tile_dot_half(scales[t].minima, 1), record, 1);
        }
        HVX_UNROLL
        for (int b = 0; b < group; b++)
            if (TMAJOR) gemv_block(type, wide, 1, w+n-1, b * vectors, scales+n-1, b, q + TILE_DOT_STEPS * b, record + b / 2, b % 2, table, s+n-1);
            else gemv_block(type, wide, n, w, b * vectors, scales, b, q + TILE_DOT_STEPS * b, record + b / 2, b % 2, table, s);
        if (MINPOS==7) MIN4(n-1)
        if (MINPOS==8) MIN4(n-1)
        if (MINPOS==2 && type == HTP_TYPE_Q4_1)
        HVX_UNROLL
        for (int t = 0; t < n; t++) {
                s[t].sum = tile_dot_add_minimum(s[t].sum, tile_dot_half(scales[t].minima, 0), record, 0);
                s[t].sum = tile_dot_add_minimum(s[t].sum, tile_dot_half(scales[t].minima, 1), record, 1);
        }
        HVX_UNROLL
        for (int t = 0; t < n; t++)
            w[t] += htp_tile_group_vectors(type);
        q += TILE_DOT_STEPS * group;
        record += group / 2;
    }
    const int rest = (int)(blocks % (uint32_t)group);
    if (rest != 0) {
        const HVX_Vector factor = tile_dot_factor(type, wide, record);
        HVX_UNROLL
        for (int t = 0; t < n; t++) {
            tile_dot_load_scales(type, w[t] + rest * vectors, factor, &scales[t]);
            MIN4(t)
        }
        gemv_block(type, wide, n, w, 0, scales, 0, q, record, 0, table, s);
        if (group > 2 && rest > 1)
            gemv_block(type, wide, n, w, vectors, scales, 1, q + TILE_DOT_STEPS, record, 1, table, s);
        if (group > 2 && rest > 2)
            gemv_block(type, wide, n, w, 2*vectors, scales, 2, q + 2*TILE_DOT_STEPS, record+1, 0, table, s);
    }
    HVX_UNROLL
    for (int t = 0; t < n; t++)
        sums[t] = hvx_qf32_to_f32(tile_dot_add(s[t].sum, s[t].dot, s[t].scale));
}

/* `tiles` column tiles, pass_tiles (a constant) at a time */
HVX_INLINE void gemv_tiles(uint32_t type, bool wide, uint32_t pass_tiles, const uint8_t *weights, size_t tile_bytes,
                           uint32_t tiles, uint32_t blocks, const struct activation_slice *a, HVX_Vector *sums) {
    uint32_t t = 0;
    for (; t + pass_tiles <= tiles; t += pass_tiles)
        gemv_pass(type, wide, (int)pass_tiles, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
    for (; t < tiles; t++)
        gemv_pass(type, wide, 1, weights + t * tile_bytes, tile_bytes, blocks, a, sums + t);
}

/* ---- GEMM ---- */
#ifndef GM
#define GM 0
#endif
#ifndef GB
#define GB 0
#endif
#ifndef GLATE
#define GLATE 0
#endif
static const uint32_t gemm_words[32] __attribute__((aligned(128))) = {
#define FOUR_WORDS(i) (i) * 0x01010101u, (i + 4) * 0x01010101u, (i + 8) * 0x01010101u, (i + 12) * 0x01010101u
    FOUR_WORDS(0),  FOUR_WORDS(16), FOUR_WORDS(32), FOUR_WORDS(48),
    FOUR_WORDS(64), FOUR_WORDS(80), FOUR_WORDS(96), FOUR_WORDS(112),
#undef FOUR_WORDS
};
typedef HVX_Vector gemm_un __attribute__((aligned(4)));
#define GCTL(w) Q6_V_vxor_VV(*(const HVX_Vector*)(const void*)gemm_words, hvx_splat_i32((w)*0x04040404))
#define GBC(r,w) (GB ? Q6_V_vrdelta_VV(*(const gemm_un*)(const void*)record[r], GCTL(w)) : hvx_splat_i32(((const int32_t*)record[r])[w]))

HVX_INLINE void gemm_scales(uint32_t type, bool wide, int n, const HVX_Vector *v, const tile_dot_records *record,
                            struct tile_dot_scales *scales, HVX_VectorPair *products) {
    tile_dot_load_scales(type, v, hvx_splat_i32(HVX_HALF_ONE), scales);
    if (!tile_dot_narrow(type, wide))
        return;
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        products[r] = hvx_mul_f16_qf32(v[0], GBC(r,2));
}

/* A block of n rows. q: double words of each row, the block's from `first` on; b, half as in gemv_block. */
HVX_INLINE void gemm_block(uint32_t type, bool wide, int n, const HVX_Vector *x, const struct tile_dot_scales *scales,
                           const HVX_VectorPair *products, int b,
                           const tile_dot_bytes *const *q, int first, const tile_dot_records *record, int pair,
                           int half, HVX_Vector table, HVX_Vector *sum) {
    HVX_Vector dot[KERNEL_ROWS];
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        dot[r] = type == HTP_TYPE_MXFP4 ? tile_dot_start(type, record[r] + pair, half) : type == HTP_TYPE_Q4_1 ? hvx_zero() : GBC(r,half);
    HVX_UNROLL
    for (int g = 0; g < TILE_DOT_STEPS; g++) {
        const bool bytes = type == HTP_TYPE_Q8_0;
        const HVX_Vector low = bytes ? x[2 * g] : tile_dot_low(type, x[g], table);
        const HVX_Vector high = bytes ? x[2 * g + 1] : tile_dot_high(type, x[g], table);
        HVX_UNROLL
        for (int r = 0; r < n; r++) {
            const int64_t a = q[r][first + g];
            dot[r] = g == 0 && type == HTP_TYPE_Q4_1 ? Q6_Vw_vrmpy_VubRb(low, (int32_t)a) : Q6_Vw_vrmpyacc_VwVubRb(dot[r], low, (int32_t)a);
            dot[r] = Q6_Vw_vrmpyacc_VwVubRb(dot[r], high, (int32_t)(a >> 32));
        }
    }
    const bool narrow = tile_dot_narrow(type, wide);
    const HVX_Vector weight_scale = narrow ? hvx_zero() : tile_dot_weight_scale(type, scales, b);
    const HVX_Vector minimum = type == HTP_TYPE_Q4_1 ? tile_dot_half(scales->minima, b) : hvx_zero();
    HVX_UNROLL
    for (int r = 0; r < n; r++) {
        HVX_Vector scale;
        if (narrow)
            scale = tile_dot_half(products[r], b);
        else
            scale = hvx_mul_f32(weight_scale, hvx_splat_f32((record[r] + pair)->scale[half]));
        sum[r] = tile_dot_add(sum[r], dot[r], scale);
        if (type == HTP_TYPE_Q4_1 && GM == 0)
            sum[r] = hvx_add_qf32(sum[r], hvx_mul_f32_qf32(minimum, GBC(r, half)));
    }
}

HVX_INLINE void gemm_pass(uint32_t type, bool wide, int n, const uint8_t *data, uint32_t blocks, const struct activation_slice *a,
                          HVX_Vector *sums) {
    const int vectors = (int)htp_tile_quant_vectors(type), group = (int)htp_tile_scale_group(type);
    const HVX_Vector table = tile_dot_table(type);
    const HVX_Vector *w = (const HVX_Vector *)(const void *)data;
    const tile_dot_bytes *q[KERNEL_ROWS];
    tile_dot_records record[KERNEL_ROWS];
    struct tile_dot_scales scales;
    HVX_Vector sum[KERNEL_ROWS];
    HVX_VectorPair products[KERNEL_ROWS];
    HVX_UNROLL
    for (int r = 0; r < n; r++) {
        q[r] = (const tile_dot_bytes *)(const void *)(a->quants + r * a->row_bytes);
        record[r] = (tile_dot_records)(const void *)(a->records + r * a->row_bytes);
        sum[r] = hvx_zero();
    }
    HVX_ROLLED
    for (uint32_t i = blocks / (uint32_t)group; i > 0; i--) {
        gemm_scales(type, wide, n, w + group * vectors, record, &scales, products);
        if (GM == 1 && type == HTP_TYPE_Q4_1) {
            const HVX_Vector m0 = tile_dot_half(scales.minima, 0), m1 = tile_dot_half(scales.minima, 1);
            HVX_UNROLL
            for (int r = 0; r < n; r++) {
                sum[r] = hvx_add_qf32(sum[r], hvx_mul_f32_qf32(m0, GBC(r, 0)));
                sum[r] = hvx_add_qf32(sum[r], hvx_mul_f32_qf32(m1, GBC(r, 1)));
            }
        }
        HVX_UNROLL
        for (int b = 0; b < group; b++)
            gemm_block(type, wide, n, w + b * vectors, &scales, products, b, q, TILE_DOT_STEPS * b, record, b / 2, b % 2, table, sum);
        w += htp_tile_group_vectors(type);
        HVX_UNROLL
        for (int r = 0; r < n; r++) {
            q[r] += TILE_DOT_STEPS * group;
            record[r] += group / 2;
        }
    }
    const int rest = (int)(blocks % (uint32_t)group);
    if (rest != 0) {
        gemm_scales(type, wide, n, w + rest * vectors, record, &scales, products);
        if (rest & 2) {
            gemm_block(type, wide, n, w, &scales, products, 0, q, 0, record, 0, 0, table, sum);
            gemm_block(type, wide, n, w + vectors, &scales, products, 1, q, TILE_DOT_STEPS, record, 0, 1, table, sum);
            w += 2 * vectors;
            scales.exponents = Q6_Vuw_vlsr_VuwR(scales.exponents, 16);
            HVX_UNROLL
            for (int r = 0; r < n; r++) {
                q[r] += 2 * TILE_DOT_STEPS;
                record[r]++;
            }
        }
        if (rest & 1)
            gemm_block(type, wide, n, w, &scales, products, 0, q, 0, record, 0, 0, table, sum);
    }
    HVX_UNROLL
    for (int r = 0; r < n; r++)
        sums[r] = hvx_qf32_to_f32(sum[r]);
}

HVX_INLINE void gemm_rows(uint32_t type, bool wide, const uint8_t *weights, uint32_t blocks, const struct activation_slice *a,
                          uint32_t rows, HVX_Vector *sums) {
    switch (rows) {
    case 1:
        gemm_pass(type, wide, 1, weights, blocks, a, sums);
        break;
    case 2:
        gemm_pass(type, wide, 2, weights, blocks, a, sums);
        break;
    case 3:
        gemm_pass(type, wide, 3, weights, blocks, a, sums);
        break;
    default:
        gemm_pass(type, wide, KERNEL_ROWS, weights, blocks, a, sums);
        break;
    }
}

/* ---- kernels of a type ---- */

#define TILE_DOT_KERNELS(TYPE, name, pass_tiles)                                                                       \
    HVX_NOINLINE void gemv_##name(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,          \
                                  const struct activation_slice *a, HVX_Vector *sums) {                                \
        gemv_tiles(HTP_TYPE_##TYPE, false, pass_tiles, weights, tile_bytes, tiles, blocks, a, sums);                   \
    }                                                                                                                  \
    HVX_NOINLINE void gemv_wide_##name(const uint8_t *weights, size_t tile_bytes, uint32_t tiles, uint32_t blocks,     \
                                       const struct activation_slice *a, HVX_Vector *sums) {                           \
        gemv_tiles(HTP_TYPE_##TYPE, true, pass_tiles, weights, tile_bytes, tiles, blocks, a, sums);                    \
    }                                                                                                                  \
    HVX_NOINLINE void gemm_##name(const uint8_t *weights, uint32_t blocks, const struct activation_slice *a,           \
                                  uint32_t rows, HVX_Vector *sums) {                                                   \
        gemm_rows(HTP_TYPE_##TYPE, false, weights, blocks, a, rows, sums);                                                    \
    }

#endif
