/*
 * How a group is quantised without a reduction per block: 32 vectors are 32 blocks.
 *   - Dealing a pair of vectors by words and taking the larger leaves the pair maxima of each, in order. Five levels
 *     (31 deals) end in one vector whose word b is the absmax of block b. Magnitudes order like integers.
 *   - Scales and reciprocals of all 32 blocks are then single vectors.
 *   - Word b is broadcast by vrdelta: rotate by four words for every fourth block, then four constant controls.
 *   - x * 127 / absmax in 8.24 fixed point: keep the upper halves, add a half, keep the upper bytes = floor(x + 1/2).
 *     Packing odd half-words, then odd bytes, keeps the order: four vectors give the 128 int8 of four blocks.
 *   - Sums: vrmpy with ones, then the same tree with additions.
 * Limit: word conversions and deals, both on the shift pipe, 102 packets a group.
 */
#include "ops/matmul/quantize.h"

/* vrdelta control "every word takes word 0": byte i holds i & 0x7c */
static const uint32_t take_word_0[32] __attribute__((aligned(128))) = {
#define FOUR_WORDS(i) (i) * 0x01010101u, (i + 4) * 0x01010101u, (i + 8) * 0x01010101u, (i + 12) * 0x01010101u
    FOUR_WORDS(0),  FOUR_WORDS(16), FOUR_WORDS(32), FOUR_WORDS(48),
    FOUR_WORDS(64), FOUR_WORDS(80), FOUR_WORDS(96), FOUR_WORDS(112),
#undef FOUR_WORDS
};

HVX_INLINE HVX_Vector pair_max(HVX_Vector a, HVX_Vector b) {
    const HVX_VectorPair d = hvx_deal_words(a, b);
    return Q6_Vw_vmax_VwVw(Q6_V_lo_W(d), Q6_V_hi_W(d));
}

HVX_INLINE HVX_Vector pair_sum(HVX_Vector a, HVX_Vector b) {
    const HVX_VectorPair d = hvx_deal_words(a, b);
    return Q6_Vw_vadd_VwVw(Q6_V_lo_W(d), Q6_V_hi_W(d));
}

/* 8 blocks -> 4 partial maxima of each */
HVX_INLINE HVX_Vector max_of_8(const HVX_Vector *x) {
    const HVX_Vector magnitude = hvx_splat_i32(0x7fffffff);
    HVX_Vector m[8];
    HVX_UNROLL
    for (int i = 0; i < 8; i++)
        m[i] = Q6_V_vand_VV(x[i], magnitude);
    const HVX_Vector low = pair_max(pair_max(m[0], m[1]), pair_max(m[2], m[3]));
    const HVX_Vector high = pair_max(pair_max(m[4], m[5]), pair_max(m[6], m[7]));
    return pair_max(low, high);
}

/* x rounded to the 11 bits of precision that an f16 has, to nearest even, with the range of an f32: ggml keeps these
 * scales in f16, and its results and ours then differ by the order of sums alone */
HVX_INLINE HVX_Vector f16_precision(HVX_Vector x) {
    const HVX_Vector odd = Q6_V_vand_VV(Q6_Vuw_vlsr_VuwR(x, 13), hvx_splat_i32(1));
    const HVX_Vector rounded = Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(x, hvx_splat_i32(0xfff)), odd);
    return Q6_V_vand_VV(rounded, hvx_splat_i32(~0x1fff));
}

struct controls {
    HVX_Vector word[4]; /* of vrdelta: every word takes word 0, 1, 2, 3 */
};

/* Four blocks: x times the words of r, f32. */
HVX_INLINE void scale_four(const HVX_Vector *x, HVX_Vector r, const struct controls *c, HVX_Vector *scaled) {
    HVX_UNROLL
    for (int i = 0; i < 4; i++)
        scaled[i] = hvx_mul_f32(x[i], Q6_V_vrdelta_VV(r, c->word[i]));
}

HVX_INLINE HVX_Vector round_four(const HVX_Vector *scaled) {
    const HVX_Vector half = hvx_splat_i32(0x00800080);
    const HVX_Vector first = Q6_Vh_vpacko_VwVw(hvx_f32_to_fixed24(scaled[1]), hvx_f32_to_fixed24(scaled[0]));
    const HVX_Vector second = Q6_Vh_vpacko_VwVw(hvx_f32_to_fixed24(scaled[3]), hvx_f32_to_fixed24(scaled[2]));
    return Q6_Vb_vpacko_VhVh(Q6_Vh_vadd_VhVh(second, half), Q6_Vh_vadd_VhVh(first, half));
}

/* Bits of the largest magnitude of each block of a group. parts: how many times 8 blocks. */
HVX_INLINE HVX_Vector max_of_group(const HVX_Vector *x, uint32_t parts) {
    HVX_Vector max[4];
    HVX_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        max[i] = i < parts ? max_of_8(x + 8 * i) : hvx_zero();
    return pair_max(pair_max(max[0], max[1]), pair_max(max[2], max[3]));
}

/* The sum of q of each block of a group. */
HVX_INLINE HVX_Vector sum_of_group(const HVX_Vector *q, uint32_t parts) {
    const HVX_Vector ones = hvx_splat_i32(0x01010101);
    HVX_Vector s[8];
    HVX_UNROLL
    for (uint32_t i = 0; i < 8; i++)
        s[i] = i < 2 * parts ? Q6_Vw_vrmpy_VbVb(q[i], ones) : hvx_zero();
    return pair_sum(pair_sum(pair_sum(s[0], s[1]), pair_sum(s[2], s[3])),
                    pair_sum(pair_sum(s[4], s[5]), pair_sum(s[6], s[7])));
}

/* Of each block of a group: the sum of the first 16 q in the low half-word, of the last 16 in the high one. */
HVX_INLINE HVX_Vector half_sums_of_group(const HVX_Vector *q, uint32_t parts) {
    const HVX_Vector ones = hvx_splat_i32(0x01010101);
    HVX_Vector s[8];
    HVX_UNROLL
    for (uint32_t i = 0; i < 8; i++)
        s[i] = i < 2 * parts ? Q6_Vw_vrmpy_VbVb(q[i], ones) : hvx_zero();
    const HVX_VectorPair halves = hvx_deal_words(pair_sum(pair_sum(s[0], s[1]), pair_sum(s[2], s[3])),
                                                 pair_sum(pair_sum(s[4], s[5]), pair_sum(s[6], s[7])));
    return Q6_Vh_vshuffe_VhVh(Q6_V_hi_W(halves), Q6_V_lo_W(halves));
}

/* 127 / absmax in the fixed point of the conversion. absmax is taken as 2^-96 to 2^96, which keeps it normal. */
HVX_INLINE HVX_Vector reciprocal_of(HVX_Vector absmax) {
    HVX_Vector divisor = Q6_Vw_vmax_VwVw(absmax, hvx_splat_f32(0x1p-96f));
    divisor = Q6_Vw_vmin_VwVw(divisor, hvx_splat_f32(0x1p96f));
    return hvx_divide_by_f32(hvx_splat_f32(127 * HVX_FIXED24_SCALE), divisor);
}

HVX_INLINE void store_records(HVX_Vector sums, HVX_Vector scale, enum quantize_form form, uint32_t zero,
                              HVX_Vector *records) {
    const HVX_Vector first =
        form == QUANTIZE_MINIMUM   ? hvx_mul_f32(hvx_i32_to_f32(sums), scale)
        : form == QUANTIZE_SIXTEEN ? Q6_Vh_vsub_VhVh(hvx_zero(), sums)
                                   : Q6_Vw_vsub_VwVw(hvx_zero(), Q6_Vw_vmpyi_VwRub(sums, (int32_t)(zero * 0x01010101u)));
    if (form == QUANTIZE_HALF)
        scale = hvx_mul_f32(scale, hvx_splat_f32(0.5f));
    const HVX_VectorPair pairs = Q6_W_vshuff_VVR(scale, first, -8); /* two of first, two scales, two of first, ... */
    records[0] = Q6_V_lo_W(pairs);
    records[1] = Q6_V_hi_W(pairs);
}

/*
 * `groups` groups, 1 or 2, of `parts` times 8 blocks each: constants, but for parts of a single group. Two groups share
 * the latency of the reciprocals.
 */
HVX_INLINE void quantize_groups(const HVX_Vector *x, uint32_t groups, uint32_t parts, enum quantize_form form,
                                uint32_t zero, HVX_Vector *q, HVX_Vector *records, struct quantize_range *range) {
    HVX_Vector absmax[2], scale[2], r[3];
    HVX_UNROLL
    for (uint32_t g = 0; g < groups; g++)
        absmax[g] = max_of_group(x + 32 * g, parts);
    HVX_UNROLL
    for (uint32_t g = 0; g < groups; g++) {
        scale[g] = f16_precision(hvx_mul_f32(absmax[g], hvx_splat_f32(1.0f / 127)));
        range->largest = Q6_Vw_vmax_VwVw(range->largest, scale[g]);
        range->magnitude = Q6_Vw_vmax_VwVw(range->magnitude, absmax[g]);
        range->least = Q6_Vw_vmin_VwVw(range->least, Q6_Vw_vadd_VwVw(scale[g], hvx_splat_i32(QUANTIZE_LEAST)));
        r[g] = reciprocal_of(absmax[g]);
    }

    struct controls c;
    HVX_UNROLL
    for (int32_t i = 0; i < 4; i++)
        c.word[i] = Q6_V_vxor_VV(*(const HVX_Vector *)(const void *)take_word_0, hvx_splat_i32(i * 0x04040404));
    r[groups] = hvx_zero();
    const uint8_t *four = (const uint8_t *)r; /* the words for the next four blocks are the first at this address */
    HVX_Vector *out = q, scaled[4];
    scale_four(x, r[0], &c, scaled);
    HVX_ROLLED
    for (uint32_t i = 2 * groups * parts - 1; i > 0; i--) { /* the next four are scaled beside the rounding of these */
        HVX_Vector next[4];
        four += 16;
        x += 4;
        scale_four(x, hvx_load(four), &c, next);
        *out++ = round_four(scaled);
        HVX_UNROLL
        for (int j = 0; j < 4; j++)
            scaled[j] = next[j];
    }
    *out = round_four(scaled);

    HVX_Vector sums[2];
    HVX_UNROLL
    for (uint32_t g = 0; g < groups; g++)
        sums[g] = form == QUANTIZE_SIXTEEN ? half_sums_of_group(q + 8 * g, parts) : sum_of_group(q + 8 * g, parts);
    HVX_UNROLL
    for (uint32_t g = 0; g < groups; g++)
        store_records(sums[g], scale[g], form, zero, records + 2 * g);
}

HVX_NOINLINE void quantize_values(const HVX_Vector *x, uint32_t count, enum quantize_form form, uint32_t zero,
                                  HVX_Vector *q, HVX_Vector *records, struct quantize_range *range) {
    if (count == QUANTIZE_BATCH) {
        quantize_groups(x, 2, QUANTIZE_GROUP / QUANTIZE_PAD, form, zero, q, records, range);
        return;
    }
    for (uint32_t done = 0; done < count; done += QUANTIZE_GROUP) {
        const uint32_t left = count - done, parts = (left < QUANTIZE_GROUP ? left : QUANTIZE_GROUP) / QUANTIZE_PAD;
        quantize_groups(x + done / HVX_WORDS, 1, parts, form, zero, q + done / HVX_BYTES,
                        records + done / QUANTIZE_GROUP * 2, range);
    }
}

/* Words 2 and 3 of records. */
static const int32_t scale_words[32] __attribute__((aligned(128))) = {
#define FOUR_RECORDS 0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1
    FOUR_RECORDS, FOUR_RECORDS,
#undef FOUR_RECORDS
};

#define EXPONENT(e) ((int32_t)((uint32_t)(e) << 23)) /* of an f32, with its bias */

HVX_NOINLINE float quantize_narrow(HVX_Vector *records, uint32_t groups, enum quantize_form form,
                                   const struct quantize_range *range) {
    const HVX_VectorPred finite = Q6_Q_vcmp_gt_VwVw(hvx_splat_i32(EXPONENT(255)), range->magnitude);
    HVX_Vector largest = Q6_V_vmux_QVV(finite, range->largest, hvx_splat_i32(EXPONENT(255))), least = range->least;
    HVX_UNROLL
    for (int32_t bytes = 64; bytes >= 4; bytes /= 2) {
        largest = Q6_Vw_vmax_VwVw(largest, Q6_V_vror_VR(largest, bytes));
        least = Q6_Vw_vmin_VwVw(least, Q6_V_vror_VR(least, bytes));
    }
    least = Q6_Vw_vsub_VwVw(least, hvx_splat_i32(QUANTIZE_LEAST));
    /* the unit puts the largest scale at 2^15 .. 2^16, and stays away from the ends of what f32 can hold */
    const HVX_Vector top = Q6_V_vand_VV(Q6_Vw_vmax_VwVw(largest, hvx_splat_i32(EXPONENT(27))),
                                        hvx_splat_i32(EXPONENT(255)));
    const HVX_Vector factor = Q6_Vw_vsub_VwVw(hvx_splat_i32(EXPONENT(254 + 15)), top);
    const HVX_VectorPred below = Q6_Q_vcmp_gt_VwVw(Q6_Vw_vsub_VwVw(top, hvx_splat_i32(EXPONENT(29))), least);
    const HVX_VectorPred above = Q6_Q_vcmp_gt_VwVw(top, hvx_splat_i32(EXPONENT(227)));
    const HVX_VectorPred wide = Q6_Q_or_QQ(below, above);
    const HVX_Vector unit = Q6_V_vmux_QVV(wide, hvx_zero(), Q6_Vw_vsub_VwVw(top, hvx_splat_i32(EXPONENT(15))));

    const HVX_VectorPred is_scale = Q6_Q_vcmp_gt_VwVw(hvx_zero(), *(const HVX_Vector *)(const void *)scale_words);
    HVX_ROLLED
    for (uint32_t i = 0; i < 2 * groups; i++) {
        const HVX_Vector record = records[i], product = hvx_mul_f32_qf32(record, factor);
        /* word 2: product of its own and of word 3 */
        const HVX_Vector halves = Q6_Vhf_equals_Wqf32(Q6_W_vcombine_VV(Q6_V_vror_VR(product, 4), product));
        HVX_Vector first = record;
        if (form == QUANTIZE_MINIMUM)
            first = Q6_V_vmux_QVV(wide, hvx_f32_to_qf32(record), product);
        records[i] = Q6_V_vmux_QVV(is_scale, Q6_V_vmux_QVV(wide, record, halves), first);
    }
    float result;
    __builtin_memcpy(&result, &unit, sizeof(result));
    return result;
}
