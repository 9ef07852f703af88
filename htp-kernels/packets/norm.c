/* Normalisations, whole op: a row of many. */
#include "htp/params.h"
#include "packets/packets.h"

#define ROWS 16
#define LONG 128 /* rows that pass through VTCM, block by block */

uint32_t htp_norm(struct htp_exec *exec);

/* extra: how many further sources (weight: a row; addend: as large as the result) */
static void norm(const char *name, uint32_t op, uint32_t length, uint32_t extra, uint32_t rows) {
    const struct htp_view src = packets_tensor(HTP_TYPE_F32, length, rows);
    const struct htp_view weight = packets_tensor(HTP_TYPE_F32, length, 1);
    const struct htp_view addend = packets_tensor(HTP_TYPE_F32, length, rows);
    const struct htp_view dst = packets_tensor(HTP_TYPE_F32, length, rows);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_norm_params norm = {.eps = 1e-5f};
    __builtin_memcpy(params, &norm, sizeof(norm));
    struct htp_exec exec;
    packets_exec(&exec, op, params, &src, extra > 0 ? &weight : NULL, &dst);
    exec.src[2] = extra > 1 ? &addend : NULL;
    exec.n_src = 1 + extra;
    packets_begin();
    packets_run(&exec, htp_norm);
    packets_end("row", rows, "%s%s f32 %u%s", name, extra > 1 ? "+mul+add" : extra > 0 ? "+mul" : "", (unsigned)length,
                rows == LONG ? " streamed" : "");
}

/* an image in groups of ten planes */
static void group(void) {
    struct htp_view src = packets_tensor(HTP_TYPE_F32, 32, 32 * 40), dst = packets_tensor(HTP_TYPE_F32, 32, 32 * 40);
    src.ne[1] = dst.ne[1] = 32;
    src.ne[2] = dst.ne[2] = 40;
    src.nb[2] = dst.nb[2] = 32 * 32 * 4;
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_norm_params norm = {1e-5f, 4};
    __builtin_memcpy(params, &norm, sizeof(norm));
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_GROUP_NORM, params, &src, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_norm);
    packets_end("1024 elements", 40, "group_norm f32 32x32x10");
}

void packets_norm(void) {
    norm("rms_norm", HTP_OP_RMS_NORM, 2048, 0, ROWS);
    norm("rms_norm", HTP_OP_RMS_NORM, 576, 0, ROWS);
    norm("rms_norm", HTP_OP_RMS_NORM, 2048, 1, ROWS);
    norm("rms_norm", HTP_OP_RMS_NORM, 576, 1, ROWS);
    norm("rms_norm", HTP_OP_RMS_NORM, 2048, 2, ROWS);
    norm("rms_norm", HTP_OP_RMS_NORM, 2048, 0, LONG);
    norm("rms_norm", HTP_OP_RMS_NORM, 2048, 1, LONG);
    norm("norm", HTP_OP_NORM, 2048, 0, ROWS);
    norm("norm", HTP_OP_NORM, 2048, 2, ROWS);
    norm("l2_norm", HTP_OP_L2_NORM, 2048, 0, ROWS);
    norm("l2_norm", HTP_OP_L2_NORM, 128, 0, ROWS);
    group();
}
