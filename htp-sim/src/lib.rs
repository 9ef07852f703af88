//! A simulated FastRPC driver: `libcdsprpc.so` for machines without a Hexagon DSP.
//!
//! A host loads this library in place of the driver and finds the same symbols ([`exports`]). Behind them:
//!
//! ```text
//! exports   C ABI: checks pointers and lengths, keeps panics inside, injects faults
//!   └─ driver    one object holds everything; process-wide in the library, one per test in tests
//!        ├─ memory     rpcmem: memfds mapped into the host
//!        ├─ control    remote_session_control, remote_handle_control: sessions, URIs, capabilities
//!        ├─ domain     one session: its maps, its queues, its DSP process and when that process ends
//!        ├─ queue      dspqueue: packets that came from the DSP
//!        └─ process    the DSP process: socket, reader thread, calls (messages: protocol, PROTOCOL.md)
//!             └─ launch     how the program is found and started
//! ```
//!
//! The DSP process is a program of its own (`htp-dsp`), so a crash of a kernel is a crash of the DSP and not of the
//! host: every call then returns `AEE_EINTERRUPTED`, as on a device.
//!
//! # Environment
//!
//! Read once, at the first call into the library. A value that makes no sense is reported on stderr and ignored.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `HTP_SIM_ARCH` | architecture: `v68 v69 v73 v75 v79 v81`, with or without the `v` | `v73` |
//! | `HTP_SIM_ENGINE` | `native`: `htp-dsp`, built for this machine; `hexagon`: `htp-dsp-hexagon`, run by an emulator | `native` |
//! | `HTP_SIM_DSP` | the program of engine `native` | `htp-dsp` beside this library or one folder up |
//! | `HTP_SIM_DSP_HEXAGON` | the program of engine `hexagon` | `htp-dsp-hexagon`, same places |
//! | `QEMU_HEXAGON` | the emulator | `qemu-hexagon` |
//! | `HTP_SIM_MEMORY_MB` | rpcmem in all; beyond it allocations fail | no limit |
//! | `HTP_SIM_MAP_MB` | bytes mapped to one session; beyond it `fastrpc_mmap` fails | 3200 |
//! | `HTP_SIM_HMX` | read by the DSP process: whether it has the matrix unit (its model), from v73 on | 1; 0 in an emulator |
//! | `HTP_SIM_LOG` | least level of DSP log lines that are printed: `debug info warn error` | `warn` |
//! | `HTP_SIM_FAULTS` | faults to inject, see [`faults`] | none |
//!
//! Linux only: it rests on memfd, `/proc` and `SOCK_SEQPACKET`.

// a test that unwraps nothing says so by failing
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod code;
pub mod control;
pub mod domain;
pub mod driver;
pub mod exports;
pub mod faults;
pub mod launch;
pub mod memory;
pub mod process;
pub mod protocol;
pub mod queue;
pub mod settings;

mod say;

/// The driver's declarations: structures and constants.
#[path = "../../hexagon-sdk-sys/src/bindings/driver.rs"]
#[allow(missing_docs, non_camel_case_types, non_snake_case, dead_code, clippy::undocumented_unsafe_blocks)]
pub mod sys;

pub use code::Code;
pub use driver::Driver;
pub use settings::Settings;
