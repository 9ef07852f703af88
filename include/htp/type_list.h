/* Element types and memory layouts of tensors on the wire. Numbers are never reused. */
#ifndef HTP_TYPE_LIST_H
#define HTP_TYPE_LIST_H

/* X(number, NAME, elements of a block, bytes of a block) : ggml's own block formats */
#define HTP_TYPE_LIST(X)    \
    X(0, F32, 1, 4)         \
    X(1, F16, 1, 2)         \
    X(2, I32, 1, 4)         \
    X(3, I64, 1, 8)         \
    X(4, Q4_0, 32, 18)      \
    X(5, Q8_0, 32, 34)      \
    X(6, Q4_1, 32, 20)      \
    X(7, MXFP4, 32, 17)     \
    X(8, IQ4_NL, 32, 18)    \
    X(9, BF16, 1, 2)        \
    X(10, Q5_0, 32, 22)     \
    X(11, Q5_1, 32, 24)     \
    X(12, I16, 1, 2)        \
    X(13, I8, 1, 1)         \
    X(14, Q2_K, 256, 84)    \
    X(15, Q3_K, 256, 110)   \
    X(16, Q4_K, 256, 144)   \
    X(17, Q5_K, 256, 176)   \
    X(18, Q6_K, 256, 210)   \
    X(19, IQ4_XS, 256, 136)

#define HTP_TYPE_ENUM(number, NAME, elements, bytes) HTP_TYPE_##NAME = number,
enum htp_type { HTP_TYPE_LIST(HTP_TYPE_ENUM) };
#undef HTP_TYPE_ENUM

enum htp_layout {
    HTP_LAYOUT_ROWS = 0,  /* ggml's own layout: blocks along a row, strides nb */
    HTP_LAYOUT_TILES = 1, /* 32x32 weight tiles, see htp/tiles.h; strides nb are ignored */
};

#endif
