//! A device, `HTPn`: one DSP session.

use std::ffi::{c_char, CString};
use std::ptr;
use std::sync::Arc;

use super::backend;
use super::bindings::*;
use super::buffer_type::{BufferType, Kind};
use super::guard::guard;
use super::storage;
use super::tensor::Tensor;
use crate::config::Config;
use crate::dsp::Session;
use crate::ops::{self, Declined, Family};

/// What `ggml_backend_device::context` points to. Lives as long as the plug-in.
pub struct Device {
    /// Number of the device, and of its session.
    pub index: usize,
    /// The DSP session.
    pub session: Arc<Session>,
    /// `HTPn`.
    pub name: CString,
    description: CString,
    raw: ggml_backend_device,
    buffer_type: Option<&'static BufferType>,
    extra_buffer_types: [ggml_backend_buffer_type_t; 2],
}

// SAFETY: nothing changes after construction but the session, which has its own lock; the pointers lead to things that
// live as long as the plug-in.
unsafe impl Sync for Device {}
// SAFETY: as above.
unsafe impl Send for Device {}

impl Device {
    /// Makes the device of `session`, for the registry `reg`.
    pub fn new(index: usize, session: Arc<Session>, arch: u32, reg: ggml_backend_reg_t) -> &'static Device {
        // CString::new fails on inner NULs only, which these texts don't have.
        let text = |text: String| CString::new(text).unwrap_or_default();
        let device = Box::leak(Box::new(Device {
            index,
            session,
            name: text(format!("HTP{index}")),
            description: text(format!("Hexagon v{arch}")),
            raw: ggml_backend_device { iface: VTABLE, reg, context: ptr::null_mut() },
            buffer_type: None,
            extra_buffer_types: [ptr::null_mut(); 2],
        }));
        let context = ptr::from_mut(device);
        device.raw.context = context.cast();
        let raw = ptr::from_mut(&mut device.raw);
        device.buffer_type = Some(BufferType::new(device.name.clone(), Kind::Rows, context, raw));
        let repack = text(format!("HTP{index}-REPACK"));
        device.extra_buffer_types[0] = BufferType::new(repack, Kind::Tiles, context, raw).as_ptr();
        device
    }

    /// The C object.
    pub fn as_ptr(&self) -> ggml_backend_dev_t {
        ptr::from_ref(&self.raw).cast_mut()
    }

    /// The device behind a C object, if it is one of ours.
    ///
    /// # Safety
    /// `raw` is null or a live device.
    pub unsafe fn of(raw: ggml_backend_dev_t) -> Option<&'static Device> {
        // SAFETY: live by this function's contract.
        let raw = unsafe { raw.as_ref() }?;
        // SAFETY: the function is ours alone, so the context is the one that `new` set.
        same_function!(raw.iface.init_backend, VTABLE.init_backend).then(|| unsafe { &*raw.context.cast::<Device>() })
    }

    /// Whether the DSP can use source or result `t` of an op of `family`, which reads it as source `index`.
    fn can_use(&self, t: Tensor, family: Option<&Family>, index: Option<usize>) -> Result<(), Declined> {
        let raw = t.buffer();
        if raw.is_null() {
            return Ok(());
        }
        // The type decides, not the buffer: for an empty buffer ggml makes one without functions.
        // SAFETY: the buffer of a live tensor is live, and so is its type.
        let (buffer_type, size) = unsafe { (BufferType::of((*raw).buft), (*raw).size) };
        let Some(buffer_type) = buffer_type.filter(|kind| ptr::eq(kind.device(), self)) else {
            return Err("a tensor lies in memory that the DSP cannot reach");
        };
        let reads_tiles = family.is_some_and(|family| index.is_some() && family.tiled_source == index);
        if buffer_type.holds_tiles() {
            return if reads_tiles && storage::readable_in_tiles(t) {
                Ok(())
            } else {
                Err("a tensor is stored in tiles")
            };
        }
        // llama.cpp asks with an empty buffer where weights shall go: quantised ones into tiles.
        if size == 0 && reads_tiles && storage::tile_layout(t).is_some() {
            return Err("these weights belong into a HTPn-REPACK buffer");
        }
        Ok(())
    }

    fn supports_op(&self, node: Tensor) -> bool {
        let family = ops::find(node).map(|(family, _)| family);
        let sources = (0..GGML_MAX_SRC as usize).filter_map(|index| Some((node.src(index)?, Some(index))));
        let usable = |(t, index)| self.can_use(t, family, index);
        let verdict = if ops::is_view_op(node) {
            // Nothing is read or written: views of tiled weights are as good as others.
            if self.reaches(node) {
                Ok(())
            } else {
                Err("it lies in memory that the DSP cannot reach")
            }
        } else {
            sources.chain([(node, None)]).try_for_each(usable).and_then(|()| ops::supports(node))
        };
        if Config::get().verbose > 0 {
            log::debug!("supports op {} {node:?}: {}", node.op(), verdict.err().unwrap_or("yes"));
        }
        verdict.is_ok()
    }

    /// Whether `t` is not allocated yet, or in a buffer of this device.
    fn reaches(&self, t: Tensor) -> bool {
        let raw = t.buffer();
        // SAFETY: the buffer of a live tensor is null or live, and so is its type.
        raw.is_null() || unsafe { BufferType::of((*raw).buft) }.is_some_and(|kind| ptr::eq(kind.device(), self))
    }
}

/// Buffer types beyond the default one, for programs that place weights: a list that ends with null.
///
/// # Safety
/// `raw` is a live device.
pub unsafe extern "C" fn get_extra_bufts(raw: ggml_backend_dev_t) -> *mut ggml_backend_buffer_type_t {
    guard("get_extra_bufts", ptr::null_mut(), || {
        // SAFETY: by this function's contract.
        let device = unsafe { Device::of(raw) };
        device.map_or(ptr::null_mut(), |device| device.extra_buffer_types.as_ptr().cast_mut())
    })
}

static VTABLE: ggml_backend_device_i = ggml_backend_device_i {
    get_name: Some(get_name),
    get_description: Some(get_description),
    get_memory: Some(get_memory),
    get_type: Some(get_type),
    get_props: Some(get_props),
    init_backend: Some(init_backend),
    get_buffer_type: Some(get_buffer_type),
    get_host_buffer_type: None,
    buffer_from_host_ptr: None,
    supports_op: Some(supports_op),
    supports_buft: Some(supports_buft),
    offload_op: None,
    event_new: None,
    event_free: None,
    event_synchronize: None,
};

/// # Safety
/// `raw` is one of our devices; ggml calls the functions of a vtable with nothing else.
unsafe fn context(raw: ggml_backend_dev_t) -> &'static Device {
    // SAFETY: set by `new`, never freed.
    unsafe { &*(*raw).context.cast::<Device>() }
}

unsafe extern "C" fn get_name(raw: ggml_backend_dev_t) -> *const c_char {
    // SAFETY: see `context`.
    unsafe { context(raw) }.name.as_ptr()
}

unsafe extern "C" fn get_description(raw: ggml_backend_dev_t) -> *const c_char {
    // SAFETY: see `context`.
    unsafe { context(raw) }.description.as_ptr()
}

unsafe extern "C" fn get_memory(raw: ggml_backend_dev_t, free: *mut usize, total: *mut usize) {
    guard("get_memory", (), || {
        // SAFETY: see `context`; ggml passes two places to write to.
        unsafe {
            let (available, budget) = context(raw).session.memory();
            *free = available;
            *total = budget;
        }
    });
}

unsafe extern "C" fn get_type(_: ggml_backend_dev_t) -> ggml_backend_dev_type {
    GGML_BACKEND_DEVICE_TYPE_GPU
}

unsafe extern "C" fn get_props(raw: ggml_backend_dev_t, props: *mut ggml_backend_dev_props) {
    guard("get_props", (), || {
        // SAFETY: see `context`; ggml passes a place to write to.
        unsafe {
            let device = context(raw);
            let (memory_free, memory_total) = device.session.memory();
            *props = ggml_backend_dev_props {
                name: device.name.as_ptr(),
                description: device.description.as_ptr(),
                memory_free,
                memory_total,
                type_: GGML_BACKEND_DEVICE_TYPE_GPU,
                device_id: ptr::null(),
                caps: ggml_backend_dev_caps {
                    // graph_compute returns when the graph is done, so that it can say whether it failed.
                    async_: false,
                    host_buffer: false,
                    buffer_from_host_ptr: false,
                    events: false,
                    mmap_support: false,
                },
            };
        }
    });
}

unsafe extern "C" fn init_backend(raw: ggml_backend_dev_t, _params: *const c_char) -> ggml_backend_t {
    // SAFETY: see `context`.
    guard("init_backend", ptr::null_mut(), || backend::create(unsafe { context(raw) }))
}

unsafe extern "C" fn get_buffer_type(raw: ggml_backend_dev_t) -> ggml_backend_buffer_type_t {
    // SAFETY: see `context`.
    unsafe { context(raw) }.buffer_type.map_or(ptr::null_mut(), BufferType::as_ptr)
}

unsafe extern "C" fn supports_op(raw: ggml_backend_dev_t, op: *const ggml_tensor) -> bool {
    guard("supports_op", false, || {
        // SAFETY: see `context`; ggml passes a live tensor.
        unsafe { Tensor::from_ptr(op).is_some_and(|node| context(raw).supports_op(node)) }
    })
}

unsafe extern "C" fn supports_buft(raw: ggml_backend_dev_t, buffer_type: ggml_backend_buffer_type_t) -> bool {
    guard("supports_buft", false, || {
        // SAFETY: see `context`; ggml passes a live buffer type.
        unsafe { BufferType::of(buffer_type).is_some_and(|b| ptr::eq(b.device(), context(raw))) }
    })
}
