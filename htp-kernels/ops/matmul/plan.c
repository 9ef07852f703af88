/*
 * How VTCM is divided: an area for each thread with the ring that its weights come through, then activation rows.
 *
 * Rows get what they need, up to half of VTCM: more rows at a time means that weights are read fewer times. The rings
 * share the rest; a column tile that does not fit a slot is cut along K.
 */
#include "ops/matmul/matmul.h"
#include "ops/matmul/quantize.h"
#include "runtime/dma.h"

#define MIN_SLOTS 2
#define MAX_SLOTS 8
#define IN_FLIGHT_BYTES (64u << 10) /* enough loads under way to hide the latency of memory */

/* Sizes are 64-bit here: a shape that the host made up may exceed 32 bits before it is cut to fit. */
static uint64_t round_up64(uint64_t a, uint64_t b) { return (a + b - 1) / b * b; }

static uint64_t weight_row_stride(const struct matmul *m, uint64_t units) {
    return round_up64(matmul_row_bytes(m, units), matmul_is_quantized(m->type) ? 64 : HVX_BYTES);
}

static uint64_t packed_bytes(const struct matmul *m, uint64_t units) {
    return m->source == MATMUL_BLOCK_ROWS ? matmul_unit_bytes(m, units) : 0;
}

static uint64_t tile_bytes(const struct matmul *m, uint64_t units) {
    if (m->source == MATMUL_TILES)
        return matmul_unit_bytes(m, units);
    return weight_row_stride(m, units) * MATMUL_TILE;
}

static uint64_t thread_bytes(const struct matmul *m, uint64_t units, uint32_t slots) {
    const uint64_t bytes = m->pass_tiles * (slots * tile_bytes(m, units) + packed_bytes(m, units));
    return round_up64(bytes < MATMUL_STAGE_BYTES ? MATMUL_STAGE_BYTES : bytes, HVX_BYTES);
}

static uint64_t activation_bytes(const struct matmul *m) {
    if (matmul_is_quantized(m->type))
        return round_up64(m->k, QUANTIZE_PAD) + quantize_record_bytes(m->k);
    return matmul_float_bytes(m, m->units);
}

/* the most units that a thread's share holds; one is known to fit */
static uint32_t largest_slice(const struct matmul *m, uint64_t share) {
    uint32_t low = 1, high = m->units;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (thread_bytes(m, middle, MIN_SLOTS) <= share)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Several kernel passes a step, when K does not come in slices for it and every thread still has some steps. */
static void join_passes(struct matmul *m, uint64_t share) {
    const uint32_t one = m->pass_tiles;
    while (m->source == MATMUL_TILES && 2 * m->pass_tiles <= KERNEL_MAX_TILES &&
           8 * m->pass_tiles * m->n_threads <= m->tiles) {
        m->pass_tiles *= 2;
        if (thread_bytes(m, m->units, MIN_SLOTS) > share) {
            m->pass_tiles = one;
            return;
        }
    }
}

uint32_t matmul_plan(struct matmul *m) {
    /* a vector at the end stays free: kernels may read, but not use, what is behind the last record of a row */
    const uint64_t vtcm = m->vtcm_size < 2 * HVX_BYTES ? 0 : m->vtcm_size / HVX_BYTES * HVX_BYTES - HVX_BYTES;
    const uint64_t row = activation_bytes(m) + sizeof(struct matmul_row) + sizeof(struct matmul_group);
    m->pass_tiles = htp_min_u32(m->kernels->pass_tiles, m->tiles);
    if (row + thread_bytes(m, 1, MIN_SLOTS) > vtcm)
        m->pass_tiles = 1;
    const uint64_t least = thread_bytes(m, 1, MIN_SLOTS);
    if (row + least > vtcm) {
        m->exec->detail = row + least > UINT32_MAX ? UINT32_MAX : (uint32_t)(row + least);
        return HTP_STATUS_NO_VTCM;
    }
    const uint64_t useful_rows = m->total_rows < vtcm / row + 1 ? m->total_rows : vtcm / row + 1;
    const uint64_t rows_limit = row > vtcm / 2 ? row : vtcm / 2;
    uint64_t rings = vtcm - (useful_rows * row < rows_limit ? useful_rows * row : rows_limit);
    if (rings < least)
        rings = vtcm - row;

    m->n_threads = m->exec->n_threads;
    if (m->n_threads > rings / least)
        m->n_threads = (uint32_t)(rings / least);
    const uint64_t share = rings / m->n_threads;
    join_passes(m, share);
    m->slices = htp_div_up(m->units, largest_slice(m, share));
    m->slice_units = htp_div_up(m->units, m->slices); /* slices of about the same size */
    m->slices = htp_div_up(m->units, m->slice_units);

    m->tile_bytes = (size_t)tile_bytes(m, m->slice_units);
    m->row_stride = (size_t)weight_row_stride(m, m->slice_units);
    m->packed_bytes = (size_t)packed_bytes(m, m->slice_units);
    for (m->slots = MIN_SLOTS; m->slots < MAX_SLOTS; m->slots++) {
        if (m->slots * m->pass_tiles * m->tile_bytes >= IN_FLIGHT_BYTES ||
            (m->slots + 1) * m->pass_tiles > HTP_DMA_DEPTH || thread_bytes(m, m->slice_units, m->slots + 1) > share)
            break;
    }
    m->thread_bytes = (size_t)thread_bytes(m, m->slice_units, m->slots);
    m->activation_bytes = (size_t)activation_bytes(m);
    const uint64_t left = vtcm - (uint64_t)m->n_threads * m->thread_bytes;
    m->capacity = (uint32_t)(left / row < m->total_rows ? left / row : m->total_rows);
    m->thread_vtcm = m->vtcm;
    m->activation_rows = m->thread_vtcm + m->n_threads * m->thread_bytes;
    m->rows = (struct matmul_row *)(void *)(m->activation_rows + (size_t)m->capacity * m->activation_bytes);
    m->groups = (struct matmul_group *)(void *)(m->rows + m->capacity);
    return HTP_STATUS_OK;
}
