//! Q4_K: an f16 scale and an f16 minimum, 12 bytes of scales and minima, then 256 nibbles.

use super::regroup::{join_nibbles, split_nibbles};
use super::superblock::SuperCodec;
use super::word::Word;

/// 144 bytes a block in ggml. 32 bytes have a K-block in their low nibbles and the next one in their high nibbles.
pub(super) struct Q4K;

impl SuperCodec<32, 4> for Q4K {
    const ZERO: u8 = 0;
    const QUANTS_AT: usize = 4;
    const SCALES_AT: [usize; 4] = [0, 1, 2, 3];
    const TRAILING: bool = false;

    #[inline(always)]
    fn to_tile<W: Word>(load: impl Fn(usize) -> [W; 8], mut store: impl FnMut(usize, W)) {
        for i in (0..32).step_by(8) {
            split_nibbles(load(i), [i, i + 4], &mut store);
        }
    }

    #[inline(always)]
    fn to_block<W: Word>(load: impl Fn(usize) -> W, mut store: impl FnMut(usize, [W; 8])) {
        for i in (0..32).step_by(8) {
            store(i, join_nibbles([i, i + 4], &load));
        }
    }
}
