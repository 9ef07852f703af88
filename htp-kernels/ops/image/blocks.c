#include "ops/image/blocks.h"

struct image_room image_room_of(const struct image_blocks *b, uint32_t thread) {
    struct image_room r;
    r.lines = b->vtcm + thread * b->thread_bytes;
    r.terms = (struct image_terms *)(void *)(r.lines + (size_t)b->in_step * b->lines * b->line_bytes);
    r.offsets = (int32_t *)(void *)(r.terms + (size_t)b->in_step * b->lines);
    return r;
}

bool image_blocks_plan(struct image_blocks *b, const struct htp_exec *exec, uint32_t n_threads) {
    const uint64_t room = exec->vtcm_size;
    if ((uint64_t)b->width * b->height > room || (uint64_t)b->lines * b->line_bytes > room)
        return false;
    const uint64_t channel_weights = (uint64_t)b->width * b->height * BLOCK_OUTPUTS * 4;
    const uint64_t channel_lines = (uint64_t)b->lines * (b->line_bytes + sizeof(struct image_terms));
    const uint32_t blocks = htp_div_up(b->out, BLOCK_OUTPUTS);
    /* fewer channels at a time before fewer threads */
    for (b->in_step = b->in, b->threads = n_threads;;) {
        const uint64_t thread = b->in_step * channel_lines + b->offsets * 4 + 2 * HVX_BYTES; /* rounded up below */
        const uint64_t block = b->in_step * channel_weights;
        if (thread * b->threads < room && block <= room - thread * b->threads) {
            b->thread_bytes = htp_round_up((size_t)thread - HVX_BYTES, HVX_BYTES);
            const uint32_t fit = (uint32_t)(room - (uint64_t)b->thread_bytes * b->threads) / (uint32_t)block;
            b->block_step = htp_min_u32(blocks, fit);
            break;
        }
        if (b->in_step > 1)
            b->in_step = htp_div_up(b->in_step, 2);
        else if (b->threads > 1)
            b->threads--;
        else
            return false;
    }
    b->vtcm = exec->vtcm;
    b->weights = (float *)(void *)(exec->vtcm + b->thread_bytes * b->threads);
    return true;
}

static void lay_out(void *arg, uint32_t thread, uint32_t n_threads) {
    const struct image_blocks *b = arg;
    const uint32_t type = b->kernel->type, size = b->width * b->height * BLOCK_OUTPUTS;
    for (uint32_t i = thread; i < b->block_count * b->in_count; i += n_threads) {
        const uint32_t block = i / b->in_count, c = i % b->in_count;
        float *to = b->weights + (size_t)i * size;
        const uint8_t *channel = b->kernel->data + (size_t)(b->in_first + c) * b->nb[2];
        const uint32_t first = (b->block_first + block) * BLOCK_OUTPUTS;
        const uint32_t outputs = htp_min_u32(b->out - first, BLOCK_OUTPUTS);
        for (uint32_t y = 0; y < b->height; y++) {
            for (uint32_t x = 0; x < b->width; x++, to += BLOCK_OUTPUTS) {
                const uint8_t *at = channel + (size_t)x * b->nb[0] + (size_t)y * b->nb[1] + (size_t)first * b->nb[3];
                for (uint32_t o = 0; o < BLOCK_OUTPUTS; o++)
                    to[o] = o < outputs ? image_weight(type, at + (size_t)o * b->nb[3]) : 0;
            }
        }
    }
}

void image_blocks_run(struct image_blocks *b, struct htp_exec *exec, htp_thread_fn run, void *arg) {
    const uint32_t blocks = htp_div_up(b->out, BLOCK_OUTPUTS);
    for (b->in_first = 0; b->in_first < b->in; b->in_first += b->in_step) {
        b->in_count = htp_min_u32(b->in - b->in_first, b->in_step);
        for (b->block_first = 0; b->block_first < blocks; b->block_first += b->block_step) {
            b->block_count = htp_min_u32(blocks - b->block_first, b->block_step);
            htp_parallel(exec, b->threads, lay_out, b);
            htp_parallel(exec, b->threads, run, arg);
        }
    }
}
