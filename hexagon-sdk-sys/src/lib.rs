//! Raw declarations of Qualcomm's FastRPC, rpcmem and dspqueue interfaces, and a table of their functions that is
//! filled when the program runs. No policy: what to call, in which order and what an error means is the caller's.
//!
//! The declarations come from `include/hexagon_driver.h` by way of the committed `bindings/driver.rs`
//! (`cargo xtask bindings` makes it again). Functions keep their C names and signatures:
//!
//! ```no_run
//! let rpc = hexagon_sdk_sys::FastRpc::load(None)?;
//! let mut handle = 0;
//! // SAFETY: the URI is a C string and `handle` can be written to.
//! let code = unsafe { (rpc.remote_handle64_open)(c"file:///lib.so?entry&_dom=cdsp".as_ptr(), &mut handle) };
//! # Ok::<(), hexagon_sdk_sys::LoadError>(())
//! ```

// Generated code: C names, no docs, and bindgen's own unsafe blocks without comments.
#[allow(missing_docs, non_camel_case_types, non_snake_case, clippy::undocumented_unsafe_blocks)]
mod bindings {
    include!("bindings/driver.rs");
}

#[cfg(any(windows, test))]
mod driver_store;
#[cfg(test)]
mod layout;
mod library;
mod table;

pub use bindings::*;
pub use table::{FastRpc, Functions, LoadError};
