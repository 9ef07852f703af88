//! The driver: everything that the exported functions do, in Rust terms. Arguments are checked by their meaning here,
//! and for null pointers and lengths in [`crate::exports`].

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::code::{Code, Result};
use crate::control::{self, ModuleUri};
use crate::domain::Domain;
use crate::faults::Fate;
use crate::launch::{launch, LaunchError};
use crate::memory::Memory;
use crate::process::Process;
use crate::protocol::{decode_buffers, encode_call, Message, Scalars};
use crate::queue::{Queue, QueueOptions};
use crate::say;
use crate::settings::Settings;
use crate::sys;

/// How long closing a handle may take: a DSP that hangs must not hang the host's clean-up.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Methods that every interface has.
const METHOD_OPEN: u32 = 0;
const METHOD_CLOSE: u32 = 1;

/// Handles start here, so that no handle is 0 and none looks like one of the DSP process.
const FIRST_HANDLE: u64 = 0x1_0001;
/// Queue ids use both words of the message.
const FIRST_QUEUE_ID: u64 = 0x4854_0000_0001;
/// Distance of the numbers that stand for queues in C: they look like aligned pointers, and are never followed.
const QUEUE_TOKEN_STEP: usize = 64;

/// Makes a connection to a new DSP process: the driver's end of a socket, and the process where it is a child.
pub type Connect = Box<dyn Fn(&Settings) -> std::result::Result<(OwnedFd, Option<Child>), LaunchError> + Send + Sync>;

/// A simulated device as one process sees it.
pub struct Driver {
    settings: Settings,
    connect: Connect,
    memory: Memory,
    domains: Mutex<BTreeMap<i32, Arc<Domain>>>,
    handles: Mutex<HashMap<u64, Handle>>,
    queues: Mutex<HashMap<usize, Arc<Queue>>>,
    count: AtomicU64,
}

/// An open remote handle.
#[derive(Clone)]
struct Handle {
    domain: Arc<Domain>,
    process: Arc<Process>,
    /// The handle that the DSP process gave.
    remote: u64,
}

impl Driver {
    /// A device whose DSP processes are programs.
    pub fn new(settings: Settings) -> Self {
        let connect = |settings: &Settings| launch(settings).map(|(socket, child)| (socket, Some(child)));
        Driver::with_connection(settings, Box::new(connect))
    }

    /// A device whose DSP processes are whatever `connect` connects to.
    pub fn with_connection(settings: Settings, connect: Connect) -> Self {
        // the default session exists without being reserved
        let cdsp = sys::CDSP_DOMAIN_ID as i32;
        let default = Arc::new(Domain::new(cdsp, settings.map_limit));
        Driver {
            memory: Memory::new(settings.memory_limit),
            settings,
            connect,
            domains: Mutex::new(BTreeMap::from([(cdsp, default)])),
            handles: Mutex::default(),
            queues: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// What the device was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    // ---- memory ----

    /// `rpcmem_alloc`, `rpcmem_alloc2`: the address of a new buffer.
    pub fn allocate(&self, size: usize) -> Option<usize> {
        self.memory.allocate(size)
    }

    /// `rpcmem_free`.
    pub fn free(&self, address: usize) {
        let domains: Vec<_> = self.domains.lock().values().cloned().collect();
        self.memory.free(address, |fd| domains.iter().for_each(|domain| domain.forget(fd)));
    }

    /// `rpcmem_to_fd`.
    pub fn buffer_fd(&self, address: usize) -> Option<i32> {
        self.memory.fd(address)
    }

    /// `fastrpc_mmap`.
    pub fn map(&self, domain: i32, fd: i32, offset: i32, length: usize, flags: i32) -> Result<()> {
        let domain = self.domain(domain)?;
        let known_flags = [sys::FASTRPC_MAP_STATIC, sys::FASTRPC_MAP_FD, sys::FASTRPC_MAP_FD_DELAYED];
        let known =
            u32::try_from(flags).is_ok_and(|flags| known_flags.contains(&flags) || flags == sys::FASTRPC_MAP_FD_NOMAP);
        if offset != 0 || length == 0 || !known || length as u64 > file_size(fd)? {
            return Err(Code::BAD_PARM);
        }
        domain.map(fd, length as u64)
    }

    /// `fastrpc_munmap`.
    pub fn unmap(&self, domain: i32, fd: i32) -> Result<()> {
        self.domain(domain)?.unmap(fd)
    }

    // ---- sessions ----

    /// `FASTRPC_RESERVE_NEW_SESSION`: session and effective domain id.
    pub fn reserve_session(&self) -> Result<(u32, i32)> {
        for session in 1..control::SESSIONS {
            let id = control::effective_domain(session)?;
            let domain = {
                let mut domains = self.domains.lock();
                let new = || Arc::new(Domain::new(id, self.settings.map_limit));
                Arc::clone(domains.entry(id).or_insert_with(new))
            };
            if domain.reserve() {
                return Ok((session, id));
            }
        }
        Err(Code::NO_SESSION)
    }

    /// `DSPRPC_CONTROL_UNSIGNED_MODULE`: -1 stands for every session.
    pub fn allow_unsigned(&self, domain: i32, allow: bool) -> Result<()> {
        if domain == -1 {
            let domains: Vec<_> = self.domains.lock().values().cloned().collect();
            return domains.iter().try_for_each(|domain| domain.allow_unsigned(allow));
        }
        self.domain(domain)?.allow_unsigned(allow)
    }

    /// A session that exists or was reserved before.
    fn domain(&self, id: i32) -> Result<Arc<Domain>> {
        self.domains.lock().get(&id).cloned().ok_or(Code::BAD_PARM)
    }

    // ---- calls ----

    /// `remote_handle64_open`.
    pub fn open(&self, uri: &str) -> Result<u64> {
        let module = ModuleUri::parse(uri)?;
        let id = control::effective_domain(module.session)?;
        let domain = self.domain(id).map_err(|_| Code::NO_SESSION)?;
        module.check_loadable(self.settings.arch)?;
        let process = domain.enter(|| self.start())?;
        match open_remote(&process, uri) {
            Ok(remote) => {
                let number = FIRST_HANDLE + self.next();
                self.handles.lock().insert(number, Handle { domain, process, remote });
                Ok(number)
            }
            Err(code) => {
                domain.leave();
                Err(code)
            }
        }
    }

    fn start(&self) -> Result<Process> {
        let started = (self.connect)(&self.settings).map_err(|error| error.to_string()).and_then(|(socket, child)| {
            Process::new(socket, child, self.settings.log_level)
                .map_err(|error| format!("cannot start a thread: {error}"))
        });
        started.map_err(|reason| {
            say::driver(&reason);
            Code::UNABLE_TO_LOAD
        })
    }

    /// `remote_handle64_invoke`: the output buffers, none longer than asked for.
    pub fn invoke(&self, handle: u64, word: u32, inputs: &[&[u8]], output_lengths: &[u32]) -> Result<Vec<Vec<u8>>> {
        let handle = self.handle(handle)?;
        let scalars = Scalars::from_word(word);
        if scalars.handles_in + scalars.handles_out > 0 {
            return Err(Code::UNSUPPORTED);
        }
        if scalars.method <= METHOD_CLOSE || (inputs.len(), output_lengths.len()) != (scalars.inputs, scalars.outputs) {
            return Err(Code::BAD_PARM);
        }
        let data = encode_call(inputs, output_lengths).map_err(|_| Code::NO_MEMORY)?;
        let reply = handle.process.call(word, handle.remote, data, None)?;
        let outputs = decode_buffers(&reply.data, output_lengths.len()).map_err(|reason| {
            say::driver(&format!("bad reply from the DSP process: {reason}"));
            Code::FAILED
        })?;
        if outputs.iter().zip(output_lengths).any(|(output, length)| output.len() > *length as usize) {
            say::driver("bad reply from the DSP process: more output than asked for");
            return Err(Code::FAILED);
        }
        Ok(outputs)
    }

    /// `remote_handle64_close`: the handle is closed, whatever the DSP says to it.
    pub fn close(&self, handle: u64) -> Result<()> {
        let handle = self.handles.lock().remove(&handle).ok_or(Code::BAD_HANDLE)?;
        let scalars = Scalars { method: METHOD_CLOSE, inputs: 0, outputs: 0, handles_in: 1, handles_out: 0 };
        let deadline = Some(Instant::now() + CLOSE_TIMEOUT);
        let result = handle.process.call(scalars.word(), handle.remote, Vec::new(), deadline);
        handle.domain.leave();
        result.map(|_| ())
    }

    /// `remote_handle64_control`: whether such a request could reach the DSP.
    pub fn check_handle(&self, handle: u64) -> Result<()> {
        if self.handle(handle)?.process.is_alive() {
            Ok(())
        } else {
            Err(Code::INTERRUPTED)
        }
    }

    fn handle(&self, handle: u64) -> Result<Handle> {
        self.handles.lock().get(&handle).cloned().ok_or(Code::BAD_HANDLE)
    }

    // ---- queues ----

    /// `dspqueue_create`: the number that stands for the queue.
    pub fn create_queue(&self, domain: i32, options: QueueOptions) -> Result<usize> {
        let target = self.domain(domain)?;
        let count = self.next();
        let token = (count as usize + 1).wrapping_mul(QUEUE_TOKEN_STEP);
        let queue = Arc::new(Queue::new(FIRST_QUEUE_ID + count, token, domain, options)?);
        target.add_queue(&queue)?;
        self.queues.lock().insert(token, queue);
        Ok(token)
    }

    /// `dspqueue_close`.
    pub fn close_queue(&self, token: usize) -> Result<()> {
        let queue = self.queues.lock().remove(&token).ok_or(Code::BAD_PARM)?;
        self.domain(queue.domain)?.close_queue(&queue);
        Ok(())
    }

    /// The queue that a number stands for.
    pub fn queue(&self, token: usize) -> Result<Arc<Queue>> {
        self.queues.lock().get(&token).cloned().ok_or(Code::BAD_PARM)
    }

    /// `dspqueue_write`. None waits as long as it takes.
    pub fn write(&self, token: usize, message: &[u8], deadline: Option<Instant>) -> Result<()> {
        let queue = self.queue(token)?;
        queue.write(message, deadline, |link| {
            let fate = self.settings.faults.of_packet();
            if fate == Fate::Swallow {
                return Ok(false);
            }
            link.send(&Message::packet(queue.id, message), deadline)?;
            if fate == Fate::DeliverAndKill {
                link.kill();
            }
            Ok(true)
        })
    }

    fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }
}

/// Lets the DSP process open the library. Returns its handle.
fn open_remote(process: &Process, uri: &str) -> Result<u64> {
    let text = [uri.as_bytes(), &[0]].concat();
    let length = u32::try_from(text.len()).map_err(|_| Code::BAD_PARM)?.to_le_bytes();
    let data = encode_call(&[&length, &text], &[]).map_err(|_| Code::BAD_PARM)?;
    let scalars = Scalars { method: METHOD_OPEN, inputs: 2, outputs: 0, handles_in: 0, handles_out: 1 };
    process.call(scalars.word(), 0, data, None).map(|reply| reply.cd())
}

/// Bytes behind a descriptor.
fn file_size(fd: i32) -> Result<u64> {
    // SAFETY: all fields may be zero.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: fstat fills `stat`, and says so when the descriptor is not open.
    if unsafe { libc::fstat(fd, &mut stat) } != 0 {
        return Err(Code::BAD_PARM);
    }
    Ok(stat.st_size.max(0) as u64)
}
