/* Arguments of ops: how htp_op_desc.params is read, one struct a family. Unused words are zero. */
#ifndef HTP_PARAMS_H
#define HTP_PARAMS_H

#include <stdint.h>

/* norm: RMS_NORM  dst[i] = src[i] / sqrt(mean(src^2) + eps), row by row */
struct htp_norm_params {
    float eps;
};

/* matmul (MUL_MAT, MUL_MAT_ID) and binary have no arguments */

#endif
