/* ARGSORT and TOP_K, whole ops: a row of 1024. */
#include <string.h>

#include "htp/params.h"
#include "packets/packets.h"

#define LENGTH 1024
#define ROWS 4

uint32_t htp_sort(struct htp_exec *exec);

void packets_sort(void) {
    struct htp_view src = packets_tensor(HTP_TYPE_F32, LENGTH, ROWS);
    struct htp_view dst = packets_tensor(HTP_TYPE_I32, LENGTH, ROWS);
    /* the same rows for each seed: what a sort costs depends on its data */
    for (uint32_t i = 0; i < LENGTH * ROWS; i++) {
        const uint32_t bits = (i + 1) * 2654435761u;
        memcpy(src.data + (size_t)i * 4, &bits, 4);
    }
    int32_t params[HTP_MAX_PARAMS] = {0};
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_ARGSORT, params, &src, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_sort);
    packets_end("row", ROWS, "argsort %u", (unsigned)LENGTH);

    dst.ne[0] = 8; /* experts of a token */
    src.ne[0] = 128;
    exec.op = HTP_OP_TOP_K;
    packets_begin();
    packets_run(&exec, htp_sort);
    packets_end("row", ROWS, "top_k 8 of 128");

    dst.ne[0] = 40; /* a sampler's choice */
    src.ne[0] = LENGTH;
    packets_begin();
    packets_run(&exec, htp_sort);
    packets_end("row", ROWS, "top_k 40 of %u", (unsigned)LENGTH);
}
