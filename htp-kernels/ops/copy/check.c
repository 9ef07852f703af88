/* CPY, CONT, REPEAT, CONCAT and PAD against loops over elements: every byte of the result and around it. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "check/row_ref.h"
#include "htp/params.h"
#include "hvx/row.h"
#include "runtime/types.h"

uint32_t htp_copy(struct htp_exec *exec);

#define VTCM (40u << 10)

struct place {
    uint32_t i[4];
};

static struct place place_of(const uint32_t *ne, uint32_t flat) {
    struct place p;
    for (uint32_t d = 0; d < 4; d++) {
        p.i[d] = flat % ne[d];
        flat /= ne[d];
    }
    return p;
}

static uint8_t *address(const struct htp_view *v, struct place p) {
    return check_block(v, p.i[0], p.i[1], p.i[2], p.i[3]);
}

static void make(struct check_tensor *t, uint32_t type, const uint32_t *ne, uint32_t form) {
    uint32_t nb[4];
    check_strides(type, ne, form, nb);
    check_make(t, type, HTP_LAYOUT_ROWS, ne, nb, htp_type_bytes(type) * check_below(7));
    check_fill(&t->view, 100);
}

static void start(struct check_run *run, uint32_t op, const struct check_tensor *src, struct check_tensor *dst) {
    check_run_init(run, op, 1 + check_below(4), check_below(4) == 0 ? 4096 : VTCM);
    run->exec.n_src = 1;
    run->exec.src[0] = &src->view;
    run->exec.dst = &dst->view;
    check_remember(dst);
}

/* dst->before has become what is expected */
static void finish(struct check *c, struct check_run *run, struct check_tensor *dst, const char *what, uint32_t type,
                   uint32_t to, const uint32_t *ne, uint32_t from_form, uint32_t to_form) {
    const uint32_t status = check_run_op(run, htp_copy);
    check_true(c, status == HTP_STATUS_OK && check_unchanged(dst, true) && check_vtcm_intact(run),
               "%s type %u to %u [%u,%u,%u,%u], forms %u and %u: status %u, detail %u", what, (unsigned)type,
               (unsigned)to, (unsigned)ne[0], (unsigned)ne[1], (unsigned)ne[2], (unsigned)ne[3], (unsigned)from_form,
               (unsigned)to_form, (unsigned)status, (unsigned)run->exec.detail);
    check_run_free(run);
}

/* ---- CPY ---- */

static void copy(struct check *c, uint32_t from, uint32_t to, const uint32_t *from_ne, const uint32_t *to_ne,
                 uint32_t from_form, uint32_t to_form) {
    struct check_tensor src, dst;
    make(&src, from, from_ne, from_form);
    make(&dst, to, to_ne, to_form);
    struct check_run run;
    start(&run, HTP_OP_CPY, &src, &dst);
    const uint32_t a = htp_type_elements(from), b = htp_type_elements(to), step = a > b ? a : b;
    const uint32_t count = from_ne[0] * htp_rows(&src.view);
    for (uint32_t i = 0; i < count; i += step) {
        uint8_t in[1024], out[1024];
        for (uint32_t k = 0; k < step; k += a)
            memcpy(in + k / a * htp_type_bytes(from), address(&src.view, place_of(from_ne, i + k)),
                   htp_type_bytes(from));
        check_convert_row(from, to, out, in, step);
        for (uint32_t k = 0; k < step; k += b)
            memcpy(dst.before + (address(&dst.view, place_of(to_ne, i + k)) - dst.block),
                   out + k / b * htp_type_bytes(to), htp_type_bytes(to));
    }
    finish(c, &run, &dst, "cpy", from, to, from_ne, from_form, to_form);
    check_free(&src);
    check_free(&dst);
}

static bool copies(uint32_t from, uint32_t to) { return from == to || htp_row_converter(from, to) != NULL; }

/* forms 3 .. 5 take elements apart */
static bool form_fits(uint32_t from, uint32_t to, uint32_t form) {
    return form < 3 || (htp_type_elements(from) == 1 && htp_type_elements(to) == 1);
}

static void all_copies(struct check *c) {
    static const uint32_t types[] = {HTP_TYPE_F32,  HTP_TYPE_F16,  HTP_TYPE_BF16, HTP_TYPE_I32,   HTP_TYPE_I64,  HTP_TYPE_I16,
                                     HTP_TYPE_I8,   HTP_TYPE_Q8_0, HTP_TYPE_Q4_0, HTP_TYPE_Q5_1, HTP_TYPE_MXFP4,
                                     HTP_TYPE_Q4_K, HTP_TYPE_Q6_K, HTP_TYPE_IQ4_XS};
    enum { TYPES = sizeof(types) / sizeof(types[0]) };
    static const uint32_t shapes[][4] = {{1, 1, 1, 1},  {3, 5, 7, 2},   {32, 3, 2, 2},  {64, 40, 3, 1},
                                         {100, 9, 1, 3}, {33, 70, 2, 1}, {256, 2, 3, 1}, {1, 200, 3, 1},
                                         {2, 130, 1, 1}, {96, 65, 1, 2}, {768, 7, 2, 2}};
    for (uint32_t f = 0; f < TYPES; f++) {
        for (uint32_t t = 0; t < TYPES; t++) {
            const uint32_t from = types[f], to = types[t];
            const uint32_t a_block = htp_type_elements(from), b_block = htp_type_elements(to);
            const uint32_t block = a_block > b_block ? a_block : b_block;
            for (uint32_t s = 0; copies(from, to) && s < sizeof(shapes) / sizeof(shapes[0]); s++) {
                if (shapes[s][0] % block != 0)
                    continue;
                for (uint32_t form = 0; form < CHECK_FORMS * CHECK_FORMS; form++) {
                    const uint32_t a = form / CHECK_FORMS, b = form % CHECK_FORMS;
                    if (form_fits(from, to, a) && form_fits(from, to, b))
                        copy(c, from, to, shapes[s], shapes[s], a, b);
                }
                /* another shape of as many elements */
                const uint32_t *n = shapes[s];
                const uint32_t other[4] = {n[0], n[3], n[1], n[2]}, flat[4] = {n[0] * n[1] * n[2] * n[3], 1, 1, 1};
                const uint32_t turned[4] = {n[2], n[1], n[3], n[0]};
                copy(c, from, to, n, other, check_below(3), check_below(3));
                copy(c, from, to, n, flat, check_below(3), 0);
                copy(c, from, to, flat, n, 0, check_below(3));
                if (block == 1)
                    copy(c, from, to, n, turned, check_below(CHECK_FORMS), check_below(CHECK_FORMS));
            }
        }
    }
}

/* ---- CPY within memory that both share ---- */

/* shift: bytes from src to dst */
static void overlap(struct check *c, uint32_t from, uint32_t to, const uint32_t *ne, const uint32_t *to_ne,
                    uint32_t from_form, uint32_t to_form, int32_t shift) {
    struct check_tensor memory;
    struct htp_view src = {.type = from, .layout = HTP_LAYOUT_ROWS}, dst = {.type = to, .layout = HTP_LAYOUT_ROWS};
    const uint32_t count = ne[0] * ne[1] * ne[2] * ne[3], bytes[4] = {count * 16 + 1024, 1, 1, 1};
    memcpy(src.ne, ne, sizeof(src.ne));
    memcpy(dst.ne, to_ne, sizeof(dst.ne));
    check_strides(from, ne, from_form, src.nb);
    check_strides(to, to_ne, to_form, dst.nb);
    check_make(&memory, HTP_TYPE_I8, HTP_LAYOUT_ROWS, bytes, NULL, 0);
    src.data = memory.view.data + 512;
    dst.data = src.data + shift;
    check_fill(&src, 100);
    struct check_run run;
    start(&run, HTP_OP_CPY, &memory, &memory);
    run.exec.src[0] = &src;
    run.exec.dst = &dst;
    for (uint32_t i = 0; i < count; i++) {
        check_convert_row(from, to, memory.before + (address(&dst, place_of(to_ne, i)) - memory.block),
                          address(&src, place_of(ne, i)), 1);
    }
    finish(c, &run, &memory, "cpy onto itself", from, to, ne, from_form, to_form);
    check_free(&memory);
}

static void overlaps(struct check *c) {
    static const uint32_t small[4] = {12, 7, 3, 2}, turned[4] = {7, 12, 2, 3}, large[4] = {100, 300, 1, 1};
    static const int32_t shifts[] = {0, 4, -4, 128, -128, 388};
    for (uint32_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
        overlap(c, HTP_TYPE_F32, HTP_TYPE_F32, large, large, 0, 0, shifts[i]);
        overlap(c, HTP_TYPE_I16, HTP_TYPE_I16, large, large, 0, 0, shifts[i]);
        for (uint32_t form = 0; form < CHECK_FORMS; form++) {
            overlap(c, HTP_TYPE_F32, HTP_TYPE_F32, small, turned, form, check_below(CHECK_FORMS), shifts[i]);
            overlap(c, HTP_TYPE_F32, HTP_TYPE_F16, small, small, form, form, shifts[i]);
            overlap(c, HTP_TYPE_F16, HTP_TYPE_F32, small, turned, form, check_below(CHECK_FORMS), shifts[i]);
        }
    }
}

/* ---- REPEAT, CONCAT, PAD ---- */

static void repeat(struct check *c, uint32_t type, const uint32_t *ne, const uint32_t *times, uint32_t form) {
    const uint32_t to_ne[4] = {ne[0] * times[0], ne[1] * times[1], ne[2] * times[2], ne[3] * times[3]};
    struct check_tensor src, dst;
    make(&src, type, ne, form);
    make(&dst, type, to_ne, form % 3);
    struct check_run run;
    start(&run, HTP_OP_REPEAT, &src, &dst);
    for (uint32_t i = 0; i < to_ne[0] * htp_rows(&dst.view); i++) {
        const struct place p = place_of(to_ne, i);
        struct place q;
        for (uint32_t d = 0; d < 4; d++)
            q.i[d] = p.i[d] % ne[d];
        memcpy(dst.before + (address(&dst.view, p) - dst.block), address(&src.view, q), htp_type_bytes(type));
    }
    finish(c, &run, &dst, "repeat", type, type, to_ne, form, form % 3);
    check_free(&src);
    check_free(&dst);
}

static void concat(struct check *c, uint32_t type, const uint32_t *ne, uint32_t dim, uint32_t more, uint32_t form) {
    uint32_t b_ne[4], to_ne[4];
    memcpy(b_ne, ne, sizeof(b_ne));
    memcpy(to_ne, ne, sizeof(to_ne));
    b_ne[dim] = more;
    to_ne[dim] += more;
    struct check_tensor a, b, dst;
    make(&a, type, ne, form);
    make(&b, type, b_ne, form == 0 ? 1 : 0);
    make(&dst, type, to_ne, form % 2);
    struct check_run run;
    start(&run, HTP_OP_CONCAT, &a, &dst);
    run.exec.n_src = 2;
    run.exec.src[1] = &b.view;
    const struct htp_concat_params params = {dim};
    memcpy(run.params, &params, sizeof(params));
    for (uint32_t i = 0; i < to_ne[0] * htp_rows(&dst.view); i += htp_type_elements(type)) {
        const struct place p = place_of(to_ne, i);
        struct place q = p;
        const bool second = p.i[dim] >= ne[dim];
        q.i[dim] -= second ? ne[dim] : 0;
        memcpy(dst.before + (address(&dst.view, p) - dst.block), address(second ? &b.view : &a.view, q),
               htp_type_bytes(type));
    }
    finish(c, &run, &dst, "concat", type, type, to_ne, form, dim);
    check_free(&a);
    check_free(&b);
    check_free(&dst);
}

static void pad(struct check *c, uint32_t type, const uint32_t *ne, const uint32_t *by, uint32_t circular,
                uint32_t form) {
    uint32_t to_ne[4];
    for (uint32_t d = 0; d < 4; d++)
        to_ne[d] = by[2 * d] + ne[d] + by[2 * d + 1];
    struct check_tensor src, dst;
    make(&src, type, ne, form);
    make(&dst, type, to_ne, form % 3);
    struct check_run run;
    start(&run, HTP_OP_PAD, &src, &dst);
    struct htp_pad_params params = {.circular = circular};
    memcpy(params.by, by, sizeof(params.by));
    memcpy(run.params, &params, sizeof(params));
    for (uint32_t i = 0; i < to_ne[0] * htp_rows(&dst.view); i++) {
        const struct place p = place_of(to_ne, i);
        struct place q;
        bool inside = true;
        for (uint32_t d = 0; d < 4; d++) {
            const int64_t at = (int64_t)p.i[d] - by[2 * d], n = ne[d];
            inside = inside && at >= 0 && at < n;
            q.i[d] = (uint32_t)((at % n + n) % n);
        }
        static const uint8_t zeros[8];
        memcpy(dst.before + (address(&dst.view, p) - dst.block), inside || circular ? address(&src.view, q) : zeros,
               htp_type_bytes(type));
    }
    finish(c, &run, &dst, circular ? "circular pad" : "pad", type, type, to_ne, form, form % 3);
    check_free(&src);
    check_free(&dst);
}

static void all_boxes(struct check *c) {
    static const uint32_t types[] = {HTP_TYPE_F32, HTP_TYPE_F16, HTP_TYPE_I8, HTP_TYPE_I64};
    static const uint32_t shapes[][4] = {{10, 5, 4, 3}, {1, 7, 2, 1}, {33, 3, 1, 2}, {128, 4, 3, 1}};
    static const uint32_t times[][4] = {{1, 1, 1, 1}, {2, 1, 3, 1}, {7, 2, 1, 2}, {130, 1, 1, 1}};
    static const uint32_t pads[][8] = {{0, 1, 0, 1, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6, 2, 1}, {300, 0, 0, 0, 0, 1, 0, 0}};
    for (uint32_t t = 0; t < 4; t++) {
        for (uint32_t s = 0; s < 4; s++) {
            for (uint32_t form = 0; form < CHECK_FORMS; form++) {
                for (uint32_t k = 0; k < 4; k++) {
                    repeat(c, types[t], shapes[s], times[k], form);
                    concat(c, types[t], shapes[s], k, 1 + check_below(40), form);
                }
                for (uint32_t k = 0; k < 3; k++) {
                    pad(c, types[t], shapes[s], pads[k], 0, form);
                    pad(c, types[t], shapes[s], pads[k], 1, form);
                }
            }
        }
    }
    static const uint32_t blocks[4] = {64, 3, 4, 2};
    for (uint32_t k = 0; k < 4; k++) {
        concat(c, HTP_TYPE_Q8_0, blocks, k, k == 0 ? 96 : 5, k % 3);
        concat(c, HTP_TYPE_Q4_0, blocks, k, k == 0 ? 32 : 2, k % 2);
    }
}

/* ---- nothing to do, and what is refused ---- */

static void refuses(struct check *c) {
    static const uint32_t ne[4] = {32, 4, 1, 1}, other[4] = {32, 3, 1, 1};
    struct check_tensor a, b, h;
    make(&a, HTP_TYPE_F32, ne, 0);
    make(&b, HTP_TYPE_F32, other, 0);
    make(&h, HTP_TYPE_F16, ne, 0);
    struct check_run run;
    start(&run, HTP_OP_CPY, &a, &b);
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_BAD_OP, "cpy of more elements than there is room for");
    run.exec.op = HTP_OP_REPEAT;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_BAD_OP, "repeat 4 rows into 3");
    run.exec.op = HTP_OP_PAD;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_BAD_OP, "pad to a smaller shape");
    run.exec.op = HTP_OP_CONCAT;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_BAD_OP, "concat of one source");
    run.exec.n_src = 2;
    run.exec.src[1] = &a.view;
    run.params[0] = 4;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_BAD_OP, "concat along dimension 4");
    run.params[0] = 1;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_BAD_OP, "concat to fewer rows");
    run.exec.src[1] = &h.view;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_UNSUPPORTED, "concat of two types");
    run.exec.op = HTP_OP_CPY;
    h.view.type = HTP_TYPE_I64;
    run.exec.dst = &h.view;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_UNSUPPORTED, "cpy of f32 to i64");
    check_true(c, check_unchanged(&b, true), "a refused op wrote");
    a.view.ne[1] = b.view.ne[1] = 0;
    run.exec.dst = &b.view;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_OK && check_unchanged(&b, true), "cpy of nothing");
    /* a source without rows beside one that has some */
    b.view.ne[1] = 3;
    run.exec.op = HTP_OP_CONCAT;
    run.exec.src[1] = &b.view;
    check_true(c, check_run_op(&run, htp_copy) == HTP_STATUS_OK, "concat with an empty source");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&h);
}

void check_copy(struct check *c) {
    all_copies(c);
    overlaps(c);
    all_boxes(c);
    refuses(c);
}
