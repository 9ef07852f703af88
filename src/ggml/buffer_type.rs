//! Buffer types of a device.
//!
//! - `HTPn`: memory that the DSP shares, in ggml's own layout. As it is the host's memory too, the CPU backend computes
//!   on it without copies whatever the DSP does not support (`GGML_HEXAGON_HOSTBUF=0` makes it copy).
//! - `HTPn-REPACK`: the same memory, with weights stored in tiles. Programs find it by
//!   `ggml_backend_dev_get_extra_bufts`.

use std::ffi::{c_char, CString};
use std::ptr;

use super::base::base;
use super::bindings::*;
use super::buffer;
use super::device::Device;
use super::guard::guard;
use super::storage;
use super::tensor::Tensor;
use crate::config::Config;

/// Alignment of tensors: one HVX vector.
pub const ALIGNMENT: usize = 128;

/// What a buffer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Tensors in ggml's layout.
    Rows,
    /// Weights in tiles.
    Tiles,
}

/// What `ggml_backend_buffer_type::context` points to. Lives as long as the plug-in.
pub struct BufferType {
    name: CString,
    device: *const Device,
    kind: Kind,
    raw: ggml_backend_buffer_type,
}

// SAFETY: nothing changes after construction, and the pointers lead to things that live as long as the plug-in.
unsafe impl Sync for BufferType {}
// SAFETY: as above.
unsafe impl Send for BufferType {}

impl BufferType {
    /// Makes a buffer type of `device`, which is at its final address and is never freed.
    pub fn new(
        name: CString,
        kind: Kind,
        device: *const Device,
        raw_device: ggml_backend_dev_t,
    ) -> &'static BufferType {
        let buffer_type = Box::leak(Box::new(BufferType {
            name,
            device,
            kind,
            raw: ggml_backend_buffer_type { iface: VTABLE, device: raw_device, context: ptr::null_mut() },
        }));
        buffer_type.raw.context = ptr::from_mut(buffer_type).cast();
        buffer_type
    }

    /// The C object.
    pub fn as_ptr(&self) -> ggml_backend_buffer_type_t {
        ptr::from_ref(&self.raw).cast_mut()
    }

    /// Whether weights in it are stored in tiles.
    pub fn holds_tiles(&self) -> bool {
        self.kind == Kind::Tiles
    }

    /// The device whose DSP shares the memory.
    pub fn device(&self) -> &'static Device {
        // SAFETY: by the contract of `new` the device is never freed.
        unsafe { &*self.device }
    }

    /// The buffer type behind a C object, if it is one of ours.
    ///
    /// # Safety
    /// `raw` is null or a live buffer type.
    pub unsafe fn of(raw: ggml_backend_buffer_type_t) -> Option<&'static BufferType> {
        // SAFETY: live by this function's contract.
        let raw = unsafe { raw.as_ref() }?;
        // SAFETY: the allocation function is ours alone, so the context is the one that `new` set.
        same_function!(raw.iface.alloc_buffer, VTABLE.alloc_buffer)
            .then(|| unsafe { &*raw.context.cast::<BufferType>() })
    }
}

static VTABLE: ggml_backend_buffer_type_i = ggml_backend_buffer_type_i {
    get_name: Some(get_name),
    alloc_buffer: Some(alloc_buffer),
    get_alignment: Some(get_alignment),
    get_max_size: Some(get_max_size),
    get_alloc_size: Some(get_alloc_size),
    is_host: Some(is_host),
};

/// # Safety
/// `raw` is one of our buffer types; ggml calls the functions of a vtable with nothing else.
unsafe fn context(raw: ggml_backend_buffer_type_t) -> &'static BufferType {
    // SAFETY: set by `new`, never freed.
    unsafe { &*(*raw).context.cast::<BufferType>() }
}

unsafe extern "C" fn get_name(raw: ggml_backend_buffer_type_t) -> *const c_char {
    // SAFETY: see `context`.
    unsafe { context(raw) }.name.as_ptr()
}

unsafe extern "C" fn alloc_buffer(raw: ggml_backend_buffer_type_t, size: usize) -> ggml_backend_buffer_t {
    guard("alloc_buffer", ptr::null_mut(), || {
        // SAFETY: see `context`.
        let buffer_type = unsafe { context(raw) };
        match buffer_type.device().session.allocate(size) {
            Ok(memory) => buffer::wrap(buffer_type, memory, size),
            Err(error) => {
                log::error!(
                    "{}: cannot allocate {:.1} MiB: {error}",
                    buffer_type.name.to_string_lossy(),
                    size as f64 / 1048576.0
                );
                ptr::null_mut()
            }
        }
    })
}

unsafe extern "C" fn get_alignment(_: ggml_backend_buffer_type_t) -> usize {
    ALIGNMENT
}

unsafe extern "C" fn get_max_size(_: ggml_backend_buffer_type_t) -> usize {
    guard("get_max_size", 1 << 30, || Config::get().max_buffer_bytes())
}

unsafe extern "C" fn get_alloc_size(raw: ggml_backend_buffer_type_t, tensor: *const ggml_tensor) -> usize {
    guard("get_alloc_size", 0, || {
        // SAFETY: see `context`; ggml passes a live tensor.
        let (kind, t) = unsafe { (context(raw).kind, Tensor::from_ptr(tensor)) };
        let Some(t) = t else { return 0 };
        match storage::tile_layout(t).filter(|_| kind == Kind::Tiles) {
            Some(layout) => layout.tiled_bytes(),
            // SAFETY: a live tensor.
            None => t.bytes().or_else(|| base().ok().map(|base| unsafe { (base.nbytes)(t.as_ptr()) })).unwrap_or(0),
        }
    })
}

unsafe extern "C" fn is_host(raw: ggml_backend_buffer_type_t) -> bool {
    // SAFETY: see `context`.
    guard("is_host", false, || Config::get().hostbuf && !unsafe { context(raw) }.holds_tiles())
}

#[cfg(test)]
mod tests;
