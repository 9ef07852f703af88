/*
 * The matrix unit's instructions. No released open assembler knows them, so they are given as words; operands sit in
 * the registers that the words name. The encodings are the same from v73 to v81. Never run on silicon.
 */
#include "hmx/hmx.h"

#if defined(HTP_PLATFORM_QURT) && HMX_EXISTS

#define ALL_ROWS (HMX_TILE_BYTES - 1) /* low 11 bits of a range: nothing of a tile is left out */

static uint32_t word_of(const void *address) { return (uint32_t)(uintptr_t)address; }

void hmx_clear(void) {
    __asm__ volatile(".word 0xa6e0c013 /* mxclracc.hf */" : : : "memory");
}

void hmx_set_scales(const uint8_t *table) {
    register uint32_t address __asm__("r0") = word_of(table);
    __asm__ volatile(".word 0x9200c3fe /* bias = mxmem2(r0) */" : : "r"(address) : "memory");
}

/* Both loads have to be in one packet, which also does the multiplication. */
static void multiply_run(const uint8_t *activations, const uint8_t *weights, uint32_t n) {
    register uint32_t a __asm__("r0") = word_of(activations);
    register uint32_t range __asm__("r1") = (n - 1) * HMX_TILE_BYTES + ALL_ROWS;
    register uint32_t w __asm__("r2") = word_of(weights);
    __asm__ volatile(".word 0x920041e2 /* { activation.hf = mxmem(r0, r1):deep */\n\t"
                     ".word 0x9202e1ef /*   weight.hf = mxmem(r2, r1) } */"
                     :
                     : "r"(a), "r"(range), "r"(w)
                     : "memory");
}

void hmx_multiply(const uint8_t *activations, const uint8_t *weights, uint32_t n) {
    while (n > 0) {
        const uint32_t run = hmx_run(weights, hmx_run(activations, n));
        multiply_run(activations, weights, run);
        activations += run * HMX_TILE_BYTES;
        weights += run * HMX_TILE_BYTES;
        n -= run;
    }
}

void hmx_store(uint8_t *tile) {
    register uint32_t address __asm__("r0") = word_of(tile);
    register uint32_t range __asm__("r1") = 0;
    __asm__ volatile(".word 0xa6e0e104 /* mxmem(r0, r1):after.hf = acc */" : : "r"(address), "r"(range) : "memory");
}

#endif
