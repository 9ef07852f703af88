/* Sizes of the tile layout of quantised weights (layout: include/htp/tiles.h). */
#ifndef HTP_RUNTIME_TILES_H
#define HTP_RUNTIME_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "htp/tiles.h"
#include "htp/type_list.h"

/* One function a column of HTP_TILE_TYPE_LIST; the value for types that have no tile layout is `none`. */
#define HTP_TILE_COLUMN(function, column, none)                    \
    static inline uint32_t function(uint32_t type) {               \
        switch (type) {                                            \
            HTP_TILE_TYPE_LIST(column)                             \
        default:                                                   \
            return none;                                           \
        }                                                          \
    }
#define HTP_TILE_QUANTS(NAME, quants, group, scales, zero) \
    case HTP_TYPE_##NAME:                                  \
        return quants;
#define HTP_TILE_GROUP(NAME, quants, group, scales, zero) \
    case HTP_TYPE_##NAME:                                 \
        return group;
#define HTP_TILE_SCALES(NAME, quants, group, scales, zero) \
    case HTP_TYPE_##NAME:                                  \
        return scales;
#define HTP_TILE_ZERO(NAME, quants, group, scales, zero) \
    case HTP_TYPE_##NAME:                                \
        return zero;

/* Vectors that hold the quants of a 32x32 tile; 0: the type has no tile layout. */
HTP_TILE_COLUMN(htp_tile_quant_vectors, HTP_TILE_QUANTS, 0)
/* K-blocks that share scale vectors. */
HTP_TILE_COLUMN(htp_tile_scale_group, HTP_TILE_GROUP, 1)
/* Scale vectors of such a group. */
HTP_TILE_COLUMN(htp_tile_scale_vectors, HTP_TILE_SCALES, 0)
/* Which unsigned operand of the kernels stands for 0. */
HTP_TILE_COLUMN(htp_tile_zero, HTP_TILE_ZERO, 0)

#undef HTP_TILE_COLUMN
#undef HTP_TILE_QUANTS
#undef HTP_TILE_GROUP
#undef HTP_TILE_SCALES
#undef HTP_TILE_ZERO

/* Vectors of a whole scale group of a column tile: quants and scales. */
static inline uint32_t htp_tile_group_vectors(uint32_t type) {
    return htp_tile_scale_group(type) * htp_tile_quant_vectors(type) + htp_tile_scale_vectors(type);
}

/* Bytes of a column tile (32 rows of k weights), for range checks: right for every k. k is rounded down to 32. */
static inline uint64_t htp_tile_column_bytes64(uint32_t type, uint32_t k) {
    const uint32_t blocks = k / HTP_TILE_DIM, group = htp_tile_scale_group(type);
    const uint32_t scales = (blocks + group - 1) / group * htp_tile_scale_vectors(type);
    return ((uint64_t)blocks * htp_tile_quant_vectors(type) + scales) * HTP_TILE_VECTOR;
}

/* The same for a tensor that the runtime has checked: it lies in memory, so the size fits size_t. */
static inline size_t htp_tile_column_bytes(uint32_t type, uint32_t k) {
    return (size_t)htp_tile_column_bytes64(type, k);
}

#endif
