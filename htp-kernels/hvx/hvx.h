/*
 * The one include for code that uses HVX intrinsics (Q6_*), vectors of 128 bytes.
 *
 *   Hexagon                        the compiler's intrinsics
 *   Hexagon, HVX_FLOAT_LANES       the same, but float intrinsics are loops in plain C: for emulators that know only
 *                                  the integer instructions
 *   any other machine              everything in C (hvx/emul/), integer intrinsics bit for bit
 *
 * With HVX_STRICT_QF the C versions of the float intrinsics keep qf32 and qf16 values bit-rotated, so that an operand
 * of the wrong kind (qf where sf is meant) gives wrong numbers instead of passing unseen. docs/numerics.md says what
 * the C versions promise.
 */
#ifndef HVX_HVX_H
#define HVX_HVX_H

#include <stddef.h>
#include <stdint.h>

#include "hvx/compiler.h"

#if defined(__hexagon__)
#include <hexagon_types.h>
#include <hexagon_protos.h>
#include <hvx_hexagon_protos.h>
#ifdef HVX_FLOAT_LANES
#include "hvx/emul/plain_float.h"
#include "hvx/emul/float_lanes.h"
#endif
#else
#include "hvx/emul/types.h"
#include "hvx/emul/plain.h"
#include "hvx/emul/plain_float.h"
#include "hvx/emul/integer.h"
#include "hvx/emul/float.h"
#endif

/* Arguments that the instructions take from scalar registers are 32-bit words. */
#define HVX_BYTES 128
#define HVX_WORDS 32 /* 32-bit lanes of a vector */
#define HVX_HALVES 64 /* 16-bit lanes of a vector */

#endif
