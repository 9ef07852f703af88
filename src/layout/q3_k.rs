//! Q3_K: 32 bytes of third bits, 64 bytes of pairs, 12 bytes of scales, then an f16 scale. Together -4..3, stored
//! with 4 added.

use super::regroup::{join_bits, join_pairs, split_bits, split_pairs};
use super::superblock::SuperCodec;
use super::word::Word;

/// 110 bytes a block in ggml. Bit i of a byte of third bits is of K-block i; pairs are as in Q2_K.
pub(super) struct Q3K;

impl SuperCodec<24, 3> for Q3K {
    const ZERO: u8 = 4;
    const QUANTS_AT: usize = 0;
    const SCALES_AT: [usize; 3] = [24, 25, 26];
    const TRAILING: bool = true;

    #[inline(always)]
    fn to_tile<W: Word>(load: impl Fn(usize) -> [W; 8], mut store: impl FnMut(usize, W)) {
        split_bits(load(0), 2, 3, &mut store);
        split_pairs(load(8), 0, 3, &mut store);
        split_pairs(load(16), 12, 3, &mut store);
    }

    #[inline(always)]
    fn to_block<W: Word>(load: impl Fn(usize) -> W, mut store: impl FnMut(usize, [W; 8])) {
        store(0, join_bits(2, 3, &load));
        store(8, join_pairs(0, 3, &load));
        store(16, join_pairs(12, 3, &load));
    }
}
