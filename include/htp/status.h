/* Status codes that a DSP response carries. Numbers are part of the wire format: never reused, never renumbered. */
#ifndef HTP_STATUS_H
#define HTP_STATUS_H

/* X(number, NAME, what it means) */
#define HTP_STATUS_LIST(X)                                                                   \
    X(0, OK, "success")                                                                      \
    X(1, BAD_PACKET, "the queue packet has a wrong size, magic number or version")           \
    X(2, BAD_BATCH, "the batch header or one of its tables does not fit the command buffer") \
    X(3, BAD_BUFFER, "a buffer is not mapped or smaller than said")                          \
    X(4, BAD_TENSOR, "a tensor has a wrong type, shape or reaches beyond its buffer")        \
    X(5, BAD_OP, "an op names a tensor that does not exist, or its arguments do not fit")    \
    X(6, UNSUPPORTED, "this DSP library does not know the op, or not for these tensors")     \
    X(7, NO_VTCM, "the op needs more VTCM than the session holds")                           \
    X(8, NO_MEMORY, "out of DSP memory")                                                     \
    X(9, INTERNAL, "internal error")                                                         \
    X(10, BAD_INDEX, "an index in the data is out of range")

#define HTP_STATUS_ENUM(number, NAME, text) HTP_STATUS_##NAME = number,
enum htp_status { HTP_STATUS_LIST(HTP_STATUS_ENUM) };
#undef HTP_STATUS_ENUM

#endif
