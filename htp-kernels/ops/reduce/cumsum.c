/*
 * CUMSUM of a row. A vector's running sums take five steps, each of which adds the vector shifted by 1, 2, 4, 8 and 16
 * lanes; then the sum of all that stands before it is added. Four vectors at a time, for only that last addition
 * depends on the vector before.
 */
#include "ops/reduce/reduce.h"

#define BLOCK 4

/* running sums of the lanes, in qf32 */
HVX_INLINE HVX_Vector scan(HVX_Vector x) {
    const HVX_Vector zero = hvx_zero(); /* of sf and qf32 alike */
    HVX_Vector s = Q6_Vqf32_vadd_VsfVsf(x, Q6_V_vlalign_VVR(x, zero, 4));
    HVX_UNROLL
    for (int32_t bytes = 8; bytes <= 64; bytes *= 2)
        s = hvx_add_qf32(s, Q6_V_vlalign_VVR(s, zero, bytes));
    return s;
}

/* How vdelta brings the last word into every lane: from afar where a bit of the lane's number is not set. */
static HVX_Vector last_to_all(void) {
    uint8_t control[HVX_BYTES] __attribute__((aligned(128)));
    for (uint32_t i = 0; i < HVX_BYTES; i++)
        control[i] = (uint8_t)(~i & 0x7c);
    return hvx_load_aligned(control);
}

void reduce_cumsum_row(const struct reduce *t, const uint8_t *src, uint8_t *dst) {
    const uint32_t length = t->length;
    const HVX_Vector control = last_to_all();
    HVX_Vector before = hvx_zero(); /* qf32, in all lanes */
    uint32_t i = 0;
    if (t->src->nb[0] == 4 && t->dst->nb[0] == 4) {
        const uint8_t *x = src;
        uint8_t *y = dst;
        HVX_ROLLED
        for (uint32_t n = length / (BLOCK * HVX_WORDS); n > 0; n--) {
            const HVX_Vector s0 = scan(hvx_load(x)), s1 = scan(hvx_load(x + HVX_BYTES));
            const HVX_Vector s2 = scan(hvx_load(x + 2 * HVX_BYTES)), s3 = scan(hvx_load(x + 3 * HVX_BYTES));
            const HVX_Vector before1 = hvx_add_qf32(before, Q6_V_vdelta_VV(s0, control));
            const HVX_Vector before2 = hvx_add_qf32(before1, Q6_V_vdelta_VV(s1, control));
            const HVX_Vector before3 = hvx_add_qf32(before2, Q6_V_vdelta_VV(s2, control));
            hvx_store(y, hvx_qf32_to_f32(hvx_add_qf32(s0, before)));
            hvx_store(y + HVX_BYTES, hvx_qf32_to_f32(hvx_add_qf32(s1, before1)));
            hvx_store(y + 2 * HVX_BYTES, hvx_qf32_to_f32(hvx_add_qf32(s2, before2)));
            hvx_store(y + 3 * HVX_BYTES, hvx_qf32_to_f32(hvx_add_qf32(s3, before3)));
            before = hvx_add_qf32(before3, Q6_V_vdelta_VV(s3, control));
            x += BLOCK * HVX_BYTES;
            y += BLOCK * HVX_BYTES;
        }
        i = length / (BLOCK * HVX_WORDS) * (BLOCK * HVX_WORDS);
    }
    for (uint32_t count; i < length; i += count) {
        count = htp_min_u32(length - i, HVX_WORDS);
        const HVX_Vector s = scan(reduce_fetch(t->src, src, i, count));
        const HVX_Vector y = hvx_qf32_to_f32(hvx_add_qf32(s, before));
        uint8_t *const to = dst + (size_t)i * t->dst->nb[0];
        if (t->dst->nb[0] == 4)
            hvx_store_bytes(to, 4 * count, y);
        else
            hvx_scatter_words(to, t->dst->nb[0], count, y);
        before = hvx_add_qf32(before, Q6_V_vdelta_VV(s, control));
    }
}
