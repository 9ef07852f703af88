/* What MUL_MAT and MUL_MAT_ID must refuse, and that they write nothing then. */
#include <string.h>

#include "check/check.h"
#include "ops/matmul/check_parts.h"

void check_matmul_refuses(struct check *c) {
    const uint32_t w_ne[4] = {64, 32, 2, 1}, a_ne[4] = {64, 3, 2, 1}, d_ne[4] = {32, 3, 2, 1};
    const uint32_t short_ne[4] = {32, 3, 2, 1}, three_ne[4] = {64, 3, 3, 1};
    struct check_tensor w, i32, a, short_a, three, dst;
    check_make(&w, HTP_TYPE_Q4_0, HTP_LAYOUT_ROWS, w_ne, NULL, 0);
    check_make(&i32, HTP_TYPE_I32, HTP_LAYOUT_ROWS, w_ne, NULL, 0);
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, NULL, 0);
    check_make(&short_a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, short_ne, NULL, 0);
    check_make(&three, HTP_TYPE_F32, HTP_LAYOUT_ROWS, three_ne, NULL, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_MUL_MAT, 2, 1 << 20);
    run.exec.n_src = 2;
    run.exec.dst = &dst.view;
    const struct {
        const struct htp_view *w, *a;
        uint32_t status;
        const char *what;
    } cases[] = {
        {&i32.view, &a.view, HTP_STATUS_UNSUPPORTED, "i32 weights"},
        {&w.view, &w.view, HTP_STATUS_UNSUPPORTED, "quantised activations"},
        {&w.view, &short_a.view, HTP_STATUS_BAD_OP, "other K"},
        {&w.view, &three.view, HTP_STATUS_BAD_OP, "batches that do not repeat"},
        {&w.view, NULL, HTP_STATUS_BAD_OP, "no activations"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run.exec.src[0] = cases[i].w;
        run.exec.src[1] = cases[i].a;
        check_true(c, check_run_op(&run, htp_matmul) == cases[i].status, "refusal of %s", cases[i].what);
    }
    run.exec.src[0] = &w.view;
    run.exec.src[1] = &a.view;
    run.exec.vtcm_size = 4096;
    check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_NO_VTCM && run.exec.detail > 4096, "too little VTCM");
    check_run_free(&run);
    check_free(&w);
    check_free(&i32);
    check_free(&a);
    check_free(&short_a);
    check_free(&three);
    check_free(&dst);
}

void check_matmul_id_refuses(struct check *c) {
    const uint32_t w_ne[4] = {64, 40, 3, 1}, a_ne[4] = {64, 2, 5, 1}, ids_ne[4] = {2, 5, 1, 1}, d_ne[4] = {40, 2, 5, 1};
    static const int32_t wrong[] = {3, -1, INT32_MAX, INT32_MIN};
    struct check_tensor w, a, ids, dst;
    check_make(&w, HTP_TYPE_Q4_0, HTP_LAYOUT_ROWS, w_ne, NULL, 0);
    check_make(&a, HTP_TYPE_F32, HTP_LAYOUT_ROWS, a_ne, NULL, 0);
    check_make(&ids, HTP_TYPE_I32, HTP_LAYOUT_ROWS, ids_ne, NULL, 0);
    check_make(&dst, HTP_TYPE_F32, HTP_LAYOUT_ROWS, d_ne, NULL, 0);
    struct check_run run;
    check_run_init(&run, HTP_OP_MUL_MAT_ID, 2, 1 << 20);
    run.exec.n_src = 3;
    run.exec.src[0] = &w.view;
    run.exec.src[1] = &a.view;
    run.exec.src[2] = &ids.view;
    run.exec.dst = &dst.view;
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memset(ids.view.data, 0, 2 * 5 * 4);
        memcpy(htp_row(&ids.view, 3, 0, 0) + 4, &wrong[i], 4);
        check_remember(&dst);
        check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_BAD_INDEX && run.exec.detail == 7,
                   "refusal of expert %d", (int)wrong[i]);
        check_true(c, check_unchanged(&dst, true), "something was written in spite of expert %d", (int)wrong[i]);
    }
    memset(ids.view.data, 0, 2 * 5 * 4);
    ids.view.ne[1] = 4;
    check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_BAD_OP, "refusal of too few lists of experts");
    ids.view.ne[1] = 5;
    a.view.ne[1] = 3;
    check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_BAD_OP, "refusal of rows that do not repeat");
    a.view.ne[1] = 2;
    ids.view.type = HTP_TYPE_F32;
    check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_UNSUPPORTED, "refusal of f32 experts");
    ids.view.type = HTP_TYPE_I32;
    run.exec.src[2] = NULL;
    check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_BAD_OP, "refusal without experts");
    run.exec.src[2] = &ids.view;
    run.exec.vtcm_size = 32;
    check_true(c, check_run_op(&run, htp_matmul) == HTP_STATUS_NO_VTCM, "too little VTCM for the order");
    check_run_free(&run);
    check_free(&w);
    check_free(&a);
    check_free(&ids);
    check_free(&dst);
}
