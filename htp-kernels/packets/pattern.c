/* FILL, ARANGE, TRI and the other ops of the family, whole. */
#include "htp/params.h"
#include "packets/packets.h"

#define LENGTH 2048
#define ROWS 16

uint32_t htp_pattern(struct htp_exec *exec);

/* src 0 and 1 may be NULL; bytes of params */
static void pattern(const char *name, uint32_t op, const void *arguments, size_t bytes, const struct htp_view *src0,
                    const struct htp_view *src1, const struct htp_view *dst) {
    int32_t params[HTP_MAX_PARAMS] = {0};
    __builtin_memcpy(params, arguments, bytes);
    struct htp_exec exec;
    packets_exec(&exec, op, params, src0, src1, dst);
    packets_begin();
    packets_run(&exec, htp_pattern);
    const uint32_t rows = dst->ne[1] * dst->ne[2] * dst->ne[3];
    packets_end("1024 elements", rows * dst->ne[0] / 1024.0, "%s f32 %ux%u", name, (unsigned)dst->ne[0], (unsigned)rows);
}

void packets_pattern(void) {
    const struct htp_view src = packets_tensor(HTP_TYPE_F32, LENGTH, ROWS), dst = packets_tensor(HTP_TYPE_F32, LENGTH, ROWS);
    const struct htp_view line = packets_tensor(HTP_TYPE_F32, LENGTH * ROWS, 1);
    const struct htp_view square = packets_tensor(HTP_TYPE_F32, 256, 256), result = packets_tensor(HTP_TYPE_F32, 256, 256);
    const struct htp_view row = packets_tensor(HTP_TYPE_F32, 256, 1), times = packets_tensor(HTP_TYPE_F32, 2, 1);
    const struct htp_view embedding = packets_tensor(HTP_TYPE_F32, 320, 2), part = packets_tensor(HTP_TYPE_F32, 1024, ROWS);
    const struct htp_fill_params fill = {2.5f};
    const struct htp_arange_params arange = {0.5f, 0.25f};
    const struct htp_band_params lower = {INT32_MIN, 0, 0}, diagonal = {0, 0, 0};
    const struct htp_roll_params roll = {{3, 2, 0, 0}};
    const struct htp_timestep_params timestep = {0.083f};
    const struct htp_put_params put = {{LENGTH * 4, LENGTH * ROWS * 4, LENGTH * ROWS * 4}, 0};
    pattern("fill", HTP_OP_FILL, &fill, sizeof(fill), &src, NULL, &dst);
    pattern("arange", HTP_OP_ARANGE, &arange, sizeof(arange), NULL, NULL, &line);
    pattern("tri", HTP_OP_TRI, &lower, sizeof(lower), &square, NULL, &result);
    pattern("diag", HTP_OP_DIAG, &diagonal, sizeof(diagonal), &row, NULL, &result);
    pattern("diag_mask_inf", HTP_OP_DIAG_MASK_INF, &lower, sizeof(lower), &square, NULL, &result);
    pattern("roll", HTP_OP_ROLL, &roll, sizeof(roll), &src, NULL, &dst);
    pattern("timestep_embedding", HTP_OP_TIMESTEP_EMBEDDING, &timestep, sizeof(timestep), &times, NULL, &embedding);
    pattern("acc", HTP_OP_ACC, &put, sizeof(put), &src, &part, &dst);
    pattern("set", HTP_OP_SET, &put, sizeof(put), &src, &part, &dst);
}
