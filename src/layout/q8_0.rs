//! Q8_0: an f16 scale, then 32 signed bytes.

use super::codec::Codec;
use super::word::Word;

/// 34 bytes a block in ggml.
pub(super) struct Q8_0;

/// Adds 128 to each byte of a word, or takes it off again: both are a flip of the top bits.
const FLIP_SIGNS: u32 = 0x8080_8080;

impl Codec<8> for Q8_0 {
    const ZERO: u8 = 128;
    const SCALE_GROUP: usize = 2;
    const SCALE_VECTORS: usize = 1;

    #[inline(always)]
    fn to_tile<W: Word>(words: [W; 8]) -> [W; 8] {
        words.map(|word| word.xor(FLIP_SIGNS))
    }

    #[inline(always)]
    fn to_block<W: Word>(words: [W; 8]) -> [W; 8] {
        words.map(|word| word.xor(FLIP_SIGNS))
    }
}
