//! Device buffers: the vtable. What the functions do to the memory is [`Buffer`]'s, in `storage`.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::base::base;
use super::bindings::*;
use super::buffer_type::BufferType;
use super::guard::guard;
use super::storage::{AccessError, Buffer};
use super::tensor::Tensor;
use crate::dsp::MappedBuffer;

/// Makes a ggml buffer of `size` bytes over `memory`; null when ggml cannot.
pub fn wrap(buffer_type: &BufferType, memory: Arc<MappedBuffer>, size: usize) -> ggml_backend_buffer_t {
    let Ok(base) = base() else { return ptr::null_mut() };
    let context = Box::into_raw(Box::new(Buffer::new(memory, buffer_type.holds_tiles())));
    // SAFETY: the vtable's functions expect the context that is given here; ggml frees it through free_buffer.
    unsafe { (base.buffer_init)(buffer_type.as_ptr(), VTABLE, context.cast(), size) }
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

/// Reports an access that ggml has no way to refuse; `None`: one that overflows.
fn report(function: &str, t: Tensor, result: Option<Result<(), AccessError>>) {
    match result {
        Some(Ok(())) => {}
        Some(Err(error)) => log::error!("{function} on {t:?} did nothing: {error}"),
        None => log::error!("{function} on {t:?} did nothing: its sizes and strides overflow"),
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
    guard("get_base", ptr::null_mut(), || unsafe { context(buffer) }.as_ptr().cast())
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
            report("memset_tensor", t, Some(context.fill(t, value, offset, size)));
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

/// Offsets of the pieces of a 2-D transfer in the tensor and in the data; `None` when one is beyond all memory.
fn pieces(
    offset: usize,
    size: usize,
    count: usize,
    stride_tensor: usize,
    stride_data: usize,
) -> Option<impl Iterator<Item = (usize, usize)>> {
    let last = count.saturating_sub(1);
    // The last piece reaches furthest.
    last.checked_mul(stride_tensor)?.checked_add(offset)?.checked_add(size)?;
    last.checked_mul(stride_data)?.checked_add(size)?;
    Some((0..count).map(move |piece| (offset + piece * stride_tensor, piece * stride_data)))
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
        let result = pieces(offset, size, n_copies, stride_tensor, stride_data).map(|mut pieces| {
            pieces.try_for_each(|(offset, at)| {
                // SAFETY: ggml passes memory of `size` bytes at each multiple of stride_data.
                let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>().add(at), size) };
                context.write(t, offset, data)
            })
        });
        report("set_tensor", t, result);
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
        let result = pieces(offset, size, n_copies, stride_tensor, stride_data).map(|mut pieces| {
            pieces.try_for_each(|(offset, at)| {
                // SAFETY: ggml passes memory of `size` bytes at each multiple of stride_data.
                let data = unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>().add(at), size) };
                context.read(t, offset, data)
            })
        });
        report("get_tensor", t, result);
    });
}

/// Copies a tensor between two buffers of ours; false leaves it to ggml, which then reads and writes it.
unsafe extern "C" fn cpy_tensor(buffer: ggml_backend_buffer_t, src: *const ggml_tensor, dst: *mut ggml_tensor) -> bool {
    guard("cpy_tensor", false, || {
        // SAFETY: ggml passes a live buffer of ours and live tensors of equal layout, dst in the buffer.
        let (to, src, dst) = unsafe { (context(buffer), Tensor::from_ptr(src), Tensor::from_ptr(dst)) };
        let (Some(src), Some(dst)) = (src, dst) else { return false };
        // SAFETY: src lives in a live buffer.
        let Some(from) = (unsafe { of(src.buffer()) }) else { return false };
        to.copy(dst, from, src).unwrap_or_else(|error| {
            log::error!("a copy from {src:?} to {dst:?} is not possible: {error}");
            false
        })
    })
}

unsafe extern "C" fn clear(buffer: ggml_backend_buffer_t, value: u8) {
    guard("clear", (), || {
        // SAFETY: ggml passes a live buffer of ours.
        if let Err(error) = unsafe { context(buffer) }.clear(value) {
            log::error!("clear did not reach all of the buffer: {error}");
        }
    });
}

#[cfg(test)]
mod tests;
