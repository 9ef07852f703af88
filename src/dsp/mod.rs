//! The DSP as safe Rust: what it can do, memory that it shares, and a session that runs batches on it.
//!
//! ```text
//! Capabilities   what the driver says about the DSP
//! Session        one DSP process; opens it again when it died. One lock: calls from several threads take turns
//!   ├─ Connection   what bring-up set up, in order; dropping it tears down exactly that, in reverse
//!   │    └─ remote     calls of the htp_iface interface
//!   ├─ packet       requests and responses as bytes
//!   └─ MappedBuffer  shared memory that the session's process has mapped
//!        └─ SharedMemory  rpcmem
//! ```
//!
//! Who recovers from what: a batch that the DSP refuses ([`crate::error::Error::Batch`]) leaves the session as it is.
//! A transport error, a time-out or an answer that makes no sense ends the connection at once; the next call opens a
//! new one and maps all buffers again. Their memory belongs to this process, so nothing in it is lost.

mod capabilities;
mod connection;
mod memory;
mod packet;
mod remote;
mod session;

pub use capabilities::Capabilities;
pub use memory::{MappedBuffer, SharedMemory};
pub use session::{BatchReport, HwInfo, Session};

use crate::error::Error;

/// The error of a driver call, if its code is one. `subject` says what the call was for.
fn check(call: &'static str, code: i32, subject: impl FnOnce() -> String) -> Result<(), Error> {
    match code {
        SUCCESS => Ok(()),
        code => Err(Error::Call { call, subject: subject(), code }),
    }
}

const SUCCESS: i32 = hexagon_sdk_sys::AEE_SUCCESS as i32;
/// The compute DSP's domain, before any session of its own is reserved.
const CDSP_DOMAIN: i32 = hexagon_sdk_sys::CDSP_DOMAIN_ID as i32;
