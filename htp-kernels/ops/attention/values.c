/*
 * sums[row] = sums[row] * factor[row] + the sum over keys of p[row][key] * value[key], for up to four rows, which share
 * the loads of the values. Probabilities are f16, products exact, sums qf32 and in registers over all keys of a block.
 *
 * 64 products are two additions on the one pipe that adds, so 4 packets for (row, key) and a head of 128 is the floor.
 */
#include "ops/attention/values.h"

HVX_INLINE void add_key(int rows, int units, const uint8_t *value, uint32_t key, const struct probabilities *p,
                        HVX_Vector *even, HVX_Vector *odd) {
    const HVX_Vector *v = (const HVX_Vector *)(const void *)value;
    HVX_UNROLL
    for (int r = 0; r < rows; r++) {
        const HVX_Vector weight = Q6_Vh_vsplat_R(p->p[r][key]);
        HVX_UNROLL
        for (int u = 0; u < units; u++) {
            const HVX_VectorPair x = hvx_mul_f16_qf32(v[u], weight);
            even[r * units + u] = hvx_add_qf32(even[r * units + u], Q6_V_lo_W(x));
            odd[r * units + u] = hvx_add_qf32(odd[r * units + u], Q6_V_hi_W(x));
        }
    }
}

/* rows, units: constants with rows * units <= 8, so that the sums fit the registers */
HVX_INLINE void add_values(int rows, int units, const uint8_t *values, size_t step, uint32_t keys,
                           const struct probabilities *p, HVX_Vector *sums, size_t state_vectors) {
    HVX_Vector even[8], odd[8];
    HVX_UNROLL
    for (int r = 0; r < rows; r++) {
        HVX_UNROLL
        for (int u = 0; u < units; u++) {
            const HVX_Vector *s = sums + (size_t)r * state_vectors + 2 * u;
            even[r * units + u] = hvx_mul_qf32(s[0], p->factor[r]);
            odd[r * units + u] = hvx_mul_qf32(s[1], p->factor[r]);
        }
    }
    if (rows * units <= 2) { /* few sums: there is room for two keys at a time */
        HVX_UNROLL_COUNT(2)
        for (uint32_t key = 0; key < keys; key++, values += step)
            add_key(rows, units, values, key, p, even, odd);
    } else {
        HVX_ROLLED
        for (uint32_t key = 0; key < keys; key++, values += step)
            add_key(rows, units, values, key, p, even, odd);
    }
    HVX_UNROLL
    for (int r = 0; r < rows; r++) {
        HVX_UNROLL
        for (int u = 0; u < units; u++) {
            HVX_Vector *s = sums + (size_t)r * state_vectors + 2 * u;
            s[0] = even[r * units + u];
            s[1] = odd[r * units + u];
        }
    }
}

#define DEFINE_ADD_VALUES(rows, units)                                                                         \
    static HVX_NOINLINE void add_values_##rows##_##units(const uint8_t *values, size_t step, uint32_t keys,    \
                                                         const struct probabilities *p, HVX_Vector *sums,      \
                                                         size_t state_vectors) {                               \
        add_values(rows, units, values, step, keys, p, sums, state_vectors);                                   \
    }
DEFINE_ADD_VALUES(4, 2)
DEFINE_ADD_VALUES(4, 1)
DEFINE_ADD_VALUES(2, 4)
DEFINE_ADD_VALUES(2, 2)
DEFINE_ADD_VALUES(2, 1)
DEFINE_ADD_VALUES(1, 4)
DEFINE_ADD_VALUES(1, 2)
DEFINE_ADD_VALUES(1, 1)
#undef DEFINE_ADD_VALUES

typedef void (*add_values_fn)(const uint8_t *, size_t, uint32_t, const struct probabilities *, HVX_Vector *, size_t);

void attention_add_values(uint32_t rows, uint32_t units, const uint8_t *values, uint32_t keys,
                          const struct probabilities *p, HVX_Vector *sums, size_t state_vectors) {
    /* by rows (1, 2, 4), by units (1, 2, 4) */
    static const add_values_fn kernels[3][3] = {
        {add_values_1_1, add_values_1_2, add_values_1_4},
        {add_values_2_1, add_values_2_2, add_values_2_4},
        {add_values_4_1, add_values_4_2, add_values_4_2},
    };
    const add_values_fn *of_rows = kernels[rows > 2 ? 2 : rows - 1];
    uint32_t log_units = rows > 2 ? 1 : 2;
    for (uint32_t u = 0; u < units; u += 1u << log_units) {
        while (u + (1u << log_units) > units)
            log_units--;
        of_rows[log_units](values + u * HVX_BYTES, (size_t)units * HVX_BYTES, keys, p, sums + 2 * u, state_vectors);
    }
}
