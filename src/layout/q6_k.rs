//! Q6_K: 256 nibbles, 64 bytes of upper bits, 16 signed scales, then an f16 scale: quants are -32..31, stored with 32 added.

use super::regroup::{join_nibbles, join_pairs, split_nibbles, split_pairs};
use super::superblock::SuperCodec;
use super::word::Word;

/// 210 bytes a block in ggml. Each half of its weights has 64 bytes of nibbles: K-blocks 0 and 2 in the first 32, 1 and 3
/// in the others; and 32 bytes of upper bits, a pair for each K-block.
pub(super) struct Q6K;

impl SuperCodec<48, 4> for Q6K {
    const ZERO: u8 = 32;
    const QUANTS_AT: usize = 0;
    const SCALES_AT: [usize; 4] = [48, 49, 50, 51];
    const TRAILING: bool = true;

    #[inline(always)]
    fn to_tile<W: Word>(words: &[W; 48]) -> [W; 48] {
        let mut tile = *words;
        for half in 0..2 {
            let (nibbles, pairs, at) = (&words[16 * half..], &words[32 + 8 * half..], 24 * half);
            split_nibbles(nibbles, &mut tile, [at, at + 12]);
            split_nibbles(&nibbles[8..], &mut tile, [at + 6, at + 18]);
            split_pairs(pairs, &mut tile, at + 4, 6);
        }
        tile
    }

    #[inline(always)]
    fn to_block<W: Word>(tile: &[W; 48]) -> [W; 48] {
        let mut words = *tile;
        for half in 0..2 {
            let at = 24 * half;
            join_nibbles(tile, [at, at + 12], &mut words[16 * half..]);
            join_nibbles(tile, [at + 6, at + 18], &mut words[16 * half + 8..]);
            join_pairs(tile, at + 4, 6, &mut words[32 + 8 * half..]);
        }
        words
    }
}
