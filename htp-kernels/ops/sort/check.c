/* ARGSORT and TOP_K against an insertion into order, and by what their results must be. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "check/row_ref.h"
#include "htp/params.h"

uint32_t htp_sort(struct htp_exec *exec);

/* what rows are made of: all different, few values, special values, sorted, sorted the other way */
enum content { DIFFERENT, TIES, SPECIAL, UP, DOWN, CONTENTS };

static float value(enum content content, uint32_t i) {
    static const float special[] = {0.0f, -0.0f, 1.0f / 0.0f, -1.0f / 0.0f, 1e-42f, -1e-42f, 3e38f, -3e38f};
    switch (content) {
    case DIFFERENT:
        return check_uniform() * 1e3f;
    case TIES:
        return (float)check_below(7) - 3;
    case SPECIAL:
        return special[check_below(8)];
    case UP:
        return (float)i - 20;
    default:
        return 20 - (float)i;
    }
}

/* reference: indices by value, equal ones by index */
static const float *compared;
static int by_value(const void *a, const void *b) {
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    const float x = compared[i], y = compared[j];
    return x < y ? -1 : x > y ? 1 : (i > j) - (i < j);
}
static int by_value_down(const void *a, const void *b) {
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    const float x = compared[i], y = compared[j];
    return x > y ? -1 : x < y ? 1 : (i > j) - (i < j);
}

static int by_number(const void *a, const void *b) {
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return (i > j) - (i < j);
}

struct shape {
    uint32_t ne[4];
    uint32_t k; /* 0: ARGSORT */
    uint32_t form;
    size_t vtcm;
};

static void run_shape(struct check *c, const struct shape *s, enum content content, uint32_t order) {
    const uint32_t length = s->ne[0], k = s->k == 0 ? length : s->k;
    const uint32_t to_ne[4] = {k, s->ne[1], s->ne[2], s->ne[3]};
    uint32_t nb[4], to_nb[4];
    check_strides(HTP_TYPE_F32, s->ne, s->form, nb);
    check_strides(HTP_TYPE_I32, to_ne, s->form % 3, to_nb);
    struct check_tensor src, dst;
    check_make(&src, HTP_TYPE_F32, HTP_LAYOUT_ROWS, s->ne, nb, 4 * check_below(9));
    check_make(&dst, HTP_TYPE_I32, HTP_LAYOUT_ROWS, to_ne, to_nb, 4 * check_below(9));
    const uint32_t rows = htp_rows(&src.view);
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < length; i++)
            check_set(&src.view, i, r % s->ne[1], r / s->ne[1] % s->ne[2], r / s->ne[1] / s->ne[2], value(content, i));
    }
    struct check_run run;
    check_run_init(&run, s->k == 0 ? HTP_OP_ARGSORT : HTP_OP_TOP_K, 1 + check_below(4), s->vtcm);
    const struct htp_argsort_params params = {order};
    if (s->k == 0)
        memcpy(run.params, &params, sizeof(params));
    run.exec.n_src = 1;
    run.exec.src[0] = &src.view;
    run.exec.dst = &dst.view;
    check_remember(&dst);
    const uint32_t status = check_run_op(&run, htp_sort);
    uint32_t bad = 0;
    float *x = malloc(length * sizeof(float));
    int32_t *index = malloc(length * sizeof(int32_t));
    for (uint32_t r = 0; x != NULL && index != NULL && r < rows; r++) {
        const uint32_t i1 = r % s->ne[1], i2 = r / s->ne[1] % s->ne[2], i3 = r / s->ne[1] / s->ne[2];
        for (uint32_t i = 0; i < length; i++) {
            x[i] = (float)check_get(&src.view, i, i1, i2, i3);
            index[i] = (int32_t)i;
        }
        compared = x;
        qsort(index, length, sizeof(index[0]), order == 0 ? by_value : by_value_down);
        int32_t *got = (int32_t *)(void *)htp_row(&dst.view, i1, i2, i3);
        if (s->k != 0) { /* a set */
            qsort(index, k, sizeof(index[0]), by_number);
            qsort(got, k, sizeof(index[0]), by_number);
        }
        bad += memcmp(got, index, k * sizeof(index[0])) != 0;
    }
    check_true(c, status == HTP_STATUS_OK && bad == 0, "[%u,%u,%u,%u] k %u form %u content %u order %u: status %u, %u rows",
               (unsigned)s->ne[0], (unsigned)s->ne[1], (unsigned)s->ne[2], (unsigned)s->ne[3], (unsigned)s->k,
               (unsigned)s->form, (unsigned)content, (unsigned)order, (unsigned)status, (unsigned)bad);
    check_true(c, check_unchanged(&dst, false) && check_vtcm_intact(&run), "[%u,...] k %u wrote beside its output",
               (unsigned)s->ne[0], (unsigned)s->k);
    free(x);
    free(index);
    check_run_free(&run);
    check_free(&src);
    check_free(&dst);
}

static void refuses(struct check *c) {
    static const uint32_t ne[4] = {64, 2, 1, 1}, other[4] = {65, 2, 1, 1}, fewer[4] = {64, 1, 1, 1};
    struct check_tensor src, dst, longer, few;
    check_make(&src, HTP_TYPE_F32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&dst, HTP_TYPE_I32, HTP_LAYOUT_ROWS, ne, NULL, 0);
    check_make(&longer, HTP_TYPE_I32, HTP_LAYOUT_ROWS, other, NULL, 0);
    check_make(&few, HTP_TYPE_I32, HTP_LAYOUT_ROWS, fewer, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_ARGSORT, 1, 1024);
    run.exec.n_src = 1;
    run.exec.src[0] = &src.view;
    run.exec.dst = &dst.view;
    check_true(c, check_run_op(&run, htp_sort) == HTP_STATUS_NO_VTCM, "sort without VTCM");
    run.params[0] = 2;
    check_true(c, check_run_op(&run, htp_sort) == HTP_STATUS_BAD_OP, "order 2");
    run.params[0] = 0;
    run.exec.dst = &longer.view;
    check_true(c, check_run_op(&run, htp_sort) == HTP_STATUS_BAD_OP, "other length");
    run.exec.dst = &few.view;
    check_true(c, check_run_op(&run, htp_sort) == HTP_STATUS_BAD_OP, "fewer rows");
    run.exec.op = HTP_OP_TOP_K;
    run.exec.dst = &longer.view;
    check_true(c, check_run_op(&run, htp_sort) == HTP_STATUS_BAD_OP, "more than there are");
    run.exec.dst = &src.view;
    check_true(c, check_run_op(&run, htp_sort) == HTP_STATUS_UNSUPPORTED, "f32 indices");
    check_run_free(&run);
    check_free(&src);
    check_free(&dst);
    check_free(&longer);
    check_free(&few);
}

void check_sort(struct check *c) {
    static const uint32_t lengths[] = {1, 2, 3, 31, 32, 33, 40, 41, 64, 65, 127, 256, 300, 1000, 5000};
    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint32_t content = 0; content < CONTENTS; content++) {
            for (uint32_t form = 0; form < CHECK_FORMS; form++) {
                struct shape s = {
                    .ne = {lengths[i], 1 + check_below(4), 1 + check_below(3), 1 + check_below(2)},
                    .form = form,
                    .vtcm = check_below(3) == 0 ? 12 << 10 : 256 << 10, /* little: rows are divided */
                };
                run_shape(c, &s, content, 0);
                run_shape(c, &s, content, 1);
                s.k = 1 + check_below(lengths[i]);
                run_shape(c, &s, content, 1);
            }
        }
    }
    refuses(c);
}
