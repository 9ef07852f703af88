/*
 * A C program that links the library: lists the Hexagon devices and adds two vectors on the first one.
 *
 *   cc devices.c -I<ggml>/include -I<ggml-hexagon>/include -L<libs> -lggml-hexagon -lggml -lggml-base -o devices
 */
#include <stdio.h>

#include "ggml-alloc.h"
#include "ggml-hexagon.h"

int main(void) {
    ggml_backend_reg_t reg = ggml_backend_hexagon_reg();
    if (!reg) {
        fprintf(stderr, "this ggml is not supported, see the log above\n");
        return 1;
    }
    for (size_t i = 0; i < ggml_backend_reg_dev_count(reg); i++) {
        ggml_backend_dev_t dev = ggml_backend_reg_dev_get(reg, i);
        printf("%s: %s\n", ggml_backend_dev_name(dev), ggml_backend_dev_description(dev));
    }
    ggml_backend_t backend = ggml_backend_hexagon_init();
    if (!backend || !ggml_backend_is_hexagon(backend)) {
        fprintf(stderr, "no device, see the log above\n");
        return 1;
    }

    struct ggml_init_params params = {ggml_tensor_overhead() * 8 + ggml_graph_overhead(), NULL, true};
    struct ggml_context *ctx = ggml_init(params);
    struct ggml_tensor *a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100);
    struct ggml_tensor *b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100);
    struct ggml_tensor *sum = ggml_add(ctx, a, b);
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, sum);

    int result = 1;
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, backend);
    if (buffer) {
        float x[100], y[100], z[100];
        for (int i = 0; i < 100; i++) x[i] = (float)i, y[i] = 1000.0f;
        ggml_backend_tensor_set(a, x, 0, sizeof x);
        ggml_backend_tensor_set(b, y, 0, sizeof y);
        if (ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS) {
            ggml_backend_tensor_get(sum, z, 0, sizeof z);
            printf("%g + %g = %g\n", x[99], y[99], z[99]);
            result = z[99] == 1099.0f ? 0 : 1;
        }
        ggml_backend_buffer_free(buffer);
    }
    ggml_free(ctx);
    ggml_backend_free(backend);
    return result;
}
