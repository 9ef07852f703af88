//! Q2_K: 16 bytes of scales and minima, 64 bytes of pairs, then an f16 scale and an f16 minimum.

use super::regroup::{join_pairs, split_pairs};
use super::superblock::SuperCodec;
use super::word::Word;

/// 84 bytes a block in ggml. Each half of its weights has 32 bytes with a pair for each of its four K-blocks.
pub(super) struct Q2K;

impl SuperCodec<16, 5> for Q2K {
    const ZERO: u8 = 0;
    const QUANTS_AT: usize = 4;
    const SCALES_AT: [usize; 5] = [20, 0, 1, 2, 3];
    const TRAILING: bool = false;

    #[inline(always)]
    fn to_tile<W: Word>(load: impl Fn(usize) -> [W; 8], mut store: impl FnMut(usize, W)) {
        split_pairs(load(0), 0, 2, &mut store);
        split_pairs(load(8), 8, 2, &mut store);
    }

    #[inline(always)]
    fn to_block<W: Word>(load: impl Fn(usize) -> W, mut store: impl FnMut(usize, [W; 8])) {
        store(0, join_pairs(0, 2, &load));
        store(8, join_pairs(8, 2, &load));
    }
}
