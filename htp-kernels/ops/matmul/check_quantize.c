/* The quantiser of MUL_MAT's activations against its rule. */
#include <math.h>

#include "check/check.h"
#include "ops/matmul/check_parts.h"
#include "ops/matmul/quantize.h"

static bool is_sum(enum quantize_form form, const struct activation_record *record, uint32_t half, int sum,
                   double scale) {
    if (form == QUANTIZE_MINIMUM)
        return record->scaled_sum[half] == (float)(scale * sum);
    return record->start[half] == -8 * sum;
}

void check_matmul_quantizer(struct check *c) {
    static float x[QUANTIZE_GROUP] __attribute__((aligned(128)));
    static int8_t q[QUANTIZE_GROUP] __attribute__((aligned(128)));
    static struct activation_record records[QUANTIZE_GROUP_RECORDS] __attribute__((aligned(128)));
    static const enum quantize_form forms[] = {QUANTIZE_ZERO, QUANTIZE_MINIMUM, QUANTIZE_HALF};
    for (uint32_t round = 0; round < 180; round++) {
        const enum quantize_form form = forms[round / 60];
        const uint32_t count = QUANTIZE_PAD * (1 + round % 4), range = round % 60 < 20 ? 0 : round % 60 < 40 ? 10 : 80;
        for (uint32_t i = 0; i < count; i++) {
            static float factor;
            if (i % 32 == 0)
                factor = check_below(7) == 0 ? 0 : ldexpf(1, (int)check_below(2 * range + 1) - (int)range);
            x[i] = check_uniform() * factor * (i % 32 == 9 ? 3 : 1);
        }
        quantize_group((const HVX_Vector *)(const void *)x, count, form, 8, (HVX_Vector *)(void *)q,
                       (HVX_Vector *)(void *)records);
        double rounding = 0, scale_error = 0;
        uint32_t bad = 0;
        for (uint32_t b = 0; b < count / 32; b++) {
            double absmax = 0;
            int sum = 0;
            for (uint32_t i = 32 * b; i < 32 * b + 32; i++)
                absmax = fmax(absmax, fabsf(x[i]));
            for (uint32_t i = 32 * b; i < 32 * b + 32; i++) {
                rounding = fmax(rounding, fabs(q[i] - (absmax > 0 ? x[i] * 127.0 / absmax : 0)));
                sum += q[i];
            }
            /* absmax / 127 with 11 bits; next to the middle of two such numbers it may be the other one */
            const double factor = form == QUANTIZE_HALF ? 2 : 1;
            const double scale = factor * records[b / 2].scale[b % 2], exact = absmax / 127;
            int exponent;
            const double bits = ldexp(frexp(scale, &exponent), 11);
            scale_error = fmax(scale_error, fabs(scale - exact) - ldexp(0.5, exponent - 11) * (1 + 1e-3));
            bad += bits != floor(bits);
            bad += !is_sum(form, &records[b / 2], b % 2, sum, scale);
        }
        check_case(c, rounding - 0.5, 2e-5, "quantiser: rounding beyond a half, range 2^+-%u", (unsigned)range);
        check_case(c, scale_error, 0, "quantiser: scale, range 2^+-%u", (unsigned)range);
        check_true(c, bad == 0, "quantiser: %u sums or scales wrong", (unsigned)bad);
    }
}
