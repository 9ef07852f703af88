/* CPY, CONT, CONCAT and PAD, whole ops. */
#include "htp/params.h"
#include "packets/packets.h"

#define LENGTH 2048
#define ROWS 16

uint32_t htp_copy(struct htp_exec *exec);

static void copy(const char *name, uint32_t from, uint32_t to) {
    const struct htp_view src = packets_tensor(from, LENGTH, ROWS), dst = packets_tensor(to, LENGTH, ROWS);
    const int32_t params[HTP_MAX_PARAMS] = {0};
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_CPY, params, &src, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_copy);
    packets_end("row", ROWS, "copy %s %u", name, (unsigned)LENGTH);
}

/* a matrix turned over: rows of the result are columns of the source */
static void transpose(const char *name, uint32_t type) {
    const struct htp_view src = packets_tensor(type, 64, 256);
    const struct htp_view dst = packets_tensor(type, 256, 64);
    struct htp_view turned = src;
    turned.ne[0] = src.ne[1], turned.ne[1] = src.ne[0];
    turned.nb[0] = src.nb[1], turned.nb[1] = src.nb[0];
    const int32_t params[HTP_MAX_PARAMS] = {0};
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_CONT, params, &turned, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_copy);
    packets_end("1024 elements", 64 * 256 / 1024.0, "transpose %s 64x256", name);
}

static void concat(void) {
    const struct htp_view src = packets_tensor(HTP_TYPE_F32, LENGTH, ROWS);
    const struct htp_view dst = packets_tensor(HTP_TYPE_F32, 2 * LENGTH, ROWS);
    const int32_t params[HTP_MAX_PARAMS] = {0};
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_CONCAT, params, &src, &src, &dst);
    packets_begin();
    packets_run(&exec, htp_copy);
    packets_end("row", ROWS, "concat f32 %u", (unsigned)LENGTH);
}

static void pad(void) {
    const struct htp_view src = packets_tensor(HTP_TYPE_F32, LENGTH, ROWS);
    const struct htp_view dst = packets_tensor(HTP_TYPE_F32, LENGTH + 3, ROWS);
    int32_t params[HTP_MAX_PARAMS] = {0};
    const struct htp_pad_params by = {.by = {3}};
    __builtin_memcpy(params, &by, sizeof(by));
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_PAD, params, &src, NULL, &dst);
    packets_begin();
    packets_run(&exec, htp_copy);
    packets_end("row", ROWS, "pad f32 %u", (unsigned)LENGTH);
}

void packets_copy(void) {
    copy("f32", HTP_TYPE_F32, HTP_TYPE_F32);
    copy("f32 to f16", HTP_TYPE_F32, HTP_TYPE_F16);
    copy("f16 to f32", HTP_TYPE_F16, HTP_TYPE_F32);
    copy("f32 to q8_0", HTP_TYPE_F32, HTP_TYPE_Q8_0);
    transpose("f32", HTP_TYPE_F32);
    transpose("f16", HTP_TYPE_F16);
    concat();
    pad();
}
