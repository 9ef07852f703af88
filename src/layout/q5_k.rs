//! Q5_K: an f16 scale and an f16 minimum, 12 bytes of scales and minima, 32 bytes of fifth bits, then 256 nibbles.

use super::regroup::{join_bits, join_nibbles, split_bits, split_nibbles};
use super::superblock::SuperCodec;
use super::word::Word;

/// 176 bytes a block in ggml. Bit i of a byte of fifth bits is of K-block i; nibbles are as in Q4_K.
pub(super) struct Q5K;

impl SuperCodec<40, 4> for Q5K {
    const ZERO: u8 = 0;
    const QUANTS_AT: usize = 4;
    const SCALES_AT: [usize; 4] = [0, 1, 2, 3];
    const TRAILING: bool = false;

    #[inline(always)]
    fn to_tile<W: Word>(words: &[W; 40]) -> [W; 40] {
        let mut tile = *words;
        for i in 0..4 {
            split_nibbles(&words[8 + 8 * i..], &mut tile, [10 * i, 10 * i + 5]);
        }
        split_bits(words, &mut tile, 4, 5);
        tile
    }

    #[inline(always)]
    fn to_block<W: Word>(tile: &[W; 40]) -> [W; 40] {
        let mut words = *tile;
        for i in 0..4 {
            join_nibbles(tile, [10 * i, 10 * i + 5], &mut words[8 + 8 * i..]);
        }
        join_bits(tile, 4, 5, &mut words);
        words
    }
}
