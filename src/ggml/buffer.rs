//! Device buffers: what ggml's `set_tensor` and `get_tensor` do to memory that the DSP shares.
//!
//! **Which layout a tensor has** is decided here and nowhere else, by one rule: in a buffer of type `HTPn-REPACK` a
//! tensor of a type with tiles is stored in tiles ([`crate::layout`]); everything else (activations, KV caches, weights
//! that a program puts into plain buffers) keeps ggml's own rows. What ggml writes and reads is always its own layout.
//!
//! Tiled tensors are remembered by where they start in the buffer, so that views and copies of a `ggml_tensor` lead to
//! the same answer as the tensor itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use parking_lot::RwLock;

use super::base::base;
use super::bindings::*;
use super::buffer_type::BufferType;
use super::guard::guard;
use super::tensor::{ElementType, Tensor};
use crate::batch::{wire, Place};
use crate::dsp::MappedBuffer;
use crate::layout::{TileLayout, TileType};

/// What `ggml_backend_buffer::context` points to.
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

/// Whether `t` is the tensor with `layout`, or a view of rows of one of its matrices.
fn is_whole_rows(layout: &TileLayout, t: Tensor) -> bool {
    let (ne, whole) = (t.ne().map(|n| n as usize), layout.ne());
    t.is_contiguous() && (ne == whole || (ne[0] == whole[0] && ne[2] == 1 && ne[3] == 1))
}

/// Whether `t`, a weight in an `HTPn-REPACK` buffer or a view of one, can be read by kernels: as tiles.
pub fn readable_in_tiles(t: Tensor) -> bool {
    let root = t.root();
    let Some(layout) = tile_layout(root) else { return false };
    // Without memory (llama.cpp asks before it allocates) only whole tensors are asked for.
    let offset = t.address().saturating_sub(root.address());
    is_whole_rows(&layout, t) && layout.rows_offset(offset).is_some()
}

impl Buffer {
    /// A buffer over `memory`; with `tiles`, weights in it are stored in tiles.
    pub fn new(memory: Arc<MappedBuffer>, tiles: bool) -> Buffer {
        Buffer { memory, tiled: tiles.then(RwLock::default) }
    }

    /// The context of one of our buffers.
    ///
    /// # Safety
    /// `buffer` is null or a live ggml buffer.
    pub unsafe fn of<'a>(buffer: ggml_backend_buffer_t) -> Option<&'a Buffer> {
        // SAFETY: live by this function's contract.
        let buffer = unsafe { buffer.as_ref() }?;
        // The free function is ours alone: it tells our buffers from others'.
        if !same_function!(buffer.iface.free_buffer, VTABLE.free_buffer) {
            return None;
        }
        // SAFETY: our buffers' context is a Buffer from Box::into_raw in `wrap`, freed with the ggml buffer.
        unsafe { buffer.context.cast::<Buffer>().as_ref() }
    }

    fn base(&self) -> usize {
        self.memory.as_ptr() as usize
    }

    /// Runs `body` on `len` bytes of the memory.
    ///
    /// ggml's contract is C's: whoever writes a tensor makes sure that nobody else touches its bytes meanwhile. Only
    /// the range that one call is about becomes a slice.
    fn with_bytes<R>(&self, start: usize, len: usize, body: impl FnOnce(&mut [u8]) -> R) -> Result<R, AccessError> {
        let size = self.memory.len();
        let end = start.checked_add(len).filter(|&end| end <= size);
        end.ok_or(AccessError::OutOfRange { start, end: start.saturating_add(len), size })?;
        // SAFETY: inside the mapping, which lives as long as self.memory; exclusive by ggml's contract above.
        Ok(body(unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr().add(start), len) }))
    }

    /// The tiled tensor that holds ggml's byte `at`, and where it starts.
    fn tiled_at(&self, at: usize) -> Option<(usize, TileLayout)> {
        let tiled = self.tiled.as_ref()?.read();
        let (&start, &layout) = tiled.range(..=at).next_back()?;
        (at - start < layout.ggml_bytes()).then_some((start, layout))
    }

    /// Decides the layout of a tensor that ggml places in the buffer. Its content is not defined yet.
    ///
    /// # Errors
    /// The tensor reaches beyond the buffer.
    pub fn init(&self, t: Tensor) -> Result<(), AccessError> {
        let (Some(tiled), Some(layout)) = (&self.tiled, tile_layout(t)) else { return Ok(()) };
        let Some(start) = t.address().checked_sub(self.base()) else { return Ok(()) };
        self.with_bytes(start, layout.tiled_bytes(), |tiles| layout.init_padding(tiles))??;
        // Tensors that overlap are gone: the program has put another one in their place.
        let end = start + layout.tiled_bytes();
        let mut tiled = tiled.write();
        tiled.retain(|&other, old| other >= end || other + old.tiled_bytes() <= start);
        tiled.insert(start, layout);
        Ok(())
    }

    /// Writes ggml's bytes at `offset` of tensor `t`.
    ///
    /// # Errors
    /// The range is not the tensor's.
    pub fn write(&self, t: Tensor, offset: usize, data: &[u8]) -> Result<(), AccessError> {
        let rows = |rows: &mut [u8]| rows.copy_from_slice(data);
        self.access(t, offset, data.len(), rows, |layout, tiles, at| layout.write(tiles, at, data))
    }

    /// Reads ggml's bytes at `offset` of tensor `t`.
    ///
    /// # Errors
    /// The range is not the tensor's.
    pub fn read(&self, t: Tensor, offset: usize, out: &mut [u8]) -> Result<(), AccessError> {
        let out = RefCell::new(out);
        let len = out.borrow().len();
        let rows = |rows: &mut [u8]| out.borrow_mut().copy_from_slice(rows);
        self.access(t, offset, len, rows, |layout, tiles, at| layout.read(tiles, at, &mut out.borrow_mut()))
    }

    /// Sets ggml's bytes at `offset` of tensor `t` to `value`.
    ///
    /// # Errors
    /// The range is not the tensor's.
    pub fn fill(&self, t: Tensor, value: u8, offset: usize, len: usize) -> Result<(), AccessError> {
        let rows = |rows: &mut [u8]| rows.fill(value);
        self.access(t, offset, len, rows, |layout, tiles, at| layout.fill(tiles, at, len, value))
    }

    /// Runs `rows` on the bytes as they are, or `tiles` on the tensor's tiles with ggml's offset in the tensor.
    fn access(
        &self,
        t: Tensor,
        offset: usize,
        len: usize,
        rows: impl FnOnce(&mut [u8]),
        tiles: impl FnOnce(&TileLayout, &mut [u8], usize) -> Result<(), crate::layout::LayoutError>,
    ) -> Result<(), AccessError> {
        let out_of_range = AccessError::OutOfRange { start: offset, end: usize::MAX, size: self.memory.len() };
        let at =
            t.address().checked_sub(self.base()).and_then(|start| start.checked_add(offset)).ok_or(out_of_range)?;
        match self.tiled_at(at) {
            Some((start, layout)) => {
                Ok(self.with_bytes(start, layout.tiled_bytes(), |memory| tiles(&layout, memory, at - start))??)
            }
            None => self.with_bytes(at, len, rows),
        }
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
                let at = layout.rows_offset(offset - start).filter(|_| is_whole_rows(&layout, t));
                let at = at.ok_or(AccessError::CutsTiles)?;
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

    /// Sets every byte to `value`.
    pub fn clear(&self, value: u8) {
        // The range is the whole buffer: it cannot be refused.
        let _ = self.with_bytes(0, self.memory.len(), |bytes| bytes.fill(value));
    }
}

/// Makes a ggml buffer of `size` bytes over `memory`; null when ggml cannot.
pub fn wrap(buffer_type: &BufferType, memory: Arc<MappedBuffer>, size: usize) -> ggml_backend_buffer_t {
    let Ok(base) = base() else { return ptr::null_mut() };
    let context = Box::into_raw(Box::new(Buffer::new(memory, buffer_type.holds_tiles())));
    // SAFETY: the vtable's functions expect the context that is given here; ggml frees it through free_buffer.
    unsafe { (base.buffer_init)(buffer_type.as_ptr(), VTABLE, context.cast(), size) }
}

/// The functions of a buffer. ggml reaches buffers of views and copies through the same ones.
static VTABLE: ggml_backend_buffer_i = ggml_backend_buffer_i {
    free_buffer: Some(free_buffer),
    get_base: Some(get_base),
    init_tensor: Some(init_tensor),
    memset_tensor: Some(memset_tensor),
    set_tensor: Some(set_tensor),
    get_tensor: Some(get_tensor),
    set_tensor_2d: Some(set_tensor_2d),
    get_tensor_2d: Some(get_tensor_2d),
    cpy_tensor: Some(cpy_tensor),
    clear: Some(clear),
    reset: None,
};

/// The context of one of our buffers; for vtable functions, which ggml calls with nothing else.
///
/// # Safety
/// `buffer` is a live buffer made by [`wrap`].
unsafe fn context<'a>(buffer: ggml_backend_buffer_t) -> &'a Buffer {
    // SAFETY: by this function's contract the context came from Box::into_raw in `wrap`.
    unsafe { &*(*buffer).context.cast::<Buffer>() }
}

/// Reports an access that ggml has no way to refuse.
fn report(function: &str, t: Tensor, result: Result<(), AccessError>) {
    if let Err(error) = result {
        log::error!("{function} on {t:?} did nothing: {error}");
    }
}

unsafe extern "C" fn free_buffer(buffer: ggml_backend_buffer_t) {
    guard("free_buffer", (), || {
        // SAFETY: ggml frees a buffer once; the context came from Box::into_raw in `wrap`.
        drop(unsafe { Box::from_raw((*buffer).context.cast::<Buffer>()) });
    });
}

unsafe extern "C" fn get_base(buffer: ggml_backend_buffer_t) -> *mut c_void {
    // SAFETY: ggml passes a live buffer of ours.
    guard("get_base", ptr::null_mut(), || unsafe { context(buffer) }.memory.as_ptr().cast())
}

unsafe extern "C" fn init_tensor(buffer: ggml_backend_buffer_t, tensor: *mut ggml_tensor) -> ggml_status {
    guard("init_tensor", GGML_STATUS_FAILED, || {
        // SAFETY: ggml passes a live buffer of ours and a live tensor in it.
        let (context, t) = unsafe { (context(buffer), Tensor::from_ptr(tensor)) };
        match t.map(|t| context.init(t)) {
            Some(Err(error)) => {
                log::error!("a tensor cannot be placed: {error}");
                GGML_STATUS_FAILED
            }
            _ => GGML_STATUS_SUCCESS,
        }
    })
}

unsafe extern "C" fn memset_tensor(
    buffer: ggml_backend_buffer_t,
    tensor: *mut ggml_tensor,
    value: u8,
    offset: usize,
    size: usize,
) {
    guard("memset_tensor", (), || {
        // SAFETY: ggml passes a live buffer of ours and a live tensor in it.
        let (context, t) = unsafe { (context(buffer), Tensor::from_ptr(tensor)) };
        if let Some(t) = t {
            report("memset_tensor", t, context.fill(t, value, offset, size));
        }
    });
}

unsafe extern "C" fn set_tensor(
    buffer: ggml_backend_buffer_t,
    tensor: *mut ggml_tensor,
    data: *const c_void,
    offset: usize,
    size: usize,
) {
    // SAFETY: one copy of the contract of set_tensor_2d.
    unsafe { set_tensor_2d(buffer, tensor, data, offset, size, 1, 0, 0) };
}

unsafe extern "C" fn get_tensor(
    buffer: ggml_backend_buffer_t,
    tensor: *const ggml_tensor,
    data: *mut c_void,
    offset: usize,
    size: usize,
) {
    // SAFETY: one copy of the contract of get_tensor_2d.
    unsafe { get_tensor_2d(buffer, tensor, data, offset, size, 1, 0, 0) };
}

unsafe extern "C" fn set_tensor_2d(
    buffer: ggml_backend_buffer_t,
    tensor: *mut ggml_tensor,
    data: *const c_void,
    offset: usize,
    size: usize,
    n_copies: usize,
    stride_tensor: usize,
    stride_data: usize,
) {
    guard("set_tensor", (), || {
        // SAFETY: ggml passes a live buffer of ours and a live tensor in it.
        let (context, t) = unsafe { (context(buffer), Tensor::from_ptr(tensor)) };
        let Some(t) = t.filter(|_| size > 0) else { return };
        for copy in 0..n_copies {
            // SAFETY: ggml passes memory of `size` bytes at each multiple of stride_data.
            let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>().add(copy * stride_data), size) };
            report("set_tensor", t, context.write(t, offset.saturating_add(copy * stride_tensor), data));
        }
    });
}

unsafe extern "C" fn get_tensor_2d(
    buffer: ggml_backend_buffer_t,
    tensor: *const ggml_tensor,
    data: *mut c_void,
    offset: usize,
    size: usize,
    n_copies: usize,
    stride_tensor: usize,
    stride_data: usize,
) {
    guard("get_tensor", (), || {
        // SAFETY: ggml passes a live buffer of ours and a live tensor in it.
        let (context, t) = unsafe { (context(buffer), Tensor::from_ptr(tensor)) };
        let Some(t) = t.filter(|_| size > 0) else { return };
        for copy in 0..n_copies {
            // SAFETY: ggml passes memory of `size` bytes at each multiple of stride_data.
            let data = unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>().add(copy * stride_data), size) };
            report("get_tensor", t, context.read(t, offset.saturating_add(copy * stride_tensor), data));
        }
    });
}

/// Copies a tensor between two buffers of ours; false leaves it to ggml, which then reads and writes it.
unsafe extern "C" fn cpy_tensor(buffer: ggml_backend_buffer_t, src: *const ggml_tensor, dst: *mut ggml_tensor) -> bool {
    guard("cpy_tensor", false, || {
        // SAFETY: ggml passes a live buffer of ours and live tensors of equal layout, dst in the buffer.
        let (to, src, dst) = unsafe { (context(buffer), Tensor::from_ptr(src), Tensor::from_ptr(dst)) };
        let (Some(src), Some(dst), Ok(base)) = (src, dst, base()) else { return false };
        // SAFETY: src lives in a live buffer.
        let Some(from) = (unsafe { Buffer::of(src.buffer()) }) else { return false };
        // SAFETY: a live tensor.
        let size = unsafe { (base.nbytes)(src.as_ptr()) };
        let range = |buffer: &Buffer, t: Tensor| {
            let at = t.address().checked_sub(buffer.base())?;
            match buffer.tiled_at(at) {
                None => Some((at, size, None)),
                // Tiles are copied as they are when they are those of the whole tensor.
                Some((start, layout)) => (start == at && size == layout.ggml_bytes())
                    .then(|| (at, layout.tiled_bytes(), Some((layout.tile_type(), layout.ne())))),
            }
        };
        let (Some((from_at, len, layout)), Some((to_at, to_len, to_layout))) = (range(from, src), range(to, dst))
        else {
            return false;
        };
        if (len, layout) != (to_len, to_layout) {
            return false;
        }
        let address = |buffer: &Buffer, at| buffer.with_bytes(at, len, |bytes| bytes.as_mut_ptr());
        let (Ok(from), Ok(to)) = (address(from, from_at), address(to, to_at)) else { return false };
        // SAFETY: both ranges were checked; ranges of one buffer may overlap.
        unsafe { ptr::copy(from, to, len) };
        true
    })
}

unsafe extern "C" fn clear(buffer: ggml_backend_buffer_t, value: u8) {
    // SAFETY: ggml passes a live buffer of ours.
    guard("clear", (), || unsafe { context(buffer) }.clear(value));
}
