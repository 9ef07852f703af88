/* Activation rows into VTCM: quantised for quantised weights, rounded to f16 for f16 weights. Each row once. */
#include "ops/matmul/matmul.h"
#include "ops/matmul/quantize.h"

/* Where the elements of a source row are. */
struct source_row {
    const uint8_t *data;
    uint32_t type; /* F32 or F16 */
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

/* f16 values [begin, begin + count) of a row, zeros up to a multiple of pad values */
static void load_f16(const struct source_row *row, uint32_t begin, uint32_t count, uint32_t pad, HVX_Vector *to) {
    const uint8_t *from = row->data + (size_t)begin * row->step;
    if (row->step == 2) {
        copy_padded(from, 2 * count, 2 * pad, to);
        return;
    }
    gather16(from, row->step, count, (uint8_t *)to);
    clear_behind((uint8_t *)to, 2 * count, 2 * pad);
}

/*
 * f32 values [begin, begin + count) of a row, zeros up to a multiple of pad values; count is at most
 * MATMUL_STAGE_VALUES. Returns the row itself where it can be used as it lies, otherwise a copy in stage.
 */
static const HVX_Vector *load_f32(const struct source_row *row, uint32_t begin, uint32_t count, uint32_t pad,
                                  HVX_Vector *stage) {
    const uint8_t *from = row->data + (size_t)begin * row->step;
    if (row->type == HTP_TYPE_F16) {
        HVX_Vector *halves = stage + MATMUL_STAGE_VALUES / HVX_WORDS;
        load_f16(row, begin, count, pad, halves);
        const uint32_t vectors = (count + pad - 1) / pad * pad / HVX_HALVES;
        for (uint32_t i = 0; i < vectors; i++) {
            const HVX_VectorPair split = hvx_f16_to_f32(halves[i]);
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

static void quantize_row(const struct matmul *m, const struct source_row *row, uint8_t *to, HVX_Vector *stage) {
    const uint32_t zero = (uint32_t)htp_tile_zero(m->type);
    uint8_t *records = to + htp_round_up(m->k, QUANTIZE_PAD);
    for (uint32_t begin = 0; begin < m->k; begin += QUANTIZE_GROUP) {
        const uint32_t count = htp_min_u32(m->k - begin, QUANTIZE_GROUP);
        const uint32_t padded = (uint32_t)htp_round_up(count, QUANTIZE_PAD);
        const HVX_Vector *x = load_f32(row, begin, count, QUANTIZE_PAD, stage);
        quantize_group(x, padded, zero, (HVX_Vector *)(void *)(to + begin), (HVX_Vector *)(void *)records);
        records += QUANTIZE_GROUP_RECORD_BYTES;
    }
}

static void half_row(const struct matmul *m, const struct source_row *row, HVX_Vector *to, HVX_Vector *stage) {
    for (uint32_t begin = 0; begin < m->k; begin += MATMUL_STAGE_VALUES) {
        const uint32_t count = htp_min_u32(m->k - begin, MATMUL_STAGE_VALUES);
        const uint32_t vectors = htp_div_up(count, HVX_HALVES);
        if (row->type == HTP_TYPE_F16) {
            load_f16(row, begin, count, HVX_HALVES, to);
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

/* row r of a matrix: where it comes from and where its outputs go */
static struct source_row find_row(const struct matmul *m, uint32_t matrix, uint32_t r, uint8_t **output) {
    const struct htp_view *a = m->activations;
    const uint32_t ne02 = m->weights->ne[2];
    const uint32_t i1 = r % a->ne[1], outer = r / a->ne[1];
    const uint32_t i2 = matrix % ne02 * m->repeat2 + outer % m->repeat2;
    const uint32_t i3 = matrix / ne02 * (a->ne[3] / m->weights->ne[3]) + outer / m->repeat2;
    const struct source_row row = {htp_row(a, i1, i2, i3), a->type, a->nb[0]};
    *output = htp_row(m->dst, i1, i2, i3);
    return row;
}

void matmul_prepare(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct matmul_chunk *chunk = arg;
    const struct matmul *m = chunk->m;
    HVX_Vector *stage = (HVX_Vector *)(void *)(m->thread_vtcm + thread * m->thread_bytes);
    const uint32_t total = chunk->matrices * chunk->rows;
    const uint32_t begin = (uint32_t)((uint64_t)total * thread / n_threads);
    const uint32_t end = (uint32_t)((uint64_t)total * (thread + 1) / n_threads);
    for (uint32_t i = begin; i < end; i++) {
        uint8_t *to = m->rows + (size_t)i * m->activation_bytes;
        const struct source_row row = find_row(m, chunk->first_matrix + i / chunk->rows,
                                               chunk->first_row + i % chunk->rows, &m->outputs[i]);
        if (matmul_is_quantized(m->type))
            quantize_row(m, &row, to, stage);
        else
            half_row(m, &row, (HVX_Vector *)(void *)to, stage);
    }
}
