/* GET_ROWS and SET_ROWS, whole ops: a row of many. */
#include <string.h>

#include "packets/packets.h"
#include "runtime/types.h"

#define ROWS 16
#define LENGTH 2048

uint32_t htp_gather(struct htp_exec *exec);

/* from: type of the rows that are read; to: of those that are written. Name: "get_rows q4_0" and the like. */
static void gather(const char *name, uint32_t op, uint32_t from, uint32_t to) {
    const struct htp_view src = packets_tensor(from, LENGTH, ROWS), dst = packets_tensor(to, LENGTH, ROWS);
    struct htp_view index = packets_tensor(HTP_TYPE_I32, ROWS, 1);
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t row = (i * 5 + 3) % ROWS;
        memcpy(index.data + i * 4, &row, 4);
    }
    struct htp_exec exec;
    packets_exec(&exec, op, NULL, &src, &index, &dst);
    packets_begin();
    packets_run(&exec, htp_gather);
    packets_end("row", ROWS, "%s %u", name, (unsigned)LENGTH);
}

void packets_gather(void) {
    gather("get_rows f32", HTP_OP_GET_ROWS, HTP_TYPE_F32, HTP_TYPE_F32);
    gather("get_rows f16", HTP_OP_GET_ROWS, HTP_TYPE_F16, HTP_TYPE_F32);
    gather("get_rows q4_0", HTP_OP_GET_ROWS, HTP_TYPE_Q4_0, HTP_TYPE_F32);
    gather("get_rows q8_0", HTP_OP_GET_ROWS, HTP_TYPE_Q8_0, HTP_TYPE_F32);
    gather("set_rows f16", HTP_OP_SET_ROWS, HTP_TYPE_F32, HTP_TYPE_F16);
    gather("set_rows q8_0", HTP_OP_SET_ROWS, HTP_TYPE_F32, HTP_TYPE_Q8_0);
    gather("set_rows q4_0", HTP_OP_SET_ROWS, HTP_TYPE_F32, HTP_TYPE_Q4_0);
}
