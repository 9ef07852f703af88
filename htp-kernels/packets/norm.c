/* RMS_NORM, whole op: a row of many. */
#include "htp/params.h"
#include "packets/packets.h"

#define ROWS 16

uint32_t htp_norm(struct htp_exec *exec);

static void rms_norm(uint32_t length) {
    const struct htp_view src = packets_tensor(HTP_TYPE_F32, length, ROWS);
    const struct htp_view dst = packets_tensor(HTP_TYPE_F32, length, ROWS);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_norm_params norm = {.eps = 1e-5f};
    __builtin_memcpy(params, &norm, sizeof(norm));
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_RMS_NORM, params, &src, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_norm);
    packets_end("row", ROWS, "rms_norm f32 %u", (unsigned)length);
}

void packets_norm(void) {
    rms_norm(2048);
    rms_norm(576);
}
