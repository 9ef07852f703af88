//! A session of the DSP: its maps, its queues and its process. The driver calls it by its effective domain id.
//!
//! The process starts with the first handle that is opened and ends with the last one that is closed. A process that
//! died keeps its place, so that every call is told, until all handles and queues are closed. Then the session is as
//! new: nothing is mapped, and a session that was reserved is free for the next.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::code::{Code, Result};
use crate::process::{Process, SEND_TIMEOUT};
use crate::protocol::Message;
use crate::queue::Queue;
use crate::say;

/// One session.
pub struct Domain {
    /// Effective domain id.
    pub id: i32,
    map_limit: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    reserved: bool,
    unsigned_allowed: bool,
    /// Bytes by descriptor.
    maps: BTreeMap<i32, u64>,
    mapped: u64,
    process: Option<Arc<Process>>,
    /// Handles that are open or about to be.
    handles: usize,
    queues: HashMap<u64, Arc<Queue>>,
}

impl Domain {
    /// A session that nobody uses yet. `map_limit`: how many bytes can be mapped.
    pub fn new(id: i32, map_limit: u64) -> Self {
        Domain { id, map_limit, state: Mutex::default() }
    }

    /// Takes the session for a client; false when another has it.
    pub fn reserve(&self) -> bool {
        !std::mem::replace(&mut self.state.lock().reserved, true)
    }

    /// Allows or forbids libraries without a signature, which is what this project's are.
    pub fn allow_unsigned(&self, allow: bool) -> Result<()> {
        let mut state = self.state.lock();
        if state.process.is_some() && state.unsigned_allowed != allow {
            return Err(Code::ALREADY_LOADED);
        }
        state.unsigned_allowed = allow;
        Ok(())
    }

    /// Maps a buffer of the host.
    pub fn map(&self, fd: i32, bytes: u64) -> Result<()> {
        let mut state = self.state.lock();
        if state.maps.contains_key(&fd) {
            return Err(Code::ALREADY);
        }
        let mapped = state.mapped.checked_add(bytes).ok_or(Code::NO_MEMORY)?;
        if mapped > self.map_limit {
            return Err(Code::NO_MEMORY);
        }
        state.send(&Message::map(fd, bytes))?;
        state.maps.insert(fd, bytes);
        state.mapped = mapped;
        Ok(())
    }

    /// Reverses [`Domain::map`], also while the process is dead.
    pub fn unmap(&self, fd: i32) -> Result<()> {
        let mut state = self.state.lock();
        let bytes = state.maps.remove(&fd).ok_or(Code::NO_SUCH_MAP)?;
        state.mapped -= bytes;
        match state.send(&Message::unmap(fd)) {
            Err(Code::INTERRUPTED) => Ok(()),
            result => result,
        }
    }

    /// The buffer is going to be freed: it should not be mapped any more.
    pub fn forget(&self, fd: i32) {
        if self.unmap(fd).is_ok() {
            say::driver(&format!("rpcmem_free: buffer {fd} was still mapped to domain {}", self.id));
        }
    }

    /// Bytes that are mapped.
    pub fn mapped(&self) -> u64 {
        self.state.lock().mapped
    }

    /// Counts a new handle and returns the process, which `start` makes if there is none. To be followed by
    /// [`Domain::leave`] when the handle is closed or could not be opened.
    pub fn enter(&self, start: impl FnOnce() -> Result<Process>) -> Result<Arc<Process>> {
        let mut state = self.state.lock();
        if !state.unsigned_allowed {
            return Err(Code::CONNECTION_REFUSED);
        }
        if let Some(process) = &state.process {
            let process = Arc::clone(process);
            if !process.is_alive() {
                return Err(Code::INTERRUPTED);
            }
            state.handles += 1;
            return Ok(process);
        }
        let process = Arc::new(start()?);
        state.reserved = true;
        state.process = Some(Arc::clone(&process));
        state.handles += 1;
        // it may die meanwhile: then the first call says so
        let deadline = Some(Instant::now() + SEND_TIMEOUT);
        for (fd, bytes) in &state.maps {
            let _ = process.send(&Message::map(*fd, *bytes), deadline);
        }
        for queue in state.queues.values() {
            let _ = process.attach(queue);
        }
        Ok(process)
    }

    /// Counts a handle that is no more. The last one ends the process.
    pub fn leave(&self) {
        let mut state = self.state.lock();
        state.handles = state.handles.saturating_sub(1);
        if state.handles > 0 {
            return;
        }
        let process = state.process.clone();
        if let Some(process) = &process {
            process.end();
        }
        state.finish();
        drop(state);
        // the reader thread may be in a callback that asks this domain something: not with its lock held
        if let Some(process) = process {
            process.join();
        }
    }

    /// Takes up a new queue.
    pub fn add_queue(&self, queue: &Arc<Queue>) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(process) = &state.process {
            process.attach(queue)?;
        }
        state.queues.insert(queue.id, Arc::clone(queue));
        Ok(())
    }

    /// Closes a queue.
    pub fn close_queue(&self, queue: &Queue) {
        queue.close();
        let mut state = self.state.lock();
        state.queues.remove(&queue.id);
        if let Some(process) = &state.process {
            process.detach(queue);
        }
        state.finish();
    }
}

impl State {
    /// To the process, if there is one.
    fn send(&self, message: &Message) -> Result<()> {
        match &self.process {
            None => Ok(()),
            Some(process) if !process.is_alive() => Err(Code::INTERRUPTED),
            Some(process) => process.send(message, Some(Instant::now() + SEND_TIMEOUT)),
        }
    }

    /// Starts afresh once nobody holds on to a process.
    fn finish(&mut self) {
        if self.process.is_some() && self.handles == 0 && self.queues.is_empty() {
            self.process = None;
            self.maps.clear();
            self.mapped = 0;
            self.reserved = false;
        }
    }
}
