//! Q4_0: an f16 scale, then 32 nibbles that stand for -8..7.

use super::codec::Codec;
use super::regroup::{nibbles_to_block, nibbles_to_tile};
use super::word::Word;

/// 18 bytes a block in ggml.
pub(super) struct Q4_0;

impl Codec<4> for Q4_0 {
    const ZERO: u8 = 8;
    const SCALE_GROUP: usize = 2;
    const SCALE_VECTORS: usize = 1;

    #[inline(always)]
    fn to_tile<W: Word>(words: [W; 4]) -> [W; 4] {
        nibbles_to_tile(words)
    }

    #[inline(always)]
    fn to_block<W: Word>(words: [W; 4]) -> [W; 4] {
        nibbles_to_block(words)
    }
}
