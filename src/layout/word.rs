//! Words of one row, or of four rows at once, with the few operations that regrouping quants takes.
//!
//! [`Quad`] is a 128-bit vector register: SSE2 and NEON belong to every x86-64 and every 64-bit Arm, so nothing has to
//! be detected at run time. Compilers do not find the 4x4 transposition on their own. Elsewhere plain arrays do.

/// Words that are regrouped in step: `u32` for one row, [`Quad`] for four.
pub(super) trait Word: Copy {
    /// `self & mask`, word by word.
    fn and(self, mask: u32) -> Self;
    /// `self ^ mask`, word by word.
    fn xor(self, mask: u32) -> Self;
    /// `self ^ other`.
    fn flip(self, other: Self) -> Self;
    /// Each word moved up by `BITS` bits, 1..=31.
    fn up<const BITS: i32>(self) -> Self;
    /// Each word moved down by `BITS` bits, 1..=31.
    fn down<const BITS: i32>(self) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    fn and(self, mask: u32) -> u32 {
        self & mask
    }

    #[inline(always)]
    fn xor(self, mask: u32) -> u32 {
        self ^ mask
    }

    #[inline(always)]
    fn flip(self, other: u32) -> u32 {
        self ^ other
    }

    #[inline(always)]
    fn up<const BITS: i32>(self) -> u32 {
        self << BITS
    }

    #[inline(always)]
    fn down<const BITS: i32>(self) -> u32 {
        self >> BITS
    }
}

/// The little-endian word at byte `at`.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// Asks for the cache line of byte `at`, if there is one, ahead of its use. Nothing happens where that is not stable
/// Rust.
#[inline(always)]
pub(super) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a hint about a byte that exists.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

#[cfg(target_arch = "aarch64")]
pub(super) use neon::Quad;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use plain::Quad;
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::Quad;

#[cfg(target_arch = "x86_64")]
mod sse2 {
    // Newer compilers count intrinsics of the baseline as safe, older ones do not.
    #![allow(unused_unsafe)]

    use super::Word;
    use std::arch::x86_64::*;

    /// A word of each of four rows, or four words of one row.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Quad(__m128i);

    impl Quad {
        /// Four little-endian words, from byte `at` on.
        #[inline(always)]
        pub fn load(bytes: &[u8], at: usize) -> Quad {
            let bytes = &bytes[at..][..16];
            // SAFETY: 16 readable bytes; the load takes any alignment. SSE2 is part of x86-64.
            Quad(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        }

        /// The inverse of `load`.
        #[inline(always)]
        pub fn store(self, bytes: &mut [u8], at: usize) {
            let bytes = &mut bytes[at..][..16];
            // SAFETY: 16 writable bytes; the store takes any alignment. SSE2 is part of x86-64.
            unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), self.0) }
        }

        /// Word i of quad j becomes word j of quad i.
        #[inline(always)]
        pub fn transpose([a, b, c, d]: [Quad; 4]) -> [Quad; 4] {
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                let (ab_low, ab_high) = (_mm_unpacklo_epi32(a.0, b.0), _mm_unpackhi_epi32(a.0, b.0));
                let (cd_low, cd_high) = (_mm_unpacklo_epi32(c.0, d.0), _mm_unpackhi_epi32(c.0, d.0));
                [
                    Quad(_mm_unpacklo_epi64(ab_low, cd_low)),
                    Quad(_mm_unpackhi_epi64(ab_low, cd_low)),
                    Quad(_mm_unpacklo_epi64(ab_high, cd_high)),
                    Quad(_mm_unpackhi_epi64(ab_high, cd_high)),
                ]
            }
        }
    }

    impl Word for Quad {
        #[inline(always)]
        fn and(self, mask: u32) -> Quad {
            // SAFETY: SSE2 is part of x86-64.
            Quad(unsafe { _mm_and_si128(self.0, _mm_set1_epi32(mask as i32)) })
        }

        #[inline(always)]
        fn xor(self, mask: u32) -> Quad {
            // SAFETY: SSE2 is part of x86-64.
            Quad(unsafe { _mm_xor_si128(self.0, _mm_set1_epi32(mask as i32)) })
        }

        #[inline(always)]
        fn flip(self, other: Quad) -> Quad {
            // SAFETY: SSE2 is part of x86-64.
            Quad(unsafe { _mm_xor_si128(self.0, other.0) })
        }

        #[inline(always)]
        fn up<const BITS: i32>(self) -> Quad {
            // SAFETY: SSE2 is part of x86-64.
            Quad(unsafe { _mm_slli_epi32::<BITS>(self.0) })
        }

        #[inline(always)]
        fn down<const BITS: i32>(self) -> Quad {
            // SAFETY: SSE2 is part of x86-64.
            Quad(unsafe { _mm_srli_epi32::<BITS>(self.0) })
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    // Newer compilers count intrinsics of the baseline as safe, older ones do not.
    #![allow(unused_unsafe)]

    use super::Word;
    use std::arch::aarch64::*;

    /// A word of each of four rows, or four words of one row.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Quad(uint32x4_t);

    impl Quad {
        /// Four little-endian words, from byte `at` on.
        #[inline(always)]
        pub fn load(bytes: &[u8], at: usize) -> Quad {
            let bytes = &bytes[at..][..16];
            // SAFETY: 16 readable bytes; byte loads take any alignment. NEON is part of AArch64.
            Quad(unsafe { vreinterpretq_u32_u8(vld1q_u8(bytes.as_ptr())) })
        }

        /// The inverse of `load`.
        #[inline(always)]
        pub fn store(self, bytes: &mut [u8], at: usize) {
            let bytes = &mut bytes[at..][..16];
            // SAFETY: 16 writable bytes; byte stores take any alignment. NEON is part of AArch64.
            unsafe { vst1q_u8(bytes.as_mut_ptr(), vreinterpretq_u8_u32(self.0)) }
        }

        /// Word i of quad j becomes word j of quad i.
        #[inline(always)]
        pub fn transpose([a, b, c, d]: [Quad; 4]) -> [Quad; 4] {
            // SAFETY: NEON is part of AArch64.
            unsafe {
                let (ab_low, ab_high) = (vzip1q_u32(a.0, b.0), vzip2q_u32(a.0, b.0));
                let (cd_low, cd_high) = (vzip1q_u32(c.0, d.0), vzip2q_u32(c.0, d.0));
                let halves = |low: uint32x4_t, high: uint32x4_t| {
                    let (low, high) = (vreinterpretq_u64_u32(low), vreinterpretq_u64_u32(high));
                    let (even, odd) = (vzip1q_u64(low, high), vzip2q_u64(low, high));
                    [Quad(vreinterpretq_u32_u64(even)), Quad(vreinterpretq_u32_u64(odd))]
                };
                let ([first, second], [third, fourth]) = (halves(ab_low, cd_low), halves(ab_high, cd_high));
                [first, second, third, fourth]
            }
        }
    }

    impl Word for Quad {
        #[inline(always)]
        fn and(self, mask: u32) -> Quad {
            // SAFETY: NEON is part of AArch64.
            Quad(unsafe { vandq_u32(self.0, vdupq_n_u32(mask)) })
        }

        #[inline(always)]
        fn xor(self, mask: u32) -> Quad {
            // SAFETY: NEON is part of AArch64.
            Quad(unsafe { veorq_u32(self.0, vdupq_n_u32(mask)) })
        }

        #[inline(always)]
        fn flip(self, other: Quad) -> Quad {
            // SAFETY: NEON is part of AArch64.
            Quad(unsafe { veorq_u32(self.0, other.0) })
        }

        #[inline(always)]
        fn up<const BITS: i32>(self) -> Quad {
            // SAFETY: NEON is part of AArch64.
            Quad(unsafe { vshlq_n_u32::<BITS>(self.0) })
        }

        #[inline(always)]
        fn down<const BITS: i32>(self) -> Quad {
            // SAFETY: NEON is part of AArch64.
            Quad(unsafe { vshrq_n_u32::<BITS>(self.0) })
        }
    }
}

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod plain {
    use super::Word;
    use std::array::from_fn;

    /// A word of each of four rows, or four words of one row.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Quad([u32; 4]);

    impl Quad {
        /// Four little-endian words, from byte `at` on.
        #[inline(always)]
        pub fn load(bytes: &[u8], at: usize) -> Quad {
            let bytes = &bytes[at..][..16];
            Quad(from_fn(|i| u32::from_le_bytes(from_fn(|j| bytes[4 * i + j]))))
        }

        /// The inverse of `load`.
        #[inline(always)]
        pub fn store(self, bytes: &mut [u8], at: usize) {
            for (bytes, word) in bytes[at..][..16].chunks_exact_mut(4).zip(self.0) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }

        /// Word i of quad j becomes word j of quad i.
        #[inline(always)]
        pub fn transpose(quads: [Quad; 4]) -> [Quad; 4] {
            from_fn(|i| Quad(from_fn(|j| quads[j].0[i])))
        }
    }

    impl Word for Quad {
        #[inline(always)]
        fn and(self, mask: u32) -> Quad {
            Quad(self.0.map(|word| word & mask))
        }

        #[inline(always)]
        fn xor(self, mask: u32) -> Quad {
            Quad(self.0.map(|word| word ^ mask))
        }

        #[inline(always)]
        fn flip(self, other: Quad) -> Quad {
            Quad(from_fn(|i| self.0[i] ^ other.0[i]))
        }

        #[inline(always)]
        fn up<const BITS: i32>(self) -> Quad {
            Quad(self.0.map(|word| word << BITS))
        }

        #[inline(always)]
        fn down<const BITS: i32>(self) -> Quad {
            Quad(self.0.map(|word| word >> BITS))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{plain, Quad, Word};

    /// The registers of this machine do what the plain arrays do.
    #[test]
    fn registers_and_arrays_agree() {
        let bytes: Vec<u8> = (0..65u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        // One byte in: no alignment is needed.
        let quads = Quad::transpose([1, 17, 33, 49].map(|at| Quad::load(&bytes, at)));
        let arrays = plain::Quad::transpose([1, 17, 33, 49].map(|at| plain::Quad::load(&bytes, at)));
        for (quad, array) in quads.into_iter().zip(arrays) {
            let same = |quad: Quad, array: plain::Quad| {
                let (mut a, mut b) = ([0; 18], [0; 18]);
                quad.store(&mut a, 1);
                array.store(&mut b, 1);
                assert_eq!(a, b);
            };
            same(quad, array);
            same(quad.and(0x0ff0_1234), array.and(0x0ff0_1234));
            same(quad.xor(0x8421_0f0f), array.xor(0x8421_0f0f));
            same(quad.flip(quads[2]), array.flip(arrays[2]));
            same(quad.up::<4>(), array.up::<4>());
            same(quad.up::<13>(), array.up::<13>());
            same(quad.down::<4>(), array.down::<4>());
            same(quad.down::<1>(), array.down::<1>());
        }
    }
}
