//! Q4_1: an f16 scale and an f16 minimum, then 32 nibbles that stand for 0..15.

use super::codec::Codec;
use super::regroup::{nibbles_to_block, nibbles_to_tile};
use super::word::Word;

/// 20 bytes a block in ggml. The minima have a scale vector of their own.
pub(super) struct Q4_1;

impl Codec<4> for Q4_1 {
    const ZERO: u8 = 0;
    const SCALE_GROUP: usize = 2;
    const SCALE_VECTORS: usize = 2;

    #[inline(always)]
    fn to_tile<W: Word>(words: [W; 4]) -> [W; 4] {
        nibbles_to_tile(words)
    }

    #[inline(always)]
    fn to_block<W: Word>(words: [W; 4]) -> [W; 4] {
        nibbles_to_block(words)
    }
}
