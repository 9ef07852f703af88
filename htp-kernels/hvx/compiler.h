/* Compiler hints that gcc and clang spell differently. They never change what code computes. */
#ifndef HVX_COMPILER_H
#define HVX_COMPILER_H

#define HVX_INLINE static inline __attribute__((always_inline))
#define HVX_NOINLINE __attribute__((noinline))

/* In front of a loop with a constant, small trip count: HVX_UNROLL. In front of a loop whose body is already a full
 * schedule: HVX_ROLLED (the compiler's own unrolling adds remainder code that costs more than it saves). */
/* HVX_UNROLL_COUNT(n): n iterations at a time, where that gives the compiler enough to fill packets with. */
#if defined(__hexagon__)
#define HVX_PRAGMA(text) _Pragma(#text)
#define HVX_UNROLL_COUNT(n) HVX_PRAGMA(clang loop unroll_count(n))
#else
#define HVX_UNROLL_COUNT(n) HVX_ROLLED
#endif
/* The same address; the compiler does not know it. Else it takes scalars that lie beside vectors out of those, by an
 * instruction that waits long. */
#define HVX_APART(address)                          \
    ({                                              \
        __typeof__(address) hvx_apart_ = (address); \
        __asm__("" : "+r"(hvx_apart_));             \
        hvx_apart_;                                 \
    })
#if defined(__clang__)
#define HVX_UNROLL _Pragma("clang loop unroll(full)")
#define HVX_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define HVX_UNROLL _Pragma("GCC unroll 32")
#define HVX_ROLLED _Pragma("GCC unroll 1")
#endif

#endif
