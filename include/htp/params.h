/* Arguments of ops: how htp_op_desc.params is read, one struct a family. Unused words are zero. */
#ifndef HTP_PARAMS_H
#define HTP_PARAMS_H

#include <stdint.h>

/* norm: RMS_NORM  dst[i] = src[i] / sqrt(mean(src^2) + eps), row by row */
struct htp_norm_params {
    float eps;
};

/* attention: FLASH_ATTN_EXT  q, k, v, mask (optional), sinks (optional) */
struct htp_attention_params {
    float scale;           /* of the dot products, before the soft cap */
    float logit_softcap;   /* cap * tanh(score / cap); 0: none */
    float slope_base[2];   /* ALiBi: head h < slope_heads multiplies its mask by base[0]^(h+1), */
    uint32_t slope_heads;  /* others by base[1]^(2(h-slope_heads)+1); 0: all heads by 1 */
};

/* matmul (MUL_MAT, MUL_MAT_ID) and binary have no arguments */

#endif
