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
    fn to_tile<W: Word>(words: &[W; 32]) -> [W; 32] {
        let mut tile = *words;
        for (words, tile) in words.chunks_exact(4).zip(tile.chunks_exact_mut(4)) {
            tile.copy_from_slice(&nibbles_to_tile([words[0], words[1], words[2], words[3]]));
        }
        tile
    }

    #[inline(always)]
    fn to_block<W: Word>(tile: &[W; 32]) -> [W; 32] {
        let mut words = *tile;
        for (tile, words) in tile.chunks_exact(4).zip(words.chunks_exact_mut(4)) {
            words.copy_from_slice(&nibbles_to_block([tile[0], tile[1], tile[2], tile[3]]));
        }
        words
    }
}
