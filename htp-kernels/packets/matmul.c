/* The matrix multiplication kernels as MUL_MAT calls them, the quantiser, and the whole op. */
#include <string.h>

#include "htp/type_list.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/quantize.h"
#include "packets/packets.h"

#define COLUMNS_GEMV 1536
#define COLUMNS_GEMM 512
#define ROWS_GEMM 32

uint32_t htp_matmul(struct htp_exec *exec);

static double macs(uint32_t k, uint32_t n, uint32_t m) { return (double)k * n * m / 1024; }

/* ---- kernels of quantised weights ---- */

struct tiles {
    const struct kernels *kernels;
    uint32_t k, blocks;
    size_t tile_bytes;
    const uint8_t *weights;
    struct activation_slice rows;
};

static struct tiles make_tiles(uint32_t type, uint32_t k, uint32_t columns, uint32_t rows) {
    struct tiles t = {.kernels = matmul_kernels(type), .k = k, .blocks = k / MATMUL_BLOCK};
    t.tile_bytes = htp_tile_column_bytes(type, k);
    t.weights = packets_memory(t.tile_bytes * (columns / MATMUL_TILE));
    const size_t quants = htp_round_up(k, QUANTIZE_PAD);
    t.rows.row_bytes = quants + (size_t)quantize_record_bytes(k);
    t.rows.quants = packets_memory(t.rows.row_bytes * rows);
    t.rows.records = t.rows.quants + quants;
    return t;
}

static void gemv(uint32_t type, const char *name, uint32_t k) {
    const struct tiles t = make_tiles(type, k, COLUMNS_GEMV, 1);
    const uint32_t pass = t.kernels->pass_tiles, tiles = COLUMNS_GEMV / MATMUL_TILE;
    HVX_Vector sums[KERNEL_MAX_TILES];
    packets_begin();
    for (uint32_t i = 0; i < tiles; i += pass)
        t.kernels->gemv(t.weights + i * t.tile_bytes, t.tile_bytes, pass, t.blocks, &t.rows, sums);
    packets_end("1024 weights", macs(k, COLUMNS_GEMV, 1), "gemv %s K=%u", name, (unsigned)k);
}

static void gemm(uint32_t type, const char *name, uint32_t k) {
    const struct tiles t = make_tiles(type, k, COLUMNS_GEMM, ROWS_GEMM);
    HVX_Vector sums[KERNEL_ROWS];
    packets_begin();
    for (uint32_t i = 0; i < COLUMNS_GEMM / MATMUL_TILE; i++) {
        struct activation_slice a = t.rows;
        for (uint32_t r = 0; r < ROWS_GEMM; r += KERNEL_ROWS) {
            t.kernels->gemm(t.weights + i * t.tile_bytes, t.blocks, &a, KERNEL_ROWS, sums);
            a.quants += KERNEL_ROWS * a.row_bytes;
            a.records += KERNEL_ROWS * a.row_bytes;
        }
    }
    packets_end("1024 MAC", macs(k, COLUMNS_GEMM, ROWS_GEMM), "gemm %s M=%u K=%u", name, ROWS_GEMM, (unsigned)k);
}

/* ---- kernels of float weights ---- */

static void float_kernel(uint32_t type, const char *name, uint32_t k, uint32_t rows) {
    const struct kernels *kernels = matmul_kernels(type);
    const size_t weight_bytes = (size_t)k * (type == HTP_TYPE_F32 ? 4 : 2);
    const size_t x_bytes = (size_t)k * (type == HTP_TYPE_F16 ? 2 : 4);
    const uint8_t *weights = packets_memory(weight_bytes * COLUMNS_GEMM), *x = packets_memory(x_bytes * rows);
    const uint32_t pass = htp_min_u32(rows, KERNEL_FLOAT_ROWS);
    HVX_Vector sums[KERNEL_FLOAT_ROWS];
    packets_begin();
    for (uint32_t i = 0; i < COLUMNS_GEMM; i += MATMUL_TILE) {
        for (uint32_t r = 0; r < rows; r += pass)
            kernels->gemm_float(weights + i * weight_bytes, weight_bytes, MATMUL_TILE, k, x + r * x_bytes, x_bytes,
                                pass, sums);
    }
    if (rows == 1)
        packets_end("1024 weights", macs(k, COLUMNS_GEMM, 1), "gemv %s K=%u", name, (unsigned)k);
    else
        packets_end("1024 MAC", macs(k, COLUMNS_GEMM, rows), "gemm %s M=%u K=%u", name, (unsigned)rows, (unsigned)k);
}

/* ---- the quantiser ---- */

static void quantize(enum quantize_form form, const char *name, uint32_t k) {
    const uint32_t padded = (uint32_t)htp_round_up(k, QUANTIZE_PAD);
    const uint8_t *x = packets_memory((size_t)padded * 4);
    uint8_t *q = packets_memory(padded), *records = packets_memory((size_t)quantize_record_bytes(k));
    packets_begin();
    struct quantize_range range = quantize_range_start();
    for (uint32_t i = 0; i < padded; i += QUANTIZE_BATCH)
        quantize_values((const HVX_Vector *)(const void *)(x + 4 * i), htp_min_u32(padded - i, QUANTIZE_BATCH), form, 8,
                        (HVX_Vector *)(void *)(q + i),
                        (HVX_Vector *)(void *)(records + i / QUANTIZE_GROUP * QUANTIZE_GROUP_RECORD_BYTES), &range);
    quantize_narrow((HVX_Vector *)(void *)records, htp_div_up(k, QUANTIZE_GROUP), form, &range);
    packets_end("1024 values", k / 1024.0, "quantize %s K=%u", name, (unsigned)k);
}

/* ---- the whole op: plan, activations, kernels, outputs ---- */

static void run(uint32_t type, uint32_t k, uint32_t n, uint32_t m) {
    struct htp_view w = {.type = type, .layout = HTP_LAYOUT_TILES, .ne = {k, n, 1, 1}};
    if (matmul_is_quantized(type))
        w.data = packets_memory(htp_tile_column_bytes(type, k) * (n / MATMUL_TILE));
    else
        w = packets_tensor(type, k, n);
    const struct htp_view x = packets_tensor(HTP_TYPE_F32, k, m), dst = packets_tensor(HTP_TYPE_F32, n, m);
    /* scales come out as nonsense, but as the same in all blocks: so rows are narrow, as most are */
    memset(x.data, 0, (size_t)x.nb[1] * m);
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_MUL_MAT, NULL, &w, &x, &dst);
    packets_begin();
    packets_run(&exec, htp_matmul);
}

static void op(uint32_t type, const char *name, uint32_t k, uint32_t n, uint32_t m) {
    run(type, k, n, m);
    packets_end("1024 MAC", macs(k, n, m), "op %s M=%u K=%u N=%u", name, (unsigned)m, (unsigned)k, (unsigned)n);
}

/* A worker by itself: what more column tiles cost, with starting and awaiting their copies and storing outputs. */
static void worker(uint32_t type, const char *name, uint32_t k, uint32_t n, uint32_t m) {
    run(type, k, n, m);
    packets_deduct();
    run(type, k, 2 * n, m);
    packets_end("1024 MAC", macs(k, n, m), "worker %s M=%u K=%u", name, (unsigned)m, (unsigned)k);
}

/* A K that is short, and no multiple of a power of two where the type allows it. */
static uint32_t short_k(uint32_t type) { return htp_tile_scale_group(type) < 8 ? 576 : 768; }

void packets_matmul(void) {
#define TILE_CASES(TYPE, name, tiles)                                      \
    gemv(HTP_TYPE_##TYPE, #name, 2048);                                    \
    gemv(HTP_TYPE_##TYPE, #name, short_k(HTP_TYPE_##TYPE));                                     \
    worker(HTP_TYPE_##TYPE, #name, 2048, COLUMNS_GEMV / 2, 1);                 \
    worker(HTP_TYPE_##TYPE, #name, short_k(HTP_TYPE_##TYPE), COLUMNS_GEMV, 1);                  \
    gemm(HTP_TYPE_##TYPE, #name, 2048);                                    \
    gemm(HTP_TYPE_##TYPE, #name, short_k(HTP_TYPE_##TYPE));                                     \
    worker(HTP_TYPE_##TYPE, #name, 2048, 192, ROWS_GEMM);
    KERNEL_TILE_LIST(TILE_CASES)
#undef TILE_CASES
#define FLOAT_CASES(TYPE, name)                          \
    float_kernel(HTP_TYPE_##TYPE, #name, 2048, 1);       \
    float_kernel(HTP_TYPE_##TYPE, #name, 2048, ROWS_GEMM);
    FLOAT_CASES(F16, f16)
    FLOAT_CASES(BF16, bf16)
    FLOAT_CASES(F32, f32)
#undef FLOAT_CASES
    quantize(QUANTIZE_ZERO, "zero", 2048);
    quantize(QUANTIZE_ZERO, "zero", 576);
    quantize(QUANTIZE_MINIMUM, "minimum", 2048);
    op(HTP_TYPE_Q4_0, "q4_0", 2048, 1536, 1);
    op(HTP_TYPE_Q4_0, "q4_0", 576, 1536, 1);
    op(HTP_TYPE_Q4_0, "q4_0", 2048, 512, 32);
    op(HTP_TYPE_Q8_0, "q8_0", 2048, 1536, 1);
    op(HTP_TYPE_F16, "f16", 2048, 512, 32);
}
