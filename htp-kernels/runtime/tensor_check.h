/* Does a tensor of the wire lie inside its buffer? Kernels rely on the answer and check no address themselves. */
#ifndef HTP_TENSOR_CHECK_H
#define HTP_TENSOR_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "htp/wire.h"

/*
 * True when type and layout are known, strides and offset are aligned to the type, the number of rows fits 32 bits and
 * all elements lie in [offset, buffer_size). *bytes: from the first element to behind the last, 0 when there is none.
 */
bool htp_tensor_fits(const struct htp_tensor *tensor, uint64_t buffer_size, uint64_t *bytes);

#endif
