//! ggml backend for the Hexagon NPU, loaded by ggml as a plug-in.
//!
//! How a graph gets to the DSP and back:
//!
//! 1. [`ggml`]: ggml calls a vtable function; `backend::graph_compute` hands over the nodes.
//! 2. [`graph`]: decides which nodes are computed and splits them into batches.
//! 3. [`ops`]: one file an op family says what it supports and how its arguments look on the wire.
//! 4. [`batch`]: writes ops, tensors and buffers in the wire format of `include/htp/wire.h`.
//! 5. [`dsp`]: a session sends the batch through the driver's queue and waits for the answer.
//! 6. `htp-kernels/`: the DSP checks the batch, runs each op on its threads and answers.
//!
//! [`layout`] turns weights into the tiles that the kernels load, when a program uploads them.

// The driver of tests/ is written for users of this crate.
#[cfg(test)]
extern crate self as ggml_hexagon;

pub mod batch;
pub mod config;
pub mod dsp;
pub mod error;
pub mod ggml;
pub mod graph;
pub mod layout;
pub mod ops;

use ggml::bindings::{ggml_backend_reg_t, ggml_backend_t};
use ggml::guard::guard;

/// Entry point of a ggml plug-in: the registry with its devices; null, with a line in the log, when the ggml that
/// loads the plug-in is not one that it knows.
#[no_mangle]
pub extern "C" fn ggml_backend_init() -> ggml_backend_reg_t {
    ggml_backend_hexagon_reg()
}

/// The registry, for programs that link this library. See `include/ggml-hexagon.h`.
#[no_mangle]
pub extern "C" fn ggml_backend_hexagon_reg() -> ggml_backend_reg_t {
    guard("ggml_backend_hexagon_reg", std::ptr::null_mut(), ggml::registry::registry)
}

/// A backend on the first device; null when there is no device. See `include/ggml-hexagon.h`.
#[no_mangle]
pub extern "C" fn ggml_backend_hexagon_init() -> ggml_backend_t {
    guard("ggml_backend_hexagon_init", std::ptr::null_mut(), || {
        ggml::registry::first_device().map_or(std::ptr::null_mut(), ggml::backend::create)
    })
}

/// Whether `backend` belongs to this library.
///
/// # Safety
/// `backend` is null or a live ggml backend.
#[no_mangle]
pub unsafe extern "C" fn ggml_backend_is_hexagon(backend: ggml_backend_t) -> bool {
    // SAFETY: by this function's contract.
    guard("ggml_backend_is_hexagon", false, || unsafe { ggml::backend::is_ours(backend) })
}
