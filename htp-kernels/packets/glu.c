/* Gated linear units, whole op: one row of two tensors. */
#include "htp/params.h"
#include "packets/packets.h"

uint32_t htp_glu(struct htp_exec *exec);

static void glu(const char *name, uint32_t op, uint32_t type, uint32_t length) {
    const struct htp_view a = packets_tensor(type, length, 1), b = packets_tensor(type, length, 1);
    const struct htp_view dst = packets_tensor(type, length, 1);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_glu_params glu = {.alpha = 1.702f, .limit = 7.0f};
    __builtin_memcpy(params, &glu, sizeof(glu));
    struct htp_exec exec;
    packets_exec(&exec, op, params, &a, &b, &dst);
    packets_begin();
    packets_run(&exec, htp_glu);
    packets_end("row", 1, "%s %s %u", name, type == HTP_TYPE_F32 ? "f32" : "f16", (unsigned)length);
}

void packets_glu(void) {
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F32, 2048);
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F32, 1536);
    glu("swiglu", HTP_OP_SWIGLU, HTP_TYPE_F16, 2048);
    glu("geglu", HTP_OP_GEGLU, HTP_TYPE_F32, 2048);
    glu("geglu_erf", HTP_OP_GEGLU_ERF, HTP_TYPE_F32, 2048);
    glu("swiglu_oai", HTP_OP_SWIGLU_OAI, HTP_TYPE_F32, 2048);
    glu("reglu", HTP_OP_REGLU, HTP_TYPE_F32, 2048);
}
