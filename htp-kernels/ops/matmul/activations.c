/* Activation rows into VTCM: quantised for quantised weights, rounded to f16 for f16 weights, f32 for others. */
#include "ops/matmul/matmul.h"
#include "ops/matmul/quantize.h"
#include "ops/matmul/super_dot.h"

/* Where the elements of a source row are. */
struct source_row {
    const uint8_t *data;
    uint32_t type; /* F32, F16 or BF16 */
    uint32_t step; /* bytes from element to element */
};

/* 2-byte and 4-byte elements that lie `step` apart */
static void gather16(const uint8_t *from, uint32_t step, uint32_t count, uint8_t *to) {
    for (uint32_t i = 0; i < count; i++)
        __builtin_memcpy(to + 2 * i, __builtin_assume_aligned(from + (size_t)i * step, 2), 2);
}

static void gather32(const uint8_t *from, uint32_t step, uint32_t count, uint8_t *to) {
    for (uint32_t i = 0; i < count; i++)
        __builtin_memcpy(to + 4 * i, __builtin_assume_aligned(from + (size_t)i * step, 4), 4);
}

/* bytes from any address to an aligned one, and zeros up to a multiple of pad bytes (a multiple of 128) */
static void copy_padded(const uint8_t *from, uint32_t bytes, uint32_t pad, HVX_Vector *to) {
    uint32_t done = 0;
    for (; done + HVX_BYTES <= bytes; done += HVX_BYTES)
        *to++ = hvx_load(from + done);
    if (done < bytes) {
        *to++ = hvx_load_bytes(from + done, bytes - done);
        done += HVX_BYTES;
    }
    for (; done % pad != 0; done += HVX_BYTES)
        *to++ = hvx_zero();
}

static void clear_behind(uint8_t *data, uint32_t bytes, uint32_t pad) {
    for (; bytes % pad != 0; bytes++)
        data[bytes] = 0;
}

/* f16 or bf16 values [begin, begin + count) of a row, zeros up to a multiple of pad values */
static void load_halves(const struct source_row *row, uint32_t begin, uint32_t count, uint32_t pad, HVX_Vector *to) {
    const uint8_t *from = row->data + (size_t)begin * row->step;
    if (row->step == 2) {
        copy_padded(from, 2 * count, 2 * pad, to);
        return;
    }
    gather16(from, row->step, count, (uint8_t *)to);
    clear_behind((uint8_t *)to, 2 * count, 2 * pad);
}

/* even and odd values, as hvx_f16_to_f32: a bf16 is the upper half of an f32 */
HVX_INLINE HVX_VectorPair widen_bf16(HVX_Vector h) {
    return Q6_W_vcombine_VV(Q6_V_vand_VV(h, hvx_splat_i32(-0x10000)), Q6_Vw_vasl_VwR(h, 16));
}

/*
 * f32 values [begin, begin + count) of a row, zeros up to a multiple of pad values; count is at most
 * MATMUL_STAGE_VALUES. Returns the row itself where it can be used as it lies, otherwise a copy in stage.
 */
static const HVX_Vector *load_f32(const struct source_row *row, uint32_t begin, uint32_t count, uint32_t pad,
                                  HVX_Vector *stage) {
    const uint8_t *from = row->data + (size_t)begin * row->step;
    if (row->type != HTP_TYPE_F32) {
        HVX_Vector *halves = stage + MATMUL_STAGE_VALUES / HVX_WORDS;
        load_halves(row, begin, count, pad, halves);
        const uint32_t vectors = (count + pad - 1) / pad * pad / HVX_HALVES;
        for (uint32_t i = 0; i < vectors; i++) {
            const HVX_VectorPair split = row->type == HTP_TYPE_F16 ? hvx_f16_to_f32(halves[i]) : widen_bf16(halves[i]);
            const HVX_VectorPair in_order = hvx_interleave_words(Q6_V_lo_W(split), Q6_V_hi_W(split));
            stage[2 * i] = Q6_V_lo_W(in_order);
            stage[2 * i + 1] = Q6_V_hi_W(in_order);
        }
        return stage;
    }
    if (row->step == 4) {
        if ((uintptr_t)from % HVX_BYTES == 0 && count % pad == 0)
            return (const HVX_Vector *)(const void *)from;
        copy_padded(from, 4 * count, 4 * pad, stage);
        return stage;
    }
    gather32(from, row->step, count, (uint8_t *)stage);
    clear_behind((uint8_t *)stage, 4 * count, 4 * pad);
    return stage;
}

const HVX_Vector *matmul_load_f32(const struct matmul *m, const uint8_t *source, uint32_t begin, uint32_t count,
                                  HVX_Vector *stage) {
    const struct source_row row = {source, m->activations->type, m->activations->nb[0]};
    return load_f32(&row, begin, count, HVX_HALVES, stage);
}

static enum quantize_form form_of(uint32_t type) {
    switch (type) {
    case HTP_TYPE_Q4_1:
    case HTP_TYPE_Q5_1:
    case HTP_TYPE_Q4_K:
    case HTP_TYPE_Q5_K:
        return QUANTIZE_MINIMUM;
    case HTP_TYPE_MXFP4:
        return QUANTIZE_HALF;
    case HTP_TYPE_Q2_K:
    case HTP_TYPE_Q3_K:
    case HTP_TYPE_Q6_K:
        return QUANTIZE_SIXTEEN;
    default:
        return QUANTIZE_ZERO;
    }
}

/*
 * Returns the row's unit. MXFP4 and types with blocks of 256 have no kernels for narrow rows: the scales of activations
 * are f32 there, always.
 */
static float quantize_row(const struct matmul *m, const struct source_row *row, uint8_t *to, HVX_Vector *stage) {
    const uint32_t zero = htp_tile_zero(m->type);
    const enum quantize_form form = form_of(m->type);
    uint8_t *const first_record = to + htp_round_up(m->k, QUANTIZE_PAD), *records = first_record;
    struct quantize_range range = quantize_range_start();
    for (uint32_t begin = 0; begin < m->k; begin += QUANTIZE_BATCH) {
        const uint32_t count = htp_min_u32(m->k - begin, QUANTIZE_BATCH);
        const uint32_t padded = (uint32_t)htp_round_up(count, QUANTIZE_PAD);
        const HVX_Vector *x = load_f32(row, begin, count, QUANTIZE_PAD, stage);
        quantize_values(x, padded, form, zero, (HVX_Vector *)(void *)(to + begin), (HVX_Vector *)(void *)records,
                        &range);
        records += QUANTIZE_BATCH / QUANTIZE_GROUP * QUANTIZE_GROUP_RECORD_BYTES;
    }
    if (form == QUANTIZE_HALF || super_dot_is(m->type))
        return 1;
    return quantize_narrow((HVX_Vector *)(void *)first_record, htp_div_up(m->k, QUANTIZE_GROUP), form, &range);
}

static void half_row(const struct matmul *m, const struct source_row *row, HVX_Vector *to, HVX_Vector *stage) {
    for (uint32_t begin = 0; begin < m->k; begin += MATMUL_STAGE_VALUES) {
        const uint32_t count = htp_min_u32(m->k - begin, MATMUL_STAGE_VALUES);
        const uint32_t vectors = htp_div_up(count, HVX_HALVES);
        if (row->type == HTP_TYPE_F16) {
            load_halves(row, begin, count, HVX_HALVES, to);
        } else {
            const HVX_Vector *x = load_f32(row, begin, count, HVX_HALVES, stage);
            for (uint32_t i = 0; i < vectors; i++) {
                const HVX_VectorPair d = hvx_deal_words(x[2 * i], x[2 * i + 1]);
                to[i] = hvx_f32_to_f16(Q6_V_lo_W(d), Q6_V_hi_W(d));
            }
        }
        to += vectors;
    }
}

/* f32; of 64 values the even ones first for bf16 weights, which come apart that way */
static void float_row(const struct matmul *m, const struct source_row *row, HVX_Vector *to, HVX_Vector *stage) {
    for (uint32_t begin = 0; begin < m->k; begin += MATMUL_STAGE_VALUES) {
        const uint32_t count = htp_min_u32(m->k - begin, MATMUL_STAGE_VALUES);
        const HVX_Vector *x = load_f32(row, begin, count, HVX_HALVES, stage);
        const uint32_t pairs = htp_div_up(count, HVX_HALVES);
        for (uint32_t i = 0; i < pairs; i++, x += 2, to += 2) {
            const HVX_VectorPair d =
                m->type == HTP_TYPE_BF16 ? hvx_deal_words(x[0], x[1]) : Q6_W_vcombine_VV(x[1], x[0]);
            to[0] = Q6_V_lo_W(d);
            to[1] = Q6_V_hi_W(d);
        }
    }
}

void matmul_prepare(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct matmul_chunk *chunk = arg;
    const struct matmul *m = chunk->m;
    HVX_Vector *stage = (HVX_Vector *)(void *)(m->thread_vtcm + thread * m->thread_bytes);
    const uint32_t begin = (uint32_t)((uint64_t)chunk->rows * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)chunk->rows * (thread + 1) / n_threads);
    for (uint32_t i = begin; i < end; i++) {
        uint8_t *to = m->activation_rows + (size_t)i * m->activation_bytes;
        const struct source_row row = {m->rows[i].source, m->activations->type, m->activations->nb[0]};
        if (matmul_is_quantized(m->type))
            m->rows[i].unit = quantize_row(m, &row, to, stage);
        else if (m->type == HTP_TYPE_F16)
            half_row(m, &row, (HVX_Vector *)(void *)to, stage);
        else
            float_row(m, &row, (HVX_Vector *)(void *)to, stage);
    }
}
