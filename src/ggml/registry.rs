//! The registry, `HTP`: finds the driver and opens a session for each device, once in a process.

use std::ffi::{c_char, c_void, CStr};
use std::ptr;
use std::sync::{Arc, OnceLock};

use hexagon_sdk_sys::FastRpc;

use super::base::base;
use super::bindings::*;
use super::device::{self, Device};
use super::guard::guard;
use crate::config::Config;
use crate::dsp::{Capabilities, Session};
use crate::error::Error;

/// What `ggml_backend_reg::context` points to.
struct Registry {
    raw: ggml_backend_reg,
    devices: Vec<&'static Device>,
}

// SAFETY: nothing changes after construction; the devices are Sync.
unsafe impl Sync for Registry {}
// SAFETY: as above.
unsafe impl Send for Registry {}

static REGISTRY: OnceLock<Option<&'static Registry>> = OnceLock::new();

/// The registry of this process; null when ggml is missing or has another ABI, which is said once.
pub fn registry() -> ggml_backend_reg_t {
    let registry = REGISTRY.get_or_init(|| {
        // First the logger: reading the configuration may warn.
        super::log::init();
        super::log::set_verbose(Config::get().verbose > 0);
        if let Err(reason) = base().map_err(String::from).and_then(|base| base.check_abi()) {
            log::error!("{reason}");
            return None;
        }
        let registry = Box::leak(Box::new(Registry {
            raw: ggml_backend_reg {
                api_version: GGML_BACKEND_API_VERSION as i32,
                iface: VTABLE,
                context: ptr::null_mut(),
            },
            devices: Vec::new(),
        }));
        registry.raw.context = ptr::from_mut(registry).cast();
        registry.devices = open_devices(ptr::from_mut(&mut registry.raw));
        Some(registry)
    });
    registry.map_or(ptr::null_mut(), |registry| ptr::from_ref(&registry.raw).cast_mut())
}

/// The first device, for programs that ask for "the" Hexagon backend.
pub fn first_device() -> Option<&'static Device> {
    registry();
    REGISTRY.get().copied().flatten().and_then(|registry| registry.devices.first().copied())
}

/// Opens a session for each device that the configuration asks for. Without a driver or a usable DSP there is none,
/// and one line says why.
fn open_devices(reg: ggml_backend_reg_t) -> Vec<&'static Device> {
    let config = Config::get();
    let mut devices = Vec::new();
    if let Err(error) = try_open_devices(config, reg, &mut devices) {
        if devices.is_empty() && config.driver.is_none() {
            // Most machines have no Hexagon DSP: nothing is wrong.
            log::info!("no device: {error}");
        } else {
            log::warn!("{} of {} devices: {error}", devices.len(), config.ndev);
        }
    }
    devices
}

fn try_open_devices(config: &Config, reg: ggml_backend_reg_t, devices: &mut Vec<&'static Device>) -> Result<(), Error> {
    let rpc = Arc::new(FastRpc::load(config.driver.as_deref())?);
    let capabilities = Capabilities::query(&rpc, config)?;
    for index in 0..config.ndev {
        let session = Session::open(Arc::clone(&rpc), index, config, &capabilities)?;
        devices.push(Device::new(index, session, capabilities.arch, reg));
    }
    Ok(())
}

static VTABLE: ggml_backend_reg_i = ggml_backend_reg_i {
    get_name: Some(get_name),
    get_device_count: Some(get_device_count),
    get_device: Some(get_device),
    get_proc_address: Some(get_proc_address),
};

/// # Safety
/// `raw` is our registry; ggml calls the functions of a vtable with nothing else.
unsafe fn context(raw: ggml_backend_reg_t) -> &'static Registry {
    // SAFETY: set above, never freed.
    unsafe { &*(*raw).context.cast::<Registry>() }
}

unsafe extern "C" fn get_name(_: ggml_backend_reg_t) -> *const c_char {
    c"HTP".as_ptr()
}

unsafe extern "C" fn get_device_count(raw: ggml_backend_reg_t) -> usize {
    // SAFETY: see `context`.
    unsafe { context(raw) }.devices.len()
}

unsafe extern "C" fn get_device(raw: ggml_backend_reg_t, index: usize) -> ggml_backend_dev_t {
    // SAFETY: see `context`.
    unsafe { context(raw) }.devices.get(index).map_or(ptr::null_mut(), |device| device.as_ptr())
}

/// Functions beyond the backend interface.
unsafe extern "C" fn get_proc_address(_: ggml_backend_reg_t, name: *const c_char) -> *mut c_void {
    guard("get_proc_address", ptr::null_mut(), || {
        // SAFETY: ggml passes a string.
        match unsafe { CStr::from_ptr(name) }.to_bytes() {
            b"ggml_backend_dev_get_extra_bufts" => device::get_extra_bufts as *mut c_void,
            _ => ptr::null_mut(),
        }
    })
}
