#include "runtime/tensor_check.h"

#include <stddef.h>

#include "runtime/tiles.h"

struct type_info {
    uint32_t elements; /* of a block */
    uint32_t bytes;    /* of a block */
    uint32_t align;    /* of an address: the scalar itself; 2 for a block with f16 scales, 1 if its size is odd */
};

#define TYPE_ALIGN(elements, bytes) ((elements) == 1 ? (bytes) : 2 - (bytes) % 2)

/* NULL: unknown */
static const struct type_info *find_type(uint32_t type) {
    switch (type) {
#define TYPE_CASE(number, NAME, elements, bytes)                                               \
    case number: {                                                                             \
        static const struct type_info info = {elements, bytes, TYPE_ALIGN(elements, bytes)};   \
        return &info;                                                                          \
    }
        HTP_TYPE_LIST(TYPE_CASE)
#undef TYPE_CASE
    default:
        return NULL;
    }
}

/* align is a power of two: a mask, since 64-bit division is a library call on the device */
static bool is_aligned(uint64_t n, uint32_t align) { return (n & (align - 1)) == 0; }

static bool is_empty(const struct htp_tensor *t) {
    return t->ne[0] == 0 || t->ne[1] == 0 || t->ne[2] == 0 || t->ne[3] == 0;
}

/* ne[1] * ne[2] * ne[3] in *rows; false when it does not fit 32 bits */
static bool count_rows(const struct htp_tensor *t, uint32_t *rows) {
    uint64_t product = 1;
    *rows = 0;
    for (int i = 1; i < HTP_MAX_DIMS; i++) {
        if (t->ne[i] == 0)
            return true;
    }
    for (int i = 1; i < HTP_MAX_DIMS; i++) {
        product *= t->ne[i]; /* below 2^64: both factors are below 2^32 */
        if (product > UINT32_MAX)
            return false;
    }
    *rows = (uint32_t)product;
    return true;
}

/* Adds count * step to *sum unless that exceeds limit. */
static bool add_span(uint64_t *sum, uint32_t count, uint32_t step, uint64_t limit) {
    const uint64_t span = (uint64_t)count * step;
    if (*sum > limit || span > limit - *sum)
        return false;
    *sum += span;
    return true;
}

static bool rows_fit(const struct htp_tensor *t, const struct type_info *type, uint64_t room, uint64_t *bytes) {
    if (t->ne[0] % type->elements != 0 || !is_aligned(t->offset, type->align))
        return false;
    if (type->elements > 1 && t->nb[0] != type->bytes)
        return false;
    for (int i = 0; i < HTP_MAX_DIMS; i++) {
        if (!is_aligned(t->nb[i], type->align))
            return false;
    }
    if (is_empty(t))
        return true;
    uint64_t end = type->bytes; /* of the last block, relative to the first element */
    if (!add_span(&end, t->ne[0] / type->elements - 1, t->nb[0], room))
        return false;
    for (int i = 1; i < HTP_MAX_DIMS; i++) {
        if (!add_span(&end, t->ne[i] - 1, t->nb[i], room))
            return false;
    }
    *bytes = end;
    return true;
}

static bool tiles_fit(const struct htp_tensor *t, const struct type_info *type, uint64_t room, uint64_t *bytes) {
    if (htp_tile_quant_vectors(t->type) == 0)
        return false;
    if (t->ne[0] % type->elements != 0 || !is_aligned(t->offset, HTP_TILE_VECTOR))
        return false;
    if (is_empty(t))
        return true;
    /* below 2^32: no more than the rows, which have been counted */
    const uint64_t columns = ((uint64_t)t->ne[1] + HTP_TILE_DIM - 1) / HTP_TILE_DIM * t->ne[2] * t->ne[3];
    const uint64_t column_bytes = htp_tile_column_bytes64(t->type, t->ne[0]);
    if (columns > room / column_bytes)
        return false;
    *bytes = columns * column_bytes;
    return true;
}

bool htp_tensor_fits(const struct htp_tensor *t, uint64_t buffer_size, uint64_t *bytes) {
    const struct type_info *type = find_type(t->type);
    uint32_t rows;
    *bytes = 0;
    if (type == NULL || t->offset > buffer_size || !count_rows(t, &rows))
        return false;
    const uint64_t room = buffer_size - t->offset;
    switch (t->layout) {
    case HTP_LAYOUT_ROWS:
        return rows_fit(t, type, room, bytes);
    case HTP_LAYOUT_TILES:
        return tiles_fit(t, type, room, bytes);
    default:
        return false;
    }
}
