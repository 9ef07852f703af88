/* From op numbers to the kernels of ops/<family>/, generated from the op list. */
#include "runtime/batch.h"

#define DECLARE(number, NAME, family) uint32_t htp_##family(struct htp_exec *exec);
HTP_OP_LIST(DECLARE)
#undef DECLARE

int htp_op_known(uint32_t op) {
    switch (op) {
#define KNOWN(number, NAME, family) case number:
        HTP_OP_LIST(KNOWN)
#undef KNOWN
        return 1;
    default:
        return 0;
    }
}

uint32_t htp_op_run(struct htp_exec *exec) {
    switch (exec->op) {
#define RUN(number, NAME, family) \
    case number:                  \
        return htp_##family(exec);
        HTP_OP_LIST(RUN)
#undef RUN
    default:
        return HTP_STATUS_UNSUPPORTED;
    }
}
