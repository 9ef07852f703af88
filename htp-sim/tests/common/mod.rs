//! A DSP process for tests: a thread on the other end of the socket that follows PROTOCOL.md.

#![allow(dead_code)] // every test program uses a part of it

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cdsprpc::launch::socket_pair;
use cdsprpc::protocol::{decode_call, encode_buffers, Kind, Message, Scalars, HEADER_BYTES};
use cdsprpc::queue::{Callbacks, QueueOptions};
use cdsprpc::{Driver, Settings};

/// The handle that the peer gives out: it uses both words of the message.
pub const REMOTE: u64 = 0x1234_5678_9abc_def0;
pub const URI: &str = "file:///libggml-htp-v73.so?htp_iface_skel_handle_invoke&_modver=1.0&_dom=cdsp";

/// Methods of the peer, beside open and close.
pub const ECHO: u32 = 2; // each output is the input of the same number, cut to its length
pub const HANG: u32 = 3; // no reply
pub const DIE: u32 = 4; // closes the socket
pub const REFUSE: u32 = 5; // result 0x80000414
pub const TOO_MUCH: u32 = 6; // replies with one byte more than asked for
pub const GARBAGE: u32 = 7; // sends what is not a message

/// Packets of the peer: others are sent back.
pub const PACKET_DIE: &[u8] = b"die";
pub const PACKET_QUIET: &[u8] = b"quiet";
pub const PACKET_SLEEP: &[u8] = b"sleep"; // stops reading, until the socket is closed

/// Everything that the peers of a driver were told.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<Message>>>);

impl Heard {
    pub fn of_kind(&self, kind: Kind) -> Vec<Message> {
        self.0.lock().unwrap().iter().filter(|message| message.kind == kind).cloned().collect()
    }

    /// Waits until the peers have heard so many messages of a kind.
    pub fn wait(&self, kind: Kind, count: usize) -> Vec<Message> {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let messages = self.of_kind(kind);
            if messages.len() >= count || Instant::now() > deadline {
                assert_eq!(messages.len(), count, "{kind:?}");
                return messages;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A driver whose DSP processes are threads of this one.
pub fn driver(settings: Settings) -> (Arc<Driver>, Heard) {
    let heard = Heard::default();
    let log = heard.clone();
    let connect = Box::new(move |_: &Settings| {
        let (driver_end, dsp_end) = socket_pair().unwrap();
        let log = log.clone();
        std::thread::spawn(move || serve(dsp_end, log));
        Ok((driver_end, None))
    });
    let driver = Driver::with_connection(settings, connect);
    driver.allow_unsigned(3, true).unwrap();
    (Arc::new(driver), heard)
}

pub fn options() -> QueueOptions {
    let callbacks = Callbacks { packet: None, error: None, context: 0 };
    QueueOptions { request_bytes: 128 << 10, response_bytes: 64 << 10, callbacks }
}

pub fn scalars(method: u32, inputs: usize, outputs: usize) -> u32 {
    Scalars { method, inputs, outputs, handles_in: 0, handles_out: 0 }.word()
}

pub fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(5))
}

fn serve(socket: OwnedFd, heard: Heard) {
    while let Some(message) = receive(&socket) {
        heard.0.lock().unwrap().push(message.clone());
        match message.kind {
            Kind::Call => match reply(&message) {
                Some(Ok(reply)) => send(&socket, &reply.encode().unwrap()),
                Some(Err(garbage)) => send(&socket, garbage),
                None if Scalars::from_word(message.a).method == DIE => return,
                None => {}
            },
            Kind::Packet => match message.data.as_slice() {
                PACKET_DIE => return,
                data if data.starts_with(PACKET_QUIET) => {}
                PACKET_SLEEP => wait_for_end(&socket),
                data => send(&socket, &Message::packet(message.ab(), data).encode().unwrap()),
            },
            _ => {}
        }
    }
}

/// The answer to a call; None: there is none. Err: bytes that are not a message.
fn reply(call: &Message) -> Option<Result<Message, &'static [u8]>> {
    let scalars = Scalars::from_word(call.a);
    let mut reply = Message { kind: Kind::Reply, data: Vec::new(), ..call.clone() };
    let (inputs, lengths) = decode_call(&call.data, scalars.inputs, scalars.outputs).unwrap();
    match scalars.method {
        0 => {
            let length = u32::from_le_bytes(inputs[0].as_slice().try_into().unwrap());
            assert_eq!((length as usize, inputs[1].last()), (inputs[1].len(), Some(&0)), "length and URI");
            (reply.c, reply.d) = (REMOTE as u32, (REMOTE >> 32) as u32);
        }
        1 => assert_eq!(call.cd(), REMOTE),
        ECHO => {
            let cut = |(input, length): (&Vec<u8>, &u32)| input[..input.len().min(*length as usize)].to_vec();
            let outputs: Vec<_> = inputs.iter().zip(&lengths).map(cut).collect();
            let outputs: Vec<_> = outputs.iter().map(Vec::as_slice).collect();
            reply.data = encode_buffers(&outputs).unwrap();
        }
        REFUSE => reply.result = 0x8000_0414,
        TOO_MUCH => reply.data = encode_buffers(&[&vec![0; lengths[0] as usize + 1]]).unwrap(),
        GARBAGE => return Some(Err(b"not a message")),
        _ => return None,
    }
    Some(Ok(reply))
}

fn receive(socket: &OwnedFd) -> Option<Message> {
    let mut buffer = vec![0_u8; 1 << 20];
    // SAFETY: the buffer is writable for its length.
    let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    (length >= HEADER_BYTES as isize).then(|| Message::decode(&buffer[..length as usize]).unwrap())
}

fn send(socket: &OwnedFd, bytes: &[u8]) {
    // SAFETY: `bytes` is a buffer of that length. A driver that has gone is not the peer's problem.
    unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
}

fn wait_for_end(socket: &OwnedFd) {
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: one entry, which is writable.
    unsafe { libc::poll(&mut poll, 1, 20_000) };
}
