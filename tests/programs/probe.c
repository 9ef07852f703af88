/*
 * Loads the plug-in into a real ggml and uses it, as a program would.
 *
 *   probe linked|local LIBGGML_FOLDER PLUGIN devices|weights|indices
 *
 * linked: the program is linked to ggml (build it with -lggml -lggml-base). local: ggml is opened with RTLD_LOCAL, as
 * Python does (build it without). devices prints a line a device. weights uploads weights of every shape and type that
 * matters, reads them back, multiplies and compares with the CPU backend; it prints "ok" and exits with 0, or says
 * what differed and exits with 1. indices does the same for graphs whose rows do not exist, which have to fail.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

/* ggml's functions, found at run time so that one source serves both ways of loading */
#define FUNCTIONS(X)                                                                                              \
    X(ggml_init) X(ggml_free) X(ggml_tensor_overhead) X(ggml_graph_overhead) X(ggml_new_tensor_4d)                \
    X(ggml_get_rows) X(ggml_set_rows)                                                                             \
    X(ggml_mul_mat_id) X(ggml_view_3d)                                                                            \
    X(ggml_mul_mat) X(ggml_view_2d) X(ggml_new_graph) X(ggml_build_forward_expand) X(ggml_nbytes)                 \
    X(ggml_quantize_chunk) X(ggml_row_size) X(ggml_type_name) X(ggml_is_quantized) X(ggml_blck_size)         \
    X(ggml_backend_load) X(ggml_backend_load_all_from_path) X(ggml_backend_reg_dev_count)                         \
    X(ggml_backend_reg_dev_get) X(ggml_backend_dev_name) X(ggml_backend_dev_description)                          \
    X(ggml_backend_dev_memory) X(ggml_backend_dev_init) X(ggml_backend_dev_by_name)                               \
    X(ggml_backend_alloc_ctx_tensors) X(ggml_backend_alloc_ctx_tensors_from_buft)                                 \
    X(ggml_backend_reg_get_proc_address) X(ggml_backend_get_device) X(ggml_backend_dev_buffer_type)               \
    X(ggml_backend_dev_backend_reg) X(ggml_backend_buft_name)                                                     \
    X(ggml_backend_buffer_set_usage) X(ggml_backend_buffer_free)                \
    X(ggml_backend_tensor_set) X(ggml_backend_tensor_get) X(ggml_backend_tensor_memset)                           \
    X(ggml_backend_graph_compute) X(ggml_backend_free) X(ggml_backend_supports_op)
#define DECLARE(name) static __typeof__(&name) p_##name;
FUNCTIONS(DECLARE)

static int failures;
static void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    failures++;
}

static void find_functions(int local, const char *folder) {
    void *ggml = RTLD_DEFAULT, *base = RTLD_DEFAULT;
    if (local) {
        char path[4096];
        snprintf(path, sizeof path, "%s/libggml-base.so.0", folder);
        base = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        snprintf(path, sizeof path, "%s/libggml.so.0", folder);
        ggml = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!ggml || !base) {
            fprintf(stderr, "cannot open ggml: %s\n", dlerror());
            exit(2);
        }
        if (dlsym(RTLD_DEFAULT, "ggml_version")) {
            fprintf(stderr, "ggml is in the global scope: not the case that this is meant to try\n");
            exit(2);
        }
    }
#define FIND(name)                                                          \
    p_##name = (__typeof__(p_##name))dlsym(base, #name);                    \
    if (!p_##name) p_##name = (__typeof__(p_##name))dlsym(ggml, #name);     \
    if (!p_##name) { fprintf(stderr, "ggml has no " #name "\n"); exit(2); }
    FUNCTIONS(FIND)
}

static unsigned seed = 1;
static float uniform(void) {
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

struct shape {
    enum ggml_type type;
    int64_t k, n, matrices, m, repeat; /* activations have matrices * repeat in dimension 2 */
};

/* one product on one backend: weights in a buffer of its own, written in pieces */
struct product {
    struct ggml_context *weights_ctx, *ctx;
    ggml_backend_buffer_t weights_buffer, buffer;
    struct ggml_tensor *weights, *activations, *ids, *out, *slice_out, *expert_out;
    struct ggml_cgraph *graph;
};

/* the buffer type for weights in tiles, NULL when the backend has none */
static ggml_backend_buffer_type_t repack_type(ggml_backend_t backend) {
    ggml_backend_dev_t dev = p_ggml_backend_get_device(backend);
    ggml_backend_dev_get_extra_bufts_t extra = (ggml_backend_dev_get_extra_bufts_t)p_ggml_backend_reg_get_proc_address(
        p_ggml_backend_dev_backend_reg(dev), "ggml_backend_dev_get_extra_bufts");
    for (ggml_backend_buffer_type_t *type = extra ? extra(dev) : NULL; type && *type; type++)
        if (strstr(p_ggml_backend_buft_name(*type), "HTP")) return *type;
    return NULL;
}

static struct product make(ggml_backend_t backend, ggml_backend_buffer_type_t type, const struct shape *s, const uint8_t *weights, size_t size,
                           const float *activations) {
    struct product p = {0};
    struct ggml_init_params params = {p_ggml_tensor_overhead() * 16 + p_ggml_graph_overhead(), NULL, true};
    p.weights_ctx = p_ggml_init(params);
    p.ctx = p_ggml_init(params);
    p.weights = p_ggml_new_tensor_4d(p.weights_ctx, s->type, s->k, s->n, s->matrices, 1);
    p.activations = p_ggml_new_tensor_4d(p.ctx, GGML_TYPE_F32, s->k, s->m, s->matrices * s->repeat, 1);
    p.out = p_ggml_mul_mat(p.ctx, p.weights, p.activations);
    p.graph = p_ggml_new_graph(p.ctx);
    p_ggml_build_forward_expand(p.graph, p.out);
    if (s->n >= 64 && s->matrices == 1 && s->repeat == 1) { /* a view of some of the rows, as fused QKV weights use */
        struct ggml_tensor *rows =
            p_ggml_view_2d(p.ctx, p.weights, s->k, s->n - 32, p_ggml_row_size(s->type, s->k), 32 * p_ggml_row_size(s->type, s->k));
        p.slice_out = p_ggml_mul_mat(p.ctx, rows, p.activations);
        p_ggml_build_forward_expand(p.graph, p.slice_out);
    }
    if (s->matrices > 1) { /* the matrices as experts, two for each row of the first matrix of activations */
        struct ggml_tensor *tokens =
            p_ggml_view_3d(p.ctx, p.activations, s->k, 1, s->m, (size_t)s->k * 4, (size_t)s->k * 4, 0);
        p.ids = p_ggml_new_tensor_4d(p.ctx, GGML_TYPE_I32, 2, s->m, 1, 1);
        p.expert_out = p_ggml_mul_mat_id(p.ctx, p.weights, tokens, p.ids);
        p_ggml_build_forward_expand(p.graph, p.expert_out);
    }
    p.weights_buffer = p_ggml_backend_alloc_ctx_tensors_from_buft(p.weights_ctx, type);
    p.buffer = p_ggml_backend_alloc_ctx_tensors(p.ctx, backend);
    if (!p.weights_buffer || !p.buffer) {
        fail("cannot allocate");
        return p;
    }
    p_ggml_backend_buffer_set_usage(p.weights_buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    if (!p_ggml_backend_supports_op(backend, p.out) || (p.slice_out && !p_ggml_backend_supports_op(backend, p.slice_out)))
        fail("%s in %s: MUL_MAT is not supported", p_ggml_type_name(s->type), p_ggml_backend_buft_name(type));
    if (p.expert_out && !p_ggml_backend_supports_op(backend, p.expert_out))
        fail("%s in %s: MUL_MAT_ID is not supported", p_ggml_type_name(s->type), p_ggml_backend_buft_name(type));
    for (int64_t i = 0; p.ids && i < 2 * s->m; i++) {
        const int32_t id = (int32_t)(i * i % s->matrices);
        p_ggml_backend_tensor_set(p.ids, &id, (size_t)i * 4, 4);
    }
    p_ggml_backend_tensor_memset(p.weights, 0x5a, 0, size);
    for (size_t at = 0, piece = 1; at < size; at += piece, piece = piece * 3 + 7) { /* odd offsets and sizes */
        if (piece > size - at) piece = size - at;
        p_ggml_backend_tensor_set(p.weights, weights + at, at, piece);
    }
    p_ggml_backend_tensor_set(p.activations, activations, 0, p_ggml_nbytes(p.activations));
    if (p_ggml_backend_graph_compute(backend, p.graph) != GGML_STATUS_SUCCESS) fail("graph_compute failed");
    return p;
}

static void drop(struct product *p) {
    p_ggml_backend_buffer_free(p->weights_buffer);
    p_ggml_backend_buffer_free(p->buffer);
    p_ggml_free(p->weights_ctx);
    p_ggml_free(p->ctx);
}

static void compare(const char *what, const struct shape *s, struct ggml_tensor *got, struct ggml_tensor *expected) {
    size_t bytes = p_ggml_nbytes(got), n = bytes / 4;
    float *a = malloc(bytes), *b = malloc(bytes);
    p_ggml_backend_tensor_get(got, a, 0, bytes);
    p_ggml_backend_tensor_get(expected, b, 0, bytes);
    double error = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        sum += (double)b[i] * b[i];
    }
    if (!(error <= 5e-4 * sum) || sum == 0)
        fail("%s %s k %d n %d x %d, m %d: NMSE %g", what, p_ggml_type_name(s->type), (int)s->k, (int)s->n,
             (int)s->matrices, (int)s->m, error / sum);
    free(a);
    free(b);
}

static void try_shape(ggml_backend_t dsp, ggml_backend_buffer_type_t type, ggml_backend_t cpu, const struct shape *s) {
    size_t rows = (size_t)(s->n * s->matrices), size = p_ggml_row_size(s->type, s->k) * rows;
    size_t n_activations = (size_t)(s->k * s->m * s->matrices * s->repeat);
    float *values = malloc(rows * (size_t)s->k * 4), *activations = malloc(n_activations * 4);
    uint8_t *weights = malloc(size), *back = malloc(size);
    for (size_t i = 0; i < rows * (size_t)s->k; i++) values[i] = uniform();
    for (size_t i = 0; i < n_activations; i++) activations[i] = uniform();
    p_ggml_quantize_chunk(s->type, values, weights, 0, (int64_t)rows, s->k, NULL);

    ggml_backend_buffer_type_t cpu_type = p_ggml_backend_dev_buffer_type(p_ggml_backend_get_device(cpu));
    struct product a = make(dsp, type, s, weights, size, activations);
    struct product b = make(cpu, cpu_type, s, weights, size, activations);
    if (a.buffer && b.buffer) {
        compare("product", s, a.out, b.out);
        if (a.slice_out && b.slice_out) compare("product of a slice", s, a.slice_out, b.slice_out);
        if (a.expert_out && b.expert_out) compare("product with experts", s, a.expert_out, b.expert_out);
        memset(back, 0, size);
        for (size_t at = 0, piece = 5; at < size; at += piece, piece = piece * 2 + 3) {
            if (piece > size - at) piece = size - at;
            p_ggml_backend_tensor_get(a.weights, back + at, at, piece);
        }
        if (memcmp(back, weights, size) != 0) fail("%s n %d: weights read back differ", p_ggml_type_name(s->type), (int)s->n);
    }
    drop(&a);
    drop(&b);
    free(values);
    free(activations);
    free(weights);
    free(back);
}

/* GET_ROWS, then SET_ROWS, of a table of 8 rows: an index beyond it fails the graph, and the next one works again. */
static void try_indices(ggml_backend_t dsp) {
    struct ggml_init_params params = {p_ggml_tensor_overhead() * 16 + 2 * p_ggml_graph_overhead(), NULL, true};
    struct ggml_context *ctx = p_ggml_init(params);
    struct ggml_tensor *table = p_ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 64, 8, 1, 1);
    struct ggml_tensor *rows = p_ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 64, 3, 1, 1);
    struct ggml_tensor *narrow = p_ggml_new_tensor_4d(ctx, GGML_TYPE_I32, 3, 1, 1, 1);
    struct ggml_tensor *wide = p_ggml_new_tensor_4d(ctx, GGML_TYPE_I64, 3, 1, 1, 1);
    struct ggml_cgraph *get = p_ggml_new_graph(ctx), *set = p_ggml_new_graph(ctx);
    p_ggml_build_forward_expand(get, p_ggml_get_rows(ctx, table, narrow));
    p_ggml_build_forward_expand(set, p_ggml_set_rows(ctx, table, rows, wide));
    ggml_backend_buffer_t buffer = p_ggml_backend_alloc_ctx_tensors(ctx, dsp);
    p_ggml_backend_tensor_memset(table, 0, 0, p_ggml_nbytes(table));
    p_ggml_backend_tensor_memset(rows, 0, 0, p_ggml_nbytes(rows));
    static const int32_t tries[] = {3, 8, 0, -1, 7, INT32_MAX, 5};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const int32_t narrow_list[3] = {1, 2, tries[i]};
        const int64_t wide_list[3] = {1, 2, tries[i] == INT32_MAX ? INT64_MIN : tries[i]};
        p_ggml_backend_tensor_set(narrow, narrow_list, 0, sizeof narrow_list);
        p_ggml_backend_tensor_set(wide, wide_list, 0, sizeof wide_list);
        const enum ggml_status expected = i % 2 == 0 ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
        if (p_ggml_backend_graph_compute(dsp, get) != expected) fail("GET_ROWS of row %d", (int)tries[i]);
        if (p_ggml_backend_graph_compute(dsp, set) != expected) fail("SET_ROWS of row %d", (int)tries[i]);
    }
    p_ggml_backend_buffer_free(buffer);
    p_ggml_free(ctx);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    find_functions(strcmp(argv[1], "local") == 0, argv[2]);
    ggml_backend_reg_t reg = p_ggml_backend_load(argv[3]);
    if (!reg) {
        printf("the plug-in was refused\n");
        return 1;
    }
    size_t n = p_ggml_backend_reg_dev_count(reg);
    if (strcmp(argv[4], "devices") == 0) {
        printf("%zu devices\n", n);
        for (size_t i = 0; i < n; i++) {
            ggml_backend_dev_t dev = p_ggml_backend_reg_dev_get(reg, i);
            size_t free_bytes, total;
            p_ggml_backend_dev_memory(dev, &free_bytes, &total);
            printf("%s: %s, %zu MiB\n", p_ggml_backend_dev_name(dev), p_ggml_backend_dev_description(dev), total >> 20);
        }
        return 0;
    }
    p_ggml_backend_load_all_from_path(argv[2]); /* for the CPU backend to compare with */
    ggml_backend_dev_t cpu_dev = p_ggml_backend_dev_by_name("CPU");
    if (n == 0 || !cpu_dev) {
        printf("no device\n");
        return 1;
    }
    ggml_backend_t dsp = p_ggml_backend_dev_init(p_ggml_backend_reg_dev_get(reg, 0), NULL);
    if (strcmp(argv[4], "indices") == 0) {
        try_indices(dsp);
        p_ggml_backend_free(dsp);
        if (failures == 0) printf("ok\n");
        return failures != 0;
    }
    ggml_backend_t cpu = p_ggml_backend_dev_init(cpu_dev, NULL);
    static const enum ggml_type types[] = {GGML_TYPE_Q4_0,   GGML_TYPE_Q8_0, GGML_TYPE_Q4_1, GGML_TYPE_MXFP4,
                                           GGML_TYPE_IQ4_NL, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q2_K,
                                           GGML_TYPE_Q3_K,   GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K,
                                           GGML_TYPE_IQ4_XS, GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_F32};
    static const int64_t shapes[][5] = {{32, 1, 1, 1, 1},   {64, 33, 1, 1, 1},  {96, 100, 1, 5, 1},  {576, 1536, 1, 1, 1},
                                        {576, 192, 1, 7, 1}, {2048, 64, 1, 3, 1}, {128, 40, 3, 2, 1}, {64, 65, 2, 4, 3}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const int64_t *v = shapes[i];
            const int64_t block = p_ggml_blck_size(types[t]);
            /* A single output may be small by chance, and the CPU rounds activations of these types more coarsely. */
            if (block > 32 && v[1] * v[3] == 1) continue;
            struct shape s = {types[t], (v[0] + block - 1) / block * block, v[1], v[2], v[3], v[4]};
            try_shape(dsp, p_ggml_backend_dev_buffer_type(p_ggml_backend_get_device(dsp)), cpu, &s);
            if (p_ggml_is_quantized(s.type)) try_shape(dsp, repack_type(dsp), cpu, &s);
        }
    p_ggml_backend_free(dsp);
    p_ggml_backend_free(cpu);
    if (failures == 0) printf("ok\n");
    return failures != 0;
}
