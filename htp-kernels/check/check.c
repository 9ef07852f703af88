#include "check/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hvx/emul/half.h"
#include "runtime/tiles.h"

#define GUARD_BYTES 256
#define MAX_REPORTS 20 /* of failures in a family */

void check_case(struct check *c, double error, double limit, const char *what, ...) {
    c->cases++;
    if (c->cases == 1 || error / limit > c->worst) {
        c->worst = error / limit;
        c->worst_error = error;
        c->worst_limit = limit;
    }
    if (error <= limit)
        return;
    if (++c->failures <= MAX_REPORTS) {
        va_list args;
        va_start(args, what);
        printf("FAILED %s: ", c->family);
        vprintf(what, args);
        printf(": error %.3g, limit %.3g\n", error, limit);
        va_end(args);
    }
}

/* ---- random numbers ---- */

#define SEED 0x9e3779b97f4a7c15u
static uint64_t random_state = SEED;

uint32_t check_random(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

uint32_t check_below(uint32_t n) { return (uint32_t)((uint64_t)check_random() * n >> 32); }

float check_uniform(void) { return (float)((int32_t)check_random() >> 8) * (1.0f / 8388608.0f); }

/* ---- tensors ---- */

static void out_of_memory(void) {
    fprintf(stderr, "check: out of memory\n");
    exit(2);
}

static void *allocate(size_t size) {
    void *p = aligned_alloc(128, htp_round_up(size, 128));
    if (p == NULL)
        out_of_memory();
    return p;
}

static uint8_t pattern(size_t i) { return (uint8_t)(i * 37 + 0x5a); }

uint32_t check_type_size(uint32_t type) {
    switch (type) {
#define SIZE_CASE(number, NAME, elements, bytes) \
    case HTP_TYPE_##NAME:                        \
        return bytes;
        HTP_TYPE_LIST(SIZE_CASE)
#undef SIZE_CASE
    default:
        return 0;
    }
}

static uint32_t block_elements(uint32_t type) {
    switch (type) {
#define ELEMENTS_CASE(number, NAME, elements, bytes) \
    case HTP_TYPE_##NAME:                            \
        return elements;
        HTP_TYPE_LIST(ELEMENTS_CASE)
#undef ELEMENTS_CASE
    default:
        return 1;
    }
}

void check_make(struct check_tensor *t, uint32_t type, uint32_t layout, const uint32_t *ne, const uint32_t *nb,
                uint32_t offset) {
    memset(t, 0, sizeof(*t));
    struct htp_view *v = &t->view;
    v->type = type;
    v->layout = layout;
    const uint32_t size = check_type_size(type), blocks = ne[0] / block_elements(type);
    uint32_t packed[HTP_MAX_DIMS] = {size, blocks * size, blocks * size * ne[1], blocks * size * ne[1] * ne[2]};
    size_t bytes = size + (size_t)(blocks - 1) * (nb == NULL ? size : nb[0]);
    for (int i = 0; i < HTP_MAX_DIMS; i++) {
        v->ne[i] = ne[i];
        v->nb[i] = nb == NULL ? packed[i] : nb[i];
        if (i > 0)
            bytes += (size_t)(ne[i] - 1) * v->nb[i];
    }
    if (layout == HTP_LAYOUT_TILES)
        bytes = htp_tile_column_bytes(type, ne[0]) * htp_div_up(ne[1], HTP_TILE_DIM) * ne[2] * ne[3];
    t->block_bytes = GUARD_BYTES + offset + bytes + GUARD_BYTES;
    t->block = allocate(t->block_bytes);
    for (size_t i = 0; i < t->block_bytes; i++)
        t->block[i] = pattern(i);
    v->data = t->block + GUARD_BYTES + offset;
}

void check_free(struct check_tensor *t) {
    free(t->block);
    free(t->before);
    memset(t, 0, sizeof(*t));
}

static uint8_t *element(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3) {
    return htp_row(v, i1, i2, i3) + (size_t)i0 * v->nb[0];
}

double check_get(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3) {
    const uint8_t *p = element(v, i0, i1, i2, i3);
    if (v->type == HTP_TYPE_F16) {
        uint16_t h;
        memcpy(&h, p, 2);
        return hvx_half_to_float(h);
    }
    if (v->type == HTP_TYPE_BF16) { /* the upper half of an f32 */
        uint16_t h;
        memcpy(&h, p, 2);
        return hvx_bits_float((uint32_t)h << 16);
    }
    float f;
    memcpy(&f, p, 4);
    return f;
}

void check_set(const struct htp_view *v, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3, float value) {
    uint8_t *p = element(v, i0, i1, i2, i3);
    if (v->type == HTP_TYPE_F16) {
        const uint16_t h = hvx_float_to_half(value);
        memcpy(p, &h, 2);
        return;
    }
    if (v->type == HTP_TYPE_BF16) { /* cut, not rounded */
        const uint16_t h = (uint16_t)(hvx_float_bits(value) >> 16);
        memcpy(p, &h, 2);
        return;
    }
    memcpy(p, &value, 4);
}

void check_remember(struct check_tensor *t) {
    if (t->before == NULL)
        t->before = allocate(t->block_bytes);
    memcpy(t->before, t->block, t->block_bytes);
}

bool check_unchanged(const struct check_tensor *t, bool all) {
    const struct htp_view *v = &t->view;
    const uint32_t size = check_type_size(v->type);
    if (!all) { /* take the elements as they are now */
        for (uint32_t i3 = 0; i3 < v->ne[3]; i3++)
            for (uint32_t i2 = 0; i2 < v->ne[2]; i2++)
                for (uint32_t i1 = 0; i1 < v->ne[1]; i1++)
                    for (uint32_t i0 = 0; i0 < v->ne[0]; i0++) {
                        const uint8_t *p = element(v, i0, i1, i2, i3);
                        memcpy(t->before + (p - t->block), p, size);
                    }
    }
    return memcmp(t->before, t->block, t->block_bytes) == 0;
}

/* ---- runs ---- */

void check_run_init(struct check_run *r, uint32_t op, uint32_t n_threads, size_t vtcm_size) {
    memset(r, 0, sizeof(*r));
    r->vtcm_block = allocate(vtcm_size + GUARD_BYTES);
    r->exec.op = op;
    r->exec.n_threads = n_threads;
    r->exec.vtcm = r->vtcm_block;
    r->exec.vtcm_size = vtcm_size;
    r->exec.params = r->params;
}

/* FNV-1a over all results of the family's ops. NaN has many forms and counts as one. */
static uint64_t results;

static void hash_results(const struct htp_view *v) {
    const uint32_t size = check_type_size(v->type), blocks = v->ne[0] / block_elements(v->type);
    const bool is_half = v->type == HTP_TYPE_F16 || v->type == HTP_TYPE_BF16;
    for (uint32_t row = 0; row < htp_rows(v); row++) {
        const uint32_t i1 = row % v->ne[1], i2 = row / v->ne[1] % v->ne[2], i3 = row / v->ne[1] / v->ne[2];
        for (uint32_t i = 0; i < blocks; i++) {
            const uint8_t *p = element(v, i, i1, i2, i3);
            const bool is_float = is_half || v->type == HTP_TYPE_F32;
            const bool is_nan = is_float && isnan(check_get(v, i, i1, i2, i3));
            for (uint32_t b = 0; b < size; b++)
                results = (results ^ (is_nan ? 0xff : p[b])) * 0x100000001b3u;
        }
    }
}

uint32_t check_run_op(struct check_run *r, uint32_t (*op)(struct htp_exec *)) {
    memset(r->vtcm_block, 0xff, r->exec.vtcm_size);
    for (size_t i = 0; i < GUARD_BYTES; i++)
        r->vtcm_block[r->exec.vtcm_size + i] = pattern(i);
    const uint32_t status = op(&r->exec);
    if (status == HTP_STATUS_OK)
        hash_results(r->exec.dst);
    return status;
}

bool check_vtcm_intact(const struct check_run *r) {
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (r->vtcm_block[r->exec.vtcm_size + i] != pattern(i))
            return false;
    }
    return true;
}

bool check_vtcm_used(const struct check_run *r) {
    for (size_t i = 0; i < r->exec.vtcm_size; i++) {
        if (r->vtcm_block[i] != 0xff)
            return true;
    }
    return false;
}

void check_run_free(struct check_run *r) { free(r->vtcm_block); }

/* ---- program ---- */

/* Adds what it found to total; false when a family has no case or one that fails. */
static bool run_family(const char *name, void (*family)(struct check *), const char *only, struct check *total) {
    if (only != NULL && strcmp(only, name) != 0)
        return true;
    struct check c = {.family = name};
    random_state = SEED; /* a family's cases do not depend on the families before */
    results = 0xcbf29ce484222325u;
    family(&c);
    printf("%-8s %6u cases, %u failed, worst error %.2e (limit %.0e), results %016llx\n", name, (unsigned)c.cases,
           (unsigned)c.failures, c.worst_error, c.worst_limit, (unsigned long long)results);
    fflush(stdout);
    total->cases += c.cases;
    total->failures += c.failures;
    return c.failures == 0 && c.cases > 0;
}

int htp_check_main(int argc, char **argv) {
    const char *only = argc > 1 ? argv[1] : NULL;
    bool ok = true, known = only == NULL;
    struct check total = {0};
    if (only != NULL && strcmp(only, "--print") == 0) {
        check_print_intrinsics(&total);
        return total.failures == 0 ? 0 : 1;
    }
#define RUN_FAMILY(name)                           \
    ok = run_family(#name, check_##name, only, &total) && ok; \
    known = known || strcmp(only, #name) == 0;
    CHECK_FAMILIES(RUN_FAMILY)
#undef RUN_FAMILY
    if (!known)
        fprintf(stderr, "check: no family is called %s\n", only);
    printf("%u passed, %u failed\n", (unsigned)(total.cases - total.failures), (unsigned)total.failures);
    return ok && known ? 0 : 1;
}
