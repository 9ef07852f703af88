/*
 * Sums over all channels of an image, for several results at a time (CONV_2D and its transpose). Results are taken in
 * blocks of four, whose weights lie side by side in VTCM; so many blocks and channels at a time as there is room for.
 * Sums of channels that come later are added to those in memory.
 */
#ifndef HTP_OPS_IMAGE_BLOCKS_H
#define HTP_OPS_IMAGE_BLOCKS_H

#include "hvx/strided.h"
#include "ops/image/lines.h"

#define BLOCK_OUTPUTS 4

struct image_blocks {
    /* of the op */
    const struct htp_view *kernel;
    uint32_t width, height, in, out; /* of the kernel */
    uint32_t nb[4];                  /* bytes from element to element of it, in the same order */
    uint32_t lines;                  /* of a channel that a thread makes ready at a time */
    uint32_t line_bytes;
    uint32_t offsets; /* of elements of a line that a thread needs */
    /* the plan */
    uint32_t threads, in_step, block_step;
    size_t thread_bytes;
    float *weights;
    uint8_t *vtcm; /* of the threads */
    /* what is to be done now */
    uint32_t in_first, in_count, block_first, block_count;
};

/* What thread `thread` has of VTCM. */
struct image_room {
    uint8_t *lines;
    int32_t *offsets;
    struct image_terms *terms;
};
struct image_room image_room_of(const struct image_blocks *b, uint32_t thread);

/* False when there is not enough VTCM for one thread, one channel and one block. */
bool image_blocks_plan(struct image_blocks *b, const struct htp_exec *exec, uint32_t n_threads);
/* Calls `run` for all channels of all blocks; `arg` holds a pointer to `b`. */
void image_blocks_run(struct image_blocks *b, struct htp_exec *exec, htp_thread_fn run, void *arg);

/* The weights of block b->block_first + block: [channel][height][width][BLOCK_OUTPUTS]. */
static inline const float *image_block_weights(const struct image_blocks *b, uint32_t block) {
    return b->weights + (size_t)block * b->in_count * b->height * b->width * BLOCK_OUTPUTS;
}

/* Writes 32 windows or fewer, `step` bytes apart; adds them to what is there unless these are the first channels. */
HVX_INLINE void image_store_sums(const struct image_blocks *b, uint8_t *dst, size_t step, uint32_t count,
                                 HVX_Vector sum) {
    if (b->in_first > 0) {
        const HVX_Vector before = step != 4 ? hvx_gather_words(dst, step, count)
                                  : count == HVX_WORDS ? hvx_load(dst) : hvx_load_bytes(dst, count * 4);
        sum = hvx_add_qf32_f32(sum, before);
    }
    if (step != 4)
        hvx_scatter_words(dst, step, count, hvx_qf32_to_f32(sum));
    else
        hvx_store_bytes(dst, count * 4, hvx_qf32_to_f32(sum));
}

#endif
