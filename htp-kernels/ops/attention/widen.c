/* Rows of keys and values to rows of f16. */
#include "ops/attention/widen_units.h"

/*
 * X(TYPE, name, elements of a block, bytes of a block): what is widened by unit_<name>. f16 itself is used as it is.
 */
#define WIDENED_TYPES(X)                  \
    X(F32, f32, 1, 4)                     \
    X(BF16, bf16, 1, 2)                   \
    X(Q4_0, q4_0, 32, Q4_0_BYTES)         \
    X(Q4_1, q4_1, 32, Q4_1_BYTES)         \
    X(Q5_0, q5_0, 32, Q5_0_BYTES)         \
    X(Q5_1, q5_1, 32, Q5_1_BYTES)         \
    X(Q8_0, q8_0, 32, Q8_0_BYTES)         \
    X(IQ4_NL, iq4_nl, 32, IQ4_NL_BYTES)

uint32_t attention_row_bytes(uint32_t type, uint32_t elements) {
    switch (type) {
    case HTP_TYPE_F16:
        return 2 * elements;
#define BYTES_CASE(TYPE, name, block, bytes) \
    case HTP_TYPE_##TYPE:                    \
        return elements / (block) * (bytes);
        WIDENED_TYPES(BYTES_CASE)
#undef BYTES_CASE
    default:
        return 0;
    }
}

/* unit_bytes: 64 elements as stored. Two rows at a time, so that one's latency hides the other's. */
HVX_INLINE void widen_two_rows(HVX_Vector (*unit)(const uint8_t *), uint32_t unit_bytes, const uint8_t *a,
                               const uint8_t *b, uint32_t elements, HVX_Vector *to_a, HVX_Vector *to_b) {
    HVX_ROLLED
    for (uint32_t i = elements / HVX_HALVES; i > 0; i--, a += unit_bytes, b += unit_bytes) {
        const HVX_Vector x = unit(a), y = unit(b);
        *to_a++ = x;
        *to_b++ = y;
    }
    if (elements % HVX_HALVES != 0) {
        const HVX_VectorPred used = Q6_Q_vsetq_R((int32_t)(elements % HVX_HALVES * 2));
        const HVX_Vector x = unit(a), y = unit(b);
        *to_a = Q6_V_vand_QV(used, x);
        *to_b = Q6_V_vand_QV(used, y);
    }
}

HVX_INLINE void widen_rows(HVX_Vector (*unit)(const uint8_t *), uint32_t unit_bytes, const uint8_t *raw,
                           size_t raw_step, uint32_t rows, uint32_t elements, HVX_Vector *out) {
    const uint32_t units = htp_div_up(elements, HVX_HALVES);
    HVX_ROLLED
    for (uint32_t r = 0; r < rows; r += 2) {
        const uint32_t second = r + 1 < rows ? r + 1 : r; /* an odd last row is done twice */
        widen_two_rows(unit, unit_bytes, raw + r * raw_step, raw + second * raw_step, elements, out + (size_t)r * units,
                       out + (size_t)second * units);
    }
}

void attention_widen(uint32_t type, const uint8_t *raw, size_t raw_step, uint32_t rows, uint32_t elements,
                     uint8_t *out) {
    HVX_Vector *to = (HVX_Vector *)(void *)out;
    switch (type) {
#define WIDEN_CASE(TYPE, name, block, bytes)                                                          \
    case HTP_TYPE_##TYPE:                                                                             \
        widen_rows(unit_##name, HVX_HALVES / (block) * (bytes), raw, raw_step, rows, elements, to);   \
        break;
        WIDENED_TYPES(WIDEN_CASE)
#undef WIDEN_CASE
    default:
        break;
    }
}
