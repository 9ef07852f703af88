/* Element-wise ops of two tensors, whole op: a row of many. */
#include "packets/packets.h"

#define ROWS 16
#define LONG 128 /* rows that pass through VTCM, block by block */

uint32_t htp_binary(struct htp_exec *exec);

static const char *type_name(uint32_t type) {
    return type == HTP_TYPE_F32 ? "f32" : type == HTP_TYPE_F16 ? "f16" : "bf16";
}

/* b_length: of the rows of the second operand */
static void binary(const char *name, uint32_t op, uint32_t type, uint32_t length, uint32_t b_length,
                   uint32_t rows) {
    const struct htp_view a = packets_tensor(type, length, rows);
    const struct htp_view b = packets_tensor(type, b_length, rows);
    const struct htp_view dst = packets_tensor(type, length, rows);
    struct htp_exec exec;
    packets_exec(&exec, op, NULL, &a, &b, &dst);
    packets_begin();
    packets_run(&exec, htp_binary);
    packets_end("row", rows, "%s %s %u%s%s", name, type_name(type), (unsigned)length,
                b_length == length ? "" : b_length == 1 ? " by one" : " by a part",
                rows == LONG ? " streamed" : "");
}

/* dst is src0 */
static void add_onto(uint32_t length) {
    const struct htp_view a = packets_tensor(HTP_TYPE_F32, length, ROWS);
    const struct htp_view b = packets_tensor(HTP_TYPE_F32, length, ROWS);
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_ADD, NULL, &a, &b, &a);
    packets_begin();
    packets_run(&exec, htp_binary);
    packets_end("row", ROWS, "add f32 %u in place", (unsigned)length);
}

static void add_id(uint32_t length) {
    const struct htp_view a = packets_tensor(HTP_TYPE_F32, length, ROWS);
    const struct htp_view b = packets_tensor(HTP_TYPE_F32, length, ROWS);
    const struct htp_view dst = packets_tensor(HTP_TYPE_F32, length, ROWS);
    static int32_t id[ROWS];
    for (int32_t i = 0; i < ROWS; i++)
        id[i] = i * 7 % ROWS;
    const uint32_t bytes = sizeof(id);
    const struct htp_view ids = {
        .data = (uint8_t *)id, .type = HTP_TYPE_I32, .ne = {ROWS, 1, 1, 1}, .nb = {4, bytes, bytes, bytes}};
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_ADD_ID, NULL, &a, &b, &dst);
    exec.src[2] = &ids;
    exec.n_src = 3;
    packets_begin();
    packets_run(&exec, htp_binary);
    packets_end("row", ROWS, "add_id f32 %u", (unsigned)length);
}

void packets_binary(void) {
    binary("add", HTP_OP_ADD, HTP_TYPE_F32, 2048, 2048, ROWS);
    binary("add", HTP_OP_ADD, HTP_TYPE_F32, 576, 576, ROWS);
    binary("add", HTP_OP_ADD, HTP_TYPE_F16, 2048, 2048, ROWS);
    binary("mul", HTP_OP_MUL, HTP_TYPE_F32, 2048, 2048, ROWS);
    binary("mul", HTP_OP_MUL, HTP_TYPE_F32, 2048, 1, ROWS);
    binary("mul", HTP_OP_MUL, HTP_TYPE_F32, 2048, 64, ROWS);
    binary("div", HTP_OP_DIV, HTP_TYPE_F32, 2048, 2048, ROWS);
    binary("add", HTP_OP_ADD, HTP_TYPE_BF16, 2048, 2048, ROWS);
    binary("add", HTP_OP_ADD, HTP_TYPE_F32, 2048, 2048, LONG);
    add_onto(2048);
    add_id(2048);
}
