/* The rows of a tile: queries into VTCM as f16, and what has become of them into dst. */
#include "ops/attention/attention.h"
#include "ops/attention/softmax.h"

#include "hvx/alibi.h"

static void load_query(const uint8_t *row, uint32_t elements, HVX_Vector *out) {
    for (uint32_t i = 0; i < elements; i += HVX_HALVES) {
        const uint32_t left = elements - i;
        const uint8_t *from = row + 4 * i;
        const HVX_Vector a = left >= HVX_WORDS ? hvx_load(from) : hvx_load_bytes(from, 4 * left);
        HVX_Vector b = hvx_zero();
        if (left >= HVX_HALVES)
            b = hvx_load(from + HVX_BYTES);
        else if (left > HVX_WORDS)
            b = hvx_load_bytes(from + HVX_BYTES, 4 * (left - HVX_WORDS));
        const HVX_VectorPair split = hvx_deal_words(a, b);
        *out++ = hvx_f32_to_f16(Q6_V_lo_W(split), Q6_V_hi_W(split));
    }
}

static float sink_of(const struct attention *a, uint32_t head) {
    float sink;
    __builtin_memcpy(&sink, __builtin_assume_aligned(a->sinks->data + (size_t)head * a->sinks->nb[0], 4), 4);
    return sink > ATTENTION_NO_SCORE ? sink : ATTENTION_NO_SCORE;
}

/* A sink is a key without a value: it is there before all others. */
static void reset_state(const struct attention *a, HVX_Vector *state, bool with_sink, uint32_t head) {
    for (uint32_t i = 0; i < a->state_bytes / HVX_BYTES; i++)
        state[i] = hvx_zero();
    state[STATE_LARGEST] = hvx_splat_f32(ATTENTION_NO_SCORE);
    if (with_sink) {
        state[STATE_LARGEST] = hvx_splat_f32(sink_of(a, head));
        const HVX_Vector one_lane = Q6_V_vand_QV(Q6_Q_vsetq_R(4), hvx_splat_f32(1.0f));
        state[STATE_TOTAL] = hvx_f32_to_qf32(one_lane);
    }
}

void attention_tile_open(struct attention_tile *tile, const struct attention *a, uint32_t item, uint8_t *area) {
    const uint32_t part = item % a->parts, tile_index = item / a->parts % a->tiles, group = item / a->parts / a->tiles;
    const uint32_t kv_heads = a->k.view->ne[2];
    tile->a = a;
    tile->sequence = group / kv_heads;
    tile->kv_head = group % kv_heads;
    tile->first_row = tile_index * a->tile_rows;
    tile->rows = htp_min_u32(a->group_rows - tile->first_row, a->tile_rows);
    tile->first_position = attention_group_position(a, tile->first_row);
    tile->positions = attention_group_position(a, tile->first_row + tile->rows - 1) - tile->first_position + 1;
    tile->first_block = (uint32_t)((uint64_t)a->blocks * part / a->parts);
    tile->end_block = (uint32_t)((uint64_t)a->blocks * (part + 1) / a->parts);
    tile->q = (HVX_Vector *)(void *)area;
    tile->states = tile->q + (size_t)a->tile_rows * a->k.units;
    if (a->states != NULL)
        tile->states = (HVX_Vector *)(void *)(a->states + (size_t)item * a->tile_rows * a->state_bytes);
    for (uint32_t r = 0; r < a->tile_rows; r++) {
        const uint32_t row = tile->first_row + r, head = attention_row_head(a, tile->kv_head, row);
        const bool exists = r < tile->rows;
        reset_state(a, attention_state(tile, r), exists && part == 0 && a->sinks != NULL, head);
        if (!exists)
            continue;
        const uint32_t position = attention_group_position(a, row);
        load_query(htp_row(a->q, position, head, tile->sequence), a->q->ne[0], tile->q + (size_t)r * a->k.units);
        tile->slope[r] = htp_alibi_slope(a->params.slope_base, a->params.slope_heads, head);
        tile->position[r] = position - tile->first_position;
        if (a->mask != NULL)
            tile->mask[r] = attention_mask_row(a, position, head, tile->sequence);
    }
}

/* state of part 0, ..., part_step bytes apart; a row without any key is zero */
void attention_store_row(const struct attention *a, uint32_t group, uint32_t row, const uint8_t *state,
                         size_t part_step) {
    const uint32_t kv_heads = a->k.view->ne[2], elements = a->dst->ne[0];
    uint8_t *out = htp_row(a->dst, attention_row_head(a, group % kv_heads, row), attention_group_position(a, row),
                           group / kv_heads);
    const HVX_Vector *s = (const HVX_Vector *)(const void *)state;
    const size_t step = part_step / HVX_BYTES;
    HVX_Vector largest = s[STATE_LARGEST];
    for (uint32_t i = 1; i < a->parts; i++)
        largest = Q6_Vsf_vmax_VsfVsf(largest, s[i * step + STATE_LARGEST]);
    HVX_Vector factor[ATTENTION_MAX_PARTS], sum = hvx_zero();
    for (uint32_t i = 0; i < a->parts; i++) {
        const HVX_Vector own = s[i * step + STATE_LARGEST];
        factor[i] = hvx_f32_to_qf32(Q6_V_lo_W(exp_below(own, own, largest)));
        sum = hvx_add_qf32(sum, hvx_mul_qf32(s[i * step + STATE_TOTAL], factor[i]));
    }
    sum = hvx_sum_qf32(sum);
    const HVX_VectorPred empty = Q6_Q_vcmp_eq_VwVw(sum, hvx_zero());
    const HVX_Vector inverse = Q6_V_vmux_QVV(empty, hvx_zero(), hvx_reciprocal_f32(sum));
    for (uint32_t i = 0; i < a->parts; i++)
        factor[i] = hvx_mul_qf32(factor[i], hvx_f32_to_qf32(inverse));
    for (uint32_t i = 0; i < elements; i += HVX_HALVES, s += 2, out += 2 * HVX_BYTES) {
        HVX_Vector even = hvx_mul_qf32(s[STATE_SUMS], factor[0]), odd = hvx_mul_qf32(s[STATE_SUMS + 1], factor[0]);
        for (uint32_t k = 1; k < a->parts; k++) {
            even = hvx_add_qf32(even, hvx_mul_qf32(s[k * step + STATE_SUMS], factor[k]));
            odd = hvx_add_qf32(odd, hvx_mul_qf32(s[k * step + STATE_SUMS + 1], factor[k]));
        }
        const HVX_VectorPair ordered = hvx_interleave_words(hvx_qf32_to_f32(even), hvx_qf32_to_f32(odd));
        const uint32_t left = elements - i;
        if (left >= HVX_WORDS)
            hvx_store(out, Q6_V_lo_W(ordered));
        else
            hvx_store_bytes(out, 4 * left, Q6_V_lo_W(ordered));
        if (left >= HVX_HALVES)
            hvx_store(out + HVX_BYTES, Q6_V_hi_W(ordered));
        else if (left > HVX_WORDS)
            hvx_store_bytes(out + HVX_BYTES, 4 * (left - HVX_WORDS), Q6_V_hi_W(ordered));
    }
}
