/* Compiler hints that gcc and clang spell differently. They never change what code computes. */
#ifndef HVX_COMPILER_H
#define HVX_COMPILER_H

#define HVX_INLINE static inline __attribute__((always_inline))
#define HVX_NOINLINE __attribute__((noinline))

/* In front of a loop with a constant, small trip count: HVX_UNROLL. In front of a loop whose body is already a full
 * schedule: HVX_ROLLED (the compiler's own unrolling adds remainder code that costs more than it saves). */
#if defined(__clang__)
#define HVX_UNROLL _Pragma("clang loop unroll(full)")
#define HVX_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define HVX_UNROLL _Pragma("GCC unroll 32")
#define HVX_ROLLED _Pragma("GCC unroll 1")
#endif

#endif
