/*
 * Copies that turn two dimensions over: tiles of 32 rows along one dimension, a vector long along the other, are
 * loaded, turned over in VTCM by five rounds of shuffles, and stored.
 */
#include "hvx/transpose.h"
#include "ops/copy/grid.h"

#define TILE_BYTES (HVX_TRANSPOSE_ROWS * HVX_BYTES)
#define WORTH 8 /* both dimensions are at least this long */

struct turn {
    struct grid dst, src;
    uint32_t other; /* the dimension along which src lies side by side */
    uint32_t outer[2];
    uint32_t tiles; /* along dimension 0 */
    uint8_t *vtcm;
};

HVX_INLINE void store_part(uint8_t *dst, uint32_t bytes, HVX_Vector v) {
    if (bytes == HVX_BYTES)
        hvx_store(dst, v);
    else
        hvx_store_bytes(dst, bytes, v);
}

/* `rows` elements along dimension 0 from src and to dst, `lanes` along the other one */
static void turn_tile(const struct turn *t, uint8_t *dst, const uint8_t *src, uint32_t rows, uint32_t lanes,
                      HVX_Vector *tile) {
    const uint32_t unit = t->dst.unit, bytes = lanes * unit;
    for (uint32_t i = 0; i < rows; i++, src += t->src.nb[0])
        tile[i] = bytes == HVX_BYTES ? hvx_load(src) : hvx_load_bytes(src, bytes);
    HVX_Vector *turned = tile + HVX_TRANSPOSE_ROWS;
    if (unit == 4) {
        hvx_transpose(tile, turned, 4);
        for (uint32_t j = 0; j < lanes; j++, dst += t->dst.nb[t->other])
            store_part(dst, rows * 4, turned[j]);
        return;
    }
    hvx_transpose(tile, turned, 2);
    for (uint32_t j = 0; j < lanes; j++, dst += t->dst.nb[t->other])
        hvx_store_bytes(dst, rows * 2, j % 2 == 0 ? turned[j / 2] : Q6_V_vror_VR(turned[j / 2], HVX_BYTES / 2));
}

static void run_tiles(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct turn *t = arg;
    HVX_Vector *tile = (HVX_Vector *)(void *)(t->vtcm + (size_t)thread * 2 * TILE_BYTES);
    const uint32_t a = t->outer[0], b = t->outer[1], lanes = HVX_BYTES / t->dst.unit;
    const uint32_t items = t->tiles * t->dst.ne[a] * t->dst.ne[b]; /* no more than the units */
    for (uint32_t item = thread; item < items; item += n_threads) {
        const uint32_t first = item % t->tiles * HVX_TRANSPOSE_ROWS, rest = item / t->tiles;
        const uint32_t ia = rest % t->dst.ne[a], ib = rest / t->dst.ne[a];
        const uint32_t rows = htp_min_u32(t->dst.ne[0] - first, HVX_TRANSPOSE_ROWS);
        uint8_t *dst = t->dst.data + (size_t)first * t->dst.nb[0] + (size_t)ia * t->dst.nb[a] + (size_t)ib * t->dst.nb[b];
        const uint8_t *src =
            t->src.data + (size_t)first * t->src.nb[0] + (size_t)ia * t->src.nb[a] + (size_t)ib * t->src.nb[b];
        for (uint32_t left = t->dst.ne[t->other]; left > 0;) {
            const uint32_t n = htp_min_u32(left, lanes);
            turn_tile(t, dst, src, rows, n, tile);
            dst += (size_t)n * t->dst.nb[t->other];
            src += (size_t)n * t->src.nb[t->other];
            left -= n;
        }
    }
}

bool copy_transposed(struct htp_exec *exec, const struct grid *dst, const struct grid *src, uint32_t count) {
    const uint32_t other = grid_dense_dim(src, WORTH);
    if ((dst->unit != 2 && dst->unit != 4) || dst->nb[0] != dst->unit || dst->ne[0] < WORTH || other == 0 ||
        other == HTP_MAX_DIMS || exec->vtcm_size < 2 * TILE_BYTES)
        return false;
    struct turn t = {.dst = *dst, .src = *src, .other = other, .vtcm = exec->vtcm};
    uint32_t n_outer = 0;
    for (uint32_t d = 1; d < HTP_MAX_DIMS; d++) {
        if (d != other)
            t.outer[n_outer++] = d;
    }
    t.tiles = htp_div_up(t.dst.ne[0], HVX_TRANSPOSE_ROWS);
    const uint32_t items = t.tiles * t.dst.ne[t.outer[0]] * t.dst.ne[t.outer[1]];
    const size_t room = exec->vtcm_size / (2 * TILE_BYTES);
    uint32_t n = copy_threads(exec, (uint64_t)count * dst->unit, items);
    n = room < n ? (uint32_t)room : n;
    htp_parallel(exec, n, run_tiles, &t);
    return true;
}
