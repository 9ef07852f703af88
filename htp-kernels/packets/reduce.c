/* Reductions of rows, whole op: a row of many. */
#include "packets/packets.h"

#define ROWS 16
#define LONG 128 /* rows that pass through VTCM, block by block */

uint32_t htp_reduce(struct htp_exec *exec);

static void reduce(const char *name, uint32_t op, uint32_t length, uint32_t rows) {
    const struct htp_view src = packets_tensor(HTP_TYPE_F32, length, rows);
    struct htp_view dst = packets_tensor(HTP_TYPE_F32, op == HTP_OP_CUMSUM ? length : 1, rows);
    if (op == HTP_OP_ARGMAX)
        dst = (struct htp_view){.data = dst.data, .type = HTP_TYPE_I32, .ne = {rows, 1, 1, 1}, .nb = {4, 64, 64, 64}};
    for (uint32_t i = 0; i < length * rows; i++) /* no NaN: they take another way */
        src.data[4 * i + 3] = 0x3f;
    if (op == HTP_OP_SUM)
        dst.ne[1] = 1;
    struct htp_exec exec;
    packets_exec(&exec, op, NULL, &src, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_reduce);
    packets_end("row", rows, "%s f32 %u%s", name, (unsigned)length, rows == LONG ? " streamed" : "");
}

void packets_reduce(void) {
    reduce("sum_rows", HTP_OP_SUM_ROWS, 2048, ROWS);
    reduce("sum_rows", HTP_OP_SUM_ROWS, 128, ROWS);
    reduce("sum_rows", HTP_OP_SUM_ROWS, 2048, LONG);
    reduce("mean", HTP_OP_MEAN, 2048, ROWS);
    reduce("sum", HTP_OP_SUM, 2048, ROWS);
    reduce("argmax", HTP_OP_ARGMAX, 2048, ROWS);
    reduce("cumsum", HTP_OP_CUMSUM, 2048, ROWS);
}
