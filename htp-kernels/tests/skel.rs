//! Marshalling of htp_iface: what the skel refuses, and the life of a session.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/local.rs"]
mod local;

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use common::*;

const BAD_PARAMETER: u32 = 0x8000_040e;
const UNSUPPORTED_METHOD: u32 = 0x8000_0414;
const BAD_STATE: u32 = 0x8000_040d;
const BAD_VERSION: u32 = 0x8000_0404;

const START: u32 = 2;
const STOP: u32 = 3;
const ETM: u32 = 4;
const COUNT_EVENTS: u32 = 6;
const HWINFO: u32 = 5;

/// `skel_arg` of skel.h.
#[repr(C)]
#[derive(Clone, Copy)]
union Arg {
    buf: ArgBuf,
    h64: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct ArgBuf {
    pv: *mut c_void,
    len: u32,
}

extern "C" {
    fn htp_iface_skel_handle_invoke(handle: u64, scalars: u32, args: *mut Arg) -> i32;
}

fn scalars(method: u32, n_in: u32, n_out: u32, in_handles: u32, out_handles: u32) -> u32 {
    method << 24 | n_in << 16 | n_out << 8 | in_handles << 4 | out_handles
}

fn buffer(bytes: &mut [u8]) -> Arg {
    Arg { buf: ArgBuf { pv: bytes.as_mut_ptr().cast(), len: bytes.len() as u32 } }
}

fn invoke(handle: u64, scalars: u32, args: &mut [Arg]) -> u32 {
    // links the library that holds the C code
    let _ = htp_kernels::dsp_main as fn() -> i32;
    // SAFETY: the tests below pass as many arguments as the method needs, or counts that the skel must refuse.
    unsafe { htp_iface_skel_handle_invoke(handle, scalars, args.as_mut_ptr()) as u32 }
}

fn open_with(length: &mut [u8], uri: &mut [u8]) -> Result<u64, u32> {
    let mut args = [buffer(length), buffer(uri), Arg { h64: 0 }];
    match invoke(0, scalars(0, 2, 0, 0, 1), &mut args) {
        // SAFETY: a successful open has written the handle.
        0 => Ok(unsafe { args[2].h64 }),
        error => Err(error),
    }
}

fn open() -> u64 {
    let mut uri = *b"file:///libggml-htp-v73.so?htp_iface_skel_handle_invoke&_modver=1.0\0";
    open_with(&mut (uri.len() as u32).to_le_bytes(), &mut uri).unwrap()
}

fn close(handle: u64) -> u32 {
    invoke(0, scalars(1, 0, 0, 1, 0), &mut [Arg { h64: handle }])
}

fn start(handle: u64, args: Start) -> u32 {
    let mut bytes = vec![0];
    bytes.extend(args.bytes());
    invoke(handle, scalars(START, 1, 0, 0, 0), &mut [buffer(&mut bytes[1..])]) // unaligned, as may happen
}

fn hwinfo(handle: u64) -> HwInfo {
    let mut bytes = [0xee; 25];
    assert_eq!(invoke(handle, scalars(HWINFO, 0, 1, 0, 0), &mut [buffer(&mut bytes[1..])]), 0);
    HwInfo::from_bytes(&bytes[1..])
}

/// The handle table and VTCM are one a process.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const ARGS: Start = Start { session_id: 3, n_hvx: 2, queue_id: local::QUEUE, use_hmx: 0, version: VERSION };

#[test]
fn open_checks_its_uri() {
    let _alone = alone();
    let length = |n: u32| n.to_le_bytes();
    assert_eq!(open_with(&mut length(3)[..3], &mut b"ab\0".to_vec()), Err(BAD_PARAMETER));
    assert_eq!(open_with(&mut length(0), &mut b"ab\0".to_vec()), Err(BAD_PARAMETER));
    assert_eq!(open_with(&mut length(4), &mut b"ab\0".to_vec()), Err(BAD_PARAMETER));
    assert_eq!(open_with(&mut length(2), &mut b"ab\0".to_vec()), Err(BAD_PARAMETER)); // no NUL at the end
    assert_eq!(open_with(&mut length(u32::MAX), &mut b"ab\0".to_vec()), Err(BAD_PARAMETER));
    let handle = open_with(&mut length(3), &mut b"ab\0".to_vec()).unwrap();
    assert_ne!(handle, 0);
    assert_eq!(close(handle), 0);
}

#[test]
fn scalars_must_be_exact() {
    let _alone = alone();
    let handle = open();
    let mut bytes = [0u8; 64];
    for (method, n_in, n_out, h_in, h_out) in [
        (0, 2, 0, 0, 1),
        (1, 0, 0, 1, 0),
        (START, 1, 0, 0, 0),
        (STOP, 0, 0, 0, 0),
        (ETM, 1, 0, 0, 0),
        (HWINFO, 0, 1, 0, 0),
        (COUNT_EVENTS, 1, 0, 0, 0),
    ] {
        let right = scalars(method, n_in, n_out, h_in, h_out);
        for wrong in [right + (1 << 16), right + (1 << 8), right + (1 << 4), right + 1, right ^ (0x80 << 16)] {
            let mut args = [buffer(&mut bytes); 8];
            assert_eq!(invoke(handle, wrong, &mut args), BAD_PARAMETER, "method {method}, scalars {wrong:#x}");
        }
    }
    for method in 7..32 {
        assert_eq!(invoke(handle, scalars(method, 0, 0, 0, 0), &mut []), UNSUPPORTED_METHOD);
    }
    assert_eq!(close(handle), 0);
}

#[test]
fn short_buffers_are_refused() {
    let _alone = alone();
    let handle = open();
    let mut bytes = [0; 36];
    for (method, n_in, n_out, size) in [(START, 1, 0, 24), (ETM, 1, 0, 4), (HWINFO, 0, 1, 24), (COUNT_EVENTS, 1, 0, 36)]
    {
        let word = scalars(method, n_in, n_out, 0, 0);
        assert_eq!(invoke(handle, word, &mut [buffer(&mut bytes[..size - 1])]), BAD_PARAMETER);
        let missing = Arg { buf: ArgBuf { pv: std::ptr::null_mut(), len: size as u32 } };
        assert_eq!(invoke(handle, word, &mut [missing]), BAD_PARAMETER);
    }
    assert_eq!(close(handle), 0);
}

#[test]
fn handles_are_checked() {
    let _alone = alone();
    let first = open();
    assert_eq!(close(first), 0);
    let second = open(); // perhaps in the place of the first
    for stale in [first, 0, u64::MAX, second ^ (1 << 32), second + 8] {
        assert_eq!(close(stale), BAD_PARAMETER);
        assert_eq!(invoke(stale, scalars(STOP, 0, 0, 0, 0), &mut []), BAD_PARAMETER);
    }
    let rest: Vec<u64> = (0..7).map(|_| open()).collect();
    let mut uri = *b"x\0";
    assert!(open_with(&mut 2u32.to_le_bytes(), &mut uri).is_err()); // the table is full
    assert!(rest.into_iter().chain([second]).all(|handle| close(handle) == 0));
}

#[test]
fn session_life() {
    let _alone = alone();
    let handle = open();
    let before = hwinfo(handle);
    assert_eq!((before.arch, before.vtcm_bytes, before.version, before.reserved), (73, 0, VERSION, 0));
    assert!((1..=16).contains(&before.n_hvx));

    let stop = |handle| invoke(handle, scalars(STOP, 0, 0, 0, 0), &mut []);
    assert_eq!(stop(handle), BAD_STATE);
    assert_eq!(start(handle, Start { version: VERSION + 1, ..ARGS }), BAD_VERSION);
    assert_eq!(start(handle, ARGS), BAD_PARAMETER); // no such queue
                                                    // SAFETY: plain values.
    unsafe { local::posix_queue_declare(local::QUEUE, 65536) };
    for n_hvx in [0, 1, 1000] {
        // what the failures above took has been given back, or this would fail
        assert_eq!(start(handle, Start { n_hvx, ..ARGS }), 0);
        assert_eq!(start(handle, ARGS), BAD_STATE);
        assert_eq!(hwinfo(handle).vtcm_bytes, 8 << 20);
        let other = open();
        assert_ne!(start(other, ARGS), 0); // VTCM and queue are taken
        assert_eq!(close(other), 0);
        assert_eq!(stop(handle), 0);
        assert_eq!(hwinfo(handle).vtcm_bytes, 0);
    }
    assert_eq!(start(handle, ARGS), 0);
    assert_eq!(close(handle), 0); // stops it
    let again = open();
    assert_eq!(start(again, ARGS), 0);
    assert_eq!(close(again), 0);
    // SAFETY: plain values.
    unsafe { local::posix_queue_remove(local::QUEUE) };
}

#[test]
fn events_are_checked_and_not_simulated() {
    let _alone = alone();
    let handle = open();
    let count = |n_events, events| {
        let mut bytes = Events { n_events, events }.bytes();
        invoke(handle, scalars(COUNT_EVENTS, 1, 0, 0, 0), &mut [buffer(&mut bytes)])
    };
    assert_eq!(count(0, [0; 8]), 0);
    assert_eq!(count(8, [1023; 8]), UNSUPPORTED_METHOD);
    assert_eq!(count(9, [1; 8]), BAD_PARAMETER);
    assert_eq!(count(8, [1, 2, 3, 4, 5, 6, 7, 1024]), BAD_PARAMETER);
    assert_eq!(count(u32::MAX, [1; 8]), BAD_PARAMETER);
    assert_eq!(close(handle), 0);
}

#[test]
fn etm_is_accepted() {
    let _alone = alone();
    let handle = open();
    for enable in [1u32, 0] {
        assert_eq!(invoke(handle, scalars(ETM, 1, 0, 0, 0), &mut [buffer(&mut enable.to_le_bytes())]), 0);
    }
    assert_eq!(close(handle), 0);
}
