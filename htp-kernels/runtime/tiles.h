/* Sizes of the tile layout of quantised weights (layout: include/htp/tiles.h). */
#ifndef HTP_RUNTIME_TILES_H
#define HTP_RUNTIME_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "htp/tiles.h"
#include "htp/type_list.h"

/* Vectors that hold the quants of a 32x32 tile; 0: the type has no tile layout. */
static inline uint32_t htp_tile_quant_vectors(uint32_t type) {
    switch (type) {
#define HTP_TILE_CASE(NAME, vectors, zero) \
    case HTP_TYPE_##NAME:                  \
        return vectors;
        HTP_TILE_TYPE_LIST(HTP_TILE_CASE)
#undef HTP_TILE_CASE
    default:
        return 0;
    }
}

/* What a stored (unsigned) quant is above the quant that it stands for. */
static inline int32_t htp_tile_zero(uint32_t type) {
    switch (type) {
#define HTP_TILE_CASE(NAME, vectors, zero) \
    case HTP_TYPE_##NAME:                  \
        return zero;
        HTP_TILE_TYPE_LIST(HTP_TILE_CASE)
#undef HTP_TILE_CASE
    default:
        return 0;
    }
}

/* Bytes of a column tile (32 rows of k weights), for range checks: right for every k. k is rounded down to 32. */
static inline uint64_t htp_tile_column_bytes64(uint32_t type, uint32_t k) {
    const uint64_t blocks = k / HTP_TILE_DIM;
    const uint64_t scales = (blocks + HTP_TILE_SCALE_GROUP - 1) / HTP_TILE_SCALE_GROUP;
    const uint64_t quants = htp_tile_quant_vectors(type);
    return quants == 0 ? 0 : (blocks * quants + scales) * HTP_TILE_VECTOR;
}

/* The same for a tensor that the runtime has checked: it lies in memory, so the size fits size_t. */
static inline size_t htp_tile_column_bytes(uint32_t type, uint32_t k) {
    return (size_t)htp_tile_column_bytes64(type, k);
}

#endif
