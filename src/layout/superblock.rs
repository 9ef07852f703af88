//! How blocks of 256 weights go into a column tile and come out again: the part that all their types share.
//!
//! Such a block is `QUANTS` words of quants and `SCALES` words of scales, in an order of its own, and may end with an
//! f16 scale. In a tile the quants of its 8 K-blocks go, regrouped, to a vector a word, and each word of scales goes as
//! it is to a vector behind them. Blocks that end with an f16 come in groups of two, so that two of those make a word.

use std::array::from_fn;

use super::format::{Format, PASS_ROWS};
use super::word::{prefetch, word, Quad, Word};
use super::{TILE_DIM, VECTOR_BYTES};

/// K-blocks of a block.
const K_BLOCKS: usize = 8;

/// Bytes that memory hands out together.
const CACHE_LINE: usize = 64;

/// A type of weights with blocks of 256.
pub(super) trait SuperCodec<const QUANTS: usize, const SCALES: usize> {
    /// Which unsigned operand of the kernels stands for 0.
    const ZERO: u8;
    /// The word of a block with which its quants begin.
    const QUANTS_AT: usize;
    /// The words of a block that are scales, in the order of the tile's vectors.
    const SCALES_AT: [usize; SCALES];
    /// Whether a block ends with an f16 scale, behind its words.
    const TRAILING: bool;

    /// Bytes of the words of a block.
    const WORD_BYTES: usize = 4 * (QUANTS + SCALES);
    /// Bytes of a block in ggml.
    const BLOCK_BYTES: usize = Self::WORD_BYTES + if Self::TRAILING { 2 } else { 0 };
    /// Blocks that share scale vectors.
    const GROUP_BLOCKS: usize = if Self::TRAILING { 2 } else { 1 };
    /// Scale vectors of a group.
    const SCALE_VECTORS: usize = if Self::TRAILING { 2 * SCALES + 1 } else { SCALES };
    /// Bytes of a whole group in a column tile.
    const GROUP_BYTES: usize = VECTOR_BYTES * (Self::GROUP_BLOCKS * QUANTS + Self::SCALE_VECTORS);

    /// Regroups the quants of a block: `load` gives 8 words of quants from an index on, in ggml's order; `store` takes
    /// the word of a quant vector. A few words at a time stay in registers.
    fn to_tile<W: Word>(load: impl Fn(usize) -> [W; 8], store: impl FnMut(usize, W));
    /// The inverse of `to_tile`: `load` gives the word of a quant vector, `store` takes 8 words of a block.
    fn to_block<W: Word>(load: impl Fn(usize) -> W, store: impl FnMut(usize, [W; 8]));
}

impl Format {
    /// The format of a type with blocks of 256 weights.
    pub const fn of_super<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>() -> Format {
        Format {
            block_elements: K_BLOCKS * TILE_DIM,
            block_bytes: C::BLOCK_BYTES,
            quant_vectors: QUANTS / K_BLOCKS,
            zero: C::ZERO,
            scale_group: K_BLOCKS * C::GROUP_BLOCKS,
            scale_vectors: C::SCALE_VECTORS,
            pack_strip: pack_strip::<QUANTS, SCALES, C>,
            unpack_strip: unpack_strip::<QUANTS, SCALES, C>,
            pack_run: pack_run::<QUANTS, SCALES, C>,
            unpack_run: unpack_run::<QUANTS, SCALES, C>,
        }
    }
}

/// Where a block is in a column tile.
struct Spot {
    /// Byte of the first quant vector.
    quants: usize,
    /// Byte of the first vector with a word of the block's scales.
    scales: usize,
    /// Byte of the vector with f16 scales that end blocks, counted on to the half word of this block.
    trailing: usize,
}

/// Block `block` of a column tile of `blocks`.
#[inline(always)]
fn locate<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>(
    blocks: usize,
    block: usize,
) -> Spot {
    let (group, place) = (block / C::GROUP_BLOCKS, block % C::GROUP_BLOCKS);
    let places = C::GROUP_BLOCKS.min(blocks - group * C::GROUP_BLOCKS);
    let start = group * C::GROUP_BYTES;
    let scales = start + places * QUANTS * VECTOR_BYTES;
    Spot {
        quants: start + place * QUANTS * VECTOR_BYTES,
        scales: scales + place * SCALES * VECTOR_BYTES,
        trailing: scales + C::GROUP_BLOCKS * SCALES * VECTOR_BYTES + 2 * place,
    }
}

fn pack_strip<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>(
    column: &mut [u8],
    blocks: usize,
    rows: &[u8],
    stride: usize,
) {
    for lane in (0..TILE_DIM).step_by(PASS_ROWS) {
        for block in 0..blocks {
            let spot = locate::<QUANTS, SCALES, C>(blocks, block);
            let rows = &rows[lane * stride + block * C::BLOCK_BYTES..];
            let quants = &mut column[spot.quants..][..QUANTS * VECTOR_BYTES];
            for row in (0..PASS_ROWS).step_by(4) {
                // Rows are too far apart, and blocks too long, for processors to see the pattern in time.
                for row in row..row + 4 {
                    let next = row * stride + C::BLOCK_BYTES;
                    (0..C::BLOCK_BYTES).step_by(CACHE_LINE).for_each(|line| prefetch(rows, next + line));
                }
                pack_quants::<QUANTS, SCALES, C>(quants, lane + row, &rows[row * stride..], stride);
            }
            let scales = &mut column[spot.scales..][..SCALES * VECTOR_BYTES];
            for (at, vector) in C::SCALES_AT.into_iter().zip(scales.chunks_exact_mut(VECTOR_BYTES)) {
                let words = vector[4 * lane..][..4 * PASS_ROWS].chunks_exact_mut(4);
                for (row, word) in words.enumerate() {
                    word.copy_from_slice(&rows[row * stride + 4 * at..][..4]);
                }
            }
            if C::TRAILING {
                for row in 0..PASS_ROWS {
                    let half = &rows[row * stride + C::WORD_BYTES..][..2];
                    column[spot.trailing + 4 * (lane + row)..][..2].copy_from_slice(half);
                }
            }
        }
    }
}

fn unpack_strip<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>(
    column: &[u8],
    blocks: usize,
    rows: &mut [u8],
    stride: usize,
) {
    for lane in (0..TILE_DIM).step_by(PASS_ROWS) {
        for block in 0..blocks {
            let spot = locate::<QUANTS, SCALES, C>(blocks, block);
            let rows = &mut rows[lane * stride + block * C::BLOCK_BYTES..];
            // Of each vector of the next block, the line of these rows.
            let next = spot.quants + QUANTS * VECTOR_BYTES + 4 * lane;
            (0..QUANTS).for_each(|vector| prefetch(column, next + vector * VECTOR_BYTES));
            let quants = &column[spot.quants..][..QUANTS * VECTOR_BYTES];
            for row in (0..PASS_ROWS).step_by(4) {
                unpack_quants::<QUANTS, SCALES, C>(quants, lane + row, &mut rows[row * stride..], stride);
            }
            let scales = &column[spot.scales..][..SCALES * VECTOR_BYTES];
            for (at, vector) in C::SCALES_AT.into_iter().zip(scales.chunks_exact(VECTOR_BYTES)) {
                let words = vector[4 * lane..][..4 * PASS_ROWS].chunks_exact(4);
                for (row, word) in words.enumerate() {
                    rows[row * stride + 4 * at..][..4].copy_from_slice(word);
                }
            }
            if C::TRAILING {
                for row in 0..PASS_ROWS {
                    let half = &column[spot.trailing + 4 * (lane + row)..][..2];
                    rows[row * stride + C::WORD_BYTES..][..2].copy_from_slice(half);
                }
            }
        }
    }
}

/// The quants of a block of four rows, from row `lane` of the column tile on. `rows`: the block of the first row.
#[inline(always)]
fn pack_quants<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>(
    quants: &mut [u8],
    lane: usize,
    rows: &[u8],
    stride: usize,
) {
    let four = |at| Quad::transpose(from_fn(|i| Quad::load(rows, i * stride + 4 * (C::QUANTS_AT + at))));
    let load = |at| {
        let ([a, b, c, d], [e, f, g, h]) = (four(at), four(at + 4));
        [a, b, c, d, e, f, g, h]
    };
    C::to_tile(load, |index, word| word.store(quants, index * VECTOR_BYTES + 4 * lane));
}

/// The inverse of [`pack_quants`].
#[inline(always)]
fn unpack_quants<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>(
    quants: &[u8],
    lane: usize,
    rows: &mut [u8],
    stride: usize,
) {
    let load = |index| Quad::load(quants, index * VECTOR_BYTES + 4 * lane);
    C::to_block(load, |at, [a, b, c, d, e, f, g, h]| {
        for (at, four) in [(at, [a, b, c, d]), (at + 4, [e, f, g, h])] {
            for (i, words) in Quad::transpose(four).into_iter().enumerate() {
                words.store(rows, i * stride + 4 * (C::QUANTS_AT + at));
            }
        }
    });
}

fn pack_run<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>(
    column: &mut [u8],
    blocks: usize,
    lane: usize,
    first: usize,
    run: &[u8],
) {
    for (index, block) in run.chunks_exact(C::BLOCK_BYTES).enumerate() {
        let spot = locate::<QUANTS, SCALES, C>(blocks, first + index);
        let quants = &mut column[spot.quants..][..QUANTS * VECTOR_BYTES];
        let load = |at| from_fn(|i| word(block, 4 * (C::QUANTS_AT + at + i)));
        C::to_tile(load, |index, word: u32| {
            quants[index * VECTOR_BYTES + 4 * lane..][..4].copy_from_slice(&word.to_le_bytes());
        });
        let scales = &mut column[spot.scales..][..SCALES * VECTOR_BYTES];
        for (at, vector) in C::SCALES_AT.into_iter().zip(scales.chunks_exact_mut(VECTOR_BYTES)) {
            vector[4 * lane..][..4].copy_from_slice(&block[4 * at..][..4]);
        }
        if C::TRAILING {
            column[spot.trailing + 4 * lane..][..2].copy_from_slice(&block[C::WORD_BYTES..]);
        }
    }
}

fn unpack_run<const QUANTS: usize, const SCALES: usize, C: SuperCodec<QUANTS, SCALES>>(
    column: &[u8],
    blocks: usize,
    lane: usize,
    first: usize,
    run: &mut [u8],
) {
    for (index, block) in run.chunks_exact_mut(C::BLOCK_BYTES).enumerate() {
        let spot = locate::<QUANTS, SCALES, C>(blocks, first + index);
        let quants = &column[spot.quants..][..QUANTS * VECTOR_BYTES];
        C::to_block(
            |index| word(quants, index * VECTOR_BYTES + 4 * lane),
            |at, words| {
                let bytes = block[4 * (C::QUANTS_AT + at)..].chunks_exact_mut(4);
                bytes.zip(words).for_each(|(bytes, word): (_, u32)| bytes.copy_from_slice(&word.to_le_bytes()));
            },
        );
        let scales = &column[spot.scales..][..SCALES * VECTOR_BYTES];
        for (at, vector) in C::SCALES_AT.into_iter().zip(scales.chunks_exact(VECTOR_BYTES)) {
            block[4 * at..][..4].copy_from_slice(&vector[4 * lane..][..4]);
        }
        if C::TRAILING {
            block[C::WORD_BYTES..].copy_from_slice(&column[spot.trailing + 4 * lane..][..2]);
        }
    }
}
