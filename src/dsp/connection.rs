//! A connection to one DSP process: bring-up and teardown.
//!
//! Bring-up goes in the order that works on devices. Each step that was done is noted in the [`Connection`]; dropping
//! it, after whichever step, undoes exactly the noted ones, in reverse. Nothing in teardown is fatal.

use std::ffi::{c_char, c_void, CStr, CString};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use hexagon_sdk_sys::{self as sys, FastRpc};

use super::memory::SharedMemory;
use super::packet::RESPONSE_ROOM;
use super::{check, remote, CDSP_DOMAIN, SUCCESS};
use crate::batch::wire::{htp_iface_hwinfo, htp_iface_start, HTP_WIRE_VERSION};
use crate::error::Error;

const CDSP_NAME: &str = "cdsp";
/// Rings of the queue: some thousand packets of ours.
const REQUEST_RING_BYTES: u32 = 128 << 10;
const RESPONSE_RING_BYTES: u32 = 64 << 10;
/// The driver appends about 30 characters to a URI of less than 100.
const URI_ROOM: usize = 256;

/// What a session wants of its DSP process.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Number of the session, for the DSP and for the driver: all but the first have to be reserved.
    pub index: usize,
    /// `HTPn`, for messages.
    pub name: String,
    /// Architecture, for the library's name.
    pub arch: u32,
    /// Worker threads, 0 for all.
    pub n_hvx: u32,
    /// Whether the matrix unit may be used.
    pub use_hmx: bool,
    /// Whether to trace.
    pub etm: bool,
    /// Hardware events to count.
    pub events: Vec<u32>,
}

/// A session of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionIds {
    domain: i32,
    session: u32,
}

/// Why a connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The process is dead, or nothing that it says can be trusted.
    Broken,
    /// It does not answer; calls to it would not return either.
    Hung,
}

/// Connections of this process that count hardware events. The DSP has one set of counters, so the last turns it off.
static COUNTING: AtomicUsize = AtomicUsize::new(0);

/// A DSP process that runs the library, with a queue to it.
pub struct Connection {
    rpc: Arc<FastRpc>,
    name: String,
    ids: SessionIds,
    handle: Option<sys::remote_handle64>,
    queue: Option<sys::dspqueue_t>,
    etm: bool,
    counts_events: bool,
    started: bool,
    hwinfo: htp_iface_hwinfo,
    mapped: Vec<Arc<SharedMemory>>,
    loss: Option<Loss>,
}

// SAFETY: the driver's handles and queues are not tied to a thread; &mut and the session's lock keep calls apart.
unsafe impl Send for Connection {}

impl Connection {
    /// Brings a DSP process up. `reservation` keeps the driver's session from one attempt to the next while no process
    /// has run in it: the driver only takes it back when a process ends.
    ///
    /// # Errors
    /// The step that failed; everything before it is undone.
    pub fn open(rpc: &Arc<FastRpc>, plan: &Plan, reservation: &mut Option<SessionIds>) -> Result<Connection, Error> {
        let subject = || format!("for {}", plan.name);
        let ids = match *reservation {
            Some(ids) => ids,
            None => reserve(rpc, plan)?,
        };
        *reservation = Some(ids);
        let library = format!("libggml-htp-v{}.so", plan.arch);
        let uri = session_uri(rpc, plan, ids, &library);
        allow_unsigned(rpc, ids, subject)?;

        let mut this = Connection {
            rpc: Arc::clone(rpc),
            name: plan.name.clone(),
            ids,
            handle: None,
            queue: None,
            etm: false,
            counts_events: false,
            started: false,
            hwinfo: htp_iface_hwinfo::default(),
            mapped: Vec::new(),
            loss: None,
        };
        let mut handle = 0;
        // SAFETY: a C string, and a place for the handle.
        let code = unsafe { (rpc.remote_handle64_open)(uri.as_ptr(), &mut handle) };
        check("remote_handle64_open", code, || format!("of {library} for {} ({})", plan.name, search_path()))?;
        this.handle = Some(handle);
        *reservation = None;

        this.reduce_latency(handle);
        let mut queue = std::ptr::null_mut();
        let (domain, context) = (ids.domain, std::ptr::null_mut());
        // SAFETY: no callbacks, so no context, and a place for the queue.
        let code = unsafe {
            (rpc.dspqueue_create)(domain, 0, REQUEST_RING_BYTES, RESPONSE_RING_BYTES, None, None, context, &mut queue)
        };
        check("dspqueue_create", code, subject)?;
        this.queue = Some(queue);
        let mut queue_id = 0;
        // SAFETY: the queue is open, and there is a place for its number.
        check("dspqueue_export", unsafe { (rpc.dspqueue_export)(queue, &mut queue_id) }, subject)?;

        if plan.etm {
            match remote::etm(rpc, handle, true) {
                SUCCESS => this.etm = true,
                code => log::warn!("{}: tracing cannot be turned on ({code:#x})", plan.name),
            }
        }
        let start = htp_iface_start {
            session_id: u32::try_from(plan.index).unwrap_or(u32::MAX),
            n_hvx: plan.n_hvx,
            queue_id,
            use_hmx: plan.use_hmx.into(),
            version: HTP_WIRE_VERSION,
        };
        check("htp_iface_start", remote::start(rpc, handle, start), subject)?;
        this.started = true;
        check("htp_iface_hwinfo", remote::hwinfo(rpc, handle, &mut this.hwinfo), subject)?;
        if this.hwinfo.version != HTP_WIRE_VERSION {
            let (found, expected) = (this.hwinfo.version, HTP_WIRE_VERSION);
            return Err(Error::WireVersion { arch: plan.arch, found, expected });
        }
        this.count_events(handle, &plan.events);
        let SessionIds { domain, session } = ids;
        log::debug!("{}: session {session}, domain {domain}, {}", plan.name, uri.to_string_lossy());
        Ok(this)
    }

    /// Whether the hardware events of the plan are counted.
    pub fn counts_events(&self) -> bool {
        self.counts_events
    }

    /// Counts the hardware events, if any. Where that is not possible, profiles do without.
    fn count_events(&mut self, handle: sys::remote_handle64, events: &[u32]) {
        if events.is_empty() {
            return;
        }
        match remote::count_events(&self.rpc, handle, events) {
            SUCCESS => {
                self.counts_events = true;
                COUNTING.fetch_add(1, Ordering::Relaxed);
            }
            code => log::warn!("{}: hardware events cannot be counted ({code:#x})", self.name),
        }
    }

    /// What the DSP library found.
    pub fn hwinfo(&self) -> &htp_iface_hwinfo {
        &self.hwinfo
    }

    /// Maps memory into the DSP process. It is unmapped when the connection ends, if not before.
    pub fn map(&mut self, memory: &Arc<SharedMemory>) -> Result<(), Error> {
        let (domain, bytes) = (self.ids.domain, memory.mapped_bytes());
        let (base, flags): (*mut c_void, _) = (memory.as_ptr().cast(), sys::FASTRPC_MAP_FD as i32);
        // SAFETY: live shared memory of at least that size, which `mapped` keeps alive.
        let code = unsafe { (self.rpc.fastrpc_mmap)(domain, memory.fd(), base, 0, bytes, flags) };
        check("fastrpc_mmap", code, || format!("of {bytes} bytes for {}", self.name))?;
        self.mapped.push(Arc::clone(memory));
        Ok(())
    }

    /// Undoes [`Connection::map`].
    pub fn unmap(&mut self, memory: &Arc<SharedMemory>) {
        if let Some(at) = self.mapped.iter().position(|mapped| Arc::ptr_eq(mapped, memory)) {
            let memory = self.mapped.swap_remove(at);
            self.unmap_one(&memory);
        }
    }

    fn unmap_one(&self, memory: &SharedMemory) {
        let (base, bytes): (*mut c_void, _) = (memory.as_ptr().cast(), memory.mapped_bytes());
        // SAFETY: mapped by `map` with the same arguments, and still alive.
        let code = unsafe { (self.rpc.fastrpc_munmap)(self.ids.domain, memory.fd(), base, bytes) };
        self.report("fastrpc_munmap", code);
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// The driver's code.
    pub fn send(&self, packet: &[u8], timeout: Option<Duration>) -> Result<(), i32> {
        let queue = self.queue.ok_or(sys::AEE_EBADSTATE as i32)?;
        let length = u32::try_from(packet.len()).map_err(|_| sys::AEE_EBADPARM as i32)?;
        // SAFETY: an open queue and a packet of that length; no buffers.
        let code = unsafe {
            (self.rpc.dspqueue_write)(queue, 0, 0, std::ptr::null_mut(), length, packet.as_ptr(), micros(timeout))
        };
        if code == SUCCESS {
            Ok(())
        } else {
            Err(code)
        }
    }

    /// Takes the next packet; `None` when none came in time.
    ///
    /// # Errors
    /// The driver's code.
    pub fn receive<'a>(&self, room: &'a mut [u8; RESPONSE_ROOM], timeout: Duration) -> Result<Option<&'a [u8]>, i32> {
        const EXPIRED: i32 = sys::AEE_EEXPIRED as i32;
        const WOULD_BLOCK: i32 = sys::AEE_EWOULDBLOCK as i32;
        let queue = self.queue.ok_or(sys::AEE_EBADSTATE as i32)?;
        let (mut flags, mut buffers, mut length) = (0, 0, 0);
        let no_buffers = std::ptr::null_mut();
        // SAFETY: an open queue, room for a message of that length and for no buffers, and places for the three counts.
        let code = unsafe {
            (self.rpc.dspqueue_read)(
                queue,
                &mut flags,
                0,
                &mut buffers,
                no_buffers,
                RESPONSE_ROOM as u32,
                &mut length,
                room.as_mut_ptr(),
                micros(Some(timeout)),
            )
        };
        match code {
            // a driver that claims to have written more than there is room for is not believed
            SUCCESS => Ok(Some(&room[..(length as usize).min(RESPONSE_ROOM)])),
            EXPIRED | WOULD_BLOCK => Ok(None),
            code => Err(code),
        }
    }

    /// Ends the connection to a process that is dead or cannot be trusted: without calls to it.
    pub fn abandon(mut self) {
        self.loss = Some(Loss::Broken);
    }

    /// Ends the connection to a process that does not answer: it is killed first, for calls that close its handles
    /// would wait for it.
    pub fn kill(mut self) {
        self.loss = Some(Loss::Hung);
    }

    /// Lets the processor wake up faster for answers. A driver that does not know this is only slower.
    fn reduce_latency(&self, handle: sys::remote_handle64) {
        let Some(control) = self.rpc.remote_handle64_control else { return };
        let mut latency = sys::remote_rpc_control_latency { enable: 1, latency: 0 };
        let data: *mut c_void = (&raw mut latency).cast();
        // SAFETY: an open handle; the request's argument is this structure, of this size.
        let code = unsafe { control(handle, sys::DSPRPC_CONTROL_LATENCY, data, size_of_val(&latency) as u32) };
        if code != SUCCESS {
            log::warn!("{}: latency cannot be reduced ({code:#x}); generation may be slower", self.name);
        }
    }

    fn kill_process(&self) {
        let mut clean = sys::remote_rpc_process_clean_params { domain: self.ids.domain };
        self.report("remote_session_control(FASTRPC_REMOTE_PROCESS_KILL)", {
            // SAFETY: the argument of this request.
            unsafe { session_control(&self.rpc, sys::FASTRPC_REMOTE_PROCESS_KILL, &mut clean) }
        });
    }

    /// An error of teardown: nothing can be done about it. After a loss it is expected.
    fn report(&self, call: &str, code: i32) {
        if code != SUCCESS {
            let level = if self.loss.is_some() { log::Level::Debug } else { log::Level::Warn };
            log::log!(level, "{}: {call} failed with {code:#x} while closing", self.name);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.loss == Some(Loss::Hung) {
            self.kill_process();
        }
        while let Some(memory) = self.mapped.pop() {
            self.unmap_one(&memory);
        }
        let counted_last = self.counts_events && COUNTING.fetch_sub(1, Ordering::Relaxed) == 1;
        if let (Some(handle), None) = (self.handle, self.loss) {
            if self.started {
                self.report("htp_iface_stop", remote::stop(&self.rpc, handle));
            }
            if counted_last {
                self.report("htp_iface_count_events", remote::count_events(&self.rpc, handle, &[]));
            }
            if self.etm {
                self.report("htp_iface_etm", remote::etm(&self.rpc, handle, false));
            }
        }
        if let Some(queue) = self.queue {
            // SAFETY: opened by `open`, closed once.
            self.report("dspqueue_close", unsafe { (self.rpc.dspqueue_close)(queue) });
        }
        if let Some(handle) = self.handle {
            // SAFETY: as above.
            self.report("remote_handle64_close", unsafe { (self.rpc.remote_handle64_close)(handle) });
        }
    }
}

/// A time-out as the queue functions take it. A longer one than they can express becomes the longest.
fn micros(timeout: Option<Duration>) -> u32 {
    let longest = sys::DSPQUEUE_TIMEOUT_NONE - 1;
    timeout
        .map_or(sys::DSPQUEUE_TIMEOUT_NONE, |time| u32::try_from(time.as_micros()).map_or(longest, |t| t.min(longest)))
}

/// # Safety
/// `T` is the structure that the request takes, and what its pointers point at is as large as it says.
unsafe fn session_control<T>(rpc: &FastRpc, request: u32, argument: &mut T) -> i32 {
    // SAFETY: by this function's contract; used during the call only.
    unsafe { (rpc.remote_session_control)(request, std::ptr::from_mut(argument).cast(), size_of::<T>() as u32) }
}

/// A text for the driver, which takes `char *` and only reads it.
fn text(text: &str) -> (*mut c_char, u32) {
    (text.as_ptr().cast_mut().cast(), text.len() as u32)
}

/// The first session is there for everyone; others have to be asked for.
fn reserve(rpc: &FastRpc, plan: &Plan) -> Result<SessionIds, Error> {
    if plan.index == 0 {
        return Ok(SessionIds { domain: CDSP_DOMAIN, session: 0 });
    }
    let ((domain_name, domain_name_len), (session_name, session_name_len)) = (text(CDSP_NAME), text(&plan.name));
    let mut ask = sys::remote_rpc_reserve_new_session {
        domain_name,
        domain_name_len,
        session_name,
        session_name_len,
        ..Default::default()
    };
    // SAFETY: the argument of this request, with texts that outlive the call.
    let code = unsafe { session_control(rpc, sys::FASTRPC_RESERVE_NEW_SESSION, &mut ask) };
    check("remote_session_control(FASTRPC_RESERVE_NEW_SESSION)", code, || format!("for {}", plan.name))?;
    // the driver's ids are small; a larger one would not be found by any call
    let domain = i32::try_from(ask.effective_domain_id).unwrap_or(-1);
    Ok(SessionIds { domain, session: ask.session_id })
}

/// How the driver finds library and session. Old drivers cannot say, and take the forms below.
fn session_uri(rpc: &FastRpc, plan: &Plan, ids: SessionIds, library: &str) -> CString {
    let module = format!("file:///{library}?htp_iface_skel_handle_invoke&_modver=1.0");
    let mut room = [0u8; URI_ROOM];
    let ((domain_name, domain_name_len), (module_uri, module_uri_len)) = (text(CDSP_NAME), text(&module));
    let mut ask = sys::remote_rpc_get_uri {
        domain_name,
        domain_name_len,
        session_id: ids.session,
        module_uri,
        module_uri_len,
        uri: room.as_mut_ptr().cast(),
        uri_len: URI_ROOM as u32,
    };
    // SAFETY: the argument of this request, with texts and room that outlive the call.
    let code = unsafe { session_control(rpc, sys::FASTRPC_GET_URI, &mut ask) };
    match (code, CStr::from_bytes_until_nul(&room)) {
        (SUCCESS, Ok(uri)) if !uri.is_empty() => return uri.to_owned(),
        (code, _) => log::debug!("{}: FASTRPC_GET_URI gives no URI ({code:#x})", plan.name),
    }
    let fallback = match ids.session {
        0 => format!("{module}&_dom={CDSP_NAME}"),
        session => format!("{module}&_dom={CDSP_NAME}&_session={session}"),
    };
    // CString::new fails on inner NULs only, which there are none of
    CString::new(fallback).unwrap_or_default()
}

/// Allows libraries without a signature: ours has none on Linux and Android.
fn allow_unsigned(rpc: &FastRpc, ids: SessionIds, subject: impl FnOnce() -> String) -> Result<(), Error> {
    let mut ask = sys::remote_rpc_control_unsigned_module { domain: ids.domain, enable: 1 };
    // SAFETY: the argument of this request.
    let code = unsafe { session_control(rpc, sys::DSPRPC_CONTROL_UNSIGNED_MODULE, &mut ask) };
    check("remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE)", code, subject)
}

/// Where the driver looks for the library, for the message when it does not find it.
fn search_path() -> String {
    match std::env::var_os("ADSP_LIBRARY_PATH") {
        Some(path) => format!("ADSP_LIBRARY_PATH={}", path.to_string_lossy()),
        None => "ADSP_LIBRARY_PATH is not set".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outs_fit_the_queue_functions() {
        assert_eq!(micros(None), sys::DSPQUEUE_TIMEOUT_NONE);
        assert_eq!(micros(Some(Duration::from_millis(5))), 5000);
        assert_eq!(micros(Some(Duration::from_secs(4294))), 4_294_000_000);
        assert_eq!(micros(Some(Duration::from_secs(100_000))), sys::DSPQUEUE_TIMEOUT_NONE - 1);
        assert_eq!(micros(Some(Duration::from_micros(u32::MAX.into()))), sys::DSPQUEUE_TIMEOUT_NONE - 1);
    }
}
