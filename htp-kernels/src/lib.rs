//! The DSP side of ggml-hexagon, built for the host: the same C sources that make the DSP library of a device.
//!
//! `runtime/` checks and runs batches, `ops/` holds the kernels on top of `hvx/`, `skel/` is the end of the remote
//! interface, `platform/posix/` makes a Linux process of it all. Rust only gives it an entry point; the simulated
//! driver starts the program `htp-dsp`, which calls [`dsp_main`].

use std::os::raw::c_int;

extern "C" {
    fn htp_dsp_main() -> c_int;
}

/// Runs the DSP process on the socket that the environment names (see `htp-sim/PROTOCOL.md`).
///
/// Returns an exit code only when it cannot begin; when the host goes away, it ends the process.
pub fn dsp_main() -> i32 {
    // SAFETY: the function takes no arguments. It must be called once in a process, by the thread that is to run the
    // remote calls; a second call would serve the same socket twice, which is useless but touches no foreign memory.
    unsafe { htp_dsp_main() }
}
