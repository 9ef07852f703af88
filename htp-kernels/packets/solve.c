/* SOLVE_TRI, whole op. */
#include "packets/packets.h"

uint32_t htp_solve(struct htp_exec *exec);

static void solve(uint32_t n, uint32_t columns) {
    const struct htp_view a = packets_tensor(HTP_TYPE_F32, n, n), b = packets_tensor(HTP_TYPE_F32, columns, n);
    const struct htp_view dst = packets_tensor(HTP_TYPE_F32, columns, n);
    struct htp_exec exec;
    packets_exec(&exec, HTP_OP_SOLVE_TRI, NULL, &a, &b, &dst);
    packets_begin();
    packets_run(&exec, htp_solve);
    packets_end("product of a vector", (double)n * n / 2 * ((columns + 31) / 32), "solve_tri %ux%u", (unsigned)n,
                (unsigned)columns);
}

void packets_solve(void) {
    solve(64, 64);
    solve(128, 128);
    solve(64, 32);
}
