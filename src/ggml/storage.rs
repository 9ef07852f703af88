//! What buffers hold: memory that the DSP shares, and which tensors in it are stored in tiles.
//!
//! **Which layout a tensor has** is decided here and nowhere else, by one rule: in a buffer of type `HTPn-REPACK` a
//! tensor of a type with tiles is stored in tiles ([`crate::layout`]); everything else (activations, KV caches, weights
//! that a program puts into plain buffers) keeps ggml's own rows. What ggml writes and reads is always its own layout.
//!
//! Tiled tensors are remembered by where they start in the buffer, so that views and copies of a `ggml_tensor` lead to
//! the same answer as the tensor itself.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::Arc;

use parking_lot::RwLock;

use super::tensor::{ElementType, Tensor};
use crate::batch::{wire, Place};
use crate::dsp::MappedBuffer;
use crate::layout::{TileLayout, TileType};

/// A buffer: what `ggml_backend_buffer::context` points to.
pub struct Buffer {
    memory: Arc<MappedBuffer>,
    /// Layout of each tiled tensor, by the byte offset of its start; `None` in a buffer that holds rows only.
    tiled: Option<RwLock<BTreeMap<usize, TileLayout>>>,
}

/// Why a byte range of a tensor cannot be reached.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AccessError {
    /// The range does not lie inside the buffer, or not inside the one tensor.
    #[error(
        "bytes {start:#x} to {end:#x} lie outside the buffer of {size:#x} bytes or reach over a tiled tensor's end"
    )]
    OutOfRange {
        /// First byte, from the start of the buffer.
        start: usize,
        /// Behind the last byte.
        end: usize,
        /// Bytes of the buffer.
        size: usize,
    },
    /// A view of a tiled tensor that kernels cannot read.
    #[error("the view of a weight in tiles does not consist of whole strips of 32 rows")]
    CutsTiles,
    /// The tile layout refused.
    #[error(transparent)]
    Layout(#[from] crate::layout::LayoutError),
}

/// The tile type of an element type, for those that have one.
pub fn tile_type(kind: ElementType) -> Option<TileType> {
    match kind {
        ElementType::Q4_0 => Some(TileType::Q4_0),
        ElementType::Q8_0 => Some(TileType::Q8_0),
        ElementType::Q4_1 => Some(TileType::Q4_1),
        ElementType::MXFP4 => Some(TileType::MXFP4),
        ElementType::IQ4_NL => Some(TileType::IQ4_NL),
        ElementType::Q5_0 => Some(TileType::Q5_0),
        ElementType::Q5_1 => Some(TileType::Q5_1),
        ElementType::Q4_K => Some(TileType::Q4_K),
        ElementType::Q5_K => Some(TileType::Q5_K),
        ElementType::Q6_K => Some(TileType::Q6_K),
        ElementType::Q3_K => Some(TileType::Q3_K),
        ElementType::Q2_K => Some(TileType::Q2_K),
        ElementType::IQ4_XS => Some(TileType::IQ4_XS),
        _ => None,
    }
}

/// The tile layout that `t` would have as a weight; `None` when it stays in rows.
pub fn tile_layout(t: Tensor) -> Option<TileLayout> {
    let kind = t.element_type().and_then(tile_type)?;
    let mut ne = [0usize; 4];
    for (to, from) in ne.iter_mut().zip(t.ne()) {
        *to = usize::try_from(from).ok()?;
    }
    (t.is_contiguous() && !t.is_view() && !t.is_empty()).then(|| TileLayout::new(kind, ne)).flatten()
}

/// Where in its tiles `t` begins: the tensor with `layout`, or a view of it from ggml's byte `offset` on.
fn view_offset(layout: &TileLayout, t: Tensor, offset: usize) -> Option<usize> {
    let ne = t.ne().map(|n| usize::try_from(n).unwrap_or(0));
    layout.view_offset(ne, offset).filter(|_| t.is_contiguous() && !t.is_empty())
}

/// Whether `t`, a weight in an `HTPn-REPACK` buffer or a view of one, can be read by kernels: as tiles.
pub fn readable_in_tiles(t: Tensor) -> bool {
    let root = t.root();
    let Some(layout) = tile_layout(root) else { return false };
    // Without memory (llama.cpp asks before it allocates) only whole tensors are asked for.
    let offset = t.address().saturating_sub(root.address());
    view_offset(&layout, t, offset).is_some()
}

impl Buffer {
    /// A buffer over `memory`; with `tiles`, weights in it are stored in tiles.
    pub fn new(memory: Arc<MappedBuffer>, tiles: bool) -> Buffer {
        Buffer { memory, tiled: tiles.then(RwLock::default) }
    }

    /// Address of the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    fn base(&self) -> usize {
        self.memory.as_ptr() as usize
    }

    /// `len` bytes of the memory from `start` on.
    fn range(&self, start: usize, len: usize) -> Result<*mut [u8], AccessError> {
        let size = self.memory.len();
        let end = start.checked_add(len).filter(|&end| end <= size);
        end.ok_or(AccessError::OutOfRange { start, end: start.saturating_add(len), size })?;
        // SAFETY: inside the mapping.
        Ok(ptr::slice_from_raw_parts_mut(unsafe { self.memory.as_ptr().add(start) }, len))
    }

    /// Runs `body` on `len` bytes of the memory that it reads.
    ///
    /// ggml's contract is C's: whoever reads or writes a tensor makes sure that nobody writes its bytes meanwhile, and
    /// the owner of the data passed to a call that they are not the tensor's own. Only the range that one call is about
    /// becomes a slice.
    fn read_bytes<R>(&self, start: usize, len: usize, body: impl FnOnce(&[u8]) -> R) -> Result<R, AccessError> {
        let range = self.range(start, len)?;
        // SAFETY: a mapping that lives as long as self.memory; not written meanwhile by the contract above.
        Ok(body(unsafe { &*range }))
    }

    /// The same for bytes that `body` writes.
    fn write_bytes<R>(&self, start: usize, len: usize, body: impl FnOnce(&mut [u8]) -> R) -> Result<R, AccessError> {
        let range = self.range(start, len)?;
        // SAFETY: a mapping that lives as long as self.memory; not used meanwhile by the contract above.
        Ok(body(unsafe { &mut *range }))
    }

    /// The tiled tensor that holds ggml's byte `at`, and where it starts.
    fn tiled_at(&self, at: usize) -> Option<(usize, TileLayout)> {
        let tiled = self.tiled.as_ref()?.read();
        let (&start, &layout) = tiled.range(..=at).next_back()?;
        (at - start < layout.ggml_bytes()).then_some((start, layout))
    }

    /// Where ggml's byte `offset` of tensor `t` is.
    fn spot(&self, t: Tensor, offset: usize) -> Result<Spot, AccessError> {
        let start = t.address().checked_sub(self.base());
        let at = start.and_then(|start| start.checked_add(offset)).ok_or(AccessError::OutOfRange {
            start: offset,
            end: usize::MAX,
            size: self.memory.len(),
        })?;
        Ok(match self.tiled_at(at) {
            Some((start, layout)) => Spot::Tiles { start, layout, offset: at - start },
            None => Spot::Rows(at),
        })
    }

    /// Decides the layout of a tensor that ggml places in the buffer. Its content is not defined yet.
    ///
    /// # Errors
    /// The tensor reaches beyond the buffer.
    pub fn init(&self, t: Tensor) -> Result<(), AccessError> {
        let Some(tiled) = &self.tiled else { return Ok(()) };
        let Some(start) = t.address().checked_sub(self.base()).filter(|_| !t.is_view()) else { return Ok(()) };
        let layout = tile_layout(t);
        let len = layout.map_or_else(|| t.bytes().unwrap_or(0), |layout| layout.tiled_bytes());
        if let Some(layout) = layout {
            self.write_bytes(start, len, |tiles| layout.init_padding(tiles))??;
        }
        // Tensors that overlap are gone: the program has put another one in their place.
        let end = start.saturating_add(len);
        let mut tiled = tiled.write();
        tiled.retain(|&other, old| other >= end || other + old.tiled_bytes() <= start);
        if let Some(layout) = layout {
            tiled.insert(start, layout);
        }
        Ok(())
    }

    /// Writes ggml's bytes at `offset` of tensor `t`.
    ///
    /// # Errors
    /// The range is not the tensor's.
    pub fn write(&self, t: Tensor, offset: usize, data: &[u8]) -> Result<(), AccessError> {
        match self.spot(t, offset)? {
            Spot::Rows(at) => self.write_bytes(at, data.len(), |rows| rows.copy_from_slice(data)),
            Spot::Tiles { start, layout, offset } => {
                Ok(self.write_bytes(start, layout.tiled_bytes(), |tiles| layout.write(tiles, offset, data))??)
            }
        }
    }

    /// Reads ggml's bytes at `offset` of tensor `t`.
    ///
    /// # Errors
    /// The range is not the tensor's.
    pub fn read(&self, t: Tensor, offset: usize, out: &mut [u8]) -> Result<(), AccessError> {
        match self.spot(t, offset)? {
            Spot::Rows(at) => self.read_bytes(at, out.len(), |rows| out.copy_from_slice(rows)),
            Spot::Tiles { start, layout, offset } => {
                Ok(self.read_bytes(start, layout.tiled_bytes(), |tiles| layout.read(tiles, offset, out))??)
            }
        }
    }

    /// Sets ggml's bytes at `offset` of tensor `t` to `value`.
    ///
    /// # Errors
    /// The range is not the tensor's.
    pub fn fill(&self, t: Tensor, value: u8, offset: usize, len: usize) -> Result<(), AccessError> {
        match self.spot(t, offset)? {
            Spot::Rows(at) => self.write_bytes(at, len, |rows| rows.fill(value)),
            Spot::Tiles { start, layout, offset } => {
                Ok(self.write_bytes(start, layout.tiled_bytes(), |tiles| layout.fill(tiles, offset, len, value))??)
            }
        }
    }

    /// Copies tensor `src` of buffer `from` to tensor `dst` of this one; false when it has to go through memory of the
    /// caller's: when it is of a type that the DSP does not know, or from part of tiles to tiles.
    ///
    /// # Errors
    /// A tensor is not inside its buffer.
    pub fn copy(&self, dst: Tensor, from: &Buffer, src: Tensor) -> Result<bool, AccessError> {
        let Some(len) = src.bytes().filter(|&len| dst.bytes() == Some(len)) else { return Ok(false) };
        if len == 0 {
            return Ok(true);
        }
        match (from.spot(src, 0)?, self.spot(dst, 0)?) {
            (Spot::Rows(src), Spot::Rows(dst)) => self.move_bytes(dst, from, src, len),
            (Spot::Tiles { start: src, layout, offset: 0 }, Spot::Tiles { start: dst, layout: other, offset: 0 })
                if layout.is_same(&other) && layout.ggml_bytes() == len =>
            {
                self.move_bytes(dst, from, src, layout.tiled_bytes())
            }
            (Spot::Tiles { start, layout, offset }, Spot::Rows(dst)) => {
                let tiles = from.range(start, layout.tiled_bytes())?;
                let rows = self.range(dst, len)?;
                if overlap(tiles, rows) {
                    return Ok(false);
                }
                // SAFETY: ranges of live buffers that do not overlap; ggml's contract as in `read_bytes`.
                unsafe { layout.read(&*tiles, offset, &mut *rows) }?;
                Ok(true)
            }
            (Spot::Rows(src), Spot::Tiles { start, layout, offset }) => {
                let rows = from.range(src, len)?;
                let tiles = self.range(start, layout.tiled_bytes())?;
                if overlap(tiles, rows) {
                    return Ok(false);
                }
                // SAFETY: as above.
                unsafe { layout.write(&mut *tiles, offset, &*rows) }?;
                Ok(true)
            }
            (Spot::Tiles { .. }, Spot::Tiles { .. }) => Ok(false),
        }
    }

    /// Moves bytes as they are. The ranges may overlap.
    fn move_bytes(&self, dst: usize, from: &Buffer, src: usize, len: usize) -> Result<bool, AccessError> {
        let (src, dst) = (from.range(src, len)?, self.range(dst, len)?);
        // SAFETY: `len` bytes each of live buffers; ggml's contract as in `read_bytes`.
        unsafe { ptr::copy(src.cast::<u8>().cast_const(), dst.cast::<u8>(), len) };
        Ok(true)
    }

    /// Where the DSP finds tensor `t`, and in which layout.
    ///
    /// # Errors
    /// The tensor is not in this buffer, or is a view of a tiled tensor that is none of whole strips of rows.
    pub fn place(&self, t: Tensor) -> Result<Place, AccessError> {
        let out_of_range = AccessError::OutOfRange { start: t.address(), end: usize::MAX, size: self.memory.len() };
        let offset = t.address().checked_sub(self.base()).filter(|&at| at <= self.memory.len()).ok_or(out_of_range)?;
        let (offset, layout) = match self.tiled_at(offset) {
            None => (offset, wire::HTP_LAYOUT_ROWS),
            Some((start, layout)) => {
                let at = view_offset(&layout, t, offset - start).ok_or(AccessError::CutsTiles)?;
                (start + at, wire::HTP_LAYOUT_TILES)
            }
        };
        Ok(Place {
            // The driver's file descriptors are not negative.
            fd: self.memory.fd() as u32,
            buffer_size: self.memory.len() as u64,
            offset: offset as u64,
            layout: layout as u16,
        })
    }

    /// Sets every byte to `value`, as ggml sees it.
    ///
    /// # Errors
    /// Memory is short.
    pub fn clear(&self, value: u8) -> Result<(), AccessError> {
        self.write_bytes(0, self.memory.len(), |bytes| bytes.fill(value))?;
        let Some(tiled) = &self.tiled else { return Ok(()) };
        for (&start, layout) in tiled.read().iter() {
            self.write_bytes(start, layout.tiled_bytes(), |tiles| {
                layout.init_padding(tiles)?;
                layout.fill(tiles, 0, layout.ggml_bytes(), value)
            })??;
        }
        Ok(())
    }
}

/// Where a byte of a tensor is.
enum Spot {
    /// In rows: at this byte of the buffer.
    Rows(usize),
    /// In the tiles that begin at byte `start` of the buffer: ggml's byte `offset` of that tensor.
    Tiles { start: usize, layout: TileLayout, offset: usize },
}

fn overlap(a: *mut [u8], b: *mut [u8]) -> bool {
    let bounds = |range: *mut [u8]| (range.cast::<u8>() as usize, range.cast::<u8>() as usize + range.len());
    let ((a_start, a_end), (b_start, b_end)) = (bounds(a), bounds(b));
    a_start < b_end && b_start < a_end
}
