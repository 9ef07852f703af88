#include "ops/unary/ref.h"

#include <math.h>

#include "hvx/emul/half.h"

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double gelu(uint32_t type, double x) {
    if (type == HTP_TYPE_F32 && x == -INFINITY) /* ggml's table for f32 ends before */
        return 0;
    return x * sigmoid(2 * 0.79788456080286535588 * x * (1 + 0.044715 * x * x)); /* 1 + tanh(y) is 2 sigmoid(2y) */
}

static double hard_gate(double x) { return fmin(1, fmax(0, (x + 3) / 6)); }

static double xielu(double x, double alpha_n, double alpha_p, double beta, double eps) {
    return x > 0 ? alpha_p * x * x + beta * x : (expm1(fmin(x, eps)) - x) * alpha_n + beta * x;
}

/* in ggml's order of comparisons */
static double clamp(double x, double min, double max) {
    const double r = x < max ? x : max;
    return r > min ? r : min;
}

double ref_unary(uint32_t op, uint32_t type, double x, const float *args) {
    switch (op) {
    case HTP_OP_SCALE:
        return x * args[0] + args[1];
    case HTP_OP_SQR:
        return x * x;
    case HTP_OP_SQRT:
        return sqrt(x);
    case HTP_OP_CLAMP:
        return clamp(x, args[0], args[1]);
    case HTP_OP_SILU:
        return x / (1 + exp(-x));
    case HTP_OP_GELU:
        return gelu(type, x);
    case HTP_OP_GELU_QUICK:
        return x * sigmoid(1.702 * x);
    case HTP_OP_GELU_ERF:
        return 0.5 * x * (x < 0 ? erfc(-x * 0.70710678118654752440) : 1 + erf(x * 0.70710678118654752440));
    case HTP_OP_SIGMOID:
        return sigmoid(x);
    case HTP_OP_NEG:
        return -x;
    case HTP_OP_EXP:
        return exp(x);
    case HTP_OP_SOFTPLUS:
        return x > 20 ? x : log1p(exp(x));
    case HTP_OP_TANH:
        return tanh(x);
    case HTP_OP_RELU:
        return x > 0 ? x : 0;
    case HTP_OP_ABS:
        return fabs(x);
    case HTP_OP_STEP:
        return x > 0 ? 1 : 0;
    case HTP_OP_LOG:
        return log(x);
    case HTP_OP_SGN:
        return (x > 0) - (x < 0);
    case HTP_OP_ELU:
        return x > 0 ? x : expm1(x);
    case HTP_OP_HARDSWISH:
        return x * hard_gate(x);
    case HTP_OP_HARDSIGMOID:
        return hard_gate(x);
    case HTP_OP_EXPM1:
        return expm1(x);
    case HTP_OP_XIELU:
        return isnan(x) ? x : xielu(x, args[0], args[1], args[2], args[3]);
    case HTP_OP_FLOOR:
        return floor(x);
    case HTP_OP_CEIL:
        return ceil(x);
    case HTP_OP_ROUND:
        return round(x);
    case HTP_OP_TRUNC:
        return trunc(x);
    case HTP_OP_LEAKY_RELU:
        return x > 0 ? x : x < 0 ? args[0] * x : 0;
    case HTP_OP_SIN:
        return sin(x);
    case HTP_OP_COS:
        return cos(x);
    default:
        return NAN;
    }
}

static float round_to_bf16(float x) {
    const uint32_t bits = hvx_float_bits(x);
    if (isnan(x))
        return x;
    return hvx_bits_float((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

double ref_round(uint32_t type, double x) {
    const float f = (float)x;
    switch (type) {
    case HTP_TYPE_F16:
        return hvx_half_to_float(hvx_float_to_half(f));
    case HTP_TYPE_BF16:
        return round_to_bf16(f);
    default:
        return f;
    }
}

double ref_precision(uint32_t type) {
    switch (type) {
    case HTP_TYPE_F16:
        return 0x1p-11;
    case HTP_TYPE_BF16:
        return 0x1p-8;
    default:
        return 0x1p-24;
    }
}

float ref_value(uint32_t type, float scale, bool special) {
    static const float values[] = {0.0f,   -0.0f, INFINITY, -INFINITY, NAN,    1e-40f, -1e-40f, 1e-6f, 65504.0f,
                                   -6e4f,  88.7f, 88.8f,    -87.3f,    -104.f, 3e38f,  -3e38f,  20.5f, -1.0f};
    float x = check_uniform() * scale;
    if (special && check_below(3) == 0)
        x = values[check_below(sizeof(values) / sizeof(values[0]))];
    return (float)ref_round(type, x);
}

void ref_fill(const struct htp_view *v, float scale, bool special) {
    for (uint32_t r = 0; r < htp_rows(v); r++)
        for (uint32_t i = 0; i < v->ne[0]; i++)
            check_set(v, i, r % v->ne[1], r / v->ne[1] % v->ne[2], r / v->ne[1] / v->ne[2],
                      ref_value(v->type, scale, special));
}

double ref_error(uint32_t type, double got, double expected, double relative, double unit) {
    const double rounded = ref_round(type, expected);
    if (isnan(expected))
        return isnan(got) ? 0 : INFINITY;
    if (isinf(rounded) || !isfinite(got)) /* also: too large for the type */
        return got == rounded ? 0 : INFINITY;
    if (got == expected)
        return 0;
    /* half of the last place of subnormals */
    const double place = type == HTP_TYPE_F16 ? 0x1p-25 : type == HTP_TYPE_BF16 ? 0x1p-134 : 0x1p-150;
    const double allowed = (relative + 1.01 * ref_precision(type)) * fabs(expected) + relative * unit + 2 * place;
    return fabs(got - expected) / allowed;
}
