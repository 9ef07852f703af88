//! Q5_1: an f16 scale and an f16 minimum, a word of fifth bits, then 32 nibbles: together 0..31.

use super::codec::Codec;
use super::regroup::{fifth_bits_to_block, fifth_bits_to_tile, nibbles_to_block, nibbles_to_tile};
use super::word::Word;

/// 24 bytes a block in ggml. The minima have a scale vector of their own.
pub(super) struct Q5_1;

impl Codec<5> for Q5_1 {
    const ZERO: u8 = 0;
    const SCALE_GROUP: usize = 2;
    const SCALE_VECTORS: usize = 2;

    #[inline(always)]
    fn to_tile<W: Word>([fifth, nibbles @ ..]: [W; 5]) -> [W; 5] {
        let [a, b, c, d] = nibbles_to_tile(nibbles);
        [a, b, c, d, fifth_bits_to_tile(fifth)]
    }

    #[inline(always)]
    fn to_block<W: Word>([nibbles @ .., fifth]: [W; 5]) -> [W; 5] {
        let [a, b, c, d] = nibbles_to_block(nibbles);
        [fifth_bits_to_block(fifth), a, b, c, d]
    }
}
