/* SSM_CONV, whole op: a token of all channels. */
#include "packets/packets.h"

#define TAPS 4
#define CHANNELS 2048
#define TOKENS 8

uint32_t htp_conv(struct htp_exec *exec);

void packets_conv(void) {
    struct htp_view src = packets_tensor(HTP_TYPE_F32, TOKENS + TAPS - 1, CHANNELS);
    const struct htp_view filter = packets_tensor(HTP_TYPE_F32, TAPS, CHANNELS);
    struct htp_view dst = packets_tensor(HTP_TYPE_F32, CHANNELS, TOKENS);
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_SSM_CONV, NULL, &src, &filter, &dst);
    packets_begin();
    packets_run(&exec, htp_conv);
    packets_end("token", TOKENS, "ssm_conv %ux%u", (unsigned)TAPS, (unsigned)CHANNELS);

    src.ne[0] = TAPS; /* a model that answers: one token at a time */
    src.nb[1] = TAPS * 4;
    src.nb[2] = src.nb[3] = src.nb[1] * CHANNELS;
    dst.ne[1] = 1;
    packets_begin();
    packets_run(&exec, htp_conv);
    packets_end("token", 1, "ssm_conv %ux%u, one token", (unsigned)TAPS, (unsigned)CHANNELS);
}
