//! Upload, download and fill: a range of ggml's bytes against the tiles that hold them.
//!
//! The range is cut at strips. A strip of 32 rows that is covered as a whole takes the fast loops; of others, each row
//! is a run of whole blocks, with a cut block at either end that is taken out, changed and put back.

use std::mem::take;
use std::ops::Range;

use super::tiles::scratch;
use super::{parallel, LayoutError, TileLayout, TILE_DIM};

/// Room for a block of any type.
const MAX_BLOCK_BYTES: usize = 210;

/// The bytes of a transfer that lie in one strip.
struct Part {
    /// First byte, counted from the start of the strip.
    start: usize,
    len: usize,
    /// Whether that is all 32 rows.
    whole: bool,
}

/// Consecutive bytes of one row.
struct RowPart {
    lane: usize,
    /// First byte, counted from the start of the row.
    start: usize,
    /// Where these bytes are in the part's data.
    data: Range<usize>,
}

impl TileLayout {
    /// Writes `data` over ggml's bytes from `offset` on.
    ///
    /// # Errors
    /// The bytes are not all in the tensor, or `tiles` is too small.
    pub fn write(&self, tiles: &mut [u8], offset: usize, data: &[u8]) -> Result<(), LayoutError> {
        self.check(tiles, offset, data.len())?;
        let mut rest = data;
        let columns = tiles[self.first_column(offset)..].chunks_exact_mut(self.column_bytes());
        let jobs = self.parts(offset, data.len()).zip(columns).map(move |(part, column)| {
            let (data, behind) = rest.split_at(part.len);
            rest = behind;
            (part, column, data)
        });
        self.for_each(data.len(), jobs, |(part, column, data)| self.write_part(&part, column, data, false));
        Ok(())
    }

    /// Reads ggml's bytes from `offset` on into `out`.
    ///
    /// # Errors
    /// The bytes are not all in the tensor, or `tiles` is too small.
    pub fn read(&self, tiles: &[u8], offset: usize, out: &mut [u8]) -> Result<(), LayoutError> {
        self.check(tiles, offset, out.len())?;
        let len = out.len();
        let mut rest = out;
        let columns = tiles[self.first_column(offset)..].chunks_exact(self.column_bytes());
        let jobs = self.parts(offset, len).zip(columns).map(move |(part, column)| {
            let (out, behind) = take(&mut rest).split_at_mut(part.len);
            rest = behind;
            (part, column, out)
        });
        self.for_each(len, jobs, |(part, column, out)| self.read_part(&part, column, out));
        Ok(())
    }

    /// Sets `len` of ggml's bytes from `offset` on to `byte`.
    ///
    /// # Errors
    /// The bytes are not all in the tensor, `tiles` is too small, or there is no memory for a row.
    pub fn fill(&self, tiles: &mut [u8], offset: usize, len: usize, byte: u8) -> Result<(), LayoutError> {
        self.check(tiles, offset, len)?;
        let row = scratch(self.row_bytes().min(len), byte)?;
        let columns = tiles[self.first_column(offset)..].chunks_exact_mut(self.column_bytes());
        let jobs = self.parts(offset, len).zip(columns);
        self.for_each(len, jobs, |(part, column)| self.write_part(&part, column, &row, true));
        Ok(())
    }

    /// Where the column tile begins that holds ggml's byte `offset`; the end of the tensor is allowed.
    fn first_column(&self, offset: usize) -> usize {
        self.strip_at(offset) * self.column_bytes()
    }

    fn for_each<J: Send>(&self, bytes: usize, jobs: impl Iterator<Item = J> + Send, work: impl Fn(J) + Sync) {
        parallel::for_each(self.threads(), bytes, self.column_bytes(), jobs, work);
    }

    /// The range cut at strips: one part for each column tile from `first_column(offset)` on.
    fn parts(&self, offset: usize, len: usize) -> impl Iterator<Item = Part> + Send {
        let (layout, end) = (*self, offset + len);
        let mut at = offset;
        std::iter::from_fn(move || {
            if at == end {
                return None;
            }
            let strip = layout.strip_at(at);
            let (first, bytes) = (layout.strip_start(strip), layout.strip_rows(strip) * layout.row_bytes());
            let (start, stop) = (at - first, bytes.min(end - first));
            at = first + stop;
            let whole = stop - start == TILE_DIM * layout.row_bytes();
            Some(Part { start, len: stop - start, whole })
        })
    }

    /// A part cut at rows.
    fn rows(&self, part: &Part) -> impl Iterator<Item = RowPart> {
        let (row_bytes, first, len) = (self.row_bytes(), part.start, part.len);
        let mut at = 0;
        std::iter::from_fn(move || {
            if at == len {
                return None;
            }
            let (lane, start) = ((first + at) / row_bytes, (first + at) % row_bytes);
            let data = at..len.min(at + row_bytes - start);
            at = data.end;
            Some(RowPart { lane, start, data })
        })
    }

    /// `same`: `data` is one row's worth for every row.
    fn write_part(&self, part: &Part, column: &mut [u8], data: &[u8], same: bool) {
        if part.whole {
            let stride = if same { 0 } else { self.row_bytes() };
            return (self.tile_type().format().pack_strip)(column, self.blocks(), data, stride);
        }
        for row in self.rows(part) {
            let data = if same { &data[..row.data.len()] } else { &data[row.data] };
            self.write_row(column, row.lane, row.start, data);
        }
    }

    fn read_part(&self, part: &Part, column: &[u8], out: &mut [u8]) {
        if part.whole {
            return (self.tile_type().format().unpack_strip)(column, self.blocks(), out, self.row_bytes());
        }
        for row in self.rows(part) {
            self.read_row(column, row.lane, row.start, &mut out[row.data]);
        }
    }

    fn write_row(&self, column: &mut [u8], lane: usize, start: usize, mut data: &[u8]) {
        let (format, blocks) = (self.tile_type().format(), self.blocks());
        let (mut block, mut skip) = (start / format.block_bytes, start % format.block_bytes);
        while !data.is_empty() {
            let whole = if skip == 0 { data.len() / format.block_bytes } else { 0 };
            let (now, behind) = data.split_at(self.step(whole, skip, data.len()));
            if whole > 0 {
                (format.pack_run)(column, blocks, lane, block, now);
            } else {
                let cut = &mut [0; MAX_BLOCK_BYTES][..format.block_bytes];
                (format.unpack_run)(column, blocks, lane, block, cut);
                cut[skip..][..now.len()].copy_from_slice(now);
                (format.pack_run)(column, blocks, lane, block, cut);
            }
            (block, skip, data) = (block + whole.max(1), 0, behind);
        }
    }

    fn read_row(&self, column: &[u8], lane: usize, start: usize, mut out: &mut [u8]) {
        let (format, blocks) = (self.tile_type().format(), self.blocks());
        let (mut block, mut skip) = (start / format.block_bytes, start % format.block_bytes);
        while !out.is_empty() {
            let whole = if skip == 0 { out.len() / format.block_bytes } else { 0 };
            let step = self.step(whole, skip, out.len());
            let (now, behind) = out.split_at_mut(step);
            if whole > 0 {
                (format.unpack_run)(column, blocks, lane, block, now);
            } else {
                let cut = &mut [0; MAX_BLOCK_BYTES][..format.block_bytes];
                (format.unpack_run)(column, blocks, lane, block, cut);
                now.copy_from_slice(&cut[skip..][..step]);
            }
            (block, skip, out) = (block + whole.max(1), 0, behind);
        }
    }

    /// Bytes of the next step along a row: `whole` blocks, or what is left of a block from its byte `skip` on.
    fn step(&self, whole: usize, skip: usize, left: usize) -> usize {
        let block = self.tile_type().block_bytes();
        if whole > 0 {
            whole * block
        } else {
            left.min(block - skip)
        }
    }
}
