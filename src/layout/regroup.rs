//! Bits of quants moved between words, from where ggml has them to where tiles have them and back.
//!
//! ggml and tiles differ in which part of a quant's place counts words and which counts bits of a byte. So most
//! regroupings transpose a small matrix of nibbles, pairs or bits whose rows are words, in every byte at once, and are
//! their own inverses.

use std::array::from_fn;

use super::word::Word;

/// The upper `BITS` of each `2 * BITS` bits of `a` change places with the lower ones of `b`.
#[inline(always)]
fn exchange<const BITS: i32, W: Word>(a: W, b: W) -> [W; 2] {
    let mask = u32::MAX / ((1 << BITS) + 1);
    let changes = a.down::<BITS>().flip(b).and(mask);
    [a.flip(changes.up::<BITS>()), b.flip(changes)]
}

/// Pair i of each byte of word j becomes pair j of word i.
#[inline(always)]
fn transpose_pairs<W: Word>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let ([a, c], [b, d]) = (exchange::<4, W>(a, c), exchange::<4, W>(b, d));
    let ([a, b], [c, d]) = (exchange::<2, W>(a, b), exchange::<2, W>(c, d));
    [a, b, c, d]
}

/// Bit i of each byte of word j becomes bit j of word i.
#[inline(always)]
fn transpose_bits<W: Word>([a, b, c, d, e, f, g, h]: [W; 8]) -> [W; 8] {
    let ([a, e], [b, f]) = (exchange::<4, W>(a, e), exchange::<4, W>(b, f));
    let ([c, g], [d, h]) = (exchange::<4, W>(c, g), exchange::<4, W>(d, h));
    let within = |[a, b, c, d]: [W; 4]| {
        let ([a, c], [b, d]) = (exchange::<2, W>(a, c), exchange::<2, W>(b, d));
        let ([a, b], [c, d]) = (exchange::<1, W>(a, b), exchange::<1, W>(c, d));
        [a, b, c, d]
    };
    let ([a, b, c, d], [e, f, g, h]) = (within([a, b, c, d]), within([e, f, g, h]));
    [a, b, c, d, e, f, g, h]
}

/// ggml keeps element i in the low and i + 16 in the high nibble of byte i; a tile wants 8 consecutive elements in a
/// word, the first four in the low nibbles.
#[inline(always)]
pub(super) fn nibbles_to_tile<W: Word>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let ([a, b], [c, d]) = (exchange::<4, W>(a, b), exchange::<4, W>(c, d));
    [a, c, b, d]
}

/// The inverse of [`nibbles_to_tile`].
#[inline(always)]
pub(super) fn nibbles_to_block<W: Word>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let ([a, c], [b, d]) = (exchange::<4, W>(a, c), exchange::<4, W>(b, d));
    [a, c, b, d]
}

/// ggml keeps the fifth bit of element i in bit i of a word; a tile wants it in byte i % 4, bit i / 4.
#[inline(always)]
pub(super) fn fifth_bits_to_tile<W: Word>(word: W) -> W {
    let word = swap_within::<3, W>(word, 0x0a0a_0a0a);
    let word = swap_within::<6, W>(word, 0x00cc_00cc);
    let word = swap_within::<12, W>(word, 0x0000_f0f0);
    swap_within::<8, W>(word, 0x0000_ff00)
}

/// The inverse of [`fifth_bits_to_tile`].
#[inline(always)]
pub(super) fn fifth_bits_to_block<W: Word>(word: W) -> W {
    let word = swap_within::<8, W>(word, 0x0000_ff00);
    let word = swap_within::<12, W>(word, 0x0000_f0f0);
    let word = swap_within::<6, W>(word, 0x00cc_00cc);
    swap_within::<3, W>(word, 0x0a0a_0a0a)
}

/// The bits of `mask` change places with those `DISTANCE` above them.
#[inline(always)]
fn swap_within<const DISTANCE: i32, W: Word>(word: W, mask: u32) -> W {
    let changes = word.down::<DISTANCE>().flip(word).and(mask);
    word.flip(changes).flip(changes.up::<DISTANCE>())
}

/// Bytes of 8 words have an element of one K-block in the low and of another in the high nibble. `store` takes the
/// vectors of nibbles of the two, from `first` and from `second` on.
#[inline(always)]
pub(super) fn split_nibbles<W: Word>(words: [W; 8], [first, second]: [usize; 2], store: &mut impl FnMut(usize, W)) {
    for g in 0..4 {
        let [low, high] = exchange::<4, W>(words[2 * g], words[2 * g + 1]);
        store(first + g, low);
        store(second + g, high);
    }
}

/// The inverse of [`split_nibbles`].
#[inline(always)]
pub(super) fn join_nibbles<W: Word>([first, second]: [usize; 2], load: &impl Fn(usize) -> W) -> [W; 8] {
    let pair = |g| exchange::<4, W>(load(first + g), load(second + g));
    let ([a, b], [c, d], [e, f], [g, h]) = (pair(0), pair(1), pair(2), pair(3));
    [a, b, c, d, e, f, g, h]
}

/// Bytes of 8 words have pairs of bits of an element each of four K-blocks. `store` takes the vectors of pairs of
/// these, from `at` and each `step` on.
#[inline(always)]
pub(super) fn split_pairs<W: Word>(
    [a, b, c, d, e, f, g, h]: [W; 8],
    at: usize,
    step: usize,
    store: &mut impl FnMut(usize, W),
) {
    for (vector, words) in [[a, b, c, d], [e, f, g, h]].into_iter().enumerate() {
        for (k, pairs) in transpose_pairs(words).into_iter().enumerate() {
            store(at + k * step + vector, pairs);
        }
    }
}

/// The inverse of [`split_pairs`].
#[inline(always)]
pub(super) fn join_pairs<W: Word>(at: usize, step: usize, load: &impl Fn(usize) -> W) -> [W; 8] {
    let four = |vector| transpose_pairs(from_fn(|k| load(at + k * step + vector)));
    let ([a, b, c, d], [e, f, g, h]) = (four(0), four(1));
    [a, b, c, d, e, f, g, h]
}

/// Bytes of 8 words have a bit of an element each of eight K-blocks. `store` takes the vectors of bits of these, at
/// `at` and each `step` on.
#[inline(always)]
pub(super) fn split_bits<W: Word>(words: [W; 8], at: usize, step: usize, store: &mut impl FnMut(usize, W)) {
    for (k, bits) in transpose_bits(words).into_iter().enumerate() {
        store(at + k * step, bits);
    }
}

/// The inverse of [`split_bits`].
#[inline(always)]
pub(super) fn join_bits<W: Word>(at: usize, step: usize, load: &impl Fn(usize) -> W) -> [W; 8] {
    transpose_bits(from_fn(|k| load(at + k * step)))
}
