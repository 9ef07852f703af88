//! A session: runs batches on a DSP process, and opens a new process when the old one is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hexagon_sdk_sys::{self as sys, FastRpc};
use parking_lot::Mutex;

use super::connection::{Connection, Plan, SessionIds};
use super::memory::{host_memory, MappedBuffer, SharedMemory};
use super::packet::{decode_response, encode_request, RESPONSE_ROOM};
use super::Capabilities;
use crate::batch::wire::{htp_batch, htp_request, HTP_REQUEST_MAGIC, HTP_WIRE_VERSION};
use crate::config::Config;
use crate::error::Error;

/// How long one read waits. Only whether the time-out has passed is looked at in between.
const READ_SLICE: Duration = Duration::from_millis(200);
/// Of a batch in the command buffer: a vector of the DSP.
const BATCH_ALIGNMENT: u32 = 128;

/// How much a process of the DSP can map, by its 32-bit addresses; found by others on devices.
const MAPPABLE_BYTES: u64 = 3200 << 20;
/// The same before v75.
const MAPPABLE_BYTES_OLD: u64 = 3000 << 20;

/// What the DSP says about a batch that it completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchReport {
    /// Ops that were completed.
    pub ops_done: u32,
    /// Those among them that used the matrix unit.
    pub hmx_ops: u32,
    /// From taking the packet to sending the response, by the DSP's clock.
    pub dsp_time: Duration,
    /// Hardware events that its profile counts.
    pub n_events: usize,
}

/// What the DSP library found when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HwInfo {
    /// Architecture that the library was built for.
    pub arch: u32,
    /// HVX contexts.
    pub n_hvx: u32,
    /// Bytes of VTCM that the session holds.
    pub vtcm_bytes: u32,
    /// Whether there is a matrix unit.
    pub has_hmx: bool,
}

/// A DSP process that runs batches.
pub struct Session {
    rpc: Arc<FastRpc>,
    plan: Plan,
    timeout: Option<Duration>,
    mapped_bytes: AtomicU64,
    state: Mutex<State>,
}

struct State {
    /// `None` after a loss, until the next call.
    connection: Option<Connection>,
    reservation: Option<SessionIds>,
    /// Of the last request.
    seq: u32,
    /// All memory that is to be mapped, in the order of allocation.
    buffers: Vec<Arc<SharedMemory>>,
}

impl Session {
    /// Opens session number `index`.
    ///
    /// # Errors
    /// The step of bring-up that failed; nothing stays open.
    pub fn open(
        rpc: Arc<FastRpc>,
        index: usize,
        config: &Config,
        capabilities: &Capabilities,
    ) -> Result<Arc<Session>, Error> {
        let plan = Plan {
            index,
            name: format!("HTP{index}"),
            arch: capabilities.arch,
            n_hvx: config.nhvx,
            use_hmx: config.hmx(),
            etm: config.etm,
            events: config.profile.events.clone(),
        };
        let mut reservation = None;
        let connection = Connection::open(&rpc, &plan, &mut reservation)?;
        let session = Session {
            rpc,
            plan,
            timeout: config.timeout(),
            mapped_bytes: AtomicU64::new(0),
            state: Mutex::new(State { connection: Some(connection), reservation, seq: 0, buffers: Vec::new() }),
        };
        if let Some(HwInfo { arch, n_hvx, vtcm_bytes, has_hmx }) = session.hwinfo() {
            let (name, kib, hmx) = (session.name(), vtcm_bytes >> 10, if has_hmx { "HMX" } else { "no HMX" });
            log::info!("{name}: Hexagon v{arch}, {n_hvx} HVX contexts, {kib} KiB VTCM, {hmx}");
        }
        Ok(Arc::new(session))
    }

    /// `HTPn`.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// What the DSP library found; `None` while the session is lost.
    pub fn hwinfo(&self) -> Option<HwInfo> {
        let state = self.state.lock();
        let info = state.connection.as_ref()?.hwinfo();
        let has_hmx = info.has_hmx != 0;
        Some(HwInfo { arch: info.arch, n_hvx: info.n_hvx, vtcm_bytes: info.vtcm_bytes, has_hmx })
    }

    /// Bytes that can still be allocated, and bytes in all: what a DSP process can map, or less where the machine has
    /// less. Does not wait for a batch that runs.
    pub fn memory(&self) -> (usize, usize) {
        let mappable = if self.plan.arch < 75 { MAPPABLE_BYTES_OLD } else { MAPPABLE_BYTES };
        let (host_total, host_free) = host_memory().unwrap_or((u64::MAX, u64::MAX));
        let total = mappable.min(host_total);
        let free = total.saturating_sub(self.mapped_bytes.load(Ordering::Relaxed)).min(host_free);
        let size = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        (size(free), size(total))
    }

    /// Allocates shared memory and maps it into the DSP process. `size` may be 0.
    ///
    /// # Errors
    /// No memory, no room in the DSP's address space, or a lost session that cannot be opened again.
    pub fn allocate(self: &Arc<Self>, size: usize) -> Result<Arc<MappedBuffer>, Error> {
        let memory = Arc::new(SharedMemory::allocate(&self.rpc, size)?);
        let mut state = self.state.lock();
        let connection = self.connect(&mut state)?;
        if let Err(error) = connection.map(&memory) {
            if let Error::Call { code: DEAD, .. } = error {
                self.lose(&mut state, &error);
            }
            return Err(error);
        }
        state.buffers.push(Arc::clone(&memory));
        self.mapped_bytes.fetch_add(memory.mapped_bytes() as u64, Ordering::Relaxed);
        Ok(Arc::new(MappedBuffer::new(memory, Arc::clone(self))))
    }

    /// The end of a [`MappedBuffer`].
    pub(super) fn release(&self, memory: &Arc<SharedMemory>) {
        let mut state = self.state.lock();
        state.buffers.retain(|buffer| !Arc::ptr_eq(buffer, memory));
        if let Some(connection) = &mut state.connection {
            connection.unmap(memory);
        }
        self.mapped_bytes.fetch_sub(memory.mapped_bytes() as u64, Ordering::Relaxed);
    }

    /// Runs the batch at `offset` of the command buffer, `size` bytes with its header, and waits until it is done.
    /// A session that was lost before is opened again first.
    ///
    /// # Errors
    /// [`Error::Batch`] when the DSP reports a failure. Any other error but [`Error::BadRequest`] loses the session.
    pub fn run(&self, command: &MappedBuffer, offset: u32, size: u32) -> Result<BatchReport, Error> {
        let mut request = self.request(command, offset, size)?;
        let mut state = self.state.lock();
        self.connect(&mut state)?;
        // 0 is the DSP's answer to a packet without a number
        state.seq = state.seq.checked_add(1).unwrap_or(1);
        request.seq = state.seq;
        let Some(connection) = &state.connection else {
            return Err(Error::BadRequest("there is no session"));
        };
        let n_events = if connection.counts_events() { self.plan.events.len() } else { 0 };
        let result = self.exchange(connection, &request).map(|report| BatchReport { n_events, ..report });
        match &result {
            Ok(_) | Err(Error::Batch { .. }) => {}
            Err(error) => self.lose(&mut state, error),
        }
        result
    }

    fn request(&self, command: &MappedBuffer, offset: u32, size: u32) -> Result<htp_request, Error> {
        if !command.is_of(self) {
            return Err(Error::BadRequest("the command buffer belongs to another session"));
        }
        let (Ok(fd), Ok(fd_size)) = (u32::try_from(command.fd()), u32::try_from(command.len())) else {
            return Err(Error::BadRequest("the command buffer has 4 GiB or more"));
        };
        if offset % BATCH_ALIGNMENT != 0 || (size as usize) < size_of::<htp_batch>() {
            return Err(Error::BadRequest("its place in the command buffer is not aligned, or it has no header"));
        }
        if offset.checked_add(size).is_none_or(|end| end > fd_size) {
            return Err(Error::BadRequest("it reaches beyond the command buffer"));
        }
        Ok(htp_request {
            magic: HTP_REQUEST_MAGIC,
            version: HTP_WIRE_VERSION,
            seq: 0,
            fd,
            offset,
            size,
            fd_size,
            flags: 0,
        })
    }

    /// Sends the request and waits for its response.
    fn exchange(&self, connection: &Connection, request: &htp_request) -> Result<BatchReport, Error> {
        let begin = Instant::now();
        let failed = |call, code| match (self.timeout, code) {
            (Some(timeout), EXPIRED) => Error::TimedOut(timeout),
            (_, code) => Error::Call { call, subject: format!("for {}", self.plan.name), code },
        };
        connection.send(&encode_request(request), self.timeout).map_err(|code| failed("dspqueue_write", code))?;
        let mut room = [0; RESPONSE_ROOM];
        loop {
            let left = self.timeout.map_or(READ_SLICE, |timeout| timeout.saturating_sub(begin.elapsed()));
            match connection.receive(&mut room, left.min(READ_SLICE)).map_err(|code| failed("dspqueue_read", code))? {
                Some(response) => return decode_response(response, request.seq),
                None if left.is_zero() => return Err(failed("dspqueue_read", EXPIRED)),
                None => {}
            }
        }
    }

    /// The connection; a new one, with all buffers mapped, if the last was lost.
    fn connect<'a>(&self, state: &'a mut State) -> Result<&'a mut Connection, Error> {
        let State { connection, reservation, buffers, .. } = state;
        match connection {
            Some(connection) => Ok(connection),
            None => {
                let mut new = Connection::open(&self.rpc, &self.plan, reservation)?;
                // on an error, dropping it unmaps those that were mapped
                buffers.iter().try_for_each(|memory| new.map(memory))?;
                log::info!("{}: opened again, {} buffers mapped", self.plan.name, buffers.len());
                Ok(connection.insert(new))
            }
        }
    }

    /// Gives the connection up: the next call opens a new one.
    fn lose(&self, state: &mut State, error: &Error) {
        let Some(connection) = state.connection.take() else { return };
        // the error itself is the caller's to report
        log::warn!("{}: the session is lost; the next call opens it again", self.plan.name);
        match error {
            Error::TimedOut(_) => connection.kill(),
            _ => connection.abandon(),
        }
    }
}

const EXPIRED: i32 = sys::AEE_EEXPIRED as i32;
/// The DSP process died.
const DEAD: i32 = sys::AEE_EINTERRUPTED as i32;
