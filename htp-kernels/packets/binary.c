/* Element-wise ops of two tensors, whole op: a row of many. */
#include "packets/packets.h"

#define ROWS 16

uint32_t htp_binary(struct htp_exec *exec);

/* b_length: of the rows of the second operand */
static void binary(const char *name, uint32_t op, uint32_t type, uint32_t length, uint32_t b_length) {
    const struct htp_view a = packets_tensor(type, length, ROWS);
    const struct htp_view b = packets_tensor(type, b_length, ROWS);
    const struct htp_view dst = packets_tensor(type, length, ROWS);
    struct htp_exec exec;
    packets_exec(&exec, op, NULL, &a, &b, &dst);
    packets_begin();
    packets_run(&exec, htp_binary);
    packets_end("row", ROWS, "%s %s %u%s", name, type == HTP_TYPE_F32 ? "f32" : "f16", (unsigned)length,
                b_length == length ? "" : b_length == 1 ? " by one" : " by a part");
}

void packets_binary(void) {
    binary("add", HTP_OP_ADD, HTP_TYPE_F32, 2048, 2048);
    binary("add", HTP_OP_ADD, HTP_TYPE_F32, 576, 576);
    binary("add", HTP_OP_ADD, HTP_TYPE_F16, 2048, 2048);
    binary("mul", HTP_OP_MUL, HTP_TYPE_F32, 2048, 2048);
    binary("mul", HTP_OP_MUL, HTP_TYPE_F32, 2048, 1);
    binary("mul", HTP_OP_MUL, HTP_TYPE_F32, 2048, 64);
    binary("div", HTP_OP_DIV, HTP_TYPE_F32, 2048, 2048);
}
