//! IQ4_XS: an f16 scale, 6 bytes of scales, then 256 nibbles that index the table of IQ4_NL.

use super::regroup::{nibbles_to_block, nibbles_to_tile};
use super::superblock::SuperCodec;
use super::word::Word;

/// 136 bytes a block in ggml. Each K-block has its nibbles as a block of IQ4_NL has them.
pub(super) struct Iq4Xs;

impl SuperCodec<32, 2> for Iq4Xs {
    const ZERO: u8 = 127;
    const QUANTS_AT: usize = 2;
    const SCALES_AT: [usize; 2] = [0, 1];
    const TRAILING: bool = false;

    #[inline(always)]
    fn to_tile<W: Word>(load: impl Fn(usize) -> [W; 8], mut store: impl FnMut(usize, W)) {
        for i in (0..32).step_by(8) {
            let [a, b, c, d, e, f, g, h] = load(i);
            let words = [nibbles_to_tile([a, b, c, d]), nibbles_to_tile([e, f, g, h])];
            words.into_iter().flatten().enumerate().for_each(|(index, word)| store(i + index, word));
        }
    }

    #[inline(always)]
    fn to_block<W: Word>(load: impl Fn(usize) -> W, mut store: impl FnMut(usize, [W; 8])) {
        for i in (0..32).step_by(8) {
            let four = |i| nibbles_to_block(std::array::from_fn(|index| load(i + index)));
            let ([a, b, c, d], [e, f, g, h]) = (four(i), four(i + 4));
            store(i, [a, b, c, d, e, f, g, h]);
        }
    }
}
