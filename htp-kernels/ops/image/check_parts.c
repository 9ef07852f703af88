#include "ops/image/check_image.h"

void check_fill_view(const struct htp_view *v) {
    for (uint32_t r = 0; r < htp_rows(v); r++)
        for (uint32_t i = 0; i < v->ne[0]; i++)
            check_set(v, i, r % v->ne[1], r / v->ne[1] % v->ne[2], r / v->ne[1] / v->ne[2], check_uniform());
}

void check_make_gapped(struct check_tensor *t, uint32_t type, const uint32_t *ne, uint32_t gap, bool permuted) {
    const uint32_t size = check_type_size(type);
    uint32_t nb[4] = {size, ne[0] * size + gap};
    nb[2] = nb[1] * ne[1];
    nb[3] = nb[2] * ne[2] + gap;
    if (permuted) {
        nb[2] = size;
        nb[0] = ne[2] * size + gap;
        nb[1] = nb[0] * ne[0];
        nb[3] = nb[1] * ne[1];
    }
    check_make(t, type, HTP_LAYOUT_ROWS, ne, nb, gap);
    check_fill_view(&t->view);
}
