/*
 * Angles as ggml computes them: the first is the position, each further one the one before times theta_scale, in f32.
 * At position 100000 the last place of an angle is 0.008 rad, so nothing but the very same chain of products gives the
 * same angles. It runs on the scalar unit, which rounds as IEEE says: a packet a pair (rope_chain).
 */
#include "hvx/angle.h"
#include "hvx/divide.h"
#include "ops/rope/rope.h"

size_t rope_shared_bytes(const struct rope *t) { return 2 * (size_t)t->padded * 4; }

/* Smallest factor and whether all are numbers; factors into VTCM, padded. 0: some angle is not finite */
static float load_factors(struct rope *t) {
    float smallest = __builtin_inff();
    bool valid = true;
    for (uint32_t i = 0; i < t->padded; i++) {
        float f = 1;
        if (i < t->pairs) {
            const uint8_t *p = t->factors->data + (size_t)i * t->factors->nb[0];
            __builtin_memcpy(&f, __builtin_assume_aligned(p, 4), 4);
            const float m = __builtin_fabsf(f);
            smallest = m < smallest ? m : smallest;
            valid = valid && f == f;
        }
        t->factor[i] = f;
    }
    return valid ? smallest : 0;
}

/* The angle of a pair is at most this times the position. */
static float largest_gain(const struct rope *t) {
    const float scale = __builtin_fabsf(t->params.freq_scale), ext = t->params.ext_factor;
    const float blend = scale > 1 ? scale : 1;
    return ext >= 0 && ext <= 1 ? blend : blend * (1 + 2 * __builtin_fabsf(ext));
}

/* the chain that sector takes its angle from, in the modes with sections */
static uint32_t chain_of(const struct htp_rope_params *p, int32_t sector, int32_t sector_mod_3) {
    const int32_t *n = p->sections;
    if (p->mode == HTP_ROPE_IMROPE)
        return sector < 3 * n[sector_mod_3] ? (uint32_t)sector_mod_3 : 3;
    return sector < n[0] ? 0 : sector < n[0] + n[1] ? 1 : sector < n[0] + n[1] + n[2] ? 2 : 3;
}

/* vision: the chain that starts anew where a section starts; ROPE_CHAINS: none. An empty section starts nothing. */
static uint32_t chain_starts(const struct htp_rope_params *p, int32_t sector) {
    const int32_t *n = p->sections;
    const int32_t start[ROPE_CHAINS] = {0, n[0], n[0] + n[1], n[0] + n[1] + n[2]};
    uint32_t i = p->mode == HTP_ROPE_VISION ? 0 : ROPE_CHAINS;
    while (i < ROPE_CHAINS && start[i] != sector)
        i++;
    return i;
}

static void map_sections(struct rope *t) {
    const struct htp_rope_params *p = &t->params;
    const int32_t sectors = p->sections[0] + p->sections[1] + p->sections[2] + p->sections[3];
    uint32_t steps[ROPE_CHAINS] = {0};
    int32_t sector = 0, mod_3 = 0;
    for (uint32_t i = 0; i < t->pairs; i++) {
        const uint32_t start = chain_starts(p, sector), chain = chain_of(p, sector, mod_3);
        if (start < ROPE_CHAINS)
            steps[start] = 0;
        t->used_chains |= 1u << chain;
        t->same_steps = t->same_steps && steps[chain] == i;
        t->entry[i] = chain * t->padded + steps[chain];
        for (uint32_t k = 0; k < ROPE_CHAINS; k++)
            steps[k]++;
        sector++;
        mod_3 = mod_3 == 2 ? 0 : mod_3 + 1;
        if (sector == sectors)
            sector = mod_3 = 0;
    }
}

void rope_prepare_angles(struct rope *t, uint8_t *vtcm) {
    float smallest = 1;
    t->factor = NULL;
    if (t->factors != NULL) {
        t->factor = (float *)vtcm;
        smallest = load_factors(t);
    }
    t->entry = (uint32_t *)vtcm + t->padded;
    t->used_chains = 0;
    t->same_steps = true;
    if (t->has_sections)
        map_sections(t);
    t->position_limit = HVX_ANGLE_LIMIT * smallest / largest_gain(t);
    if (__builtin_fabsf(t->params.theta_scale) > 1 || smallest == 0)
        t->position_limit = -1;
    t->interpolates = t->params.freq_scale != 1 || t->params.ext_factor != 0;
    t->is_special = t->has_sections || t->factor != NULL || t->interpolates || t->pairs != t->padded;
}

static bool section_angles(const struct rope *t, const struct rope_scratch *s, uint32_t token) {
    float p[ROPE_CHAINS], last = 0;
    bool small = true, same = t->same_steps, first = true;
    for (uint32_t k = 0; k < ROPE_CHAINS; k++) {
        p[k] = rope_position(t, token + k * t->src->ne[2]);
        if ((t->used_chains >> k & 1) == 0)
            continue;
        small = small && __builtin_fabsf(p[k]) <= t->position_limit;
        same = same && (first || p[k] == last);
        last = p[k];
        first = false;
    }
    if (same) { /* text: all positions of a token are the same */
        rope_chain(s->angle, t->pairs, last, t->params.theta_scale);
        return small;
    }
    for (uint32_t k = 0; k < ROPE_CHAINS; k++) {
        if (t->used_chains >> k & 1)
            rope_chain(s->chains + k * t->padded, t->pairs, p[k], t->params.theta_scale);
    }
    for (uint32_t i = 0; i < t->pairs; i++)
        s->angle[i] = s->chains[t->entry[i]];
    return small;
}

static HVX_Vector pair_numbers(uint32_t first) {
    static const int32_t lanes[HVX_WORDS] __attribute__((aligned(128))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    return hvx_i32_to_f32(Q6_Vw_vadd_VwVw(hvx_load_aligned(lanes), hvx_splat_i32((int32_t)first)));
}

/* Interpolation of positions, YaRN: below the ramp angles stay (in part, ext_factor says) as they are. */
static void interpolate(const struct rope *t, float *angle) {
    const struct htp_rope_params *p = &t->params;
    const HVX_Vector one = hvx_splat_f32(1), zero = hvx_zero();
    for (uint32_t i = 0; i < t->padded; i += HVX_WORDS) {
        const HVX_Vector original = hvx_load_aligned(angle + i);
        HVX_Vector result = hvx_mul_f32(original, hvx_splat_f32(p->freq_scale));
        if (p->ext_factor != 0) {
            const HVX_Vector behind = hvx_sub_f32(pair_numbers(i), hvx_splat_f32(p->ramp_low));
            const HVX_Vector y = Q6_Vsf_vmax_VsfVsf(hvx_mul_f32(behind, hvx_splat_f32(p->ramp_inverse)), zero);
            const HVX_Vector ramp = Q6_Vsf_vmax_VsfVsf(hvx_sub_f32(one, y), zero);
            const HVX_Vector mix = hvx_mul_f32(ramp, hvx_splat_f32(p->ext_factor));
            result = hvx_add_f32(hvx_mul_f32(result, hvx_sub_f32(one, mix)), hvx_mul_f32(original, mix));
        }
        hvx_store_aligned(angle + i, result);
    }
}

bool rope_special_angles(const struct rope *t, const struct rope_scratch *s, uint32_t token) {
    const bool small = t->has_sections ? section_angles(t, s, token) : rope_plain_angles(t, s, token);
    for (uint32_t i = t->pairs; i < t->padded; i++)
        s->angle[i] = 0;
    for (uint32_t i = 0; t->factor != NULL && i < t->padded; i += HVX_WORDS)
        hvx_store_aligned(s->angle + i, hvx_div_f32(hvx_load_aligned(s->angle + i), hvx_load_aligned(t->factor + i)));
    if (t->interpolates)
        interpolate(t, s->angle);
    return small;
}
