#include "check/wrappers.h"

#include <math.h>
#include <string.h>

#include "check/check.h"
#include "hvx/divide.h"
#include "hvx/emul/half.h"
#include "hvx/emul/lanes.h"
#include "hvx/wrap.h"

/* every offset and length of partial loads and stores: the right bytes, and no others */
static void test_memory(struct check *c) {
    static uint8_t memory[512] __attribute__((aligned(128))), before[512];
    int bad = 0;
    for (uint32_t offset = 0; offset < 128; offset++) {
        for (uint32_t bytes = 1; bytes <= 128; bytes++) {
            union hvx_lanes value;
            for (int i = 0; i < 512; i++)
                before[i] = memory[i] = (uint8_t)check_random();
            for (int i = 0; i < 128; i++)
                value.ub[i] = (uint8_t)check_random();
            hvx_store_bytes(memory + 128 + offset, bytes, value.v);
            bad += memcmp(memory + 128 + offset, value.ub, bytes) != 0;
            memcpy(memory + 128 + offset, before + 128 + offset, bytes);
            bad += memcmp(memory, before, sizeof(memory)) != 0;
            if (bytes < 128) {
                union hvx_lanes expected = {hvx_zero()};
                memcpy(expected.ub, memory + 128 + offset, bytes);
                const union hvx_lanes got = {hvx_load_bytes(memory + 128 + offset, bytes)};
                bad += memcmp(got.ub, expected.ub, 128) != 0;
            }
        }
        const union hvx_lanes got = {hvx_load(memory + 128 + offset)};
        bad += memcmp(got.ub, memory + 128 + offset, 128) != 0;
    }
    check_true(c, bad == 0, "partial loads and stores: %d wrong", bad);
}

static float float_of(uint32_t kind) {
    static const uint32_t edges[] = {0,           0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 1,
                                     0x807fffffu, 0x00800000u, 0x7f7fffffu, 0x3f800000u, 0x3fffffffu, 0x00000100u};
    if (kind == 0)
        return hvx_bits_float(edges[check_below(sizeof(edges) / sizeof(edges[0]))]);
    if (kind == 1)
        return hvx_bits_float(check_random());
    return check_uniform() * 16;
}

/* distance in units of the last place of the result, 0 for NaN and NaN; a wrong kind of result is far away */
static double ulps(float got, float expected) {
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got) ? 0 : 1e9;
    if (isinf(expected) || isinf(got) || expected == 0)
        return got == expected && signbit(got) == signbit(expected) ? 0 : 1e9;
    return fabs((double)got - expected) / ldexp(1, ilogbf(expected) < -126 ? -149 : ilogbf(expected) - 23);
}

static void test_divide(struct check *c) {
    double worst = 0;
    for (uint32_t round = 0; round < 2000; round++) {
        union hvx_lanes a, b;
        for (int i = 0; i < 32; i++) {
            a.sf[i] = float_of(check_below(3));
            b.sf[i] = float_of(check_below(3));
        }
        const union hvx_lanes q = {hvx_div_f32(a.v, b.v)};
        for (int i = 0; i < 32; i++)
            worst = fmax(worst, ulps(q.sf[i], a.sf[i] / b.sf[i]));
    }
    check_case(c, worst, 1.0, "division, units of the last place");
}

static void test_roots(struct check *c) {
    double root = 0, reciprocal = 0;
    for (uint32_t round = 0; round < 500; round++) {
        union hvx_lanes x;
        for (int i = 0; i < 32; i++)
            x.sf[i] = ldexpf(1.5f + 0.5f * check_uniform(), (int)check_below(160) - 80);
        const union hvx_lanes r = {hvx_rsqrt_f32(x.v)}, s = {hvx_reciprocal_f32(x.v)};
        for (int i = 0; i < 32; i++) {
            root = fmax(root, fabs(r.sf[i] * sqrt(x.sf[i]) - 1));
            reciprocal = fmax(reciprocal, fabs((double)s.sf[i] * x.sf[i] - 1));
        }
    }
    check_case(c, root, 3e-7, "1/sqrt");
    check_case(c, reciprocal, 3e-7, "1/x");
}

static void test_sum(struct check *c) {
    union hvx_lanes x;
    double sum = 0, magnitude = 0;
    int bad = 0;
    for (int i = 0; i < 32; i++) {
        x.sf[i] = check_uniform();
        sum += x.sf[i];
        magnitude += fabsf(x.sf[i]);
    }
    const union hvx_lanes r = {hvx_sum_qf32(hvx_f32_to_qf32(x.v))};
    for (int i = 1; i < 32; i++)
        bad += r.uw[i] != r.uw[0];
    check_case(c, fabs(r.sf[0] - sum) / magnitude, 1e-6, "sum of lanes");
    check_true(c, bad == 0, "sum of lanes differs from lane to lane");
}

static void test_conversions(struct check *c) {
    int bad = 0;
    for (uint32_t round = 0; round < 200; round++) {
        union hvx_lanes i, f;
        for (int k = 0; k < 32; k++) {
            i.w[k] = (int32_t)check_below(8000000) - 4000000;
            f.sf[k] = check_uniform() * 126.9f * HVX_FIXED24_SCALE;
        }
        const union hvx_lanes r = {hvx_i32_to_f32(i.v)}, q = {hvx_f32_to_fixed24(f.v)};
        for (int k = 0; k < 32; k++) {
            bad += r.sf[k] != (float)i.w[k];
            const double off = ldexp(q.w[k], -24) - (double)f.sf[k] / HVX_FIXED24_SCALE;
            bad += fabs(off) > (HVX_FIXED24_SCALE == 1 ? 0.5 : 1e-7);
        }
    }
    check_true(c, bad == 0, "integer conversions: %d wrong", bad);
}

void check_wrappers(struct check *c) {
    test_memory(c);
    test_divide(c);
    test_roots(c);
    test_sum(c);
    test_conversions(c);
}
