//! A driver for protocol tests: the function table of `hexagon-sdk-sys` filled with functions of this program. It keeps
//! book of everything that is opened, answers packets from a second thread as a script says, and fails on demand.
//!
//! The functions have no context argument, so there is one state for the process and tests take turns.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ggml_hexagon::batch::wire::*;
use hexagon_sdk_sys::*;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// What calls return once the DSP process has died.
pub const DEAD: i32 = AEE_EINTERRUPTED as i32;
const OK: i32 = AEE_SUCCESS as i32;
const BAD_PARAMETER: i32 = AEE_EBADPARM as i32;

static TURN: Mutex<()> = Mutex::new(());
static STATE: Mutex<Option<State>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

/// Bytes of an answer to the packet with that sequence number.
pub type MakeAnswer = fn(u32) -> Vec<u8>;

/// What the peer does with a packet.
pub enum Answer {
    /// The batch succeeded.
    Good,
    /// The batch failed: status, op, detail.
    Failed(u32, u32, u32),
    /// These bytes.
    Bytes(MakeAnswer),
    /// None.
    Nothing,
    /// The process dies.
    Die,
}

#[derive(Default)]
struct State {
    /// Codes to return, by call; `None` stands for ever.
    failures: HashMap<&'static str, (i32, Option<usize>)>,
    /// Everything that happened, in order.
    log: Vec<String>,
    /// Size and descriptor by address.
    blocks: BTreeMap<usize, (usize, i32)>,
    last_fd: i32,
    maps: BTreeSet<(i32, i32)>,
    reserved: BTreeSet<u32>,
    /// Domain by handle.
    handles: BTreeMap<u64, i32>,
    last_handle: u64,
    started: BTreeSet<u64>,
    queues: BTreeMap<usize, Queue>,
    last_queue: usize,
    dead: BTreeSet<i32>,
    script: VecDeque<Answer>,
    /// Sequence numbers of all packets.
    packets: Vec<u32>,
    starts: Vec<htp_iface_start>,
    attributes: HashMap<u32, u32>,
    version: u32,
}

struct Queue {
    domain: i32,
    to_peer: Sender<Vec<u8>>,
    responses: VecDeque<Vec<u8>>,
}

/// A turn at the driver, with everything as new.
pub struct Driver {
    _turn: MutexGuard<'static, ()>,
}

impl Driver {
    pub fn new() -> Driver {
        let turn = TURN.lock();
        let attributes = [
            (DSP_ATTR_DOMAIN_SUPPORT, 1),
            (DSP_ATTR_UNSIGNED_PD_SUPPORT, 1),
            (DSP_ATTR_HVX_SUPPORT_128B, 4),
            (DSP_ATTR_VTCM_PAGE, 8 << 20),
            (DSP_ATTR_VTCM_COUNT, 1),
            (DSP_ATTR_ARCH_VER, 0x8075),
            (DSP_ATTR_HMX_SUPPORT_DEPTH, 1),
        ];
        let attributes = attributes.into();
        *STATE.lock() = Some(State { attributes, version: HTP_WIRE_VERSION, last_fd: 100, ..State::default() });
        Driver { _turn: turn }
    }

    pub fn rpc(&self) -> Arc<FastRpc> {
        Arc::new(FastRpc::from_functions(functions()))
    }

    /// An old driver: only what is required.
    pub fn old_rpc(&self) -> Arc<FastRpc> {
        let old = Functions {
            rpcmem_alloc2: None,
            remote_handle_control: None,
            remote_handle64_control: None,
            remote_system_request: None,
            dspqueue_read_noblock: None,
            ..functions()
        };
        Arc::new(FastRpc::from_functions(old))
    }

    /// Every call of this name fails with the code from now on.
    pub fn fail(&self, call: &'static str, code: u32) {
        with(|state| state.failures.insert(call, (code as i32, None)));
    }

    /// Only call number `nth` from now, counted from 1, fails.
    pub fn fail_nth(&self, call: &'static str, nth: usize, code: u32) {
        with(|state| state.failures.insert(call, (code as i32, Some(nth))));
    }

    pub fn repair(&self) {
        with(|state| state.failures.clear());
    }

    pub fn set_attribute(&self, attribute: u32, value: u32) {
        with(|state| state.attributes.insert(attribute, value));
    }

    pub fn set_version(&self, version: u32) {
        with(|state| state.version = version);
    }

    /// What the peer does with the next packets; afterwards they succeed.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        with(|state| state.script.extend(answers));
    }

    /// What happened since the last time.
    pub fn take_log(&self) -> Vec<String> {
        with(|state| std::mem::take(&mut state.log))
    }

    pub fn packets(&self) -> Vec<u32> {
        with(|state| state.packets.clone())
    }

    pub fn starts(&self) -> Vec<htp_iface_start> {
        with(|state| state.starts.clone())
    }

    /// Descriptors that are mapped in a domain.
    pub fn mapped(&self, domain: i32) -> Vec<i32> {
        with(|state| state.maps.iter().filter(|map| map.0 == domain).map(|map| map.1).collect())
    }

    pub fn blocks(&self) -> usize {
        with(|state| state.blocks.len())
    }

    pub fn reserved(&self) -> usize {
        with(|state| state.reserved.len())
    }

    /// Nothing is open, mapped, started or allocated.
    pub fn assert_idle(&self) {
        with(|state| {
            assert!(state.handles.is_empty(), "handles {:?}", state.handles);
            assert!(state.queues.is_empty(), "{} queues", state.queues.len());
            assert!(state.started.is_empty(), "started {:?}", state.started);
            assert!(state.maps.is_empty(), "maps {:?}", state.maps);
            assert!(state.blocks.is_empty(), "{} blocks of memory", state.blocks.len());
        });
    }
}

fn with<T>(body: impl FnOnce(&mut State) -> T) -> T {
    body(STATE.lock().as_mut().expect("a test has its turn"))
}

impl State {
    /// The code that this call has to return instead of doing its work.
    fn failure(&mut self, call: &'static str) -> Option<i32> {
        let (code, left) = self.failures.get_mut(call)?;
        let code = *code;
        let fails = match left {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                *left == 0
            }
        };
        if fails {
            self.log.push(format!("{call} failed"));
        }
        fails.then_some(code)
    }

    fn note(&mut self, what: impl Into<String>) {
        self.log.push(what.into());
    }

    fn close_handle(&mut self, handle: u64) -> Option<i32> {
        self.started.remove(&handle);
        let domain = self.handles.remove(&handle)?;
        if !self.handles.values().any(|other| *other == domain) {
            // the process ends: what was mapped is not any more, and a reserved session is free
            self.maps.retain(|map| map.0 != domain);
            self.reserved.remove(&(domain as u32 / 8));
            self.dead.remove(&domain);
        }
        Some(domain)
    }
}

/// Runs a call, unless it has to fail.
fn call(name: &'static str, body: impl FnOnce(&mut State) -> i32) -> i32 {
    with(|state| match state.failure(name) {
        Some(code) => code,
        None => body(state),
    })
}

/// The peer of one queue: answers packets until the queue is closed.
fn peer(token: usize, packets: Receiver<Vec<u8>>) {
    for packet in packets {
        with(|state| {
            let Some(domain) = state.queues.get(&token).map(|queue| queue.domain) else { return };
            let word = |at: usize| u32::from_le_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
            let seq = word(8);
            state.packets.push(seq);
            let known = (packet.len(), word(0), word(4)) == (32, HTP_REQUEST_MAGIC, HTP_WIRE_VERSION);
            let mapped = state.maps.contains(&(domain, word(12) as i32));
            let answer = match state.script.pop_front().unwrap_or(Answer::Good) {
                _ if !known => response(seq, HTP_STATUS_BAD_PACKET, HTP_NO_TENSOR, 0),
                _ if !mapped => response(seq, HTP_STATUS_BAD_BUFFER, HTP_NO_TENSOR, word(12)),
                Answer::Good => response(seq, HTP_STATUS_OK, HTP_NO_TENSOR, 0),
                Answer::Failed(status, op, detail) => response(seq, status, op, detail),
                Answer::Bytes(make) => make(seq),
                Answer::Nothing => return,
                Answer::Die => {
                    state.dead.insert(domain);
                    return;
                }
            };
            if let Some(queue) = state.queues.get_mut(&token) {
                queue.responses.push_back(answer);
            }
        });
        CHANGED.notify_all();
    }
}

/// A well-formed response; 2 ops done in 1000 microseconds.
pub fn response(seq: u32, status: u32, op_index: u32, detail: u32) -> Vec<u8> {
    [HTP_RESPONSE_MAGIC, seq, status, op_index, 2, detail, 1000, 0].into_iter().flat_map(u32::to_le_bytes).collect()
}

fn functions() -> Functions {
    Functions {
        rpcmem_alloc,
        rpcmem_free,
        rpcmem_to_fd,
        fastrpc_mmap,
        fastrpc_munmap,
        remote_handle64_open,
        remote_handle64_invoke,
        remote_handle64_close,
        remote_session_control,
        dspqueue_create,
        dspqueue_close,
        dspqueue_export,
        dspqueue_write,
        dspqueue_read,
        rpcmem_alloc2: Some(rpcmem_alloc2),
        remote_handle_control: Some(remote_handle_control),
        remote_handle64_control: Some(remote_handle64_control),
        remote_system_request: None,
        dspqueue_read_noblock: None,
    }
}

// ---- memory ----

fn layout(size: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(size, 4096).expect("a size that can be allocated")
}

fn allocate(name: &'static str, heap: c_int, flags: u32, size: usize) -> *mut c_void {
    with(|state| {
        let expected = (RPCMEM_HEAP_ID_SYSTEM as i32, RPCMEM_DEFAULT_FLAGS | RPCMEM_HEAP_NOREG);
        if state.failure(name).is_some() || (heap, flags) != expected || size == 0 {
            return std::ptr::null_mut();
        }
        // SAFETY: the size is not 0. Not zeroed: large blocks would be touched, and take up real memory.
        let address = unsafe { std::alloc::alloc(layout(size)) };
        assert!(!address.is_null(), "no memory for a test");
        state.last_fd += 1;
        state.blocks.insert(address.addr(), (size, state.last_fd));
        state.note(name);
        address.cast()
    })
}

unsafe extern "C" fn rpcmem_alloc(heap: c_int, flags: u32, size: c_int) -> *mut c_void {
    allocate("rpcmem_alloc", heap, flags, size.try_into().unwrap_or(0))
}

unsafe extern "C" fn rpcmem_alloc2(heap: c_int, flags: u32, size: usize) -> *mut c_void {
    allocate("rpcmem_alloc2", heap, flags, size)
}

unsafe extern "C" fn rpcmem_free(pointer: *mut c_void) {
    with(|state| {
        let (size, fd) = state.blocks.remove(&pointer.addr()).expect("memory is freed once");
        assert!(!state.maps.iter().any(|map| map.1 == fd), "memory is freed while it is mapped");
        // SAFETY: allocated above with that layout, and freed once.
        unsafe { std::alloc::dealloc(pointer.cast(), layout(size)) };
        state.note("free");
    });
}

unsafe extern "C" fn rpcmem_to_fd(pointer: *mut c_void) -> c_int {
    with(|state| match state.failure("rpcmem_to_fd") {
        Some(code) => code,
        None => state.blocks.get(&pointer.addr()).map_or(-1, |block| block.1),
    })
}

unsafe extern "C" fn fastrpc_mmap(
    domain: c_int,
    fd: c_int,
    address: *mut c_void,
    offset: c_int,
    length: usize,
    flags: c_int,
) -> c_int {
    call("fastrpc_mmap", |state| {
        let block = state.blocks.get(&address.addr()).copied();
        let fits = block.is_some_and(|(size, its_fd)| its_fd == fd && (1..=size).contains(&length));
        if !fits || offset != 0 || flags != FASTRPC_MAP_FD as i32 || !state.handles.values().any(|d| *d == domain) {
            return BAD_PARAMETER;
        }
        if state.dead.contains(&domain) {
            return DEAD;
        }
        assert!(state.maps.insert((domain, fd)), "a buffer is mapped twice");
        state.note("map");
        OK
    })
}

unsafe extern "C" fn fastrpc_munmap(domain: c_int, fd: c_int, _address: *mut c_void, _length: usize) -> c_int {
    // an unmapping that fails does not keep the buffer mapped: the books would not be right otherwise
    with(|state| {
        let failure = state.failure("fastrpc_munmap");
        let was_mapped = state.maps.remove(&(domain, fd));
        state.note("unmap");
        failure.unwrap_or(if was_mapped { OK } else { AEE_ENOSUCHMAP as i32 })
    })
}

// ---- sessions and calls ----

/// # Safety
/// `data` is the argument of a request with this structure.
unsafe fn argument<'a, T>(data: *mut c_void, length: u32) -> &'a mut T {
    assert_eq!(length as usize, size_of::<T>(), "length of a request's argument");
    // SAFETY: by this function's contract.
    unsafe { &mut *data.cast::<T>() }
}

/// # Safety
/// `text` points at `length` characters.
unsafe fn text(text: *mut c_char, length: u32) -> String {
    // SAFETY: by this function's contract.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length as usize) };
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

unsafe extern "C" fn remote_session_control(request: u32, data: *mut c_void, length: u32) -> c_int {
    match request {
        FASTRPC_RESERVE_NEW_SESSION => call("reserve", |state| {
            // SAFETY: the structure of this request.
            let ask: &mut remote_rpc_reserve_new_session = unsafe { argument(data, length) };
            // SAFETY: names with their lengths.
            let names =
                unsafe { (text(ask.domain_name, ask.domain_name_len), text(ask.session_name, ask.session_name_len)) };
            let session = (1..4).find(|session| !state.reserved.contains(session));
            let Some(session) = session else { return 0x8a };
            state.reserved.insert(session);
            (ask.session_id, ask.effective_domain_id) = (session, CDSP_DOMAIN_ID + 8 * session);
            state.note(format!("reserve {} {}", names.0, names.1));
            OK
        }),
        FASTRPC_GET_URI => call("uri", |_| {
            // SAFETY: the structure of this request.
            let ask: &mut remote_rpc_get_uri = unsafe { argument(data, length) };
            // SAFETY: texts with their lengths.
            let (name, module) =
                unsafe { (text(ask.domain_name, ask.domain_name_len), text(ask.module_uri, ask.module_uri_len)) };
            let uri = format!("{module}&_dom={name}&_session={}&asked=1\0", ask.session_id);
            assert!(uri.len() <= ask.uri_len as usize);
            // SAFETY: there is room for as many bytes.
            unsafe { ask.uri.cast::<u8>().copy_from(uri.as_ptr(), uri.len()) };
            OK
        }),
        DSPRPC_CONTROL_UNSIGNED_MODULE => call("unsigned", |state| {
            // SAFETY: the structure of this request.
            let ask: &mut remote_rpc_control_unsigned_module = unsafe { argument(data, length) };
            state.note(format!("unsigned {} {}", ask.domain, ask.enable));
            OK
        }),
        FASTRPC_REMOTE_PROCESS_KILL => call("kill", |state| {
            // SAFETY: the structure of this request.
            let ask: &mut remote_rpc_process_clean_params = unsafe { argument(data, length) };
            state.dead.insert(ask.domain);
            state.note(format!("kill {}", ask.domain));
            OK
        }),
        other => panic!("request {other}"),
    }
}

unsafe extern "C" fn remote_handle_control(request: u32, data: *mut c_void, length: u32) -> c_int {
    assert_eq!(request, DSPRPC_GET_DSP_INFO);
    call("info", |state| {
        // SAFETY: the structure of this request.
        let ask: &mut remote_dsp_capability = unsafe { argument(data, length) };
        assert_eq!(ask.domain, CDSP_DOMAIN_ID);
        match state.attributes.get(&ask.attribute_ID) {
            Some(value) => {
                ask.capability = *value;
                OK
            }
            None => AEE_EUNSUPPORTED as i32,
        }
    })
}

unsafe extern "C" fn remote_handle64_control(handle: u64, request: u32, data: *mut c_void, length: u32) -> c_int {
    assert_eq!(request, DSPRPC_CONTROL_LATENCY);
    call("latency", |state| {
        // SAFETY: the structure of this request.
        let ask: &mut remote_rpc_control_latency = unsafe { argument(data, length) };
        assert!(state.handles.contains_key(&handle) && ask.enable == 1);
        state.note("latency");
        OK
    })
}

unsafe extern "C" fn remote_handle64_open(uri: *const c_char, handle: *mut u64) -> c_int {
    call("open", |state| {
        // SAFETY: a C string.
        let uri = unsafe { CStr::from_ptr(uri) }.to_str().expect("UTF-8");
        state.note(format!("open {uri}"));
        let session: u32 = uri.split_once("_session=").map_or(0, |(_, n)| n[..1].parse().expect("a digit"));
        state.last_handle += 1;
        state.handles.insert(state.last_handle, (CDSP_DOMAIN_ID + 8 * session) as i32);
        // SAFETY: a place for the handle.
        unsafe { *handle = state.last_handle };
        OK
    })
}

unsafe extern "C" fn remote_handle64_invoke(handle: u64, scalars: u32, args: *mut remote_arg) -> c_int {
    let method = scalars >> 24;
    let shape = scalars & 0x00ff_ffff;
    let name = match method {
        HTP_IFACE_START => "start",
        HTP_IFACE_STOP => "stop",
        HTP_IFACE_ETM => "etm",
        HTP_IFACE_HWINFO => "hwinfo",
        HTP_IFACE_COUNT_EVENTS => "events",
        other => panic!("method {other}"),
    };
    call(name, |state| {
        let Some(domain) = state.handles.get(&handle) else { return BAD_PARAMETER };
        if state.dead.contains(domain) {
            return DEAD;
        }
        // SAFETY: as many arguments as the scalars say, all of them buffers.
        let first = || unsafe { (*args).buf };
        match method {
            HTP_IFACE_START => {
                assert_eq!((shape, first().nLen), (0x1_0000, size_of::<htp_iface_start>()));
                // SAFETY: a buffer of that size.
                state.starts.push(unsafe { first().pv.cast::<htp_iface_start>().read_unaligned() });
                state.started.insert(handle);
                state.note("start");
            }
            HTP_IFACE_STOP => {
                assert_eq!(shape, 0);
                assert!(state.started.remove(&handle), "stopped once, after a start");
                state.note("stop");
            }
            HTP_IFACE_ETM => {
                assert_eq!((shape, first().nLen), (0x1_0000, size_of::<htp_iface_etm>()));
                // SAFETY: a buffer of that size.
                let etm = unsafe { first().pv.cast::<htp_iface_etm>().read_unaligned() };
                state.note(format!("etm {}", etm.enable));
            }
            HTP_IFACE_COUNT_EVENTS => {
                assert_eq!((shape, first().nLen), (0x1_0000, size_of::<htp_iface_events>()));
                // SAFETY: a buffer of that size.
                let chosen = unsafe { first().pv.cast::<htp_iface_events>().read_unaligned() };
                state.note(format!("events {:?}", &chosen.events[..chosen.n_events as usize]));
            }
            _ => {
                assert_eq!((shape, first().nLen), (0x100, size_of::<htp_iface_hwinfo>()));
                let info = htp_iface_hwinfo {
                    arch: 75,
                    n_hvx: 4,
                    vtcm_bytes: 8 << 20,
                    has_hmx: 1,
                    version: state.version,
                    reserved: 0,
                };
                // SAFETY: a buffer of that size.
                unsafe { first().pv.cast::<htp_iface_hwinfo>().write_unaligned(info) };
                state.note("hwinfo");
            }
        }
        OK
    })
}

unsafe extern "C" fn remote_handle64_close(handle: u64) -> c_int {
    // a handle is closed whatever the code
    with(|state| {
        let failure = state.failure("close");
        state.note("close");
        let domain = state.close_handle(handle);
        failure.unwrap_or(if domain.is_some() { OK } else { BAD_PARAMETER })
    })
}

// ---- queues ----

unsafe extern "C" fn dspqueue_create(
    domain: c_int,
    flags: u32,
    request_bytes: u32,
    response_bytes: u32,
    packet: dspqueue_callback_fn,
    error: dspqueue_callback_fn,
    _context: *mut c_void,
    queue: *mut dspqueue_t,
) -> c_int {
    call("queue", |state| {
        assert!((flags, request_bytes, response_bytes) == (0, 128 << 10, 64 << 10) && packet.or(error).is_none());
        if !state.handles.values().any(|d| *d == domain) {
            return BAD_PARAMETER;
        }
        state.last_queue += 64;
        let token = state.last_queue;
        let (to_peer, packets) = channel();
        state.queues.insert(token, Queue { domain, to_peer, responses: VecDeque::new() });
        std::thread::spawn(move || peer(token, packets));
        // SAFETY: a place for the queue.
        unsafe { *queue = std::ptr::without_provenance_mut(token) };
        state.note(format!("queue {domain}"));
        OK
    })
}

unsafe extern "C" fn dspqueue_close(queue: dspqueue_t) -> c_int {
    with(|state| {
        let failure = state.failure("queue close");
        let known = state.queues.remove(&queue.addr()).is_some();
        state.note("queue close");
        failure.unwrap_or(if known { OK } else { BAD_PARAMETER })
    })
}

unsafe extern "C" fn dspqueue_export(queue: dspqueue_t, id: *mut u64) -> c_int {
    call("export", |state| {
        assert!(state.queues.contains_key(&queue.addr()));
        // SAFETY: a place for the number.
        unsafe { *id = queue.addr() as u64 | 1 << 40 };
        state.note("export");
        OK
    })
}

unsafe extern "C" fn dspqueue_write(
    queue: dspqueue_t,
    flags: u32,
    n_buffers: u32,
    _buffers: *mut dspqueue_buffer,
    length: u32,
    message: *const u8,
    _timeout_us: u32,
) -> c_int {
    call("write", |state| {
        assert_eq!((flags, n_buffers), (0, 0));
        let Some(queue) = state.queues.get(&queue.addr()) else { return BAD_PARAMETER };
        if state.dead.contains(&queue.domain) {
            return DEAD;
        }
        // SAFETY: a message of that length.
        let message = unsafe { std::slice::from_raw_parts(message, length as usize) };
        queue.to_peer.send(message.to_vec()).map_or(DEAD, |()| OK)
    })
}

unsafe extern "C" fn dspqueue_read(
    queue: dspqueue_t,
    flags: *mut u32,
    _max_buffers: u32,
    n_buffers: *mut u32,
    _buffers: *mut dspqueue_buffer,
    max_length: u32,
    length: *mut u32,
    message: *mut u8,
    timeout_us: u32,
) -> c_int {
    let deadline = Instant::now() + Duration::from_micros(timeout_us.into());
    let mut guard = STATE.lock();
    loop {
        let state = guard.as_mut().expect("a test has its turn");
        if let Some(code) = state.failure("read") {
            return code;
        }
        let Some(queue) = state.queues.get_mut(&queue.addr()) else { return BAD_PARAMETER };
        if let Some(response) = queue.responses.pop_front() {
            let fits = response.len().min(max_length as usize);
            // SAFETY: room for that many bytes, and places for the three counts.
            unsafe {
                message.copy_from(response.as_ptr(), fits);
                (*flags, *n_buffers, *length) = (1, 0, response.len() as u32);
            }
            return OK;
        }
        if state.dead.contains(&queue.domain) {
            return DEAD;
        }
        if CHANGED.wait_until(&mut guard, deadline).timed_out() {
            return AEE_EEXPIRED as i32;
        }
    }
}
