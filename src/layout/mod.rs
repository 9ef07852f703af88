//! Weights in the layout that the kernels load: 32x32 tiles, as `include/htp/tiles.h` defines them.
//!
//! ggml sees its own layout, rows of blocks, through every upload and download. [`TileLayout`] says where a tensor's
//! blocks lie in the tiles and moves bytes both ways, exactly, at any offset and size.
//!
//! - this file: the types and the arithmetic of sizes
//! - `transfer`: upload, download, fill
//! - `padding`: what a fresh tensor needs before anything is uploaded
//! - `codec`: the packing loops of types with blocks of 32 weights, `superblock`: of those with 256; one small file a
//!   type has what differs
//! - `format`: a type as the numbers and loops that transfers use
//! - `regroup`, `word`: bits of quants moved between words, for one row or four at once
//! - `parallel`, `pool`: large transfers on a few threads
//!
//! A strip is 32 rows of a matrix in ggml's layout, a column tile the same rows as tiles. The rows that pad a matrix to
//! whole column tiles hold zero blocks once [`TileLayout::init_padding`] has run.

mod codec;
mod format;
mod iq4_nl;
mod iq4_xs;
mod mxfp4;
mod padding;
mod parallel;
mod pool;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;
mod regroup;
mod superblock;
mod tiles;
mod transfer;
mod word;

#[cfg(test)]
mod tests;

pub use tiles::{TileLayout, TileType};

/// Rows and columns of a tile, and weights of a K-block.
pub const TILE_DIM: usize = 32;
/// Bytes of a vector.
pub const VECTOR_BYTES: usize = 128;

/// Why a transfer was refused. Nothing has been written then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The bytes asked for are not all in the tensor.
    #[error("{len} bytes at {offset} are not inside a tensor of {size} bytes")]
    OutOfRange {
        /// First byte asked for.
        offset: usize,
        /// Bytes asked for, `usize::MAX` when their number itself overflows.
        len: usize,
        /// Bytes of the tensor in ggml's layout.
        size: usize,
    },
    /// The memory of the tiles is smaller than the tensor needs.
    #[error("{have} bytes of memory for tiles of {need} bytes")]
    TilesTooSmall {
        /// Bytes passed.
        have: usize,
        /// [`TileLayout::tiled_bytes`].
        need: usize,
    },
    /// No memory for a row or a strip of rows.
    #[error("out of memory: {0} bytes of working space")]
    OutOfMemory(usize),
}
