/*
 * ggml's quantised blocks, an element at a time, as its dequantize_row functions read them.
 *
 * The head of a block is all that is not quants, in the order in which tiles (include/htp/tiles.h) have it: the f16
 * numbers that are in front there, scale bytes, the f16 number that is behind these.
 */
#ifndef HTP_CHECK_BLOCK_REF_H
#define HTP_CHECK_BLOCK_REF_H

#include <stdint.h>

#define CHECK_MOST_HEAD 20

uint32_t check_head_bytes(uint32_t type);
/* Where byte i of the head is in ggml's block. */
uint32_t check_head_offset(uint32_t type, uint32_t i);
/* Quant k of a block, unsigned, as tiles have it. */
uint32_t check_block_quant(uint32_t type, const uint8_t *block, uint32_t k);

/* What an element stands for: scale * value + minimum. All exact. */
struct check_element {
    double scale, value, minimum;
};
/* Element k of a block with this head, whose quant is as check_block_quant gives it. */
struct check_element check_element(uint32_t type, const uint8_t *head, uint32_t k, uint32_t quant);

#endif
