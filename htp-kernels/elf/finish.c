/*
 * Last step of building a DSP library with lld: writes DT_HEXAGON_VER = 3 into the dynamic section.
 *
 * The DSP's loader asks for this entry, the vendor's linker writes it, and lld does not know it. There is no room for
 * another entry, so it takes the place of DT_FLAGS, which lld writes for -Bsymbolic: that option changes nothing in a
 * library that uses none of its own exported names. Runs on the build machine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (64u * 1024 * 1024)
#define EM_HEXAGON 164
#define PT_DYNAMIC 2
#define DT_NULL 0
#define DT_FLAGS 30
#define DF_SYMBOLIC 2
#define DT_HEXAGON_VER 0x70000001u
#define HEXAGON_VER 3

static uint8_t *file;
static uint32_t file_bytes;
static const char *file_name;

static void fail(const char *problem) {
    fprintf(stderr, "%s: %s\n", file_name, problem);
    exit(1);
}

static const uint8_t *bytes_at(uint32_t offset, uint32_t bytes) {
    if (offset > file_bytes || bytes > file_bytes - offset)
        fail("damaged ELF file");
    return file + offset;
}

static uint32_t half(uint32_t offset) {
    const uint8_t *p = bytes_at(offset, 2);
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t word(uint32_t offset) { return half(offset) | half(offset + 2) << 16; }

static void set_word(uint32_t offset, uint32_t value) {
    bytes_at(offset, 4);
    for (int i = 0; i < 4; i++)
        file[offset + i] = (uint8_t)(value >> 8 * i);
}

static void load(void) {
    FILE *stream = fopen(file_name, "rb");
    file = malloc(MAX_BYTES);
    if (stream == NULL || file == NULL)
        fail("cannot be read");
    const size_t n = fread(file, 1, MAX_BYTES, stream);
    if (ferror(stream) || n == MAX_BYTES)
        fail("cannot be read, or is too large");
    file_bytes = (uint32_t)n;
    fclose(stream);
    static const uint8_t ident[6] = {0x7f, 'E', 'L', 'F', 1, 1}; /* 32 bits, little endian */
    if (memcmp(bytes_at(0, sizeof(ident)), ident, sizeof(ident)) != 0 || half(18) != EM_HEXAGON)
        fail("not a Hexagon ELF file");
}

static void store(void) {
    FILE *stream = fopen(file_name, "wb");
    if (stream == NULL || fwrite(file, 1, file_bytes, stream) != file_bytes || fclose(stream) != 0)
        fail("cannot be written");
}

/* The dynamic section: file offset and size. */
static void find_dynamic(uint32_t *offset, uint32_t *bytes) {
    const uint32_t headers = word(28), entry = half(42), n = half(44);
    for (uint32_t i = 0; i < n; i++) {
        if (word(headers + i * entry) == PT_DYNAMIC) {
            *offset = word(headers + i * entry + 4);
            *bytes = word(headers + i * entry + 16);
            return;
        }
    }
    fail("has no dynamic section");
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: finish LIBRARY\n");
        return 2;
    }
    file_name = argv[1];
    load();
    uint32_t offset, bytes, flags_at = 0;
    find_dynamic(&offset, &bytes);
    for (uint32_t at = offset; bytes >= 8; at += 8, bytes -= 8) {
        const uint32_t tag = word(at), value = word(at + 4);
        if (tag == DT_NULL)
            break;
        if (tag == DT_HEXAGON_VER)
            return value == HEXAGON_VER ? 0 : (fail("has another DT_HEXAGON_VER"), 1);
        if (tag == DT_FLAGS && value == DF_SYMBOLIC)
            flags_at = at;
    }
    if (flags_at == 0)
        fail("has no DT_FLAGS of -Bsymbolic alone: no entry to spare");
    set_word(flags_at, DT_HEXAGON_VER);
    set_word(flags_at + 4, HEXAGON_VER);
    store();
    return 0;
}
