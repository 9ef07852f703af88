//! A DSP process: the socket to it, the thread that reads from it, the calls that wait for it.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::code::{from_c, Code, Result};
use crate::protocol::{Kind, Malformed, Message, MAX_MESSAGE_BYTES};
use crate::queue::Queue;
use crate::say;

/// How long a process may take to end once its socket is closed; then it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a process that does not read its messages may hold up what has no time-out of its own.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// A DSP process and the thread that reads from it.
pub struct Process {
    link: Arc<Link>,
    reader: Mutex<Option<JoinHandle<()>>>,
}

/// The connection to a DSP process, shared by all who talk to it.
pub struct Link {
    socket: OwnedFd,
    child: Mutex<Option<Child>>,
    calls: Mutex<Calls>,
    changed: Condvar,
    queues: Mutex<HashMap<u64, Arc<Queue>>>,
    log_level: u32,
}

#[derive(Default)]
struct Calls {
    last_seq: u32,
    /// By sequence number; None until the reply is there.
    waiting: HashMap<u32, Option<Message>>,
    /// The driver has asked the process to end.
    ending: bool,
    /// The process has closed its end of the socket.
    dead: bool,
    /// It was waited for as well.
    gone: bool,
}

impl Process {
    /// A process on the other end of a socket. `child` is None where that is not a child of this process: then the
    /// end of the connection counts as its end. LOG lines below `log_level` are not printed.
    pub fn new(socket: OwnedFd, child: Option<Child>, log_level: u32) -> io::Result<Self> {
        let link = Arc::new(Link {
            socket,
            child: Mutex::new(child),
            calls: Mutex::default(),
            changed: Condvar::new(),
            queues: Mutex::default(),
            log_level,
        });
        let shared = Arc::clone(&link);
        let reader = std::thread::Builder::new().name("htp-sim reader".into()).spawn(move || shared.read_all());
        match reader {
            Ok(reader) => Ok(Process { link, reader: Mutex::new(Some(reader)) }),
            Err(error) => {
                link.kill();
                link.reap();
                Err(error)
            }
        }
    }

    /// Whether calls have a chance: the process runs and was not asked to end.
    pub fn is_alive(&self) -> bool {
        let calls = self.link.calls.lock();
        !calls.dead && !calls.ending
    }

    /// Sends a message. None waits as long as it takes.
    pub fn send(&self, message: &Message, deadline: Option<Instant>) -> Result<()> {
        self.link.send(message, deadline)
    }

    /// Makes a remote call: `data` comes from [`crate::protocol::encode_call`]. The reply's result is success.
    pub fn call(&self, scalars: u32, handle: u64, data: Vec<u8>, deadline: Option<Instant>) -> Result<Message> {
        self.link.call(scalars, handle, data, deadline)
    }

    /// Tells the process about a queue and connects the two.
    pub fn attach(&self, queue: &Arc<Queue>) -> Result<()> {
        self.link.queues.lock().insert(queue.id, Arc::clone(queue));
        queue.connect(Arc::downgrade(&self.link));
        let result = self.send(&queue.announcement(), Some(Instant::now() + SEND_TIMEOUT));
        if result.is_err() {
            self.link.queues.lock().remove(&queue.id);
        }
        // who sets `dead` goes through the queues afterwards: one of the two sees the other
        if !self.is_alive() {
            queue.die(false);
            return Err(Code::INTERRUPTED);
        }
        result
    }

    /// Reverses [`Process::attach`].
    pub fn detach(&self, queue: &Queue) {
        self.link.queues.lock().remove(&queue.id);
        // a process that does not hear it any more has no queues either
        let _ = self.send(&Message::queue_close(queue.id), Some(Instant::now() + SEND_TIMEOUT));
    }

    /// Lets the process end: its socket is closed, and after some time it is killed.
    pub fn end(&self) {
        self.link.calls.lock().ending = true;
        self.link.shut(libc::SHUT_WR);
        if !self.link.wait_until_gone() {
            say::driver("the DSP process did not end in time and is killed");
            self.link.kill();
            self.link.wait_until_gone();
        }
    }

    /// Waits for the reader thread, after [`Process::end`]. Not to be called with a lock that callbacks may need.
    pub fn join(&self) {
        let reader = self.reader.lock().take();
        // a callback runs on the reader thread itself, which ends by itself then
        if let Some(reader) = reader.filter(|reader| reader.thread().id() != std::thread::current().id()) {
            // it cannot have panicked in a way that matters: nothing is left to do for it
            let _ = reader.join();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.link.calls.lock().gone {
            self.link.calls.lock().ending = true;
            self.link.kill();
        }
    }
}

impl Link {
    /// Sends a message. None waits as long as it takes.
    pub fn send(&self, message: &Message, deadline: Option<Instant>) -> Result<()> {
        let bytes = message.encode().map_err(|_| Code::NO_MEMORY)?;
        let fd = self.socket.as_raw_fd();
        loop {
            let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
            // SAFETY: `bytes` is a buffer of that length; the descriptor is open as long as self is.
            if unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) } >= 0 {
                return Ok(());
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) => wait_writable(fd, deadline)?,
                Some(libc::EMSGSIZE | libc::ENOBUFS | libc::ENOMEM) => return Err(Code::NO_MEMORY),
                _ => return Err(Code::INTERRUPTED),
            }
        }
    }

    /// Ends the process at once, as a fault of the DSP would.
    pub fn kill(&self) {
        if let Some(child) = self.child.lock().as_mut() {
            // fails only when it has ended already
            let _ = child.kill();
        }
        self.shut(libc::SHUT_RDWR);
    }

    fn call(&self, scalars: u32, handle: u64, data: Vec<u8>, deadline: Option<Instant>) -> Result<Message> {
        let seq = self.calls.lock().begin()?;
        let sent = self.send(&Message::call(seq, scalars, handle, data), deadline);
        let mut calls = self.calls.lock();
        let reply = loop {
            if let Err(code) = sent {
                break Err(code);
            } else if let Some(Some(reply)) = calls.waiting.get_mut(&seq).map(Option::take) {
                break Ok(reply);
            } else if calls.dead {
                break Err(Code::INTERRUPTED);
            }
            match deadline {
                None => self.changed.wait(&mut calls),
                Some(deadline) if Instant::now() >= deadline => break Err(Code::EXPIRED),
                Some(deadline) => {
                    self.changed.wait_until(&mut calls, deadline);
                }
            }
        };
        calls.waiting.remove(&seq);
        drop(calls);
        let reply = reply?;
        from_c(reply.result as i32)?;
        Ok(reply)
    }

    fn wait_until_gone(&self) -> bool {
        let deadline = Instant::now() + END_TIMEOUT;
        let mut calls = self.calls.lock();
        while !calls.gone && !self.changed.wait_until(&mut calls, deadline).timed_out() {}
        calls.gone
    }

    fn shut(&self, how: libc::c_int) {
        // SAFETY: plain system call on a descriptor that is open. It fails only when the other end is closed already.
        unsafe { libc::shutdown(self.socket.as_raw_fd(), how) };
    }

    /// The reader thread.
    fn read_all(&self) {
        let mut buffer = vec![0; MAX_MESSAGE_BYTES];
        loop {
            match self.receive(&mut buffer) {
                Ok(Some(message)) => self.distribute(message),
                Ok(None) => break,
                Err(malformed) => {
                    say::driver(&format!("bad message from the DSP process, which is killed: {malformed}"));
                    self.kill();
                    break;
                }
            }
        }
        // nothing more comes and nobody waits: senders fail from now on as well
        self.shut(libc::SHUT_RDWR);
        let accident = {
            let mut calls = self.calls.lock();
            calls.dead = true;
            !calls.ending
        };
        self.changed.notify_all();
        let queues: Vec<_> = self.queues.lock().drain().map(|(_, queue)| queue).collect();
        for queue in queues {
            queue.die(accident);
        }
        let status = self.reap();
        if accident {
            let how = status.map_or_else(|| "its connection closed".to_owned(), |status| status.to_string());
            say::driver(&format!("the DSP process died ({how}); its session has to be closed and opened again"));
        }
        self.calls.lock().gone = true;
        self.changed.notify_all();
    }

    /// The next message; None at the end.
    fn receive(&self, buffer: &mut [u8]) -> std::result::Result<Option<Message>, Malformed> {
        let fd = self.socket.as_raw_fd();
        loop {
            // SAFETY: `buffer` is writable for its length; the descriptor is open as long as self is.
            let length = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_TRUNC) };
            match usize::try_from(length) {
                // no message of the protocol is empty
                Ok(0) => return Ok(None),
                Ok(length) => {
                    // with MSG_TRUNC the length is that of the message, not of what fitted
                    let bytes = buffer.get(..length).ok_or(Malformed("longer than a message can be"))?;
                    return Message::decode(bytes).map(Some);
                }
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // the connection is broken
                Err(_) => return Ok(None),
            }
        }
    }

    fn distribute(&self, message: Message) {
        match message.kind {
            Kind::Reply => {
                // a call that has timed out waits no more
                if let Some(slot) = self.calls.lock().waiting.get_mut(&message.seq) {
                    *slot = Some(message);
                    self.changed.notify_all();
                }
            }
            Kind::Packet => {
                let queue = self.queues.lock().get(&message.ab()).cloned();
                // a packet may cross the message that closes its queue
                if let Some(queue) = queue {
                    queue.deliver(message.data);
                }
            }
            Kind::Log => {
                if message.a >= self.log_level {
                    say::say("htp-dsp", String::from_utf8_lossy(&message.data).trim_end_matches(['\n', '\0']));
                }
            }
            kind => say::driver(&format!("the DSP process sent {kind:?}, which only the driver sends; ignored")),
        }
    }

    /// Waits for the child. One that closed its socket but does not end is killed.
    fn reap(&self) -> Option<ExitStatus> {
        let deadline = Instant::now() + END_TIMEOUT;
        let mut pause = Duration::from_micros(100);
        loop {
            {
                let mut guard = self.child.lock();
                let child = guard.as_mut()?;
                let late = Instant::now() >= deadline;
                if late {
                    let _ = child.kill();
                }
                let status = if late { child.wait().map(Some) } else { child.try_wait() };
                match status {
                    Ok(None) => {}
                    Ok(status) => {
                        *guard = None;
                        return status;
                    }
                    Err(_) => {
                        *guard = None;
                        return None;
                    }
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

impl Calls {
    /// A sequence number for a new call.
    fn begin(&mut self) -> Result<u32> {
        if self.dead || self.ending {
            return Err(Code::INTERRUPTED);
        }
        loop {
            self.last_seq = self.last_seq.wrapping_add(1);
            if self.last_seq != 0 && !self.waiting.contains_key(&self.last_seq) {
                self.waiting.insert(self.last_seq, None);
                return Ok(self.last_seq);
            }
        }
    }
}

/// Waits until the socket takes messages again.
fn wait_writable(fd: i32, deadline: Option<Instant>) -> Result<()> {
    let timeout_ms = match deadline {
        None => -1,
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Code::EXPIRED);
            }
            // rounded up, so that the last wait is not a busy one
            left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32
        }
    };
    let mut poll = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, which is writable. Whatever comes out, the caller tries again and sees for itself.
    unsafe { libc::poll(&mut poll, 1, timeout_ms) };
    Ok(())
}
