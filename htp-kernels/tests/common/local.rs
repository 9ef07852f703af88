//! The DSP side inside the test process: no host, buffers of this process itself.
#![allow(dead_code, missing_docs)]

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::common::{Response, Shared, Start, VERSION};

extern "C" {
    pub fn posix_map_declare(fd: u32, size: u64);
    pub fn posix_map_remove(fd: u32);
    pub fn posix_queue_declare(id: u64, response_bytes: u32);
    pub fn posix_queue_remove(id: u64);
    fn htp_runtime_start(runtime: *mut *mut c_void, args: *const Start) -> i32;
    fn htp_runtime_stop(runtime: *mut c_void);
    fn htp_runtime_packet(runtime: *mut c_void, message: *const u8, length: u32, response: *mut Response);
}

pub const QUEUE: u64 = 0x1_0000_0009;

/// A session. There is one VTCM, so one session at a time.
pub struct Runtime {
    runtime: *mut c_void,
    _one_at_a_time: MutexGuard<'static, ()>,
}

impl Runtime {
    pub fn start(n_hvx: u32) -> Self {
        Self::start_with(n_hvx, false)
    }

    pub fn start_with(n_hvx: u32, use_hmx: bool) -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        // links the library that holds the C code
        let _ = htp_kernels::dsp_main as fn() -> i32;
        let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let args = Start { session_id: 1, n_hvx, queue_id: QUEUE, use_hmx: use_hmx.into(), version: VERSION };
        let mut runtime = std::ptr::null_mut();
        // SAFETY: both pointers are valid for the call, and the queue has been declared.
        let error = unsafe {
            posix_queue_declare(QUEUE, 65536);
            htp_runtime_start(&mut runtime, &args)
        };
        assert_eq!(error, 0);
        Self { runtime, _one_at_a_time: guard }
    }

    pub fn packet(&self, message: &[u8]) -> Response {
        let mut response = Response { usecs: u64::MAX, ..Response::default() };
        // SAFETY: the session is started, its queue brings no packets, and the message is as long as said.
        unsafe { htp_runtime_packet(self.runtime, message.as_ptr(), message.len() as u32, &mut response) }
        response
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // SAFETY: the session is started and not used after this.
        unsafe {
            htp_runtime_stop(self.runtime);
            posix_queue_remove(QUEUE);
        }
    }
}

/// Registers a buffer as the host would.
pub fn declare(shared: &Shared) {
    // SAFETY: plain values.
    unsafe { posix_map_declare(shared.fd, shared.size as u64) }
}

pub fn undeclare(shared: &Shared) {
    // SAFETY: plain values.
    unsafe { posix_map_remove(shared.fd) }
}
