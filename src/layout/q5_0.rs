//! Q5_0: an f16 scale, a word of fifth bits, then 32 nibbles: together -16..15, stored with 16 added.

use super::codec::Codec;
use super::regroup::{fifth_bits_to_block, fifth_bits_to_tile, nibbles_to_block, nibbles_to_tile};
use super::word::Word;

/// 22 bytes a block in ggml.
pub(super) struct Q5_0;

impl Codec<5> for Q5_0 {
    const ZERO: u8 = 16;
    const SCALE_GROUP: usize = 2;
    const SCALE_VECTORS: usize = 1;

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
