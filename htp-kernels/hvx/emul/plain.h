/*
 * The integer intrinsics in plain C, lane by lane, as the instructions are defined. They are what the fast versions
 * are compared with (check/), and stand in where no fast version pays. Names: plain_ in front of the intrinsic's.
 *
 * A predicate is a vector here, a byte a lane: 0xff or 0. So the same functions serve on Hexagon, where a check
 * compares them with the instructions.
 */
#ifndef HVX_EMUL_PLAIN_H
#define HVX_EMUL_PLAIN_H

#include "hvx/emul/lanes.h"

#define PLAIN_V(name, n, out, expr)                          \
    HVX_PLAIN_FN HVX_Vector plain_##name(HVX_Vector u_) { \
        const union hvx_lanes u = {u_};                      \
        union hvx_lanes r;                                   \
        for (int i = 0; i < (n); i++)                        \
            r.out[i] = (expr);                               \
        return r.v;                                          \
    }
#define PLAIN_R(name, n, out, expr)                          \
    HVX_PLAIN_FN HVX_Vector plain_##name(int32_t t) { \
        union hvx_lanes r;                                   \
        for (int i = 0; i < (n); i++)                        \
            r.out[i] = (expr);                               \
        return r.v;                                          \
    }
#define PLAIN_VV(name, n, out, expr)                                        \
    HVX_PLAIN_FN HVX_Vector plain_##name(HVX_Vector u_, HVX_Vector v_) { \
        const union hvx_lanes u = {u_}, v = {v_};                           \
        union hvx_lanes r;                                                  \
        for (int i = 0; i < (n); i++)                                       \
            r.out[i] = (expr);                                              \
        return r.v;                                                         \
    }
#define PLAIN_VR(name, n, out, expr)                                        \
    HVX_PLAIN_FN HVX_Vector plain_##name(HVX_Vector u_, int32_t t) { \
        const union hvx_lanes u = {u_};                                     \
        union hvx_lanes r;                                                  \
        for (int i = 0; i < (n); i++)                                       \
            r.out[i] = (expr);                                              \
        return r.v;                                                         \
    }
/* three inputs: x, u, v (an accumulator or a predicate comes first) */
#define PLAIN_VVV(name, n, out, expr)                                                      \
    HVX_PLAIN_FN HVX_Vector plain_##name(HVX_Vector x_, HVX_Vector u_, HVX_Vector v_) { \
        const union hvx_lanes x = {x_}, u = {u_}, v = {v_};                                \
        union hvx_lanes r;                                                                 \
        for (int i = 0; i < (n); i++)                                                      \
            r.out[i] = (expr);                                                             \
        return r.v;                                                                        \
    }
/* u, v and a scalar; for accumulating instructions u is the accumulator */
#define PLAIN_VVR(name, n, out, expr)                                                      \
    HVX_PLAIN_FN HVX_Vector plain_##name(HVX_Vector u_, HVX_Vector v_, int32_t t) { \
        const union hvx_lanes u = {u_}, v = {v_};                                          \
        union hvx_lanes r;                                                                 \
        for (int i = 0; i < (n); i++)                                                      \
            r.out[i] = (expr);                                                             \
        return r.v;                                                                        \
    }

static inline uint8_t plain_byte(int32_t t, int i) { return (uint8_t)((uint32_t)t >> (8 * (i & 3))); }
static inline int32_t plain_signed_byte(int32_t t, int i) { return (int8_t)plain_byte(t, i); }

/* ---- constants and logic ---- */
HVX_PLAIN_FN HVX_Vector plain_Q6_V_vzero(void) {
    union hvx_lanes r;
    for (int i = 0; i < 32; i++)
        r.uw[i] = 0;
    return r.v;
}
PLAIN_R(Q6_V_vsplat_R, 32, w, t)
PLAIN_R(Q6_Vh_vsplat_R, 64, uh, (uint16_t)t)
PLAIN_R(Q6_Vb_vsplat_R, 128, ub, (uint8_t)t)
PLAIN_VV(Q6_V_vand_VV, 32, uw, u.uw[i] & v.uw[i])
PLAIN_VV(Q6_V_vor_VV, 32, uw, u.uw[i] | v.uw[i])
PLAIN_VV(Q6_V_vxor_VV, 32, uw, u.uw[i] ^ v.uw[i])
PLAIN_V(Q6_V_vnot_V, 32, uw, ~u.uw[i])

/* ---- predicates: Rt counts bytes, modulo the vector ---- */
PLAIN_R(Q6_Q_vsetq_R, 128, ub, i < (t & 127) ? 0xff : 0)
PLAIN_R(Q6_Q_vsetq2_R, 128, ub, i <= ((t - 1) & 127) ? 0xff : 0)
PLAIN_VV(Q6_Q_and_QQ, 128, ub, u.ub[i] & v.ub[i])
PLAIN_VV(Q6_Q_and_QQn, 128, ub, (uint8_t)(u.ub[i] & ~v.ub[i]))
PLAIN_VV(Q6_Q_or_QQ, 128, ub, u.ub[i] | v.ub[i])
PLAIN_V(Q6_Q_not_Q, 128, ub, (uint8_t)~u.ub[i])
PLAIN_VV(Q6_Q_vcmp_eq_VwVw, 32, w, -(u.w[i] == v.w[i]))
PLAIN_VV(Q6_Q_vcmp_eq_VhVh, 64, h, (int16_t)-(u.h[i] == v.h[i]))
PLAIN_VV(Q6_Q_vcmp_gt_VwVw, 32, w, -(u.w[i] > v.w[i]))
PLAIN_VV(Q6_Q_vcmp_gt_VuwVuw, 32, w, -(u.uw[i] > v.uw[i]))
/* and a predicate that comes first */
PLAIN_VVV(Q6_Q_vcmp_gtand_QVuwVuw, 128, ub, (uint8_t)(x.ub[i] & -(u.uw[i / 4] > v.uw[i / 4])))
PLAIN_VV(Q6_V_vand_QV, 128, ub, u.ub[i] & v.ub[i])
/* bytes that have a bit of t's byte; and t's bytes into the lanes of u where the predicate v is set */
PLAIN_VR(Q6_Q_vand_VR, 128, ub, u.ub[i] & plain_byte(t, i) ? 0xff : 0)
PLAIN_VVR(Q6_V_vandor_VQR, 128, ub, (uint8_t)(u.ub[i] | (v.ub[i] & plain_byte(t, i))))
PLAIN_VVV(Q6_V_vmux_QVV, 128, ub, x.ub[i] ? u.ub[i] : v.ub[i])
HVX_PLAIN_FN HVX_VectorPair plain_Q6_W_vswap_QVV(HVX_Vector q_, HVX_Vector u_, HVX_Vector v_) {
    const union hvx_lanes q = {q_}, u = {u_}, v = {v_};
    union hvx_pair_lanes r;
    for (int i = 0; i < 128; i++) {
        r.ub[i] = q.ub[i] ? u.ub[i] : v.ub[i];
        r.ub[128 + i] = q.ub[i] ? v.ub[i] : u.ub[i];
    }
    return r.w;
}

/* ---- arithmetic ---- */
PLAIN_VV(Q6_Vw_vadd_VwVw, 32, uw, u.uw[i] + v.uw[i])
PLAIN_VV(Q6_Vw_vsub_VwVw, 32, uw, u.uw[i] - v.uw[i])
PLAIN_VV(Q6_Vh_vadd_VhVh, 64, uh, (uint16_t)(u.uh[i] + v.uh[i]))
PLAIN_VV(Q6_Vh_vsub_VhVh, 64, uh, (uint16_t)(u.uh[i] - v.uh[i]))
static inline int16_t plain_saturate_half(int32_t x) {
    return (int16_t)(x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : x);
}
PLAIN_VV(Q6_Vh_vadd_VhVh_sat, 64, h, plain_saturate_half(u.h[i] + v.h[i]))
/* products of numbers with 15 fraction bits, rounded to 15 fraction bits */
PLAIN_VV(Q6_Vh_vmpy_VhVh_s1_rnd_sat, 64, h, plain_saturate_half((u.h[i] * v.h[i] + 0x4000) >> 15))
PLAIN_VV(Q6_Vw_vmax_VwVw, 32, w, u.w[i] > v.w[i] ? u.w[i] : v.w[i])
PLAIN_VV(Q6_Vw_vmin_VwVw, 32, w, u.w[i] < v.w[i] ? u.w[i] : v.w[i])
PLAIN_VV(Q6_Vuh_vmax_VuhVuh, 64, uh, u.uh[i] > v.uh[i] ? u.uh[i] : v.uh[i])
PLAIN_VV(Q6_Vub_vmax_VubVub, 128, ub, u.ub[i] > v.ub[i] ? u.ub[i] : v.ub[i])
PLAIN_VV(Q6_Vub_vsub_VubVub_sat, 128, ub, (uint8_t)(u.ub[i] > v.ub[i] ? u.ub[i] - v.ub[i] : 0))
/* words times the even half-words: the low word of the product, and the product without its 16 lowest bits */
PLAIN_VV(Q6_Vw_vmpyie_VwVuh, 32, uw, u.uw[i] * v.uh[2 * i])
PLAIN_VV(Q6_Vw_vmpye_VwVuh, 32, w, (int32_t)((int64_t)u.w[i] * v.uh[2 * i] >> 16))
PLAIN_VR(Q6_Vw_vmpyi_VwRub, 32, uw, u.uw[i] * plain_byte(t, i))
/* words times signed half-words, the even ones (added to x) or the odd ones: the low word of the product */
PLAIN_VVV(Q6_Vw_vmpyieacc_VwVwVh, 32, uw, x.uw[i] + u.uw[i] * (uint32_t)v.h[2 * i])
PLAIN_VV(Q6_Vw_vmpyio_VwVh, 32, uw, u.uw[i] * (uint32_t)v.h[2 * i + 1])
/* dot products of 2 half-words; only -32768 four times over is more than a word holds */
static inline int32_t plain_dot_h_r(const int16_t *a, int32_t t) {
    const int64_t sum = (int64_t)a[0] * (int16_t)t + (int64_t)a[1] * (t >> 16);
    return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}
PLAIN_VR(Q6_Vw_vdmpy_VhRh_sat, 32, w, plain_dot_h_r(u.h + 2 * i, t))
PLAIN_VV(Q6_Vb_vsub_VbVb, 128, ub, (uint8_t)(u.ub[i] - v.ub[i]))
/* even bytes give the low vector, odd ones the high vector */
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wh_vsub_VubVub(HVX_Vector u_, HVX_Vector v_) {
    const union hvx_lanes u = {u_}, v = {v_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 128; i++)
        r[i & 1].h[i / 2] = (int16_t)(u.ub[i] - v.ub[i]);
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wh_vmpy_VbVb(HVX_Vector u_, HVX_Vector v_) {
    const union hvx_lanes u = {u_}, v = {v_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 128; i++)
        r[i & 1].h[i / 2] = (int16_t)(u.b[i] * v.b[i]);
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wh_vmpyacc_WhVubVb(HVX_VectorPair w, HVX_Vector u_, HVX_Vector v_) {
    const union hvx_pair_lanes sum = {w};
    const union hvx_lanes u = {u_}, v = {v_};
    union hvx_lanes r[2] = {{sum.v[0]}, {sum.v[1]}};
    union hvx_pair_lanes pair;
    for (int i = 0; i < 128; i++)
        r[i & 1].uh[i / 2] += (uint16_t)(u.ub[i] * v.b[i]);
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
PLAIN_VV(Q6_Vuh_vmpy_VuhVuh_rs16, 64, uh, (uint16_t)((uint32_t)u.uh[i] * v.uh[i] >> 16))
/* products of the even half-words go to the low vector, those of the odd ones to the high vector */
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wuw_vmpy_VuhVuh(HVX_Vector u_, HVX_Vector v_) {
    const union hvx_lanes u = {u_}, v = {v_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 64; i++)
        r[i & 1].uw[i / 2] = (uint32_t)u.uh[i] * v.uh[i];
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
/* even half-words times the low half of t go to the low vector, odd ones times the high half to the high vector */
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Ww_vmpyacc_WwVhRh(HVX_VectorPair w, HVX_Vector u_, int32_t t) {
    const union hvx_pair_lanes sum = {w};
    const union hvx_lanes u = {u_};
    union hvx_lanes r[2] = {{sum.v[0]}, {sum.v[1]}};
    union hvx_pair_lanes pair;
    for (int i = 0; i < 64; i++)
        r[i & 1].uw[i / 2] += (uint32_t)(u.h[i] * (int16_t)((uint32_t)t >> (i & 1 ? 16 : 0)));
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}

/* dot products of 4 bytes: each lane of the result is a sum over the bytes of the lane */
static inline int32_t plain_dot_ub_b(const uint8_t *a, const int8_t *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}
static inline int32_t plain_dot_b_b(const int8_t *a, const int8_t *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}
static inline int32_t plain_dot_ub_r(const uint8_t *a, int32_t t) {
    return a[0] * plain_signed_byte(t, 0) + a[1] * plain_signed_byte(t, 1) + a[2] * plain_signed_byte(t, 2) +
           a[3] * plain_signed_byte(t, 3);
}
PLAIN_VR(Q6_Vw_vrmpy_VubRb, 32, w, plain_dot_ub_r(u.ub + 4 * i, t))
PLAIN_VVR(Q6_Vw_vrmpyacc_VwVubRb, 32, uw, u.uw[i] + (uint32_t)plain_dot_ub_r(v.ub + 4 * i, t))
PLAIN_VV(Q6_Vw_vrmpy_VubVb, 32, w, plain_dot_ub_b(u.ub + 4 * i, v.b + 4 * i))
PLAIN_VVV(Q6_Vw_vrmpyacc_VwVubVb, 32, uw, x.uw[i] + (uint32_t)plain_dot_ub_b(u.ub + 4 * i, v.b + 4 * i))
PLAIN_VV(Q6_Vw_vrmpy_VbVb, 32, w, plain_dot_b_b(u.b + 4 * i, v.b + 4 * i))
PLAIN_VVV(Q6_Vw_vrmpyacc_VwVbVb, 32, uw, x.uw[i] + (uint32_t)plain_dot_b_b(u.b + 4 * i, v.b + 4 * i))

/* ---- shifts: the scalar amount is taken modulo the lane width ---- */
PLAIN_VR(Q6_Vw_vasl_VwR, 32, uw, u.uw[i] << (t & 31))
PLAIN_VR(Q6_Vw_vasr_VwR, 32, w, u.w[i] >> (t & 31))
PLAIN_VR(Q6_Vuw_vlsr_VuwR, 32, uw, u.uw[i] >> (t & 31))
PLAIN_VR(Q6_Vuh_vlsr_VuhR, 64, uh, (uint16_t)(u.uh[i] >> (t & 15)))
PLAIN_VR(Q6_Vub_vlsr_VubR, 128, ub, (uint8_t)(u.ub[i] >> (t & 7)))
/* halves of two vectors by turns: v into the even half-words, u into the odd ones; the amount has 4 bits */
PLAIN_VVR(Q6_Vh_vasr_VwVwR, 64, uh, (uint16_t)((i & 1 ? u.w[i / 2] : v.w[i / 2]) >> (t & 15)))
PLAIN_VVR(Q6_Vw_vasracc_VwVwR, 32, uw, u.uw[i] + (uint32_t)(v.w[i] >> (t & 31)))
PLAIN_VVR(Q6_Vw_vaslacc_VwVwR, 32, uw, u.uw[i] + (v.uw[i] << (t & 31)))
/* an amount a lane, 6 bits with sign: a negative amount shifts the other way */
static inline int plain_amount(int32_t t) { return (t & 63) - ((t & 32) << 1); }
static inline uint32_t plain_shift_left(uint32_t x, int n) {
    return n >= 32 || n <= -32 ? 0 : n >= 0 ? x << n : x >> -n;
}
PLAIN_VV(Q6_Vw_vasl_VwVw, 32, uw,
         plain_amount(v.w[i]) >= 0 ? u.uw[i] << plain_amount(v.w[i])
                                   : (uint32_t)(u.w[i] >> (plain_amount(v.w[i]) == -32 ? 31 : -plain_amount(v.w[i]))))
PLAIN_VV(Q6_Vw_vlsr_VwVw, 32, uw, plain_shift_left(u.uw[i], -plain_amount(v.w[i])))
static inline uint32_t plain_leading_zeros(uint32_t x) {
    uint32_t n = 0;
    for (; n < 32 && (x >> 31) == 0; n++)
        x <<= 1;
    return n;
}
PLAIN_V(Q6_Vuw_vcl0_Vuw, 32, uw, plain_leading_zeros(u.uw[i]))

/* ---- bytes that change place ---- */
PLAIN_VR(Q6_V_vror_VR, 128, ub, u.ub[(i + t) & 127])
PLAIN_VVR(Q6_V_valign_VVR, 128, ub, i + (t & 127) < 128 ? v.ub[i + (t & 127)] : u.ub[i + (t & 127) - 128])
PLAIN_VVR(Q6_V_vlalign_VVR, 128, ub, i >= (t & 127) ? u.ub[i - (t & 127)] : v.ub[128 + i - (t & 127)])
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wuh_vunpack_Vub(HVX_Vector u_) {
    const union hvx_lanes u = {u_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 128; i++)
        r[i / 64].uh[i % 64] = u.ub[i];
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
/* even bytes give the low vector, odd ones the high vector */
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wuh_vzxt_Vub(HVX_Vector u_) {
    const union hvx_lanes u = {u_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 128; i++)
        r[i & 1].uh[i / 2] = u.ub[i];
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wh_vsxt_Vb(HVX_Vector u_) {
    const union hvx_lanes u = {u_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 128; i++)
        r[i & 1].h[i / 2] = u.b[i];
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}
/* half-words of the lower and the upper half of a vector, by turns, and back */
PLAIN_V(Q6_Vh_vshuff_Vh, 64, uh, u.uh[i / 2 + (i & 1) * 32])
PLAIN_V(Q6_Vh_vdeal_Vh, 64, uh, u.uh[i < 32 ? 2 * i : 2 * (i - 32) + 1])
PLAIN_VV(Q6_Vh_vpacke_VwVw, 64, uh, i < 32 ? v.uh[2 * i] : u.uh[2 * (i - 32)])
PLAIN_VV(Q6_Vh_vpacko_VwVw, 64, uh, i < 32 ? v.uh[2 * i + 1] : u.uh[2 * (i - 32) + 1])
PLAIN_VV(Q6_Vb_vpacke_VhVh, 128, ub, i < 64 ? v.ub[2 * i] : u.ub[2 * (i - 64)])
PLAIN_VV(Q6_Vb_vpacko_VhVh, 128, ub, i < 64 ? v.ub[2 * i + 1] : u.ub[2 * (i - 64) + 1])
PLAIN_VV(Q6_Vh_vshuffe_VhVh, 64, uh, i & 1 ? u.uh[i - 1] : v.uh[i])
PLAIN_VV(Q6_Vh_vshuffo_VhVh, 64, uh, i & 1 ? u.uh[i] : v.uh[i + 1])
/* pairs of the even half-words in the low vector, of the odd ones in the high vector */
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wh_vshuffoe_VhVh(HVX_Vector u, HVX_Vector v) {
    union hvx_pair_lanes pair;
    pair.v[0] = plain_Q6_Vh_vshuffe_VhVh(u, v);
    pair.v[1] = plain_Q6_Vh_vshuffo_VhVh(u, v);
    return pair.w;
}
/* u: indices, v: a table of 32 bytes in the even or odd bytes of half of the vector, which t chooses */
PLAIN_VVR(Q6_Vb_vlut32_VbVbR_nomatch, 128, ub, v.ub[2 * (((t & 7) << 5 | (u.ub[i] & 31)) & 63) + (t >> 1 & 1)])
/*
 * u: indices, v: a table of 16 half-words in the even or odd ones of half of the vector, which t chooses. Even bytes
 * give the low vector, odd ones the high vector.
 */
HVX_PLAIN_FN HVX_VectorPair plain_Q6_Wh_vlut16_VbVhR_nomatch(HVX_Vector u_, HVX_Vector v_, int32_t t) {
    const union hvx_lanes u = {u_}, v = {v_};
    union hvx_lanes r[2];
    union hvx_pair_lanes pair;
    for (int i = 0; i < 128; i++)
        r[i & 1].uh[i / 2] = v.uh[2 * (((t & 15) << 4 | (u.ub[i] & 15)) & 31) + (t >> 1 & 1)];
    pair.v[0] = r[0].v;
    pair.v[1] = r[1].v;
    return pair.w;
}

/* butterfly networks: where the control byte has the bit of a stage, a byte comes from the partner of that stage */
HVX_PLAIN_FN HVX_Vector plain_delta(HVX_Vector u_, HVX_Vector v_, int first_bit, int step) {
    union hvx_lanes u = {u_};
    const union hvx_lanes v = {v_};
    for (int bit = first_bit, n = 0; n < 7; n++, bit += step) {
        union hvx_lanes r;
        for (int k = 0; k < 128; k++)
            r.ub[k] = v.ub[k] >> bit & 1 ? u.ub[k ^ 1 << bit] : u.ub[k];
        u = r;
    }
    return u.v;
}
HVX_PLAIN_FN HVX_Vector plain_Q6_V_vdelta_VV(HVX_Vector u, HVX_Vector v) { return plain_delta(u, v, 6, -1); }
HVX_PLAIN_FN HVX_Vector plain_Q6_V_vrdelta_VV(HVX_Vector u, HVX_Vector v) { return plain_delta(u, v, 0, 1); }

HVX_PLAIN_FN HVX_VectorPair plain_shuffle(HVX_Vector u, HVX_Vector v, int32_t t, int first_bit, int step) {
    union hvx_pair_lanes r;
    r.v[0] = v;
    r.v[1] = u;
    for (int bit = first_bit, n = 0; n < 7; n++, bit += step) {
        const int offset = 1 << bit;
        for (int k = 0; (t & offset) && k < 128; k++) {
            if ((k & offset) == 0) {
                const uint8_t high = r.ub[128 + k];
                r.ub[128 + k] = r.ub[k + offset];
                r.ub[k + offset] = high;
            }
        }
    }
    return r.w;
}
HVX_PLAIN_FN HVX_VectorPair plain_Q6_W_vdeal_VVR(HVX_Vector u, HVX_Vector v, int32_t t) {
    return plain_shuffle(u, v, t, 6, -1);
}
HVX_PLAIN_FN HVX_VectorPair plain_Q6_W_vshuff_VVR(HVX_Vector u, HVX_Vector v, int32_t t) {
    return plain_shuffle(u, v, t, 0, 1);
}

/* ---- pairs and stores ---- */
HVX_PLAIN_FN HVX_Vector plain_Q6_V_lo_W(HVX_VectorPair w) {
    const union hvx_pair_lanes pair = {w};
    return pair.v[0];
}
HVX_PLAIN_FN HVX_Vector plain_Q6_V_hi_W(HVX_VectorPair w) {
    const union hvx_pair_lanes pair = {w};
    return pair.v[1];
}
HVX_PLAIN_FN HVX_VectorPair plain_Q6_W_vcombine_VV(HVX_Vector high, HVX_Vector low) {
    union hvx_pair_lanes pair;
    pair.v[0] = low;
    pair.v[1] = high;
    return pair.w;
}
HVX_PLAIN_FN void plain_Q6_vmem_QRIV(HVX_Vector mask_, HVX_Vector *address, HVX_Vector v_) {
    const union hvx_lanes mask = {mask_}, v = {v_};
    for (int i = 0; i < 128; i++)
        ((uint8_t *)address)[i] = mask.ub[i] ? v.ub[i] : ((uint8_t *)address)[i];
}

#endif
