/* Narrow and wide rows give the same numbers wherever both can; rows that cannot be narrow are wide. */
#include <math.h>
#include <string.h>

#include "check/check.h"
#include "check/row_ref.h"
#include "ops/matmul/check_parts.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/quantize.h"
#include "ops/matmul/ref.h"
#include "runtime/types.h"

#define K_MOST QUANTIZE_BATCH
#define RECORDS (K_MOST / QUANTIZE_GROUP * QUANTIZE_GROUP_RECORDS)

/* A quantised row; kernels may read a vector behind its records. */
struct row {
    int8_t q[K_MOST] __attribute__((aligned(128)));
    struct activation_record records[RECORDS + 8] __attribute__((aligned(128)));
    float unit;
};

static enum quantize_form form_of(uint32_t type) { return htp_tile_zero(type) == 0 ? QUANTIZE_MINIMUM : QUANTIZE_ZERO; }

/* wide: the row is told that one of its scales is infinite */
static void make_row(struct row *row, uint32_t type, uint32_t k, const float *x, bool wide) {
    struct quantize_range range = quantize_range_start();
    quantize_values((const HVX_Vector *)(const void *)x, (uint32_t)htp_round_up(k, QUANTIZE_PAD), form_of(type),
                    htp_tile_zero(type), (HVX_Vector *)(void *)row->q, (HVX_Vector *)(void *)row->records, &range);
    if (wide)
        range.largest = hvx_splat_i32(0x7f800000);
    row->unit =
        quantize_narrow((HVX_Vector *)(void *)row->records, htp_div_up(k, QUANTIZE_GROUP), form_of(type), &range);
}

static struct activation_slice slice_of(const struct row *row) {
    return (struct activation_slice){(const uint8_t *)row->q, (const uint8_t *)row->records, sizeof(struct row)};
}

static void fill_blocks(const struct htp_view *w) {
    const uint32_t size = check_type_size(w->type), blocks = w->ne[1] * (w->ne[0] / htp_type_elements(w->type));
    for (uint32_t i = 0; i < blocks; i++) {
        uint8_t *block = w->data + (size_t)i * size;
        for (uint32_t j = 0; j < size; j++)
            block[j] = (uint8_t)check_random();
        const float scale = ldexpf(check_uniform(), (int)check_below(20) - 12);
        check_set_scales(w->type, block, scale, ldexpf(check_uniform(), (int)check_below(20) - 12));
    }
}

static void fill_row(float *x, uint32_t k, int spread) {
    float factor = 1;
    memset(x, 0, K_MOST * sizeof(float));
    for (uint32_t i = 0; i < k; i++) {
        if (i % 32 == 0)
            factor = check_below(9) == 0 ? 0 : ldexpf(1, (int)check_below(2 * (uint32_t)spread + 1) - spread);
        x[i] = check_uniform() * factor;
    }
}

static void run_type(struct check *c, uint32_t type, uint32_t k, int spread) {
    static float x[K_MOST] __attribute__((aligned(128)));
    static struct row narrow, wide;
    const struct kernels *kernels = matmul_kernels(type);
    const uint32_t tiles = KERNEL_MAX_TILES - 1, ne[4] = {k, tiles * MATMUL_TILE, 1, 1}, blocks = k / MATMUL_BLOCK;
    const size_t tile_bytes = htp_tile_column_bytes(type, k);
    struct check_tensor rows, packed;
    check_make(&rows, type, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&packed, type, HTP_LAYOUT_TILES, ne, NULL, 0);
    fill_blocks(&rows.view);
    matmul_ref_tiles(&rows.view, &packed.view);
    fill_row(x, k, spread);
    make_row(&narrow, type, k, x, false);
    make_row(&wide, type, k, x, true);
    check_true(c, narrow.unit > 0 && wide.unit == 0, "type %u k %u: units %g, %g", (unsigned)type, (unsigned)k,
               (double)narrow.unit, (double)wide.unit);

    const struct activation_slice n = slice_of(&narrow), w = slice_of(&wide);
    HVX_Vector one[KERNEL_MAX_TILES], other[KERNEL_MAX_TILES];
    kernels->gemv(packed.view.data, tile_bytes, tiles, blocks, &n, one);
    kernels->gemv_wide(packed.view.data, tile_bytes, tiles, blocks, &w, other);
    uint32_t different = 0;
    for (uint32_t t = 0; t < tiles; t++) {
        float a[MATMUL_TILE], b[MATMUL_TILE];
        memcpy(a, &one[t], sizeof(a));
        memcpy(b, &other[t], sizeof(b));
        for (uint32_t i = 0; i < MATMUL_TILE; i++)
            different += a[i] * narrow.unit != b[i];
    }
    check_true(c, different == 0, "type %u k %u: %u outputs of the narrow row differ from those of the wide one",
               (unsigned)type, (unsigned)k, (unsigned)different);
    check_free(&rows);
    check_free(&packed);
}

/* Not finite, or too far apart: wide. */
static void run_forced(struct check *c, float value, bool expected) {
    static float x[K_MOST] __attribute__((aligned(128)));
    static struct row row;
    fill_row(x, 256, 0);
    x[40] = value;
    x[70] = 1;
    for (uint32_t i = 0; i < 32; i++)
        x[32 + i] = i == 8 ? value : 0;
    make_row(&row, HTP_TYPE_Q4_0, 256, x, false);
    check_true(c, (row.unit == 0) == expected, "a block of %g beside ones: unit %g", (double)value, (double)row.unit);
}

void check_matmul_wide(struct check *c) {
    static const uint32_t lengths[] = {32, 64, 96, 576, 1056, 2048};
#define RUN_TYPE(TYPE, name, pass_tiles)                                                    \
    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {                   \
        const size_t k = htp_round_up(lengths[i], htp_type_elements(HTP_TYPE_##TYPE));      \
        /* MXFP4 and types with blocks of 256 have f32 scales of activations in any case */ \
        if (HTP_TYPE_##TYPE != HTP_TYPE_MXFP4 && htp_type_elements(HTP_TYPE_##TYPE) == 32)  \
            run_type(c, HTP_TYPE_##TYPE, (uint32_t)k, i % 2 == 0 ? 2 : 12);                 \
    }
    KERNEL_TILE_LIST(RUN_TYPE)
#undef RUN_TYPE
    run_forced(c, INFINITY, true);
    run_forced(c, NAN, true);
    run_forced(c, 0x1p-40f, true);
    run_forced(c, 0x1p40f, true);
    run_forced(c, 0x1p-26f, false);
    run_forced(c, 0x1p26f, false);
    run_forced(c, 0, false);
}
