//! Fresh tensors: what kernels read of tiles beyond the blocks that ggml writes.

use super::tiles::scratch;
use super::{LayoutError, TileLayout, TILE_DIM, VECTOR_BYTES};

impl TileLayout {
    /// Makes all padding hold zero blocks, and leaves the rest undefined: enough for a tensor that is about to be
    /// written as a whole, and next to nothing to do.
    ///
    /// # Errors
    /// `tiles` is too small, or memory is short.
    pub fn init_padding(&self, tiles: &mut [u8]) -> Result<(), LayoutError> {
        self.check_tiles(tiles)?;
        let format = self.tile_type().format();
        if self.ne()[1] % TILE_DIM != 0 {
            let row = scratch(self.row_bytes(), 0)?;
            for matrix in tiles[..self.tiled_bytes()].chunks_exact_mut(self.matrix_bytes()) {
                let padded = matrix.len() - self.column_bytes();
                (format.pack_strip)(&mut matrix[padded..], self.blocks(), &row, 0);
            }
        }
        if self.k_blocks() % format.scale_group != 0 {
            for column in tiles[..self.tiled_bytes()].chunks_exact_mut(self.column_bytes()) {
                let scales = column.len() - VECTOR_BYTES * format.scale_vectors;
                column[scales..].fill(0);
            }
        }
        Ok(())
    }
}
