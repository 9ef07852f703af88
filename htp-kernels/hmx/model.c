/*
 * A model of the matrix unit for the simulated DSP. Products are exact, sums are f32 in the order of K (the hardware's
 * are a little wider), and a store rounds once. A misplaced operand ends the process, as it would on the device.
 */
#include "hmx/hmx.h"

#if !defined(HTP_PLATFORM_QURT)

#include <stdlib.h>
#include <string.h>

#include "hvx/wrap.h"

/* rows of a tile as f32 */
struct floats {
    float at[HMX_TILE][HMX_TILE] __attribute__((aligned(128)));
};

static struct floats sums;
static uint32_t scales[2 * HMX_TILE]; /* zero as after a reset: stores give zero until they are loaded */

void hmx_clear(void) { memset(&sums, 0, sizeof(sums)); }

void hmx_set_scales(const uint8_t *table) {
    if ((uintptr_t)table % HMX_TABLE_BYTES != 0)
        abort();
    memcpy(scales, table, sizeof(scales));
}

static void check_tile(const uint8_t *tile) {
    if ((uintptr_t)tile % HMX_TILE_BYTES != 0)
        abort();
}

static void load(const uint8_t *tile, struct floats *to) {
    check_tile(tile);
    for (uint32_t i = 0; i < HMX_TILE; i += 2) {
        const HVX_VectorPair rows = hvx_f16_to_f32(hvx_load_aligned(tile + i / 2 * HVX_BYTES));
        hvx_store_aligned(to->at[i], Q6_V_lo_W(rows));
        hvx_store_aligned(to->at[i + 1], Q6_V_hi_W(rows));
    }
}

void hmx_multiply(const uint8_t *activations, const uint8_t *weights, uint32_t n) {
    static struct floats a, w;
    for (; n > 0; n--, activations += HMX_TILE_BYTES, weights += HMX_TILE_BYTES) {
        load(activations, &a);
        load(weights, &w);
        for (uint32_t row = 0; row < HMX_TILE; row++) {
            float sum[HMX_TILE];
            memcpy(sum, sums.at[row], sizeof(sum));
            for (uint32_t k = 0; k < HMX_TILE; k++)
                for (uint32_t column = 0; column < HMX_TILE; column++)
                    sum[column] += a.at[row][k] * w.at[k][column];
            memcpy(sums.at[row], sum, sizeof(sum));
        }
    }
}

void hmx_store(uint8_t *tile) {
    check_tile(tile);
    float scale[HMX_TILE];
    for (uint32_t i = 0; i < HMX_TILE; i++)
        scale[i] = scales[i] == HMX_SCALE_ONE ? 1.0f : 0.0f; /* the only one in use */
    for (uint32_t row = 0; row < HMX_TILE; row++)
        for (uint32_t column = 0; column < HMX_TILE; column++)
            sums.at[row][column] *= scale[column];
    for (uint32_t i = 0; i < HMX_TILE; i += 2) {
        const HVX_Vector even = hvx_load_aligned(sums.at[i]), odd = hvx_load_aligned(sums.at[i + 1]);
        hvx_store_aligned(tile + i / 2 * HVX_BYTES, hvx_f32_to_f16(even, odd));
    }
    hmx_clear();
}

#endif
