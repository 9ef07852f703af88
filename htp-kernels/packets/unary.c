/* Element-wise ops of one tensor, whole op: a row of many, or one alone. */
#include "htp/params.h"
#include "packets/packets.h"

#define ROWS 16
#define LONG 128 /* rows that pass through VTCM, block by block */

uint32_t htp_unary(struct htp_exec *exec);

static void unary(const char *name, uint32_t op, uint32_t type, uint32_t length, uint32_t rows) {
    const struct htp_view src = packets_tensor(type, length, rows), dst = packets_tensor(type, length, rows);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_unary_params unary = {{0.5f, 0.0f, 0.5f, -1e-6f}};
    __builtin_memcpy(params, &unary, sizeof(unary));
    struct htp_exec exec;
    packets_exec(&exec, op, params, &src, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_unary);
    packets_end("row", rows, "%s %s %u%s", name, type == HTP_TYPE_F32 ? "f32" : "f16", (unsigned)length,
                rows == 1 ? " alone" : rows == LONG ? " streamed" : "");
}

void packets_unary(void) {
    unary("scale", HTP_OP_SCALE, HTP_TYPE_F32, 2048, ROWS);
    unary("scale", HTP_OP_SCALE, HTP_TYPE_F32, 576, ROWS);
    unary("scale", HTP_OP_SCALE, HTP_TYPE_F32, 2048, 1);
    unary("scale", HTP_OP_SCALE, HTP_TYPE_F16, 2048, ROWS);
    unary("sqr", HTP_OP_SQR, HTP_TYPE_F32, 2048, ROWS);
    unary("relu", HTP_OP_RELU, HTP_TYPE_F32, 2048, ROWS);
    unary("sigmoid", HTP_OP_SIGMOID, HTP_TYPE_F32, 2048, ROWS);
    unary("silu", HTP_OP_SILU, HTP_TYPE_F32, 2048, ROWS);
    unary("silu", HTP_OP_SILU, HTP_TYPE_F16, 2048, ROWS);
    unary("gelu", HTP_OP_GELU, HTP_TYPE_F32, 2048, ROWS);
    unary("gelu_erf", HTP_OP_GELU_ERF, HTP_TYPE_F32, 2048, ROWS);
    unary("exp", HTP_OP_EXP, HTP_TYPE_F32, 2048, ROWS);
    unary("tanh", HTP_OP_TANH, HTP_TYPE_F32, 2048, ROWS);
    unary("softplus", HTP_OP_SOFTPLUS, HTP_TYPE_F32, 2048, ROWS);
    unary("sqrt", HTP_OP_SQRT, HTP_TYPE_F32, 2048, ROWS);
    unary("log", HTP_OP_LOG, HTP_TYPE_F32, 2048, ROWS);
    unary("scale", HTP_OP_SCALE, HTP_TYPE_F32, 2048, LONG);
    unary("gelu", HTP_OP_GELU, HTP_TYPE_F32, 2048, LONG);
    unary("sgn", HTP_OP_SGN, HTP_TYPE_F32, 2048, ROWS);
    unary("elu", HTP_OP_ELU, HTP_TYPE_F32, 2048, ROWS);
    unary("hardswish", HTP_OP_HARDSWISH, HTP_TYPE_F32, 2048, ROWS);
    unary("hardsigmoid", HTP_OP_HARDSIGMOID, HTP_TYPE_F32, 2048, ROWS);
    unary("expm1", HTP_OP_EXPM1, HTP_TYPE_F32, 2048, ROWS);
    unary("xielu", HTP_OP_XIELU, HTP_TYPE_F32, 2048, ROWS);
    unary("floor", HTP_OP_FLOOR, HTP_TYPE_F32, 2048, ROWS);
    unary("ceil", HTP_OP_CEIL, HTP_TYPE_F32, 2048, ROWS);
    unary("round", HTP_OP_ROUND, HTP_TYPE_F32, 2048, ROWS);
    unary("trunc", HTP_OP_TRUNC, HTP_TYPE_F32, 2048, ROWS);
    unary("leaky_relu", HTP_OP_LEAKY_RELU, HTP_TYPE_F32, 2048, ROWS);
    unary("sin", HTP_OP_SIN, HTP_TYPE_F32, 2048, ROWS);
    unary("cos", HTP_OP_COS, HTP_TYPE_F32, 2048, ROWS);
}
