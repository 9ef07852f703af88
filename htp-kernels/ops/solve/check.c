/* SOLVE_TRI against the same recurrence in f64, and in place. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

uint32_t htp_solve(struct htp_exec *exec);

static void fill(const struct htp_view *v, uint32_t n, uint32_t columns, uint32_t planes, bool is_a) {
    for (uint32_t p = 0; p < planes; p++) {
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < columns; j++) {
                /* a diagonal that outweighs its row keeps X in bounds; above it there is what must not be read */
                const float scale = is_a ? 1.0f / (float)n : 1;
                float x = check_uniform() * scale;
                if (is_a && i == j)
                    x = i % 2 == 0 ? 1 + x : -2 + x;
                if (is_a && j > i)
                    x = 1e30f;
                check_set(v, j, i, p % v->ne[2], p / v->ne[2], x);
            }
        }
    }
}

static double solve_column(const struct htp_view *a, const struct htp_view *b, const struct htp_view *found, uint32_t n,
                           uint32_t j, uint32_t i2, uint32_t i3, double *x, double *sum) {
    double error = 0;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = check_get(b, j, i, i2, i3);
        for (uint32_t t = 0; t < i; t++)
            x[i] -= check_get(a, t, i, i2, i3) * x[t];
        x[i] /= check_get(a, i, i, i2, i3);
        const double d = check_get(found, j, i, i2, i3) - x[i];
        error += d * d;
        *sum += x[i] * x[i];
    }
    return error;
}

static void run_shape(struct check *c, uint32_t n, uint32_t columns, uint32_t n2, uint32_t n3, uint32_t gap,
                      bool in_place) {
    const uint32_t a_ne[4] = {n, n, n2, n3}, b_ne[4] = {columns, n, n2, n3};
    const uint32_t a_row = n * 4 + gap, b_row = columns * 4 + gap;
    const uint32_t a_nb[4] = {4, a_row, a_row * n + gap, (a_row * n + gap) * n2};
    const uint32_t b_nb[4] = {4, b_row, b_row * n + gap, (b_row * n + gap) * n2};
    struct check_tensor a, b, dst;
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, a_nb, gap);
    check_make(&b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, b_ne, b_nb, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, b_ne, b_nb, in_place ? 0 : gap);
    fill(&a.view, n, n, n2 * n3, true);
    fill(&b.view, n, columns, n2 * n3, false);
    struct check_run run;
    check_run_init(&run, HTP_OP_SOLVE_TRI, 1 + check_below(4), 100 << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = &a.view;
    run.exec.src[1] = in_place ? &dst.view : &b.view;
    run.exec.dst = &dst.view;
    if (in_place)
        memcpy(dst.block, b.block, dst.block_bytes);
    check_remember(&dst);
    const uint32_t status = check_run_op(&run, htp_solve);
    double error = 0, sum = 0, *const x = malloc(n * sizeof(*x));
    for (uint32_t i = 0; i < columns * n2 * n3; i++)
        error += solve_column(&a.view, &b.view, &dst.view, n, i % columns, i / columns % n2, i / columns / n2, x, &sum);
    free(x);
    check_case(c, status != HTP_STATUS_OK ? 1 : error / sum, 1e-12, "n %u, %u columns, %ux%u, gap %u%s: status %u",
               (unsigned)n, (unsigned)columns, (unsigned)n2, (unsigned)n3, (unsigned)gap, in_place ? ", in place" : "",
               (unsigned)status);
    check_true(c, check_unchanged(&dst, false) && check_vtcm_intact(&run), "n %u, %u columns: wrote beside", (unsigned)n,
               (unsigned)columns);
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&dst);
}

static void refuses(struct check *c) {
    static const uint32_t a_ne[4] = {16, 16, 2, 1}, b_ne[4] = {8, 16, 2, 1};
    struct check_tensor a, b, dst;
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, NULL, 0);
    check_make(&b, HTP_TYPE_F32, HTP_LAYOUT_ROWS, b_ne, NULL, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, b_ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_SOLVE_TRI, 1, 20 << 10);
    run.exec.n_src = 2;
    run.exec.src[0] = &a.view;
    run.exec.src[1] = &b.view;
    run.exec.dst = &dst.view;
    a.view.ne[1] = 15;
    check_true(c, check_run_op(&run, htp_solve) == HTP_STATUS_BAD_OP, "A is not square");
    a.view.ne[1] = 16;
    b.view.ne[1] = 15;
    check_true(c, check_run_op(&run, htp_solve) == HTP_STATUS_BAD_OP, "B has fewer rows");
    b.view.ne[1] = 16;
    dst.view.ne[2] = 1;
    check_true(c, check_run_op(&run, htp_solve) == HTP_STATUS_BAD_OP, "dst has fewer matrices");
    dst.view.ne[2] = 2;
    b.view.type = HTP_TYPE_I32;
    check_true(c, check_run_op(&run, htp_solve) == HTP_STATUS_UNSUPPORTED, "B is not f32");
    b.view.type = HTP_TYPE_F32;
    run.exec.vtcm_size = 1024;
    check_true(c, check_run_op(&run, htp_solve) == HTP_STATUS_NO_VTCM, "no VTCM");
    run.exec.n_src = 1;
    check_true(c, check_run_op(&run, htp_solve) == HTP_STATUS_BAD_OP, "no B");
    check_run_free(&run);
    check_free(&a);
    check_free(&b);
    check_free(&dst);
}

void check_solve(struct check *c) {
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 11, 32, 33, 64, 79, 100};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        run_shape(c, sizes[i], 1, 2, 2, 0, false);
        run_shape(c, sizes[i], 10, 3, 1, 4, i % 2 == 0);
        run_shape(c, sizes[i], 32, 1, 1, 0, i % 2 == 1);
        run_shape(c, sizes[i], 64, 2, 1, 12, false);
        run_shape(c, sizes[i], 81, 1, 2, 0, true);
    }
    run_shape(c, 40, 200, 2, 1, 0, false);
    refuses(c);
}
