/* What the ops of the family mean, in f64, one state element after the other. */
#ifndef RECURRENT_REF_H
#define RECURRENT_REF_H

#include "runtime/exec.h"

/* Results and states as dst has them; states that are not written stay as they are. Sizes fit; state rows up to 256. */
void recurrent_reference(uint32_t op, const struct htp_view *const *src, uint32_t snapshots, double scale, double *dst);

#endif
