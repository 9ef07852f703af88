#include "ops/rope/ref.h"

#include <math.h>
#include <string.h>

#include "check/check.h"
#include "htp/params.h"

struct angles {
    float position[4], chain[4];
};

static int32_t position_at(const struct htp_view *v, uint32_t i) {
    int32_t p;
    memcpy(&p, v->data + (size_t)i * v->nb[0], 4);
    return p;
}

/* Of the four chains that run side by side, the one that pair i belongs to. */
static int choose(const struct htp_rope_params *p, struct angles *a, int i) {
    const int *n = p->sections, sector = i % (n[0] + n[1] + n[2] + n[3]);
    const int starts[4] = {0, n[0], n[0] + n[1], n[0] + n[1] + n[2]};
    for (int k = 0; p->mode == HTP_ROPE_VISION && k < 4; k++) {
        if (sector == starts[k]) {
            a->chain[k] = a->position[k];
            break;
        }
    }
    if (p->mode == HTP_ROPE_IMROPE)
        return sector < 3 * n[sector % 3] ? sector % 3 : 3;
    int k = 0;
    while (k < 3 && sector >= starts[k + 1])
        k++;
    return k;
}

static double interpolate(const struct htp_rope_params *p, float angle, int i) {
    const float scaled = p->freq_scale * angle;
    if (p->ext_factor == 0)
        return scaled;
    const double ramp = 1 - fmin(1, fmax(0, (i - p->ramp_low) * p->ramp_inverse));
    return scaled * (1 - ramp * p->ext_factor) + angle * ramp * p->ext_factor;
}

void rope_ref_row(const struct htp_exec *exec, uint32_t i1, uint32_t i2, uint32_t i3, double *out) {
    const struct htp_view *x = exec->src[0], *factors = exec->src[2];
    struct htp_rope_params p;
    memcpy(&p, exec->params, sizeof(p));
    for (uint32_t i = 0; i < x->ne[0]; i++)
        out[i] = check_get(x, i, i1, i2, i3);
    const int sections = p.mode == HTP_ROPE_MROPE || p.mode == HTP_ROPE_VISION || p.mode == HTP_ROPE_IMROPE;
    const int pairs = p.mode == HTP_ROPE_VISION ? p.n_dims : p.n_dims / 2;
    struct angles a;
    for (uint32_t k = 0; k < 4; k++)
        a.position[k] = a.chain[k] = (float)position_at(exec->src[1], sections ? i2 + k * x->ne[2] : i2);
    for (int i = 0; i < pairs; i++) {
        float angle = a.chain[sections ? choose(&p, &a, i) : 0];
        if (sections) /* choose may have started the chain anew */
            angle = a.chain[choose(&p, &a, i)];
        if (factors != NULL)
            angle /= (float)check_get(factors, (uint32_t)i, 0, 0, 0);
        const double exact = interpolate(&p, angle, i);
        const double c = cos(exact) * p.magnitude, s = sin(exact) * p.magnitude;
        const uint32_t first = (uint32_t)p.offset + (p.mode == HTP_ROPE_NORMAL ? 2 * i : i);
        const uint32_t second = first + (p.mode == HTP_ROPE_NORMAL ? 1 : pairs);
        const double v = check_get(x, first, i1, i2, i3), w = check_get(x, second, i1, i2, i3);
        out[first] = v * c - w * s;
        out[second] = v * s + w * c;
        for (int k = 0; k < 4; k++)
            a.chain[k] *= p.theta_scale;
    }
}
