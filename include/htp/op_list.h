/*
 * Every op that a DSP library can run: one line here, one entry in src/ops/<family>.rs, one folder
 * htp-kernels/ops/<family>/. A test fails when one of the three is missing.
 * Numbers are part of the wire format: never reused, never renumbered.
 */
#ifndef HTP_OP_LIST_H
#define HTP_OP_LIST_H

/* X(number, NAME, family) */
#define HTP_OP_LIST(X)                   \
    X(1, MUL_MAT, matmul)                \
    X(2, ADD, binary)                    \
    X(3, SUB, binary)                    \
    X(4, MUL, binary)                    \
    X(5, DIV, binary)                    \
    X(6, RMS_NORM, norm)                 \
    X(10, SCALE, unary)                  \
    X(11, SQR, unary)                    \
    X(12, SQRT, unary)                   \
    X(13, CLAMP, unary)                  \
    X(14, SILU, unary)                   \
    X(15, GELU, unary)                   \
    X(16, GELU_QUICK, unary)             \
    X(17, GELU_ERF, unary)               \
    X(18, SIGMOID, unary)                \
    X(19, NEG, unary)                    \
    X(20, EXP, unary)                    \
    X(21, SOFTPLUS, unary)               \
    X(22, TANH, unary)                   \
    X(23, RELU, unary)                   \
    X(24, ABS, unary)                    \
    X(25, STEP, unary)                   \
    X(26, LOG, unary)                    \
    X(30, SWIGLU, glu)                   \
    X(31, SWIGLU_OAI, glu)               \
    X(32, GEGLU, glu)                    \
    X(33, GEGLU_QUICK, glu)              \
    X(34, GEGLU_ERF, glu)                \
    X(35, REGLU, glu)                    \
    X(36, SWIGLU_CLAMP, glu)             \
    X(40, NORM, norm)                    \
    X(41, L2_NORM, norm)                 \
    X(45, SUM_ROWS, reduce)              \
    X(46, ARGMAX, reduce)                \
    X(47, CUMSUM, reduce)                \
    X(48, ADD_ID, binary)                \
    X(50, ROPE, rope)                    \
    X(51, SOFT_MAX, softmax)             \
    X(55, FLASH_ATTN_EXT, attention)     \
    X(60, GET_ROWS, gather)              \
    X(61, SET_ROWS, gather)              \
    X(65, CPY, copy)                     \
    X(66, CONT, copy)                    \
    X(67, REPEAT, copy)                  \
    X(68, CONCAT, copy)                  \
    X(69, PAD, copy)                     \
    X(70, ARGSORT, sort)                 \
    X(71, TOP_K, sort)                   \
    X(75, SSM_CONV, conv)                \
    X(80, MUL_MAT_ID, matmul)            \
    X(100, SGN, unary)                   \
    X(101, ELU, unary)                   \
    X(102, HARDSWISH, unary)             \
    X(103, HARDSIGMOID, unary)           \
    X(104, EXPM1, unary)                 \
    X(105, XIELU, unary)                 \
    X(106, FLOOR, unary)                 \
    X(107, CEIL, unary)                  \
    X(108, ROUND, unary)                 \
    X(109, TRUNC, unary)                 \
    X(110, LEAKY_RELU, unary)            \
    X(111, SIN, unary)                   \
    X(112, COS, unary)                   \
    X(113, SUM, reduce)                  \
    X(114, MEAN, reduce)                 \
    X(115, FILL, pattern)                \
    X(116, ARANGE, pattern)              \
    X(117, TRI, pattern)                 \
    X(118, DIAG, pattern)                \
    X(119, DIAG_MASK_INF, pattern)       \
    X(120, ROLL, pattern)                \
    X(121, TIMESTEP_EMBEDDING, pattern)  \
    X(122, ACC, pattern)                 \
    X(123, SET, pattern)                 \
    X(130, GATED_DELTA_NET, recurrent)   \
    X(131, SSM_SCAN, recurrent)          \
    X(132, RWKV_WKV6, recurrent)         \
    X(133, RWKV_WKV7, recurrent)         \
    X(134, GATED_LINEAR_ATTN, recurrent) \
    X(135, SOLVE_TRI, solve)             \
    X(150, IM2COL, image)                \
    X(151, IM2COL_3D, image)             \
    X(152, CONV_2D, image)               \
    X(153, CONV_2D_DW, image)            \
    X(154, CONV_TRANSPOSE_1D, image)     \
    X(155, CONV_TRANSPOSE_2D, image)     \
    X(160, POOL_1D, resample)            \
    X(161, POOL_2D, resample)            \
    X(162, UPSCALE, resample)            \
    X(163, PAD_REFLECT_1D, resample)     \
    X(164, GROUP_NORM, norm)

#define HTP_OP_ENUM(number, NAME, family) HTP_OP_##NAME = number,
enum htp_op { HTP_OP_LIST(HTP_OP_ENUM) };
#undef HTP_OP_ENUM

#endif
