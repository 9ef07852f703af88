/* Gated linear units, whole op: a row of many, or one alone. */
#include "htp/params.h"
#include "packets/packets.h"

#define ROWS 16
#define LONG 128 /* rows that pass through VTCM, block by block */

uint32_t htp_glu(struct htp_exec *exec);

static void glu(const char *name, uint32_t op, uint32_t type, uint32_t length, uint32_t rows) {
    const struct htp_view a = packets_tensor(type, length, rows), b = packets_tensor(type, length, rows);
    const struct htp_view dst = packets_tensor(type, length, rows);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_glu_params glu = {.alpha = 1.702f, .limit = 7.0f};
    __builtin_memcpy(params, &glu, sizeof(glu));
    struct htp_exec exec;
    packets_exec(&exec, op, params, &a, &b, &dst);
    packets_begin();
    packets_run(&exec, htp_glu);
    packets_end("row", rows, "%s %s %u%s", name, type == HTP_TYPE_F32 ? "f32" : "f16", (unsigned)length,
                rows == 1 ? " alone" : rows == LONG ? " streamed" : "");
}

void packets_glu(void) {
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F32, 2048, ROWS);
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F32, 2048, 1);
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F32, 1536, ROWS);
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F16, 2048, ROWS);
    glu("geglu", HTP_OP_GEGLU, HTP_TYPE_F32, 2048, ROWS);
    glu("geglu_erf", HTP_OP_GEGLU_ERF, HTP_TYPE_F32, 2048, ROWS);
    glu("swiglu_oai", HTP_OP_SWIGLU_OAI, HTP_TYPE_F32, 2048, ROWS);
    glu("reglu", HTP_OP_REGLU, HTP_TYPE_F32, 2048, ROWS);
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F32, 2048, LONG);
}
