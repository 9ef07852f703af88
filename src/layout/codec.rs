//! How blocks of 32 weights go into a column tile and come out again: the part that all their types share.
//!
//! A ggml block is a head (one scale, or more, of `4 / SCALE_GROUP` bytes each) and `WORDS` words of quants. In a tile
//! each word of quants goes, regrouped, to a vector of its own, and the heads of `SCALE_GROUP` consecutive blocks
//! share `SCALE_VECTORS` vectors. A type says its three numbers and how its words are regrouped.

use std::array::from_fn;

use super::format::{Format, PASS_ROWS};
use super::word::{word, Quad, Word};
use super::{TILE_DIM, VECTOR_BYTES};

/// A type of weights with blocks of 32. `WORDS`: words of quants in a block, which is also the quant vectors of a 32x32
/// tile.
pub(super) trait Codec<const WORDS: usize> {
    /// Which unsigned operand of the kernels stands for 0.
    const ZERO: u8;
    /// K-blocks that share a scale vector.
    const SCALE_GROUP: usize;
    /// Scale vectors of a group.
    const SCALE_VECTORS: usize;

    /// Bytes of one scale.
    const SCALE_BYTES: usize = 4 / Self::SCALE_GROUP;
    /// Bytes of a block before its quants.
    const HEAD_BYTES: usize = Self::SCALE_VECTORS * Self::SCALE_BYTES;
    /// Bytes of a block in ggml.
    const BLOCK_BYTES: usize = Self::HEAD_BYTES + 4 * WORDS;
    /// Bytes of a whole group in a column tile.
    const GROUP_BYTES: usize = VECTOR_BYTES * (Self::SCALE_GROUP * WORDS + Self::SCALE_VECTORS);

    /// The words of a block, in ggml's order, as the tile's vectors hold them.
    fn to_tile<W: Word>(words: [W; WORDS]) -> [W; WORDS];
    /// The inverse of `to_tile`.
    fn to_block<W: Word>(words: [W; WORDS]) -> [W; WORDS];
}

impl Format {
    /// The format of a type with blocks of 32 weights.
    pub const fn of<const WORDS: usize, C: Codec<WORDS>>() -> Format {
        Format {
            block_elements: TILE_DIM,
            block_bytes: C::BLOCK_BYTES,
            quant_vectors: WORDS,
            zero: C::ZERO,
            scale_group: C::SCALE_GROUP,
            scale_vectors: C::SCALE_VECTORS,
            pack_strip: pack_strip::<WORDS, C>,
            unpack_strip: unpack_strip::<WORDS, C>,
            pack_run: pack_run::<WORDS, C>,
            unpack_run: unpack_run::<WORDS, C>,
        }
    }
}

fn pack_strip<const WORDS: usize, C: Codec<WORDS>>(column: &mut [u8], blocks: usize, rows: &[u8], stride: usize) {
    for lane in (0..TILE_DIM).step_by(PASS_ROWS) {
        let rows = &rows[lane * stride..];
        let mut groups = column.chunks_exact_mut(C::GROUP_BYTES);
        let mut first = 0;
        for group in groups.by_ref() {
            pack_group::<WORDS, C>(group, lane, C::SCALE_GROUP, &rows[first * C::BLOCK_BYTES..], stride);
            first += C::SCALE_GROUP;
        }
        if first < blocks {
            pack_group::<WORDS, C>(
                groups.into_remainder(),
                lane,
                blocks - first,
                &rows[first * C::BLOCK_BYTES..],
                stride,
            );
        }
    }
}

fn unpack_strip<const WORDS: usize, C: Codec<WORDS>>(column: &[u8], blocks: usize, rows: &mut [u8], stride: usize) {
    for lane in (0..TILE_DIM).step_by(PASS_ROWS) {
        let rows = &mut rows[lane * stride..];
        let groups = column.chunks_exact(C::GROUP_BYTES);
        let last = groups.remainder();
        let mut first = 0;
        for group in groups {
            unpack_group::<WORDS, C>(group, lane, C::SCALE_GROUP, &mut rows[first * C::BLOCK_BYTES..], stride);
            first += C::SCALE_GROUP;
        }
        if first < blocks {
            unpack_group::<WORDS, C>(last, lane, blocks - first, &mut rows[first * C::BLOCK_BYTES..], stride);
        }
    }
}

/// [`PASS_ROWS`] rows of `places` blocks that share scale vectors, from row `lane` of the column tile on. Inlined, so
/// that whole groups have a constant `places`.
#[inline(always)]
fn pack_group<const WORDS: usize, C: Codec<WORDS>>(
    group: &mut [u8],
    lane: usize,
    places: usize,
    rows: &[u8],
    stride: usize,
) {
    let (quants, scales) = group.split_at_mut(places * WORDS * VECTOR_BYTES);
    for (place, quants) in quants.chunks_exact_mut(WORDS * VECTOR_BYTES).enumerate() {
        pack_tile::<WORDS, C>(quants, lane, &rows[place * C::BLOCK_BYTES + C::HEAD_BYTES..], stride);
    }
    for (index, vector) in scales.chunks_exact_mut(VECTOR_BYTES).enumerate() {
        let words = vector[4 * lane..][..4 * PASS_ROWS].chunks_exact_mut(4);
        for (row, word) in words.enumerate() {
            let row = &rows[row * stride..][..places * C::BLOCK_BYTES];
            let mut scales = [0; 4];
            for place in 0..places {
                let scale = &row[place * C::BLOCK_BYTES + index * C::SCALE_BYTES..][..C::SCALE_BYTES];
                scales[place * C::SCALE_BYTES..][..C::SCALE_BYTES].copy_from_slice(scale);
            }
            word.copy_from_slice(&scales);
        }
    }
}

/// The inverse of [`pack_group`].
#[inline(always)]
fn unpack_group<const WORDS: usize, C: Codec<WORDS>>(
    group: &[u8],
    lane: usize,
    places: usize,
    rows: &mut [u8],
    stride: usize,
) {
    let (quants, scales) = group.split_at(places * WORDS * VECTOR_BYTES);
    for (place, quants) in quants.chunks_exact(WORDS * VECTOR_BYTES).enumerate() {
        unpack_tile::<WORDS, C>(quants, lane, &mut rows[place * C::BLOCK_BYTES + C::HEAD_BYTES..], stride);
    }
    for (index, vector) in scales.chunks_exact(VECTOR_BYTES).enumerate() {
        let words = vector[4 * lane..][..4 * PASS_ROWS].chunks_exact(4);
        for (row, word) in words.enumerate() {
            let row = &mut rows[row * stride..][..places * C::BLOCK_BYTES];
            for place in 0..places {
                let scale = &mut row[place * C::BLOCK_BYTES + index * C::SCALE_BYTES..][..C::SCALE_BYTES];
                scale.copy_from_slice(&word[place * C::SCALE_BYTES..][..C::SCALE_BYTES]);
            }
        }
    }
}

/// Where the words of a block are cut into fours. The last four overlap others when the number is not a multiple.
#[inline(always)]
fn quads<const WORDS: usize>() -> impl Iterator<Item = usize> {
    (0..WORDS).step_by(4).map(|at| at.min(WORDS - 4))
}

/// The quants of a 32x32 tile, four rows at a time. Row n has its quants at `rows[n * stride..]`.
#[inline(always)]
fn pack_tile<const WORDS: usize, C: Codec<WORDS>>(quants: &mut [u8], lane: usize, rows: &[u8], stride: usize) {
    for row in (0..PASS_ROWS).step_by(4) {
        let lane = lane + row;
        let mut words = [Quad::load(&[0; 16], 0); WORDS];
        for at in quads::<WORDS>() {
            let four = from_fn(|i| Quad::load(rows, (row + i) * stride + 4 * at));
            words[at..at + 4].copy_from_slice(&Quad::transpose(four));
        }
        for (index, word) in C::to_tile(words).into_iter().enumerate() {
            word.store(quants, index * VECTOR_BYTES + 4 * lane);
        }
    }
}

/// The inverse of [`pack_tile`].
#[inline(always)]
fn unpack_tile<const WORDS: usize, C: Codec<WORDS>>(quants: &[u8], lane: usize, rows: &mut [u8], stride: usize) {
    for row in (0..PASS_ROWS).step_by(4) {
        let lane = lane + row;
        let words = C::to_block(from_fn(|index| Quad::load(quants, index * VECTOR_BYTES + 4 * lane)));
        for at in quads::<WORDS>() {
            let four = Quad::transpose([words[at], words[at + 1], words[at + 2], words[at + 3]]);
            for (i, words) in four.into_iter().enumerate() {
                words.store(rows, (row + i) * stride + 4 * at);
            }
        }
    }
}

/// Where block `block` of a column tile has its quants, where its group has the scales, and its place in the group.
#[inline(always)]
fn locate<const WORDS: usize, C: Codec<WORDS>>(blocks: usize, block: usize) -> (usize, usize, usize) {
    let (group, place) = (block / C::SCALE_GROUP, block % C::SCALE_GROUP);
    let places = C::SCALE_GROUP.min(blocks - group * C::SCALE_GROUP);
    let start = group * C::GROUP_BYTES;
    (start + place * WORDS * VECTOR_BYTES, start + places * WORDS * VECTOR_BYTES, place)
}

fn pack_run<const WORDS: usize, C: Codec<WORDS>>(
    column: &mut [u8],
    blocks: usize,
    lane: usize,
    first: usize,
    run: &[u8],
) {
    for (index, block) in run.chunks_exact(C::BLOCK_BYTES).enumerate() {
        let (quants, scales, place) = locate::<WORDS, C>(blocks, first + index);
        let (head, body) = block.split_at(C::HEAD_BYTES);
        let words = C::to_tile(from_fn(|i| word(body, 4 * i)));
        let quants = &mut column[quants..][..WORDS * VECTOR_BYTES];
        for (word, vector) in words.iter().zip(quants.chunks_exact_mut(VECTOR_BYTES)) {
            vector[4 * lane..][..4].copy_from_slice(&word.to_le_bytes());
        }
        for (index, scale) in head.chunks_exact(C::SCALE_BYTES).enumerate() {
            let at = scales + index * VECTOR_BYTES + 4 * lane + place * C::SCALE_BYTES;
            column[at..][..C::SCALE_BYTES].copy_from_slice(scale);
        }
    }
}

fn unpack_run<const WORDS: usize, C: Codec<WORDS>>(
    column: &[u8],
    blocks: usize,
    lane: usize,
    first: usize,
    run: &mut [u8],
) {
    for (index, block) in run.chunks_exact_mut(C::BLOCK_BYTES).enumerate() {
        let (quants, scales, place) = locate::<WORDS, C>(blocks, first + index);
        let (head, body) = block.split_at_mut(C::HEAD_BYTES);
        let quants = &column[quants..][..WORDS * VECTOR_BYTES];
        let words = C::to_block(from_fn(|i| word(quants, i * VECTOR_BYTES + 4 * lane)));
        for (to, word) in body.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        for (index, scale) in head.chunks_exact_mut(C::SCALE_BYTES).enumerate() {
            let at = scales + index * VECTOR_BYTES + 4 * lane + place * C::SCALE_BYTES;
            scale.copy_from_slice(&column[at..][..C::SCALE_BYTES]);
        }
    }
}
