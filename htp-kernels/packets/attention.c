/* FLASH_ATTN_EXT: dot products, sums of values, and both with all else within the op. */
#include "packets/packets.h"

#include <string.h>

#include "ops/attention/scores.h"
#include "ops/attention/values.h"

#define HEAD 128
#define UNITS (HEAD / HVX_HALVES)

uint32_t htp_attention(struct htp_exec *exec);

static void dots(uint32_t head) {
    const uint32_t units = head / HVX_HALVES;
    const HVX_Vector *q = (const HVX_Vector *)(void *)packets_memory(units * HVX_BYTES);
    const uint8_t *keys = packets_memory((size_t)HVX_WORDS * units * HVX_BYTES);
    packets_begin();
    attention_dots(units, keys, units * HVX_BYTES, q);
    packets_end("key", HVX_WORDS, "dots of %u, 1 row x %u keys", (unsigned)head, HVX_WORDS);
}

static void values(uint32_t rows, uint32_t keys) {
    const struct probabilities *p = (const struct probabilities *)(void *)packets_memory(sizeof(*p));
    const uint8_t *v = packets_memory((size_t)ATTENTION_MAX_BLOCK * UNITS * HVX_BYTES);
    const size_t step = STATE_SUMS + 2 * UNITS;
    HVX_Vector *sums = (HVX_Vector *)(void *)packets_memory(ATTENTION_ROW_STEP * step * HVX_BYTES);
    packets_begin();
    attention_add_values(rows, UNITS, v, keys, p, sums, step);
    packets_end("(row, key)", (double)rows * keys, "values of %u, %u rows x %u keys", HEAD, (unsigned)rows,
                (unsigned)keys);
}

/* a tensor of heads, [HEAD, rows, heads] */
static struct htp_view tensor(uint32_t type, uint32_t rows, uint32_t heads) {
    struct htp_view v = packets_tensor(type, HEAD, rows * heads);
    v.ne[1] = rows;
    v.ne[2] = heads;
    v.nb[2] = rows * v.nb[1];
    v.nb[3] = heads * v.nb[2];
    return v;
}

/* `heads` query heads share a KV head */
static void whole_op(uint32_t positions, uint32_t heads, uint32_t keys) {
    const struct htp_view q = tensor(HTP_TYPE_F32, positions, heads), dst = tensor(HTP_TYPE_F32, heads, positions);
    const struct htp_view k = tensor(HTP_TYPE_F16, keys, 1), v = tensor(HTP_TYPE_F16, keys, 1);
    const struct htp_view mask = packets_tensor(HTP_TYPE_F16, keys, positions);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_attention_params p = {.scale = 0.125f};
    memcpy(params, &p, sizeof(p));
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_FLASH_ATTN_EXT, params, &q, &k, &dst);
    exec.n_src = 4;
    exec.src[2] = &v;
    exec.src[3] = &mask;
    packets_begin();
    packets_run(&exec, htp_attention);
    packets_end("(row, key)", (double)positions * heads * keys, "op, %u positions x %u heads, %u keys of %u",
                (unsigned)positions, (unsigned)heads, (unsigned)keys, HEAD);
}

void packets_attention(void) {
    dots(128);
    dots(64);
    values(4, ATTENTION_MAX_BLOCK);
    values(4, 64);
    values(2, ATTENTION_MAX_BLOCK);
    values(1, ATTENTION_MAX_BLOCK);
    whole_op(1, 1, 1024);
    whole_op(1, 4, 1024);
    whole_op(32, 4, 1024);
}
