/*
 * Vector types for machines without HVX. A vector is a few chunks of the widest kind of vector that the machine has,
 * so that compilers keep them in registers.
 */
#ifndef HVX_EMUL_TYPES_H
#define HVX_EMUL_TYPES_H

#include <stdint.h>

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define HVX_CHUNK_BYTES 64
#elif defined(__AVX2__)
#define HVX_CHUNK_BYTES 32
#else
#define HVX_CHUNK_BYTES 16
#endif
#define HVX_CHUNKS (128 / HVX_CHUNK_BYTES)

typedef uint8_t chunk_u8 __attribute__((vector_size(HVX_CHUNK_BYTES)));
typedef int8_t chunk_i8 __attribute__((vector_size(HVX_CHUNK_BYTES)));
typedef uint16_t chunk_u16 __attribute__((vector_size(HVX_CHUNK_BYTES)));
typedef int16_t chunk_i16 __attribute__((vector_size(HVX_CHUNK_BYTES)));
typedef uint32_t chunk_u32 __attribute__((vector_size(HVX_CHUNK_BYTES)));
typedef int32_t chunk_i32 __attribute__((vector_size(HVX_CHUNK_BYTES)));
typedef uint64_t chunk_u64 __attribute__((vector_size(HVX_CHUNK_BYTES)));
typedef float chunk_f32 __attribute__((vector_size(HVX_CHUNK_BYTES)));

/* may_alias: kernels look at the same memory as vectors and as scalars, as they do on Hexagon. The alignment is that
 * of a chunk and not 128: gcc has a remark on every function that takes something of a larger alignment. */
typedef struct {
    chunk_u32 c[HVX_CHUNKS];
} __attribute__((may_alias)) HVX_Vector;

typedef struct {
    HVX_Vector v[2]; /* low, high */
} __attribute__((may_alias)) HVX_VectorPair;

/* One byte a lane, 0xff or 0. */
typedef struct {
    HVX_Vector mask;
} HVX_VectorPred;

/*
 * X(i, ...) for every chunk. Written out where a vector fits a few registers, so that chunks live in registers whatever
 * the optimisation level. With 8 chunks they do not fit: a loop then, which also keeps compile time in bounds.
 */
#if HVX_CHUNKS == 2
#define HVX_EACH_CHUNK(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__)
#elif HVX_CHUNKS == 4
#define HVX_EACH_CHUNK(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)
#else
#define HVX_EACH_CHUNK(X, ...)                             \
    HVX_ROLLED                                             \
    for (int chunk_ = 0; chunk_ < HVX_CHUNKS; chunk_++) {  \
        X(chunk_, __VA_ARGS__)                             \
    }
/* for the same reason, loops of kernels stay loops */
#undef HVX_UNROLL
#define HVX_UNROLL HVX_ROLLED
#endif

#endif
