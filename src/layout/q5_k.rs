//! Q5_K: an f16 scale and an f16 minimum, 12 bytes of scales and minima, 32 bytes of fifth bits, then 256 nibbles.

use super::regroup::{join_bits, join_nibbles, split_bits, split_nibbles};
use super::superblock::SuperCodec;
use super::word::Word;

/// 176 bytes a block in ggml. Bit i of a byte of fifth bits is of K-block i; nibbles are as in Q4_K.
pub(super) struct Q5K;

impl SuperCodec<40, 4> for Q5K {
    const ZERO: u8 = 0;
    const QUANTS_AT: usize = 4;
    const SCALES_AT: [usize; 4] = [0, 1, 2, 3];
    const TRAILING: bool = false;

    #[inline(always)]
    fn to_tile<W: Word>(load: impl Fn(usize) -> [W; 8], mut store: impl FnMut(usize, W)) {
        split_bits(load(0), 4, 5, &mut store);
        for i in 0..4 {
            split_nibbles(load(8 + 8 * i), [10 * i, 10 * i + 5], &mut store);
        }
    }

    #[inline(always)]
    fn to_block<W: Word>(load: impl Fn(usize) -> W, mut store: impl FnMut(usize, [W; 8])) {
        store(0, join_bits(4, 5, &load));
        for i in 0..4 {
            store(8 + 8 * i, join_nibbles([10 * i, 10 * i + 5], &load));
        }
    }
}
