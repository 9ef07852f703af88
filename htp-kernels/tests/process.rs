//! The DSP process from the outside: what htp-sim/PROTOCOL.md says, spoken by a test in the driver's place.
//!
//! The process is this test program again, run with the one test that turns it into a DSP process; or the program
//! that `HTP_SIM_DSP` names.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::scene::*;
use common::*;

const CALL: u32 = 1;
const REPLY: u32 = 2;
const MAP: u32 = 3;
const UNMAP: u32 = 4;
const QUEUE: u32 = 5;
const QUEUE_CLOSE: u32 = 6;
const PACKET: u32 = 7;
const LOG: u32 = 8;

const BAD_PARAMETER: u32 = 0x8000_040e;
const QUEUE_ID: u64 = 0x0012_3456_789a_bcde;
const CHILD_SOCKET: i32 = 200; // where the DSP process finds its end
const PATIENCE: Duration = Duration::from_secs(30);

/// Not a test of its own: becomes the DSP process when it is started as one.
#[test]
fn dsp_process() {
    if std::env::var_os("HTP_SIM_SOCKET").is_some() {
        std::process::exit(htp_kernels::dsp_main());
    }
}

fn low_high(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

#[derive(Debug)]
struct Message {
    word: [u32; 8],
    data: Vec<u8>,
}

impl Message {
    fn new(kind: u32, args: [u32; 4], data: &[u8]) -> Self {
        let [a, b, c, d] = args;
        Self { word: [kind, 0, a, b, c, d, 0, data.len() as u32], data: data.to_vec() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.word.iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.extend(&self.data);
        bytes
    }
}

struct Dsp {
    socket: Option<OwnedFd>,
    child: Child,
    seq: u32,
    logs: Vec<String>,
    packets: VecDeque<Message>, // came while the reply to a call was awaited
}

impl Dsp {
    fn spawn() -> Self {
        let mut ends = [0; 2];
        // SAFETY: the array takes two descriptors, which are owned from here on.
        let (ours, theirs) = unsafe {
            let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
            assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()), 0);
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        let timeout = libc::timeval { tv_sec: PATIENCE.as_secs() as libc::time_t, tv_usec: 0 };
        // SAFETY: option and value are those of SO_RCVTIMEO.
        let set = unsafe {
            let size = size_of::<libc::timeval>() as libc::socklen_t;
            let value = std::ptr::from_ref(&timeout).cast();
            libc::setsockopt(ours.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, value, size)
        };
        assert_eq!(set, 0);
        let mut command = match std::env::var_os("HTP_SIM_DSP") {
            Some(program) => Command::new(program),
            None => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["--exact", "dsp_process", "--nocapture"]);
                command
            }
        };
        command
            .env("HTP_SIM_SOCKET", CHILD_SOCKET.to_string())
            .env("HTP_SIM_HOST_PID", std::process::id().to_string())
            .env("HTP_SIM_ARCH", "75")
            .env("HTP_SIM_THREADS", "3")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let fd = theirs.as_raw_fd();
        // SAFETY: between fork and exec only dup2 is called, which is allowed there. The copy lacks the
        // close-on-exec mark, so that this child alone inherits it.
        unsafe {
            command.pre_exec(move || match libc::dup2(fd, CHILD_SOCKET) {
                CHILD_SOCKET => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
        let child = command.spawn().unwrap();
        Self { socket: Some(ours), child, seq: 0, logs: Vec::new(), packets: VecDeque::new() }
    }

    fn socket(&self) -> i32 {
        self.socket.as_ref().unwrap().as_raw_fd()
    }

    fn send_raw(&self, bytes: &[u8]) {
        // SAFETY: the slice is valid for the call.
        let sent = unsafe { libc::send(self.socket(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        assert_eq!(sent, bytes.len() as isize);
    }

    fn send(&self, kind: u32, args: [u32; 4], data: &[u8]) {
        self.send_raw(&Message::new(kind, args, data).bytes());
    }

    /// The next message that is not a log line.
    fn receive(&mut self) -> Message {
        loop {
            let mut bytes = vec![0u8; 256 * 1024];
            // SAFETY: the buffer is valid for the call.
            let length = unsafe { libc::recv(self.socket(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
            assert!(length >= 32, "no message: {length}, {}", std::io::Error::last_os_error());
            bytes.truncate(length as usize);
            let mut word = [0; 8];
            for (word, bytes) in word.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_le_bytes(bytes.try_into().unwrap());
            }
            let data = bytes.split_off(32);
            assert_eq!(word[7] as usize, data.len());
            if word[0] == LOG {
                self.logs.push(String::from_utf8(data).unwrap());
                continue;
            }
            return Message { word, data };
        }
    }

    /// A remote call: result, handle and output buffers.
    fn call(&mut self, method: u32, handles: u32, handle: u64, ins: &[&[u8]], outs: &[usize]) -> Reply {
        let scalars = method << 24 | (ins.len() as u32) << 16 | (outs.len() as u32) << 8 | handles;
        let mut data = Vec::new();
        for bytes in ins {
            data.extend((bytes.len() as u32).to_le_bytes());
            data.extend(*bytes);
            data.resize(data.len().next_multiple_of(4), 0);
        }
        outs.iter().for_each(|length| data.extend((*length as u32).to_le_bytes()));
        self.call_raw(scalars, handle, &data, outs.len())
    }

    fn call_raw(&mut self, scalars: u32, handle: u64, data: &[u8], n_out: usize) -> Reply {
        self.seq += 1;
        let [low, high] = low_high(handle);
        let mut message = Message::new(CALL, [scalars, 0, low, high], data);
        message.word[1] = self.seq;
        self.send_raw(&message.bytes());
        let reply = loop {
            let message = self.receive();
            match message.word[0] {
                PACKET => self.packets.push_back(message),
                _ => break message,
            }
        };
        assert_eq!(reply.word[..3], [REPLY, self.seq, scalars]);
        let mut rest = &reply.data[..];
        let mut outs = Vec::new();
        while outs.len() < n_out && !rest.is_empty() {
            let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
            outs.push(rest[4..4 + length].to_vec());
            rest = &rest[4 + length.next_multiple_of(4)..];
        }
        assert!(rest.is_empty());
        Reply { result: reply.word[6], handle: u64::from(reply.word[5]) << 32 | u64::from(reply.word[4]), outs }
    }

    fn open(&mut self) -> u64 {
        let uri = b"file:///libggml-htp-v75.so?htp_iface_skel_handle_invoke&_modver=1.0&_dom=cdsp\0";
        let reply = self.call(0, 0x01, 0, &[&(uri.len() as u32).to_le_bytes(), uri], &[]);
        assert_eq!(reply.result, 0);
        assert_ne!(reply.handle, 0);
        reply.handle
    }

    fn start(&mut self, handle: u64, queue_id: u64) -> u32 {
        let args = Start { session_id: 1, n_hvx: 0, queue_id, use_hmx: 1, version: VERSION };
        self.call(2, 0, handle, &[&args.bytes()], &[]).result
    }

    fn stop(&mut self, handle: u64) -> u32 {
        self.call(3, 0, handle, &[], &[]).result
    }

    fn create_queue(&self, id: u64) {
        let [low, high] = low_high(id);
        self.send(QUEUE, [low, high, 131072, 65536], &[]);
    }

    fn map(&self, shared: &Shared) {
        let [low, high] = low_high(shared.size as u64);
        self.send(MAP, [shared.fd, 0, low, high], &[]);
    }

    fn unmap(&self, shared: &Shared) {
        self.send(UNMAP, [shared.fd, 0, 0, 0], &[]);
    }

    fn write(&self, message: &[u8]) {
        let [low, high] = low_high(QUEUE_ID);
        self.send(PACKET, [low, high, 0, 0], message);
    }

    fn read(&mut self) -> Response {
        let message = self.packets.pop_front().unwrap_or_else(|| self.receive());
        assert_eq!(message.word[0], PACKET);
        assert_eq!(message.word[2..4], low_high(QUEUE_ID));
        Response::from_bytes(&message.data)
    }

    /// A process with a session that serves the queue.
    fn ready() -> (Self, u64) {
        let mut dsp = Self::spawn();
        let handle = dsp.open();
        dsp.create_queue(QUEUE_ID);
        assert_eq!(dsp.start(handle, QUEUE_ID), 0);
        (dsp, handle)
    }

    /// Closes the host's end; how the process ends.
    fn hang_up(mut self) -> Option<i32> {
        self.socket = None;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the process has not ended");
    }
}

impl Drop for Dsp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Reply {
    result: u32,
    handle: u64,
    outs: Vec<Vec<u8>>,
}

#[test]
fn session_runs_a_batch() {
    let (mut dsp, handle) = Dsp::ready();
    let info = dsp.call(5, 0, handle, &[], &[24]);
    assert_eq!(info.result, 0);
    let info = HwInfo::from_bytes(&info.outs[0]);
    assert_eq!((info.arch, info.n_hvx, info.vtcm_bytes, info.version), (75, 3, 8 << 20, VERSION));

    let (command, data) = (Shared::new(COMMAND_BYTES), Shared::new(DATA_BYTES));
    dsp.map(&command);
    dsp.map(&data);
    let mut scene = Scene::new(&command, &data);
    scene.store(&command);
    for round in 0..200 {
        let value = round as f32;
        data.write_f32(A_AT, &[value; ELEMENTS]);
        data.write_f32(B_AT, &[1.0; ELEMENTS]);
        scene.request.seq = round;
        dsp.write(&scene.request.bytes());
        let r = dsp.read();
        assert_eq!((r.magic, r.seq, r.status, r.ops_done), (RESPONSE_MAGIC, round, OK, 2));
        assert_eq!(data.read_f32(SUM_AT, ELEMENTS), [value + 1.0; ELEMENTS]);
    }
    assert_eq!(dsp.stop(handle), 0);
    assert_eq!(dsp.call(1, 0x10, handle, &[], &[]).result, 0);
    assert_eq!(dsp.hang_up(), Some(0));
}

#[test]
fn garbage_packets_are_answered_in_order() {
    let (mut dsp, handle) = Dsp::ready();
    let lengths: Vec<usize> = (0..100).map(|i| i * 13 % 70).chain([65536]).collect();
    for length in &lengths {
        dsp.write(&vec![0x5a; *length]);
    }
    for length in lengths {
        let r = dsp.read();
        let seq = if length < 12 { 0 } else { 0x5a5a_5a5a };
        let detail = if length == 32 { 0 } else { length as u32 };
        assert_eq!((r.magic, r.status, r.seq, r.detail, r.ops_done), (RESPONSE_MAGIC, BAD_PACKET, seq, detail, 0));
    }
    assert_eq!(dsp.stop(handle), 0);
}

#[test]
fn mappings_follow_the_host() {
    let (mut dsp, _) = Dsp::ready();
    let (command, data) = (Shared::new(COMMAND_BYTES), Shared::new(DATA_BYTES));
    let scene = Scene::new(&command, &data);
    scene.store(&command);
    let run = |dsp: &mut Dsp| {
        dsp.write(&scene.request.bytes());
        dsp.read()
    };
    assert_eq!(run(&mut dsp).status, BAD_BUFFER); // never registered, though the fd can be opened
    dsp.map(&command);
    let r = run(&mut dsp);
    assert_eq!((r.status, r.detail), (BAD_BUFFER, 0));
    dsp.map(&data);
    assert_eq!(run(&mut dsp).status, OK);
    dsp.unmap(&data);
    assert_eq!(run(&mut dsp).status, BAD_BUFFER);
    // the number now stands for another buffer
    let other = Shared::new(DATA_BYTES);
    other.write_f32(A_AT, &[2.0; ELEMENTS]);
    other.write_f32(B_AT, &[3.0; ELEMENTS]);
    // SAFETY: both are open descriptors of this process.
    assert!(unsafe { libc::dup2(other.fd as i32, data.fd as i32) } >= 0);
    dsp.map(&data);
    assert_eq!(run(&mut dsp).status, OK);
    assert_eq!(other.read_f32(SUM_AT, ELEMENTS), [5.0; ELEMENTS]);
    // registered as larger than the file is: mapping it would be a trap
    dsp.unmap(&data);
    dsp.send(MAP, [data.fd, 0, 2 * DATA_BYTES as u32, 0], &[]);
    let mut larger = scene.clone();
    larger.buffers[0].size *= 2;
    larger.store(&command);
    assert_eq!(run(&mut dsp).status, BAD_BUFFER);
    scene.store(&command);
    assert_eq!(run(&mut dsp).status, OK);
}

#[test]
fn packets_wait_for_the_session() {
    let mut dsp = Dsp::spawn();
    let handle = dsp.open();
    assert_eq!(dsp.start(handle, QUEUE_ID), BAD_PARAMETER); // no such queue
    dsp.create_queue(QUEUE_ID);
    dsp.write(b"early");
    assert_eq!(dsp.start(handle, QUEUE_ID), 0);
    assert_eq!(dsp.read().status, BAD_PACKET);
    assert_eq!(dsp.stop(handle), 0);
    dsp.write(b"between");
    assert_eq!(dsp.start(handle, QUEUE_ID), 0);
    assert_eq!(dsp.read().detail, 7);
    // a queue that the host has closed brings and takes nothing more, and its number can be used again
    let [low, high] = low_high(QUEUE_ID);
    dsp.send(QUEUE_CLOSE, [low, high, 0, 0], &[]);
    dsp.write(b"late");
    assert_eq!(dsp.stop(handle), 0);
    dsp.create_queue(QUEUE_ID);
    assert_eq!(dsp.start(handle, QUEUE_ID), 0);
    dsp.write(b"new queue");
    assert_eq!(dsp.read().detail, 9);
}

#[test]
fn malformed_messages_do_no_harm() {
    let (mut dsp, handle) = Dsp::ready();
    dsp.send_raw(&[1]);
    dsp.send_raw(&[0xff; 31]);
    dsp.send_raw(&[0xff; 32]);
    dsp.send_raw(&vec![0xff; 100_000]);
    dsp.send_raw(&vec![0; 180_000]); // longer than any message may be
    for kind in 0..12 {
        let mut message = Message::new(kind, [u32::MAX; 4], b"some data");
        message.word[7] = 8; // not the length that comes
        dsp.send_raw(&message.bytes());
        message.word[7] = u32::MAX;
        dsp.send_raw(&message.bytes());
    }
    for kind in [MAP, UNMAP, QUEUE_CLOSE, PACKET, REPLY, LOG, 99] {
        dsp.send(kind, [u32::MAX; 4], &[]);
        dsp.send(kind, [u32::MAX; 4], &[0xff; 100]);
        dsp.send(kind, [0; 4], &[]);
    }
    dsp.create_queue(QUEUE_ID); // exists already

    // calls are answered even so, and what came of the calls among the messages above
    for _ in 0..2 {
        let reply = dsp.receive();
        assert_eq!((reply.word[0], reply.word[6]), (REPLY, BAD_PARAMETER));
    }
    let mut long = Message::new(CALL, [5 << 24, 0, 0, 0], &[0; 150_000]);
    long.word[1] = 77;
    dsp.send_raw(&long.bytes());
    let reply = dsp.receive();
    assert_eq!((reply.word[0], reply.word[1], reply.word[6]), (REPLY, 77, BAD_PARAMETER));
    let hwinfo = 5 << 24 | 1 << 8;
    for data in [&b""[..], b"\x18\0\0", b"\xff\xff\xff\xff", b"\x18\0\0\0more", &[0xff; 4]] {
        assert_eq!(dsp.call_raw(hwinfo, handle, data, 1).result, BAD_PARAMETER);
    }
    for scalars in [0xffff_ffff, 0x00ff_ffff, 2 << 24 | 1 << 16, 1 << 24 | 2 << 4, 2] {
        assert_eq!(dsp.call_raw(scalars, handle, &[], 0).result, BAD_PARAMETER, "{scalars:#x}");
    }
    assert_eq!(dsp.call(5, 0, handle, &[], &[200_000]).result, BAD_PARAMETER);
    assert_eq!(dsp.call(5, 0, handle ^ 1 << 40, &[], &[24]).result, BAD_PARAMETER);
    assert_eq!(dsp.call(9, 0, handle, &[], &[]).result, 0x8000_0414);
    assert_eq!(dsp.call(5, 0, handle, &[], &[24]).result, 0);
    dsp.write(b"still here");
    assert_eq!(dsp.read().status, BAD_PACKET);
    assert!(!dsp.logs.is_empty());
    assert_eq!(dsp.stop(handle), 0);
}

#[test]
fn ends_with_its_host() {
    assert_eq!(Dsp::spawn().hang_up(), Some(0)); // before anything was said
    let (dsp, _) = Dsp::ready();
    let begin = Instant::now();
    assert_eq!(dsp.hang_up(), Some(0)); // in the middle of a session
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn refuses_to_start_without_a_socket() {
    let Some(program) = std::env::var_os("HTP_SIM_DSP").or_else(|| std::env::current_exe().ok().map(Into::into)) else {
        return;
    };
    let status = Command::new(program)
        .args(["--exact", "dsp_process", "--nocapture"])
        .env("HTP_SIM_SOCKET", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
