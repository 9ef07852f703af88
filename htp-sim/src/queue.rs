//! dspqueue: what the host sees of a queue. Packets to the DSP go straight to its process; packets from the DSP wait
//! here until they are read.

use std::collections::VecDeque;
use std::sync::Weak;
use std::thread::ThreadId;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::code::{Code, Result};
use crate::process::Link;
use crate::protocol::Message;
use crate::sys;

/// What a packet takes in a ring besides its message: header and alignment.
const PACKET_OVERHEAD_BYTES: u32 = 64;
/// The driver takes no longer message.
const MAX_MESSAGE_BYTES: usize = 65_536;
/// The driver makes no larger ring.
const MAX_RING_BYTES: u32 = 16 << 20;
/// The sizes that 0 stands for.
const DEFAULT_REQUEST_BYTES: u32 = 65_536;
const DEFAULT_RESPONSE_BYTES: u32 = 16_384;

/// Functions of the host that are called from the reader thread of the DSP process.
pub struct Callbacks {
    /// A packet can be read.
    pub packet: sys::dspqueue_callback_fn,
    /// The DSP process died.
    pub error: sys::dspqueue_callback_fn,
    /// Passed to both. A number, because it is the host's and never looked at here.
    pub context: usize,
}

/// What makes a queue.
pub struct QueueOptions {
    /// Ring to the DSP; 0 for the default.
    pub request_bytes: u32,
    /// Ring to the host; 0 for the default.
    pub response_bytes: u32,
    /// Functions of the host.
    pub callbacks: Callbacks,
}

/// A queue between the host and one session.
pub struct Queue {
    /// The number that `dspqueue_export` gives out.
    pub id: u64,
    /// The number that stands for the queue in C, as a `dspqueue_t`.
    pub token: usize,
    /// The session's domain.
    pub domain: i32,
    request_bytes: u32,
    response_bytes: u32,
    callbacks: Callbacks,
    inbox: Mutex<Inbox>,
    changed: Condvar,
}

struct Inbox {
    packets: VecDeque<Vec<u8>>,
    /// Bytes of each packet in the request ring. The DSP answers every packet once, in order, so an answer is the
    /// sign that the oldest one has left the ring.
    ring: VecDeque<u32>,
    state: State,
    /// The way to the DSP process; empty until there is one.
    link: Weak<Link>,
    /// The thread that is in a callback now.
    callback: Option<ThreadId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The DSP process is no more.
    Dead,
    /// `dspqueue_close` was called.
    Closed,
}

impl Queue {
    /// A queue that no DSP process knows yet.
    pub fn new(id: u64, token: usize, domain: i32, options: QueueOptions) -> Result<Self> {
        let size = |bytes: u32, default: u32| match bytes {
            0 => Ok(default),
            bytes if bytes <= MAX_RING_BYTES => Ok(bytes),
            _ => Err(Code::BAD_PARM),
        };
        Ok(Queue {
            id,
            token,
            domain,
            request_bytes: size(options.request_bytes, DEFAULT_REQUEST_BYTES)?,
            response_bytes: size(options.response_bytes, DEFAULT_RESPONSE_BYTES)?,
            callbacks: options.callbacks,
            inbox: Mutex::new(Inbox {
                packets: VecDeque::new(),
                ring: VecDeque::new(),
                state: State::Open,
                link: Weak::new(),
                callback: None,
            }),
            changed: Condvar::new(),
        })
    }

    /// The message that announces the queue.
    pub fn announcement(&self) -> Message {
        Message::queue(self.id, self.request_bytes, self.response_bytes)
    }

    /// From now on packets go to this process.
    pub fn connect(&self, link: Weak<Link>) {
        self.inbox.lock().link = link;
    }

    /// Writes a packet, and waits for room until the deadline: None waits as long as it takes. `send` puts it on the
    /// way; it returns false where the packet got lost and will not be answered.
    pub fn write(
        &self,
        message: &[u8],
        deadline: Option<Instant>,
        send: impl FnOnce(&Link) -> Result<bool>,
    ) -> Result<()> {
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(Code::BAD_PARM);
        }
        let bytes = message.len() as u32 + PACKET_OVERHEAD_BYTES;
        if bytes > self.request_bytes {
            return Err(Code::BAD_PARM);
        }
        let link = {
            let mut inbox = self.inbox.lock();
            loop {
                inbox.check()?;
                if inbox.ring.iter().sum::<u32>() + bytes <= self.request_bytes {
                    break;
                }
                match deadline {
                    None => self.changed.wait(&mut inbox),
                    Some(deadline) if Instant::now() >= deadline => return Err(Code::EXPIRED),
                    Some(deadline) => {
                        self.changed.wait_until(&mut inbox, deadline);
                    }
                }
            }
            // the queue was created, but no session is open on its domain yet
            let link = inbox.link.upgrade().ok_or(Code::BAD_STATE)?;
            inbox.ring.push_back(bytes);
            link
        };
        let sent = send(&link);
        if !matches!(sent, Ok(true)) {
            let mut inbox = self.inbox.lock();
            if let Some(index) = inbox.ring.iter().rposition(|entry| *entry == bytes) {
                inbox.ring.remove(index);
            }
        }
        sent.map(|_| ())
    }

    /// Takes the oldest packet, or waits for one until the deadline: None waits for ever. The packet stays when
    /// `buffer` is too small for it.
    pub fn read(&self, buffer: &mut [u8], deadline: Option<Instant>) -> Result<usize> {
        let mut inbox = self.inbox.lock();
        loop {
            match inbox.take(buffer) {
                Err(Code::WOULD_BLOCK) => {}
                result => return result,
            }
            match deadline {
                None => self.changed.wait(&mut inbox),
                Some(deadline) if Instant::now() >= deadline => return Err(Code::EXPIRED),
                Some(deadline) => {
                    self.changed.wait_until(&mut inbox, deadline);
                }
            }
        }
    }

    /// Takes the oldest packet; `WOULD_BLOCK` when there is none.
    pub fn read_now(&self, buffer: &mut [u8]) -> Result<usize> {
        self.inbox.lock().take(buffer)
    }

    /// A packet came from the DSP.
    pub fn deliver(&self, packet: Vec<u8>) {
        {
            let mut inbox = self.inbox.lock();
            inbox.packets.push_back(packet);
            inbox.ring.pop_front();
        }
        // readers wait here as well as writers
        self.changed.notify_all();
        self.call_back(self.callbacks.packet, sys::AEE_SUCCESS as i32);
    }

    /// The DSP process is no more; `accident`: it should not have ended.
    pub fn die(&self, accident: bool) {
        {
            let mut inbox = self.inbox.lock();
            if inbox.state != State::Open {
                return;
            }
            inbox.state = State::Dead;
            inbox.link = Weak::new();
        }
        self.changed.notify_all();
        if accident {
            self.call_back(self.callbacks.error, Code::INTERRUPTED.0);
        }
    }

    /// The host does not want the queue any more. When this returns, no callback runs, unless it was called from one.
    pub fn close(&self) {
        let mut inbox = self.inbox.lock();
        inbox.state = State::Closed;
        inbox.link = Weak::new();
        inbox.packets.clear();
        self.changed.notify_all();
        let me = std::thread::current().id();
        while inbox.callback.is_some_and(|thread| thread != me) {
            self.changed.wait(&mut inbox);
        }
    }

    /// Calls a function of the host, with no lock held, so that it may use the queue.
    fn call_back(&self, callback: sys::dspqueue_callback_fn, error: i32) {
        let Some(callback) = callback else { return };
        {
            let mut inbox = self.inbox.lock();
            if inbox.state == State::Closed {
                return;
            }
            inbox.callback = Some(std::thread::current().id());
        }
        let token = std::ptr::without_provenance_mut(self.token);
        // SAFETY: the host gave this function for this purpose when it created the queue; it is called with that
        // queue and that context, and `close` waits until it has returned.
        unsafe { callback(token, error, self.callbacks.context as *mut libc::c_void) };
        self.inbox.lock().callback = None;
        self.changed.notify_all();
    }
}

impl Inbox {
    fn check(&self) -> Result<()> {
        match self.state {
            State::Open => Ok(()),
            State::Dead => Err(Code::INTERRUPTED),
            State::Closed => Err(Code::BAD_STATE),
        }
    }

    fn take(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.check()?;
        let length = self.packets.front().ok_or(Code::WOULD_BLOCK)?.len();
        let buffer = buffer.get_mut(..length).ok_or(Code::BAD_PARM)?;
        if let Some(packet) = self.packets.pop_front() {
            buffer.copy_from_slice(&packet);
        }
        Ok(length)
    }
}
