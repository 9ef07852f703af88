/* Results whose elements come from other places of an image: what the ops of the family share. */
#ifndef HTP_OPS_RESAMPLE_H
#define HTP_OPS_RESAMPLE_H

#include "ops/image/image.h"

uint32_t htp_resample(struct htp_exec *exec);

/* src and dst are f32 in rows */
uint32_t resample_pool(struct htp_exec *exec, const struct htp_pool_params *p);
uint32_t resample_upscale(struct htp_exec *exec, const struct htp_upscale_params *p);
uint32_t resample_reflect(struct htp_exec *exec, const struct htp_reflect_params *p);

#endif
