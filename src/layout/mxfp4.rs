//! MXFP4: an exponent (e8m0), then 32 nibbles that index a table of -6..6.

use super::codec::Codec;
use super::regroup::{nibbles_to_block, nibbles_to_tile};
use super::word::Word;

/// 17 bytes a block in ggml. Four blocks share a vector of exponents.
pub(super) struct Mxfp4;

impl Codec<4> for Mxfp4 {
    const ZERO: u8 = 12;
    const SCALE_GROUP: usize = 4;
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
