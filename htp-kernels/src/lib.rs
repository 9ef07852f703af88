//! The DSP side of ggml-hexagon, built for the host: the same C sources that make the DSP library of a device.
//!
//! `runtime/` checks and runs batches, `ops/` holds the kernels on top of `hvx/`, `skel/` is the end of the remote
//! interface, `platform/posix/` makes a Linux process of it all. Rust only gives it an entry point; the simulated
//! driver starts the program `htp-dsp`, which calls [`dsp_main`].

use std::ffi::{c_char, c_int, CString};

extern "C" {
    fn htp_dsp_main() -> c_int;
    fn htp_check_main(argc: c_int, argv: *mut *mut c_char) -> c_int;
}

/// Runs the DSP process on the socket that the environment names (see `htp-sim/PROTOCOL.md`).
///
/// Returns an exit code only when it cannot begin; when the host goes away, it ends the process.
pub fn dsp_main() -> i32 {
    // SAFETY: the function takes no arguments. It must be called once in a process, by the thread that is to run the
    // remote calls; a second call would serve the same socket twice, which is useless but touches no foreign memory.
    unsafe { htp_dsp_main() }
}

/// Checks every kernel against its scalar reference, or those of the op families that are named after the program's
/// own name; returns the exit code.
pub fn check_main(args: impl Iterator<Item = String>) -> i32 {
    let args: Vec<CString> = args.filter_map(|arg| CString::new(arg).ok()).collect();
    let mut argv: Vec<*mut c_char> = args.iter().map(|arg| arg.as_ptr().cast_mut()).collect();
    let argc = argv.len() as c_int;
    argv.push(std::ptr::null_mut());
    // SAFETY: argv has argc strings and a null behind them, all alive during the call, which does not write to them.
    unsafe { htp_check_main(argc, argv.as_mut_ptr()) }
}
