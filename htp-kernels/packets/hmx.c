/* What HVX does for the matrix unit: weights and activations into f16 tiles, output tiles into rows. */
#include "htp/type_list.h"
#include "ops/matmul/hmx_tiles.h"
#include "packets/packets.h"

#define TILES 64 /* along K: 2048 values */
#define ROWS 32

static double values(uint32_t tiles) { return (double)tiles * HMX_TILE * HMX_TILE / 1024; }

static void weights(uint32_t type, const char *name, uint32_t tiles) {
    const struct hmx_weights *kind = hmx_weights_of(type);
    const size_t bytes = htp_tile_column_bytes(type, tiles * HMX_TILE);
    const HVX_Vector *column = (const HVX_Vector *)(void *)packets_memory(bytes);
    HVX_Vector *to = (HVX_Vector *)(void *)packets_memory(tiles * HMX_TILE_BYTES), largest = hvx_zero();
    packets_begin();
    kind->kernel(column, tiles, to, &largest);
    packets_end("1024 weights", values(tiles), "weights %s K=%u", name, (unsigned)(tiles * HMX_TILE));
}

static void weights_f16(uint32_t tiles) {
    const size_t row_bytes = tiles * HMX_TILE * 2;
    const uint8_t *rows = packets_memory(row_bytes * ROWS);
    HVX_Vector *to = (HVX_Vector *)(void *)packets_memory(tiles * HMX_TILE_BYTES);
    HVX_Vector *scratch = (HVX_Vector *)(void *)packets_memory(HMX_SCRATCH_BYTES);
    packets_begin();
    hmx_weights_f16(rows, row_bytes, tiles, to, scratch);
    packets_end("1024 weights", values(tiles), "weights f16 K=%u", (unsigned)(tiles * HMX_TILE));
}

/* 32 rows: the largest magnitude of each, and the tiles of each pair */
static void activations(uint32_t tiles) {
    const HVX_Vector *x = (const HVX_Vector *)(void *)packets_memory((size_t)tiles * HVX_BYTES * ROWS);
    HVX_Vector *to = (HVX_Vector *)(void *)packets_memory(tiles * HMX_TILE_BYTES), largest = hvx_zero();
    packets_begin();
    for (uint32_t r = 0; r < ROWS; r++)
        largest = hmx_largest_f32(x + r * tiles, tiles, largest);
    packets_end("1024 values", values(tiles), "largest K=%u", (unsigned)(tiles * HMX_TILE));
    packets_begin();
    for (uint32_t r = 0; r < ROWS; r += 2)
        hmx_pack_rows(x + r * tiles, x + (r + 1) * tiles, 1.0f, 2.0f, tiles, to + r / 2);
    packets_end("1024 values", values(tiles), "activations K=%u", (unsigned)(tiles * HMX_TILE));
}

static void outputs(void) {
    const struct htp_view dst = packets_tensor(HTP_TYPE_F32, TILES * HMX_TILE, ROWS);
    const HVX_Vector *tiles = (const HVX_Vector *)(void *)packets_memory(TILES * HMX_TILE_BYTES);
    static struct matmul_row rows[ROWS];
    static float scales[ROWS];
    for (uint32_t r = 0; r < ROWS; r++)
        rows[r].output = htp_row(&dst, r, 0, 0);
    HVX_Vector largest = hvx_zero();
    packets_begin();
    for (uint32_t t = 0; t < TILES; t++)
        largest = hmx_unpack_tile(tiles + t * HMX_TILE_BYTES / HVX_BYTES, rows, scales, ROWS, t * HMX_TILE, HMX_TILE,
                                  largest);
    packets_end("1024 values", values(TILES), "outputs");
}

void packets_hmx(void) {
    for (uint32_t tiles = TILES; tiles >= 18; tiles = tiles == TILES ? 18 : 0) {
        weights(HTP_TYPE_Q4_0, "q4_0", tiles);
        weights(HTP_TYPE_Q8_0, "q8_0", tiles);
        weights(HTP_TYPE_Q4_1, "q4_1", tiles);
        weights(HTP_TYPE_MXFP4, "mxfp4", tiles);
        weights(HTP_TYPE_IQ4_NL, "iq4_nl", tiles);
        weights(HTP_TYPE_Q5_0, "q5_0", tiles);
        weights(HTP_TYPE_Q5_1, "q5_1", tiles);
        weights_f16(tiles);
        activations(tiles);
    }
    for (uint32_t tiles = TILES; tiles >= 24; tiles = tiles == TILES ? 24 : 0) { /* K = 768: an odd number of blocks */
        weights(HTP_TYPE_Q4_K, "q4_k", tiles);
        weights(HTP_TYPE_Q5_K, "q5_k", tiles);
        weights(HTP_TYPE_Q6_K, "q6_k", tiles);
        weights(HTP_TYPE_Q3_K, "q3_k", tiles);
        weights(HTP_TYPE_Q2_K, "q2_k", tiles);
        weights(HTP_TYPE_IQ4_XS, "iq4_xs", tiles);
    }
    outputs();
}
