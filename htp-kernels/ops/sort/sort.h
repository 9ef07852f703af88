/* What ARGSORT (argsort.c) and TOP_K (top_k.c) share. */
#ifndef HTP_SORT_H
#define HTP_SORT_H

#include <stdbool.h>

#include "runtime/exec.h"

uint32_t sort_all(struct htp_exec *exec);   /* ARGSORT */
uint32_t sort_top_k(struct htp_exec *exec); /* TOP_K */

#endif
