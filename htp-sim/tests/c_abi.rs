//! The exported functions as C sees them: null pointers, wrong lengths, and a whole session with a real process.
//! One device for the whole program, as in a host: the tests below do not disturb one another.

#![allow(clippy::unwrap_used)]

use std::ffi::{c_void, CString};
use std::ptr::{null, null_mut};

use cdsprpc::exports::*;
use cdsprpc::sys::{self, *};

const BAD_PARM: i32 = AEE_EBADPARM as i32;
const UNSUPPORTED: i32 = AEE_EUNSUPPORTED as i32;

fn data<T>(value: &mut T) -> (*mut c_void, u32) {
    (std::ptr::from_mut(value).cast(), size_of::<T>() as u32)
}

#[test]
fn null_pointers_are_refused() {
    let queue = null_mut();
    let mut handle = 0;
    let mut id = 0;
    // SAFETY: null is what these functions have to expect; the other pointers are good.
    unsafe {
        assert_eq!(remote_handle64_open(null(), &mut handle), BAD_PARM);
        assert_eq!(remote_handle64_open(c"file:///x?y".as_ptr(), null_mut()), BAD_PARM);
        assert_eq!(remote_handle64_invoke(0, 0x0201_0000, null_mut()), BAD_PARM);
        assert_eq!(remote_handle64_invoke(7, 0x0200_0000, null_mut()), 0x2c);
        assert_eq!(remote_handle64_close(0), 0x2c);
        assert_eq!(dspqueue_create(3, 0, 0, 0, None, None, null_mut(), null_mut()), BAD_PARM);
        assert_eq!(dspqueue_close(queue), BAD_PARM);
        assert_eq!(dspqueue_export(queue, &mut id), BAD_PARM);
        assert_eq!(dspqueue_write(queue, 0, 0, null_mut(), 4, null(), 0), BAD_PARM);
        assert_eq!(dspqueue_read(queue, null_mut(), 0, null_mut(), null_mut(), 4, null_mut(), null_mut(), 0), BAD_PARM);
        let read = dspqueue_read_noblock(queue, null_mut(), 0, null_mut(), null_mut(), 0, null_mut(), null_mut());
        assert_eq!(read, BAD_PARM);
        for request in [DSPRPC_CONTROL_LATENCY, DSPRPC_GET_DSP_INFO] {
            assert_eq!(remote_handle_control(request, null_mut(), 0), BAD_PARM);
        }
        for request in [
            DSPRPC_CONTROL_UNSIGNED_MODULE,
            FASTRPC_REGISTER_STATUS_NOTIFICATIONS,
            FASTRPC_RESERVE_NEW_SESSION,
            FASTRPC_GET_EFFECTIVE_DOMAIN_ID,
            FASTRPC_GET_URI,
        ] {
            for length in [0, 8, 24, 32, 48] {
                assert_eq!(remote_session_control(request, null_mut(), length), BAD_PARM, "{request} {length}");
            }
        }
        assert_eq!(remote_session_control(12345, null_mut(), 0), UNSUPPORTED);
        assert_eq!(remote_handle_control(12345, null_mut(), 0), UNSUPPORTED);
        assert_eq!(remote_system_request(null_mut()), UNSUPPORTED);
        rpcmem_free(null_mut());
    }
}

#[test]
fn memory_has_descriptors() {
    for size in [0, -1, i32::MIN] {
        assert!(rpcmem_alloc(25, 1, size).is_null());
    }
    assert!(rpcmem_alloc2(25, 1, usize::MAX).is_null());
    let buffer = rpcmem_alloc(25, 1, 5000);
    assert!(!buffer.is_null());
    let fd = rpcmem_to_fd(buffer);
    assert!(fd >= 0);
    assert_eq!(rpcmem_to_fd(null_mut()), -1);
    assert_eq!(fastrpc_munmap(3, fd, buffer, 5000), AEE_ENOSUCHMAP as i32);
    // SAFETY: nobody uses the buffer.
    unsafe { rpcmem_free(buffer) };
    assert_eq!(rpcmem_to_fd(buffer), -1);
}

#[test]
fn arguments_must_have_their_size() {
    let mut info = remote_dsp_capability { domain: 3, attribute_ID: DSP_ATTR_ARCH_VER, capability: 0 };
    let (pointer, length) = data(&mut info);
    // SAFETY: the pointers are good for at least the lengths.
    unsafe {
        assert_eq!(remote_handle_control(DSPRPC_GET_DSP_INFO, pointer, length - 4), BAD_PARM);
        assert_eq!(remote_handle_control(DSPRPC_GET_DSP_INFO, pointer, length), 0);
    }
    assert_eq!(info.capability & 0xff, 0x73);
    let mut latency = remote_rpc_control_latency { enable: 1, latency: 0 };
    let (pointer, length) = data(&mut latency);
    // SAFETY: as above.
    unsafe {
        assert_eq!(remote_handle_control(DSPRPC_CONTROL_LATENCY, pointer, length), 0);
        assert_eq!(remote_handle64_control(99, DSPRPC_CONTROL_LATENCY, pointer, length), 0x2c);
    }
}

#[test]
fn sessions_are_reserved_and_named() {
    let mut name = *b"cdsp";
    let mut label = *b"HTP1";
    let mut reserve = remote_rpc_reserve_new_session {
        domain_name: name.as_mut_ptr().cast(),
        domain_name_len: 4,
        session_name: label.as_mut_ptr().cast(),
        session_name_len: 4,
        ..Default::default()
    };
    let (pointer, length) = data(&mut reserve);
    // SAFETY: the structure and what it points at are good.
    assert_eq!(unsafe { remote_session_control(FASTRPC_RESERVE_NEW_SESSION, pointer, length) }, 0);
    assert_ne!((reserve.session_id, reserve.effective_domain_id), (0, 3));

    let mut effective = EffectiveDomainId {
        domain_name: name.as_mut_ptr().cast(),
        domain_name_len: 4,
        session_id: reserve.session_id,
        effective_domain_id: 0,
    };
    let (pointer, length) = data(&mut effective);
    // SAFETY: as above.
    assert_eq!(unsafe { remote_session_control(FASTRPC_GET_EFFECTIVE_DOMAIN_ID, pointer, length) }, 0);
    assert_eq!(effective.effective_domain_id, reserve.effective_domain_id);

    let expected = format!("file:///x?y&_dom=cdsp&_session={}", reserve.session_id);
    for (room, code) in [(expected.len(), 0x4d), (expected.len() + 1, 0), (0, 0x4d)] {
        let mut module = *b"file:///x?y";
        let mut uri = vec![0x7f_u8; room + 1];
        let mut ask = remote_rpc_get_uri {
            domain_name: name.as_mut_ptr().cast(),
            domain_name_len: 4,
            session_id: reserve.session_id,
            module_uri: module.as_mut_ptr().cast(),
            module_uri_len: 11,
            uri: uri.as_mut_ptr().cast(),
            uri_len: room as u32,
        };
        let (pointer, length) = data(&mut ask);
        // SAFETY: as above.
        assert_eq!(unsafe { remote_session_control(FASTRPC_GET_URI, pointer, length) }, code, "{room}");
        assert_eq!(uri[room], 0x7f, "nothing is written behind the buffer");
        if code == 0 {
            assert_eq!(uri[..room], [expected.as_bytes(), &[0]].concat());
        }
    }
    name = *b"adsp";
    let (pointer, length) = data(&mut reserve);
    // SAFETY: as above.
    let result = unsafe { remote_session_control(FASTRPC_RESERVE_NEW_SESSION, pointer, length) };
    assert_eq!(result, AEE_ENOSUCHDEVICE as i32);
    assert_eq!(name, *b"adsp");
}

/// A host's whole way through the interface, with the DSP process that this package builds.
#[test]
fn a_session_with_the_real_process() {
    let uri = |arch: u32| {
        let module = format!("file:///libggml-htp-v{arch}.so?htp_iface_skel_handle_invoke&_modver=1.0");
        CString::new(format!("{module}&_dom=cdsp&_session=0")).unwrap()
    };
    let mut handle = 0;
    let mut queue: dspqueue_t = null_mut();
    let mut id = 0;
    let mut word = 0_u32;
    // SAFETY: all pointers are good for the lengths given with them.
    unsafe {
        assert_eq!(remote_handle64_open(uri(73).as_ptr(), &mut handle), AEE_ECONNREFUSED as i32);
        let mut ask = remote_rpc_control_unsigned_module { domain: 3, enable: 1 };
        let (pointer, length) = data(&mut ask);
        assert_eq!(remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, pointer, length), 0);
        assert_eq!(remote_handle64_open(uri(75).as_ptr(), &mut handle), DSP_AEE_EUNABLETOLOAD as i32);
        assert_eq!(remote_handle64_open(uri(73).as_ptr(), &mut handle), 0);

        let hwinfo = method(HWINFO, 0, 1);
        let mut info = [0_u32; 6];
        let mut arguments = [argument(&mut info)];
        assert_eq!(remote_handle64_invoke(handle, hwinfo, arguments.as_mut_ptr()), 0);
        assert_eq!(info[0], 73);
        assert!(info[1] > 0, "HVX contexts: {info:?}");

        assert_eq!(dspqueue_create(3, 0, 128 << 10, 64 << 10, None, None, null_mut(), &mut queue), 0);
        assert_eq!(dspqueue_export(queue, &mut id), 0);
        // session, HVX contexts, queue, HMX, version of the wire format: as htp_iface_start is laid out
        let mut start = [0_u32, 1, id as u32, (id >> 32) as u32, 0, info[4]];
        let mut arguments = [argument(&mut start)];
        assert_eq!(remote_handle64_invoke(handle, method(START, 1, 0), arguments.as_mut_ptr()), 0);

        // what is no request is answered all the same: one packet, with a status that is not success
        assert_eq!(dspqueue_write(queue, 0, 0, null_mut(), 4, [1_u8, 2, 3, 4].as_ptr(), 1_000_000), 0);
        let mut response = [0_u32; 8];
        let (message, room) = data(&mut response);
        let (mut flags, mut buffers) = (0, 7);
        let read =
            dspqueue_read(queue, &mut flags, 0, &mut buffers, null_mut(), room, &mut word, message.cast(), 5_000_000);
        assert_eq!((read, flags, buffers, word), (0, 0x11, 0, 32));
        assert_eq!((response[0], response[2]), (0x5250_5448, 1), "magic number, status: bad packet");

        assert_eq!(remote_handle64_invoke(handle, method(STOP, 0, 0), null_mut()), 0);
        assert_eq!(dspqueue_close(queue), 0);
        assert_eq!(remote_handle64_close(handle), 0);
    }
}

const START: u32 = 2;
const STOP: u32 = 3;
const HWINFO: u32 = 5;

fn method(number: u32, inputs: u32, outputs: u32) -> u32 {
    number << 24 | inputs << 16 | outputs << 8
}

fn argument<T>(value: &mut T) -> sys::remote_arg {
    let (pv, length) = data(value);
    sys::remote_arg { buf: remote_buf { pv, nLen: length as usize } }
}
