/* The program: packet counts of all families or one.  count SEED [FAMILY] */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hvx/compiler.h"
#include "packets/packets.h"
#include "runtime/types.h"

struct counts {
    uint32_t packets, instructions, hvx;
};

static const char *family;
static uint64_t random_state;
static struct counts start, overhead, deducted;

/* The counters are control registers 20 to 22. Assemblers have no name for them, so these are the words of r0 = c20 ... */
#define DEFINE_READ(name, word)                              \
    static HVX_NOINLINE uint32_t name(void) {                \
        register uint32_t r __asm__("r0");                   \
        __asm__ volatile(".word " #word : "=r"(r) : : "memory"); \
        return r;                                            \
    }
DEFINE_READ(read_packets, 0x6a14c000)
DEFINE_READ(read_instructions, 0x6a15c000)
DEFINE_READ(read_hvx, 0x6a16c000)

static HVX_NOINLINE struct counts read_counts(void) {
    struct counts c;
    c.packets = read_packets();
    c.instructions = read_instructions();
    c.hvx = read_hvx();
    return c;
}

static struct counts minus(struct counts a, struct counts b) {
    return (struct counts){a.packets - b.packets, a.instructions - b.instructions, a.hvx - b.hvx};
}

static struct counts since_start(void) { return minus(read_counts(), start); }

void packets_begin(void) { start = read_counts(); }

void packets_deduct(void) {
    deducted = minus(since_start(), overhead);
    packets_begin();
}

void packets_end(const char *unit, double units, const char *what, ...) {
    const struct counts c = minus(minus(since_start(), overhead), deducted);
    deducted = (struct counts){0, 0, 0};
    va_list args;
    va_start(args, what);
    printf("%s\t", family);
    vprintf(what, args);
    printf("\t%s\t%.6f\t%u\t%u\t%u\n", unit, units, (unsigned)c.packets, (unsigned)c.instructions, (unsigned)c.hvx);
    va_end(args);
}

uint8_t *packets_memory(size_t bytes) {
    const size_t size = (bytes + 4095) / 4096 * 4096;
    uint8_t *memory = aligned_alloc(4096, size);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    for (size_t i = 0; i < size; i += 4) {
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        const uint32_t bits = (uint32_t)(random_state >> 32);
        memcpy(memory + i, &bits, 4);
    }
    return memory;
}

struct htp_view packets_tensor(uint32_t type, uint32_t ne0, uint32_t ne1) {
    const uint32_t size = htp_type_bytes(type);
    struct htp_view v = {.type = type, .layout = HTP_LAYOUT_ROWS, .ne = {ne0, ne1, 1, 1}};
    v.nb[0] = size;
    v.nb[1] = size * (ne0 / htp_type_elements(type));
    v.nb[2] = v.nb[3] = v.nb[1] * ne1;
    v.data = packets_memory((size_t)v.nb[2]);
    for (size_t i = 0; type == HTP_TYPE_F32 && i < v.nb[2]; i += 4) {
        uint32_t bits;
        memcpy(&bits, v.data + i, 4);
        bits = (bits & 0x81ffffffu) + 0x3f000000u;
        memcpy(v.data + i, &bits, 4);
    }
    return v;
}

void packets_exec(struct htp_exec *exec, uint32_t op, const int32_t *params, const struct htp_view *src0,
                  const struct htp_view *src1, const struct htp_view *dst) {
    static uint8_t *vtcm;
    memset(exec, 0, sizeof(*exec));
    exec->op = op;
    exec->n_src = src1 == NULL ? 1 : 2;
    exec->src[0] = src0;
    exec->src[1] = src1;
    exec->dst = dst;
    exec->params = params;
    exec->n_threads = 1;
    exec->vtcm_size = 8u << 20;
    exec->vtcm = vtcm = vtcm == NULL ? packets_memory(exec->vtcm_size) : vtcm;
}

void packets_run(struct htp_exec *exec, uint32_t (*op)(struct htp_exec *)) {
    const uint32_t status = op(exec);
    if (status != HTP_STATUS_OK) {
        fprintf(stderr, "%s: op %u refuses with status %u, detail %u\n", family, (unsigned)exec->op, (unsigned)status,
                (unsigned)exec->detail);
        exit(2);
    }
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s SEED [FAMILY]\n", argv[0]);
        return 2;
    }
    random_state = strtoull(argv[1], NULL, 10);
    packets_begin();
    overhead = since_start(); /* what counting itself costs */
    int known = 0;
#define RUN_FAMILY(name)                               \
    if (argc < 3 || strcmp(argv[2], #name) == 0) {     \
        family = #name;                                \
        packets_##name();                              \
        known = 1;                                     \
    }
    PACKETS_FAMILIES(RUN_FAMILY)
#undef RUN_FAMILY
    if (!known)
        fprintf(stderr, "no driver is called %s\n", argv[2]);
    return known ? 0 : 2;
}
