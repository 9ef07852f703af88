/* Blocks of element types: include/htp/type_list.h as functions. */
#ifndef HTP_RUNTIME_TYPES_H
#define HTP_RUNTIME_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "htp/type_list.h"

/* Elements of a block; 0: unknown type. */
static inline uint32_t htp_type_elements(uint32_t type) {
    switch (type) {
#define HTP_TYPE_CASE(number, NAME, elements, bytes) \
    case number:                                     \
        return elements;
        HTP_TYPE_LIST(HTP_TYPE_CASE)
#undef HTP_TYPE_CASE
    default:
        return 0;
    }
}

/* Bytes of a block, which is an element of the types that have no larger blocks; 0: unknown type. */
static inline uint32_t htp_type_bytes(uint32_t type) {
    switch (type) {
#define HTP_TYPE_CASE(number, NAME, elements, bytes) \
    case number:                                     \
        return bytes;
        HTP_TYPE_LIST(HTP_TYPE_CASE)
#undef HTP_TYPE_CASE
    default:
        return 0;
    }
}

#endif
