//! Q3_K: 32 bytes of third bits, 64 bytes of pairs, 12 bytes of scales, then an f16 scale: quants are -4..3, stored with 4 added.

use super::regroup::{join_bits, join_pairs, split_bits, split_pairs};
use super::superblock::SuperCodec;
use super::word::Word;

/// 110 bytes a block in ggml. Bit i of a byte of third bits is of K-block i; pairs are as in Q2_K.
pub(super) struct Q3K;

impl SuperCodec<24, 3> for Q3K {
    const ZERO: u8 = 4;
    const QUANTS_AT: usize = 0;
    const SCALES_AT: [usize; 3] = [24, 25, 26];
    const TRAILING: bool = true;

    #[inline(always)]
    fn to_tile<W: Word>(words: &[W; 24]) -> [W; 24] {
        let mut tile = *words;
        split_pairs(&words[8..], &mut tile, 0, 3);
        split_pairs(&words[16..], &mut tile, 12, 3);
        split_bits(words, &mut tile, 2, 3);
        tile
    }

    #[inline(always)]
    fn to_block<W: Word>(tile: &[W; 24]) -> [W; 24] {
        let mut words = *tile;
        join_pairs(tile, 0, 3, &mut words[8..]);
        join_pairs(tile, 12, 3, &mut words[16..]);
        join_bits(tile, 2, 3, &mut words);
        words
    }
}
