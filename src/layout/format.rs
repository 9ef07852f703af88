//! What transfers need to know of a type: its numbers and its four loops.

/// Rows that are packed in one pass over a column tile: 16 words are a cache line, and processors follow 16 rows well.
pub(super) const PASS_ROWS: usize = 16;

/// A type of weights as a value. A block is ggml's: of `block_elements` weights of one row.
pub(super) struct Format {
    /// Weights of a block: 32, or 256.
    pub block_elements: usize,
    /// Bytes of a block in ggml.
    pub block_bytes: usize,
    /// Quant vectors of a 32x32 tile.
    pub quant_vectors: usize,
    /// Which unsigned operand of the kernels stands for 0.
    pub zero: u8,
    /// K-blocks that share scale vectors: whole blocks.
    pub scale_group: usize,
    /// Scale vectors of such a group.
    pub scale_vectors: usize,
    /// `(column, blocks, rows, stride)`: packs 32 rows of `blocks` blocks, `stride` bytes apart, into a column tile.
    pub pack_strip: fn(&mut [u8], usize, &[u8], usize),
    /// `(column, blocks, rows, stride)`: the way back.
    pub unpack_strip: fn(&[u8], usize, &mut [u8], usize),
    /// `(column, blocks, lane, first, run)`: packs a run of whole blocks of one row, from block `first` on.
    pub pack_run: fn(&mut [u8], usize, usize, usize, &[u8]),
    /// `(column, blocks, lane, first, run)`: the way back.
    pub unpack_run: fn(&[u8], usize, usize, usize, &mut [u8]),
}
