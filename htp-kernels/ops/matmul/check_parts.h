/* The parts of the check of this family. */
#ifndef MATMUL_CHECK_PARTS_H
#define MATMUL_CHECK_PARTS_H

#include "check/check.h"

uint32_t htp_matmul(struct htp_exec *exec);

void check_matmul_quantizer(struct check *c);
void check_matmul_wide(struct check *c);
void check_matmul_refuses(struct check *c);
void check_matmul_id_refuses(struct check *c);
void check_matmul_hmx(struct check *c);

#endif
