/* The quantiser of MUL_MAT's activations against its rule. */
#include <math.h>
#include <string.h>

#include "check/check.h"
#include "hvx/emul/half.h"
#include "ops/matmul/check_parts.h"
#include "ops/matmul/quantize.h"

static bool is_sum(enum quantize_form form, const struct activation_record *record, uint32_t half, int sum,
                   double scale) {
    if (form == QUANTIZE_MINIMUM)
        return hvx_bits_float((uint32_t)record->scaled_sum[half]) == (float)(scale * sum);
    return record->start[half] == -8 * sum;
}

/* Makes a row narrow, by its rule, or leaves it as it is; nothing may be lost. Returns whether it is. */
static bool check_narrow(struct check *c, struct activation_record *records, uint32_t groups, enum quantize_form form,
                         const struct quantize_range *range) {
    struct activation_record before[2 * QUANTIZE_GROUP_RECORDS];
    memcpy(before, records, groups * QUANTIZE_GROUP_RECORD_BYTES);
    int least = INT32_MAX, largest = INT32_MIN;
    for (uint32_t b = 0; b < groups * QUANTIZE_GROUP / 32; b++) {
        const float scale = before[b / 2].scale[b % 2];
        if (scale == 0 || form == QUANTIZE_HALF)
            continue;
        least = ilogbf(scale) < least ? ilogbf(scale) : least;
        largest = ilogbf(scale) > largest ? ilogbf(scale) : largest;
    }
    if (form == QUANTIZE_HALF)
        return false;
    const float unit = quantize_narrow((HVX_Vector *)(void *)records, groups, form, range);
    const int top = largest > -100 ? largest : -100;
    const bool expected = largest == INT32_MIN || (least >= top - 29 && top <= 100);
    uint32_t bad = expected != (unit != 0);
    for (uint32_t b = 0; b < groups * QUANTIZE_GROUP / 32 && unit != 0; b++) {
        const struct activation_record *now = &records[b / 2], *then = &before[b / 2];
        const uint16_t half = (uint16_t)(now->halves >> (b % 2 * 16));
        bad += hvx_half_to_float(half) * unit != then->scale[b % 2];
    }
    for (uint32_t i = 0; i < 2 * groups; i++) { /* vectors of records */
        const HVX_Vector sums = hvx_qf32_to_f32(((const HVX_Vector *)(const void *)records)[i]);
        float f32[HVX_WORDS];
        memcpy(f32, &sums, sizeof(f32));
        for (uint32_t j = 0; j < HVX_WORDS; j++) {
            const struct activation_record *now = &records[i * 8 + j / 4], *then = &before[i * 8 + j / 4];
            const float expected_sum = hvx_bits_float((uint32_t)then->scaled_sum[j % 2]);
            if (j % 4 < 2 && form == QUANTIZE_MINIMUM)
                bad += f32[j] * (unit == 0 ? 1 : unit) != expected_sum;
            else if (j % 4 < 2)
                bad += now->start[j % 2] != then->start[j % 2];
            else if (unit == 0)
                bad += now->scale[j % 2] != then->scale[j % 2];
        }
    }
    check_true(c, bad == 0, "quantiser: %u of a row's records wrong, exponents of scales %d to %d, unit %g",
               (unsigned)bad, least, largest, (double)unit);
    return unit != 0;
}

void check_matmul_quantizer(struct check *c) {
    static float x[QUANTIZE_BATCH] __attribute__((aligned(128)));
    static int8_t q[QUANTIZE_BATCH] __attribute__((aligned(128)));
    static struct activation_record records[2 * QUANTIZE_GROUP_RECORDS] __attribute__((aligned(128)));
    static const enum quantize_form forms[] = {QUANTIZE_ZERO, QUANTIZE_MINIMUM, QUANTIZE_HALF};
    static const uint32_t ranges[] = {0, 10, 14, 80};
    uint32_t narrow = 0;
    for (uint32_t round = 0; round < 240; round++) {
        const enum quantize_form form = forms[round / 80];
        const uint32_t count = QUANTIZE_PAD * (1 + round % 8), range = ranges[round % 80 / 20];
        for (uint32_t i = 0; i < count; i++) {
            static float factor;
            if (i % 32 == 0)
                factor = check_below(7) == 0 ? 0 : ldexpf(1, (int)check_below(2 * range + 1) - (int)range);
            x[i] = check_uniform() * factor * (i % 32 == 9 ? 3 : 1);
        }
        struct quantize_range scales = quantize_range_start();
        quantize_values((const HVX_Vector *)(const void *)x, count, form, 8, (HVX_Vector *)(void *)q,
                        (HVX_Vector *)(void *)records, &scales);
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
        narrow += check_narrow(c, records, (count + QUANTIZE_GROUP - 1) / QUANTIZE_GROUP, form, &scales);
    }
    check_true(c, narrow >= 80 && narrow <= 140, "quantiser: %u of 240 rows narrow", (unsigned)narrow);
}
