//! Q6_K: 256 nibbles, 64 bytes of upper bits, 16 signed scales, then an f16 scale. Together -32..31, stored with 32
//! added.

use super::regroup::{join_nibbles, join_pairs, split_nibbles, split_pairs};
use super::superblock::SuperCodec;
use super::word::Word;

/// 210 bytes a block in ggml. Each half of its weights has 64 bytes of nibbles, K-blocks 0 and 2 in the first 32, 1 and
/// 3 in the others; and 32 bytes of upper bits, a pair for each K-block.
pub(super) struct Q6K;

impl SuperCodec<48, 4> for Q6K {
    const ZERO: u8 = 32;
    const QUANTS_AT: usize = 0;
    const SCALES_AT: [usize; 4] = [48, 49, 50, 51];
    const TRAILING: bool = true;

    #[inline(always)]
    fn to_tile<W: Word>(load: impl Fn(usize) -> [W; 8], mut store: impl FnMut(usize, W)) {
        for half in 0..2 {
            let at = 24 * half;
            split_nibbles(load(16 * half), [at, at + 12], &mut store);
            split_nibbles(load(16 * half + 8), [at + 6, at + 18], &mut store);
            split_pairs(load(32 + 8 * half), at + 4, 6, &mut store);
        }
    }

    #[inline(always)]
    fn to_block<W: Word>(load: impl Fn(usize) -> W, mut store: impl FnMut(usize, [W; 8])) {
        for half in 0..2 {
            let at = 24 * half;
            store(16 * half, join_nibbles([at, at + 12], &load));
            store(16 * half + 8, join_nibbles([at + 6, at + 18], &load));
            store(32 + 8 * half, join_pairs(at + 4, 6, &load));
        }
    }
}
