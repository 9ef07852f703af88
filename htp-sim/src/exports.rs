//! The driver's C ABI: every symbol that a host loads, with the names and types of `hexagon_driver.h`.
//!
//! All functions return an `AEEResult` unless said otherwise. Each checks pointers and lengths (`AEE_EBADPARM`), asks
//! whether a fault is to be injected, and keeps panics inside (`AEE_EFAILED`).

use std::ffi::{c_char, c_int, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::code::{to_c, Code, Result};
use crate::control;
use crate::driver::Driver;
use crate::protocol::Scalars;
use crate::queue::{Callbacks, Queue, QueueOptions};
use crate::settings::Settings;
use crate::sys;

/// Flags of a packet that `dspqueue_read` reports: it can be read, and it has a message.
const PACKET_READY: u32 = 0x10;
const PACKET_MESSAGE: u32 = 0x01;

/// Argument of `FASTRPC_GET_EFFECTIVE_DOMAIN_ID`.
#[repr(C)]
pub struct EffectiveDomainId {
    /// In: name of the DSP.
    pub domain_name: *mut c_char,
    /// In: its length.
    pub domain_name_len: u32,
    /// In: which session.
    pub session_id: u32,
    /// Out.
    pub effective_domain_id: u32,
}

/// The device of this process, as its environment describes it.
fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| Driver::new(Settings::from_environment()))
}

/// Runs the body of an exported function. `injected` makes its result from a fault's code, `broken` stands for a panic.
fn guard<T>(call: &str, injected: impl FnOnce(i32) -> T, broken: T, body: impl FnOnce(&Driver) -> T) -> T {
    // state that a panic may have left half changed is behind locks that the driver releases; every entry is checked
    // again by the next call
    catch_unwind(AssertUnwindSafe(|| {
        let driver = driver();
        match driver.settings().faults.of_call(call) {
            Some(code) => injected(code),
            None => body(driver),
        }
    }))
    .unwrap_or(broken)
}

/// [`guard`] for functions that return an AEEResult.
fn result(call: &str, body: impl FnOnce(&Driver) -> Result<()>) -> c_int {
    guard(call, |code| code, Code::FAILED.0, |driver| to_c(body(driver)))
}

/// What a pointer of the host points at, for reading and writing.
///
/// # Safety
/// The pointer is null or points at a `T` that nobody else uses during the call.
unsafe fn target<'a, T>(pointer: *mut T) -> Result<&'a mut T> {
    // SAFETY: the caller vouches for it.
    unsafe { pointer.as_mut() }.ok_or(Code::BAD_PARM)
}

/// The argument of a control request: `length` has to be its size.
///
/// # Safety
/// `data` is null or points at `length` bytes that nobody else uses during the call.
unsafe fn argument<'a, T>(data: *mut c_void, length: u32) -> Result<&'a mut T> {
    let data = data.cast::<T>();
    if length as usize != size_of::<T>() || !data.is_aligned() {
        return Err(Code::BAD_PARM);
    }
    // SAFETY: the length was checked, the rest the caller vouches for. Arguments are plain data, valid for any bits.
    unsafe { target(data) }
}

/// Bytes of the host. An empty buffer may be null.
///
/// # Safety
/// The pointer is null or points at `length` bytes that nobody changes during the call.
unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> Result<&'a [u8]> {
    match (pointer.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Code::BAD_PARM),
        // SAFETY: the caller vouches for the buffer; no object is longer than isize.
        (false, length) if length <= isize::MAX as usize => Ok(unsafe { std::slice::from_raw_parts(pointer, length) }),
        _ => Err(Code::BAD_PARM),
    }
}

/// A text of the host with a length: it ends there, or at a NUL before.
///
/// # Safety
/// As for [`bytes`].
unsafe fn text<'a>(pointer: *const c_char, length: u32) -> Result<&'a str> {
    // SAFETY: the same conditions.
    let bytes = unsafe { bytes(pointer.cast(), length as usize) }?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) if !text.is_empty() => Ok(text),
        _ => Err(Code::BAD_PARM),
    }
}

/// When a time-out from now ends; None: never.
fn deadline(timeout_us: u32) -> Option<Instant> {
    (timeout_us != sys::DSPQUEUE_TIMEOUT_NONE).then(|| Instant::now() + Duration::from_micros(timeout_us.into()))
}

// ---- rpcmem ----

/// Allocates a buffer that host and DSP share. Returns its address, null when there is no room. Heap and flags do not
/// matter here: all buffers are alike.
#[no_mangle]
pub extern "C" fn rpcmem_alloc(_heap: c_int, _flags: u32, size: c_int) -> *mut c_void {
    allocate("rpcmem_alloc", usize::try_from(size).unwrap_or(0))
}

/// [`rpcmem_alloc`] for any size.
#[no_mangle]
pub extern "C" fn rpcmem_alloc2(_heap: c_int, _flags: u32, size: usize) -> *mut c_void {
    allocate("rpcmem_alloc2", size)
}

fn allocate(call: &str, size: usize) -> *mut c_void {
    let null = std::ptr::null_mut();
    guard(call, |_| null, null, |driver| driver.allocate(size).map_or(null, |address| address as *mut c_void))
}

/// Frees a buffer. Returns nothing; null and unknown addresses are left alone.
///
/// # Safety
/// Nobody uses the buffer any more.
#[no_mangle]
pub unsafe extern "C" fn rpcmem_free(pointer: *mut c_void) {
    guard("rpcmem_free", |_| (), (), |driver| driver.free(pointer as usize));
}

/// The file descriptor of a buffer, -1 when the address is not the start of one.
#[no_mangle]
pub extern "C" fn rpcmem_to_fd(pointer: *mut c_void) -> c_int {
    guard("rpcmem_to_fd", |code| code, -1, |driver| driver.buffer_fd(pointer as usize).unwrap_or(-1))
}

/// Maps a buffer to the DSP. The address does not matter here.
#[no_mangle]
pub extern "C" fn fastrpc_mmap(
    domain: c_int,
    fd: c_int,
    _address: *mut c_void,
    offset: c_int,
    length: usize,
    flags: c_int,
) -> c_int {
    result("fastrpc_mmap", |driver| driver.map(domain, fd, offset, length, flags))
}

/// Reverses [`fastrpc_mmap`]. Like the device's driver it goes by the descriptor alone.
#[no_mangle]
pub extern "C" fn fastrpc_munmap(domain: c_int, fd: c_int, _address: *mut c_void, _length: usize) -> c_int {
    result("fastrpc_munmap", |driver| driver.unmap(domain, fd))
}

// ---- remote calls ----

/// Opens a handle of the library that the URI names.
///
/// # Safety
/// `uri` is null or a C string, `handle` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn remote_handle64_open(uri: *const c_char, handle: *mut sys::remote_handle64) -> c_int {
    result("remote_handle64_open", |driver| {
        // SAFETY: promised by the caller of this function.
        let handle = unsafe { target(handle) }?;
        if uri.is_null() {
            return Err(Code::BAD_PARM);
        }
        // SAFETY: not null, and a C string as promised.
        let uri = unsafe { CStr::from_ptr(uri) }.to_str().map_err(|_| Code::BAD_PARM)?;
        *handle = driver.open(uri)?;
        Ok(())
    })
}

/// Calls a method. Arguments: input buffers, then output buffers, as many as the scalars word says.
///
/// # Safety
/// `arguments` is null or holds that many arguments with buffers of the lengths that they say.
#[no_mangle]
pub unsafe extern "C" fn remote_handle64_invoke(
    handle: sys::remote_handle64,
    scalars: u32,
    arguments: *mut sys::remote_arg,
) -> c_int {
    result("remote_handle64_invoke", |driver| {
        let word = scalars;
        let scalars = Scalars::from_word(word);
        let count = scalars.inputs + scalars.outputs;
        if count > 0 && (arguments.is_null() || !arguments.is_aligned()) {
            return Err(Code::BAD_PARM);
        }
        let buffers: Vec<sys::remote_buf> = (0..count)
            // SAFETY: the caller gives that many arguments, all of them buffers; any bits are a valid remote_buf.
            .map(|index| unsafe { (*arguments.add(index)).buf })
            .collect();
        let (inputs, outputs) = buffers.split_at(scalars.inputs);
        let inputs = inputs
            .iter()
            // SAFETY: promised by the caller of this function; they are read before any output is written.
            .map(|buffer| unsafe { bytes(buffer.pv.cast(), buffer.nLen) })
            .collect::<Result<Vec<_>>>()?;
        let lengths = outputs
            .iter()
            .map(|buffer| match u32::try_from(buffer.nLen) {
                Ok(length) if length == 0 || !buffer.pv.is_null() => Ok(length),
                _ => Err(Code::BAD_PARM),
            })
            .collect::<Result<Vec<_>>>()?;
        let results = driver.invoke(handle, word, &inputs, &lengths)?;
        for (buffer, result) in outputs.iter().zip(results) {
            // SAFETY: the driver returns no more bytes than the buffer has, and non-empty buffers are not null. No
            // reference to host memory is used any more, should an input overlap it.
            unsafe { buffer.pv.cast::<u8>().copy_from(result.as_ptr(), result.len()) };
        }
        Ok(())
    })
}

/// Closes a handle. It is closed also when the result is not success.
#[no_mangle]
pub extern "C" fn remote_handle64_close(handle: sys::remote_handle64) -> c_int {
    result("remote_handle64_close", |driver| driver.close(handle))
}

/// Requests that belong to no handle: `DSPRPC_GET_DSP_INFO`, `DSPRPC_CONTROL_LATENCY`.
///
/// # Safety
/// `data` is null or points at `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn remote_handle_control(request: u32, data: *mut c_void, length: u32) -> c_int {
    // SAFETY: promised by the caller of this function.
    result("remote_handle_control", |driver| unsafe { handle_control(driver, request, data, length) })
}

/// The same requests for a handle.
///
/// # Safety
/// `data` is null or points at `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn remote_handle64_control(
    handle: sys::remote_handle64,
    request: u32,
    data: *mut c_void,
    length: u32,
) -> c_int {
    result("remote_handle64_control", |driver| {
        driver.check_handle(handle)?;
        // SAFETY: promised by the caller of this function.
        unsafe { handle_control(driver, request, data, length) }
    })
}

/// # Safety
/// `data` is null or points at `length` bytes.
unsafe fn handle_control(driver: &Driver, request: u32, data: *mut c_void, length: u32) -> Result<()> {
    match request {
        sys::DSPRPC_GET_DSP_INFO => {
            // SAFETY: promised by the caller of this function.
            let answer: &mut sys::remote_dsp_capability = unsafe { argument(data, length) }?;
            answer.capability = control::capability(driver.settings(), answer.domain, answer.attribute_ID)?;
            Ok(())
        }
        sys::DSPRPC_CONTROL_LATENCY => {
            // nothing to do: there is no clock that could be slow
            // SAFETY: promised by the caller of this function.
            let _: &mut sys::remote_rpc_control_latency = unsafe { argument(data, length) }?;
            Ok(())
        }
        _ => Err(Code::UNSUPPORTED),
    }
}

/// Requests about sessions.
///
/// # Safety
/// `data` is null or points at `length` bytes; pointers in it are null or point at as many bytes as it says.
#[no_mangle]
pub unsafe extern "C" fn remote_session_control(request: u32, data: *mut c_void, length: u32) -> c_int {
    // SAFETY: promised by the caller of this function.
    result("remote_session_control", |driver| unsafe { session_control(driver, request, data, length) })
}

/// # Safety
/// As for [`remote_session_control`].
unsafe fn session_control(driver: &Driver, request: u32, data: *mut c_void, length: u32) -> Result<()> {
    // SAFETY, for all blocks: the caller promises what `argument`, `text` and `copy_from` need.
    match request {
        sys::DSPRPC_CONTROL_UNSIGNED_MODULE => {
            // SAFETY: see above.
            let ask: &mut sys::remote_rpc_control_unsigned_module = unsafe { argument(data, length) }?;
            driver.allow_unsigned(ask.domain, ask.enable != 0)
        }
        sys::FASTRPC_RESERVE_NEW_SESSION => {
            // SAFETY: see above.
            let ask: &mut sys::remote_rpc_reserve_new_session = unsafe { argument(data, length) }?;
            // SAFETY: see above.
            control::check_domain_name(unsafe { text(ask.domain_name, ask.domain_name_len) }?)?;
            // SAFETY: see above. The name is only for lists of sessions.
            unsafe { text(ask.session_name, ask.session_name_len) }?;
            let (session, domain) = driver.reserve_session()?;
            ask.session_id = session;
            ask.effective_domain_id = domain as u32;
            Ok(())
        }
        sys::FASTRPC_GET_EFFECTIVE_DOMAIN_ID => {
            // SAFETY: see above.
            let ask: &mut EffectiveDomainId = unsafe { argument(data, length) }?;
            // SAFETY: see above.
            control::check_domain_name(unsafe { text(ask.domain_name, ask.domain_name_len) }?)?;
            ask.effective_domain_id = control::effective_domain(ask.session_id)? as u32;
            Ok(())
        }
        sys::FASTRPC_GET_URI => {
            // SAFETY: see above.
            let ask: &mut sys::remote_rpc_get_uri = unsafe { argument(data, length) }?;
            // SAFETY: see above.
            control::check_domain_name(unsafe { text(ask.domain_name, ask.domain_name_len) }?)?;
            control::effective_domain(ask.session_id)?;
            // SAFETY: see above.
            let uri = control::session_uri(unsafe { text(ask.module_uri, ask.module_uri_len) }?, ask.session_id);
            if ask.uri.is_null() {
                return Err(Code::BAD_PARM);
            }
            if uri.len() >= ask.uri_len as usize {
                return Err(Code::BAD_SIZE);
            }
            // SAFETY: the buffer has room for the text and a NUL, and the text is memory of this function.
            unsafe {
                ask.uri.cast::<u8>().copy_from_nonoverlapping(uri.as_ptr(), uri.len());
                ask.uri.add(uri.len()).write(0);
            }
            Ok(())
        }
        // accepted, and never used: who talks to a DSP that died learns it from his calls
        sys::FASTRPC_REGISTER_STATUS_NOTIFICATIONS if !data.is_null() && length > 0 => Ok(()),
        sys::FASTRPC_REGISTER_STATUS_NOTIFICATIONS => Err(Code::BAD_PARM),
        _ => Err(Code::UNSUPPORTED),
    }
}

/// No request is supported; hosts take this function as optional.
#[no_mangle]
pub extern "C" fn remote_system_request(_request: *mut c_void) -> c_int {
    result("remote_system_request", |_| Err(Code::UNSUPPORTED))
}

// ---- dspqueue ----

/// Makes a queue to the session of a domain. Callbacks run on a thread of the driver.
///
/// # Safety
/// `queue` is null or writable; the callbacks may be called from any thread until the queue is closed.
#[no_mangle]
#[allow(clippy::too_many_arguments)] // the interface is given
pub unsafe extern "C" fn dspqueue_create(
    domain: c_int,
    flags: u32,
    request_bytes: u32,
    response_bytes: u32,
    packet_callback: sys::dspqueue_callback_fn,
    error_callback: sys::dspqueue_callback_fn,
    context: *mut c_void,
    queue: *mut sys::dspqueue_t,
) -> c_int {
    result("dspqueue_create", |driver| {
        // SAFETY: promised by the caller of this function.
        let queue = unsafe { target(queue) }?;
        if flags != 0 {
            return Err(Code::BAD_PARM);
        }
        let callbacks = Callbacks { packet: packet_callback, error: error_callback, context: context as usize };
        let token = driver.create_queue(domain, QueueOptions { request_bytes, response_bytes, callbacks })?;
        *queue = std::ptr::without_provenance_mut(token);
        Ok(())
    })
}

/// Closes a queue. No callback runs any more when this returns.
#[no_mangle]
pub extern "C" fn dspqueue_close(queue: sys::dspqueue_t) -> c_int {
    result("dspqueue_close", |driver| driver.close_queue(queue.addr()))
}

/// The number by which the DSP side finds the queue.
///
/// # Safety
/// `queue_id` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn dspqueue_export(queue: sys::dspqueue_t, queue_id: *mut u64) -> c_int {
    result("dspqueue_export", |driver| {
        // SAFETY: promised by the caller of this function.
        let queue_id = unsafe { target(queue_id) }?;
        *queue_id = driver.queue(queue.addr())?.id;
        Ok(())
    })
}

/// Writes a packet. Packets that refer to buffers are not simulated (`AEE_EUNSUPPORTED`): messages name buffers by
/// their descriptors.
///
/// # Safety
/// `message` is null or points at `message_length` bytes.
#[no_mangle]
pub unsafe extern "C" fn dspqueue_write(
    queue: sys::dspqueue_t,
    _flags: u32,
    num_buffers: u32,
    _buffers: *mut sys::dspqueue_buffer,
    message_length: u32,
    message: *const u8,
    timeout_us: u32,
) -> c_int {
    result("dspqueue_write", |driver| {
        if num_buffers > 0 {
            return Err(Code::UNSUPPORTED);
        }
        // SAFETY: promised by the caller of this function.
        let message = unsafe { bytes(message, message_length as usize) }?;
        driver.write(queue.addr(), message, deadline(timeout_us))
    })
}

/// Reads a packet, and waits for one if need be. `flags`, `num_buffers` and `message_length` may be null.
///
/// # Safety
/// The pointers are null or writable, `message` for `max_message_length` bytes.
#[no_mangle]
#[allow(clippy::too_many_arguments)] // the interface is given
pub unsafe extern "C" fn dspqueue_read(
    queue: sys::dspqueue_t,
    flags: *mut u32,
    _max_buffers: u32,
    num_buffers: *mut u32,
    _buffers: *mut sys::dspqueue_buffer,
    max_message_length: u32,
    message_length: *mut u32,
    message: *mut u8,
    timeout_us: u32,
) -> c_int {
    result("dspqueue_read", |driver| {
        let out = PacketOut { flags, num_buffers, message_length, message, max_message_length };
        // SAFETY: promised by the caller of this function.
        unsafe { out.read(driver, queue, |queue, buffer| queue.read(buffer, deadline(timeout_us))) }
    })
}

/// [`dspqueue_read`] that returns `AEE_EWOULDBLOCK` where that would wait.
///
/// # Safety
/// As for [`dspqueue_read`].
#[no_mangle]
#[allow(clippy::too_many_arguments)] // the interface is given
pub unsafe extern "C" fn dspqueue_read_noblock(
    queue: sys::dspqueue_t,
    flags: *mut u32,
    _max_buffers: u32,
    num_buffers: *mut u32,
    _buffers: *mut sys::dspqueue_buffer,
    max_message_length: u32,
    message_length: *mut u32,
    message: *mut u8,
) -> c_int {
    result("dspqueue_read_noblock", |driver| {
        let out = PacketOut { flags, num_buffers, message_length, message, max_message_length };
        // SAFETY: promised by the caller of this function.
        unsafe { out.read(driver, queue, |queue, buffer| queue.read_now(buffer)) }
    })
}

/// Where the host wants a packet.
struct PacketOut {
    flags: *mut u32,
    num_buffers: *mut u32,
    message_length: *mut u32,
    message: *mut u8,
    max_message_length: u32,
}

impl PacketOut {
    /// # Safety
    /// The pointers are null or writable, `message` for `max_message_length` bytes.
    unsafe fn read(
        &self,
        driver: &Driver,
        queue: sys::dspqueue_t,
        read: impl FnOnce(&Queue, &mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        let room = self.max_message_length as usize;
        let buffer = match (self.message.is_null(), room) {
            (_, 0) => &mut [],
            (true, _) => return Err(Code::BAD_PARM),
            // SAFETY: promised by the caller; the bytes are written, and never read.
            (false, room) => unsafe { std::slice::from_raw_parts_mut(self.message, room) },
        };
        let length = read(&*driver.queue(queue.addr())?, buffer)?;
        let flags = if length > 0 { PACKET_READY | PACKET_MESSAGE } else { PACKET_READY };
        // no message is longer than a u32: it fitted into the buffer
        for (pointer, value) in [(self.flags, flags), (self.num_buffers, 0), (self.message_length, length as u32)] {
            // SAFETY: promised by the caller.
            if let Some(target) = unsafe { pointer.as_mut() } {
                *target = value;
            }
        }
        Ok(())
    }
}
