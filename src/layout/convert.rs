//! Fresh tensors, and tensors that change between rows and tiles in their own memory.

use super::tiles::scratch;
use super::{LayoutError, TileLayout, TILE_DIM, VECTOR_BYTES};

impl TileLayout {
    /// Makes `tiles` a tensor whose bytes are all zero in ggml's layout, padding included.
    ///
    /// # Errors
    /// `tiles` is too small, or memory is short.
    pub fn init(&self, tiles: &mut [u8]) -> Result<(), LayoutError> {
        self.check_tiles(tiles)?;
        let row = scratch(self.row_bytes(), 0)?;
        let (first, others) = tiles[..self.tiled_bytes()].split_at_mut(self.column_bytes());
        (self.tile_type().format().pack_strip)(first, self.blocks(), &row, 0);
        for column in others.chunks_exact_mut(first.len()) {
            column.copy_from_slice(first);
        }
        Ok(())
    }

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
        if self.blocks() % format.scale_group != 0 {
            for column in tiles[..self.tiled_bytes()].chunks_exact_mut(self.column_bytes()) {
                let scales = column.len() - VECTOR_BYTES * format.scale_vectors;
                column[scales..].fill(0);
            }
        }
        Ok(())
    }

    /// Turns ggml's rows at the start of `memory` into tiles, in place.
    ///
    /// # Errors
    /// `memory` has no room for the tiles, or there is no memory for a strip of 32 rows.
    pub fn convert_in_place(&self, memory: &mut [u8]) -> Result<(), LayoutError> {
        self.check_tiles(memory)?;
        let mut rows = scratch(TILE_DIM * self.row_bytes(), 0)?;
        // A column tile lies at or behind its strip: from the last one on, none covers rows that are still needed.
        for strip in (0..self.strips()).rev() {
            let len = self.strip_rows(strip) * self.row_bytes();
            rows[..len].copy_from_slice(&memory[self.strip_start(strip)..][..len]);
            rows[len..].fill(0);
            let column = &mut memory[strip * self.column_bytes()..][..self.column_bytes()];
            (self.tile_type().format().pack_strip)(column, self.blocks(), &rows, self.row_bytes());
        }
        Ok(())
    }

    /// The inverse of [`TileLayout::convert_in_place`]: what is behind ggml's bytes afterwards is undefined.
    ///
    /// # Errors
    /// `memory` is smaller than the tiles, or there is no memory for two strips of 32 rows.
    pub fn to_rows_in_place(&self, memory: &mut [u8]) -> Result<(), LayoutError> {
        self.check_tiles(memory)?;
        let mut column = scratch(self.column_bytes(), 0)?;
        let mut rows = scratch(TILE_DIM * self.row_bytes(), 0)?;
        // A strip ends at or before the next column tile: from the first one on, none covers tiles still needed.
        for strip in 0..self.strips() {
            column.copy_from_slice(&memory[strip * self.column_bytes()..][..self.column_bytes()]);
            (self.tile_type().format().unpack_strip)(&column, self.blocks(), &mut rows, self.row_bytes());
            let len = self.strip_rows(strip) * self.row_bytes();
            memory[self.strip_start(strip)..][..len].copy_from_slice(&rows[..len]);
        }
        Ok(())
    }
}
