//! Calls of `htp_iface`, the FastRPC interface of the DSP library: structures and method numbers are in
//! `include/htp/wire.h`.

use std::ffi::c_void;

use hexagon_sdk_sys::{remote_arg, remote_buf, remote_handle64, FastRpc};

use crate::batch::wire::*;

/// Structures that go over the wire: integers of fixed width, without padding, valid for any bits.
trait Plain: Copy {}
impl Plain for htp_iface_start {}
impl Plain for htp_iface_etm {}
impl Plain for htp_iface_events {}
impl Plain for htp_iface_hwinfo {}

const _: () = assert!(size_of::<htp_iface_start>() == 24 && size_of::<htp_iface_etm>() == 4);
const _: () = assert!(size_of::<htp_iface_events>() == 36 && size_of::<htp_iface_hwinfo>() == 24);

/// Starts the service behind the queue. Returns the driver's code, as all functions here.
pub fn start(rpc: &FastRpc, handle: remote_handle64, mut start: htp_iface_start) -> i32 {
    invoke(rpc, handle, HTP_IFACE_START, 1, 0, &mut [buffer(&mut start)])
}

/// Stops the service: no packet is taken from the queue any more.
pub fn stop(rpc: &FastRpc, handle: remote_handle64) -> i32 {
    invoke(rpc, handle, HTP_IFACE_STOP, 0, 0, &mut [])
}

/// Turns the trace hardware on or off.
pub fn etm(rpc: &FastRpc, handle: remote_handle64, enable: bool) -> i32 {
    invoke(rpc, handle, HTP_IFACE_ETM, 1, 0, &mut [buffer(&mut htp_iface_etm { enable: enable.into() })])
}

/// Chooses the hardware events that batches with a profile count; none: no more counting. Events that there is no room
/// for are left out.
pub fn count_events(rpc: &FastRpc, handle: remote_handle64, events: &[u32]) -> i32 {
    let mut chosen = htp_iface_events::default();
    for (to, event) in chosen.events.iter_mut().zip(events) {
        *to = *event;
        chosen.n_events += 1;
    }
    invoke(rpc, handle, HTP_IFACE_COUNT_EVENTS, 1, 0, &mut [buffer(&mut chosen)])
}

/// Reads what the DSP library found.
pub fn hwinfo(rpc: &FastRpc, handle: remote_handle64, info: &mut htp_iface_hwinfo) -> i32 {
    invoke(rpc, handle, HTP_IFACE_HWINFO, 0, 1, &mut [buffer(info)])
}

fn buffer<T: Plain>(value: &mut T) -> remote_arg {
    remote_arg { buf: remote_buf { pv: std::ptr::from_mut(value).cast::<c_void>(), nLen: size_of::<T>() } }
}

/// `args`: that many input buffers, then output buffers, each of a [`Plain`] value that the caller holds.
fn invoke(
    rpc: &FastRpc,
    handle: remote_handle64,
    method: u32,
    inputs: u32,
    outputs: u32,
    args: &mut [remote_arg],
) -> i32 {
    debug_assert_eq!((inputs + outputs) as usize, args.len());
    let scalars = method << 24 | inputs << 16 | outputs << 8;
    // SAFETY: as many arguments as the scalars word says, all buffers made by `buffer` from values that outlive the
    // call; the driver writes to the outputs only, which may have any bits. It checks the handle itself.
    unsafe { (rpc.remote_handle64_invoke)(handle, scalars, args.as_mut_ptr()) }
}
