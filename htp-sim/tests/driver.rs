//! The driver against a DSP process that behaves, and one that does not.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cdsprpc::faults::Faults;
use cdsprpc::protocol::Kind;
use cdsprpc::queue::{Callbacks, QueueOptions};
use cdsprpc::{sys, Code, Driver, Settings};
use common::*;

const MAP_FD: i32 = sys::FASTRPC_MAP_FD as i32;

fn faults(list: &str) -> Settings {
    Settings { faults: Faults::parse(list, |text| panic!("{text}")), ..Settings::default() }
}

fn echo(driver: &Driver, handle: u64, text: &[u8]) -> Result<Vec<Vec<u8>>, Code> {
    driver.invoke(handle, scalars(ECHO, 1, 1), &[text], &[text.len() as u32])
}

fn read(driver: &Driver, queue: usize) -> Result<Vec<u8>, Code> {
    let mut buffer = [0; 1024];
    let length = driver.queue(queue)?.read(&mut buffer, soon())?;
    Ok(buffer[..length].to_vec())
}

#[test]
fn a_session_from_open_to_close() {
    let (driver, heard) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let queue = driver.create_queue(3, options()).unwrap();

    let outputs = driver.invoke(handle, scalars(ECHO, 3, 2), &[b"one", b"", b"three"], &[2, 8]).unwrap();
    assert_eq!(outputs, [b"on".to_vec(), vec![]]);
    for n in 0..300_u32 {
        driver.write(queue, &n.to_le_bytes(), soon()).unwrap();
    }
    for n in 0..300_u32 {
        assert_eq!(read(&driver, queue).unwrap(), n.to_le_bytes());
    }
    assert_eq!(driver.queue(queue).unwrap().read_now(&mut [0; 8]), Err(Code::WOULD_BLOCK));

    driver.close_queue(queue).unwrap();
    driver.close(handle).unwrap();
    assert_eq!(heard.of_kind(Kind::QueueClose).len(), 1);
    let calls = heard.of_kind(Kind::Call);
    let handles: Vec<_> = calls.iter().map(|call| call.cd()).collect();
    assert_eq!(handles, [0, REMOTE, REMOTE], "open, echo, close");
    assert_eq!(calls[0].data[12..12 + URI.len()], *URI.as_bytes());
}

#[test]
fn results_of_the_dsp_come_through() {
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let invoke = |word, inputs: &[&[u8]], lengths: &[u32]| driver.invoke(handle, word, inputs, lengths).map(|_| ());
    assert_eq!(invoke(scalars(REFUSE, 0, 1), &[], &[4]), Err(Code(0x8000_0414_u32 as i32)));
    assert_eq!(invoke(scalars(TOO_MUCH, 0, 1), &[], &[4]), Err(Code::FAILED));
    assert_eq!(invoke(scalars(1, 0, 0), &[], &[]), Err(Code::BAD_PARM), "open and close are not for invoke");
    assert_eq!(invoke(scalars(ECHO, 2, 0), &[b"1"], &[]), Err(Code::BAD_PARM), "scalars say another number");
    assert_eq!(invoke(scalars(ECHO, 0, 0) | 1, &[], &[]), Err(Code::UNSUPPORTED), "a handle argument");
    assert_eq!(invoke(scalars(ECHO, 1, 0), &[&vec![0; 128 << 10]], &[]), Err(Code::NO_MEMORY), "longer than a message");
    assert_eq!(driver.invoke(handle + 1, scalars(ECHO, 0, 0), &[], &[]), Err(Code::BAD_HANDLE));
    assert_eq!(echo(&driver, handle, b"still there").unwrap(), [b"still there"]);
    driver.close(handle).unwrap();
    assert_eq!(driver.close(handle), Err(Code::BAD_HANDLE));
}

#[test]
fn one_process_serves_all_handles_of_a_session() {
    let (driver, heard) = driver(Settings::default());
    let first = driver.open(URI).unwrap();
    let second = driver.open(&format!("{URI}&_session=0")).unwrap();
    driver.close(first).unwrap();
    assert_eq!(echo(&driver, second, b"x").unwrap(), [b"x"]);
    driver.close(second).unwrap();
    assert_eq!(heard.of_kind(Kind::Call).len(), 5);
}

#[test]
fn sessions_have_processes_of_their_own() {
    let (driver, _) = driver(Settings::default());
    let first = driver.open(URI).unwrap();
    assert_eq!(driver.open(&format!("{URI}&_session=1")), Err(Code::NO_SESSION), "not reserved");
    let (session, domain) = driver.reserve_session().unwrap();
    assert_eq!(session, 1);
    let uri = format!("{URI}&_session={session}");
    assert_eq!(driver.open(&uri), Err(Code::CONNECTION_REFUSED), "unsigned libraries are not allowed yet");
    driver.allow_unsigned(domain, true).unwrap();
    let second = driver.open(&uri).unwrap();
    assert_eq!(driver.allow_unsigned(domain, false), Err(Code::ALREADY_LOADED));

    assert_eq!(driver.invoke(first, scalars(DIE, 0, 0), &[], &[]), Err(Code::INTERRUPTED));
    assert_eq!(echo(&driver, second, b"x").unwrap(), [b"x"]);
    assert_eq!(driver.reserve_session().unwrap().0, 2);
    driver.close(second).unwrap();
    assert_eq!(driver.reserve_session().unwrap(), (1, domain), "a closed session is free again");
}

#[test]
fn sessions_run_out() {
    let (driver, _) = driver(Settings::default());
    let sessions: Vec<_> = std::iter::from_fn(|| driver.reserve_session().ok()).collect();
    assert_eq!(sessions.len(), 15);
    assert_eq!(driver.reserve_session(), Err(Code::NO_SESSION));
}

#[test]
fn the_library_must_fit_the_architecture() {
    let (driver, heard) = driver(Settings { arch: 79, ..Settings::default() });
    assert_eq!(driver.open(URI), Err(Code::UNABLE_TO_LOAD));
    assert!(heard.of_kind(Kind::Call).is_empty());
    driver.open(&URI.replace("v73", "v79")).unwrap();
}

#[test]
fn maps_reach_the_process_before_and_after_it_starts() {
    let (driver, heard) = driver(Settings { map_limit: 64 << 10, ..Settings::default() });
    let buffers: Vec<_> = (0..3).map(|_| driver.allocate(16 << 10).unwrap()).collect();
    let fds: Vec<_> = buffers.iter().map(|address| driver.buffer_fd(*address).unwrap()).collect();
    driver.map(3, fds[0], 0, 16 << 10, MAP_FD).unwrap();
    let handle = driver.open(URI).unwrap();
    driver.map(3, fds[1], 0, 10_000, MAP_FD).unwrap();
    let maps: Vec<_> = heard.wait(Kind::Map, 2).iter().map(|map| (map.a as i32, map.cd())).collect();
    assert_eq!(maps, [(fds[0], 16 << 10), (fds[1], 10_000)]);

    assert_eq!(driver.map(3, fds[0], 0, 4096, MAP_FD), Err(Code::ALREADY));
    assert_eq!(driver.map(3, fds[2], 0, (16 << 10) + 1, MAP_FD), Err(Code::BAD_PARM), "longer than the buffer");
    assert_eq!(driver.map(3, fds[2], 0, 0, MAP_FD), Err(Code::BAD_PARM));
    assert_eq!(driver.map(3, fds[2], 4096, 4096, MAP_FD), Err(Code::BAD_PARM));
    assert_eq!(driver.map(3, fds[2], 0, 4096, 77), Err(Code::BAD_PARM));
    assert_eq!(driver.map(3, 9999, 0, 4096, MAP_FD), Err(Code::BAD_PARM));
    assert_eq!(driver.map(3, -1, 0, 4096, MAP_FD), Err(Code::BAD_PARM));
    assert_eq!(driver.map(11, fds[2], 0, 4096, MAP_FD), Err(Code::BAD_PARM), "no such session");
    assert_eq!(driver.unmap(3, fds[2]), Err(Code::NO_SUCH_MAP));

    let big = driver.allocate(1 << 20).unwrap();
    let big_fd = driver.buffer_fd(big).unwrap();
    assert_eq!(driver.map(3, big_fd, 0, 1 << 20, MAP_FD), Err(Code::NO_MEMORY), "beyond the limit");
    driver.unmap(3, fds[1]).unwrap();
    driver.map(3, big_fd, 0, 48 << 10, MAP_FD).unwrap();
    driver.free(big);
    assert_eq!(driver.unmap(3, big_fd), Err(Code::NO_SUCH_MAP), "freeing has unmapped it");
    assert_eq!(heard.wait(Kind::Unmap, 2)[0].a as i32, fds[1]);

    driver.close(handle).unwrap();
    assert_eq!(driver.unmap(3, fds[0]), Err(Code::NO_SUCH_MAP), "maps end with the session");
    driver.map(3, fds[0], 0, 4096, MAP_FD).unwrap();
}

#[test]
fn memory_is_limited() {
    let (driver, _) = driver(Settings { memory_limit: Some(1 << 20), ..Settings::default() });
    let address = driver.allocate(1 << 20).unwrap();
    assert_eq!(driver.allocate(1), None);
    driver.free(address);
    assert!(driver.allocate(1).is_some());
}

#[test]
fn a_dead_process_interrupts_every_call_until_all_is_closed() {
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let queue = driver.create_queue(3, options()).unwrap();
    // three threads wait for a process that then dies
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let driver = Arc::clone(&driver);
            std::thread::spawn(move || driver.invoke(handle, scalars(HANG, 0, 0), &[], &[]).map(|_| ()))
        })
        .chain([{
            let driver = Arc::clone(&driver);
            std::thread::spawn(move || driver.queue(queue)?.read(&mut [0; 8], None).map(|_| ()))
        }])
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    driver.write(queue, PACKET_DIE, soon()).unwrap();
    for thread in waiting {
        assert_eq!(thread.join().unwrap(), Err(Code::INTERRUPTED));
    }

    assert_eq!(echo(&driver, handle, b"x"), Err(Code::INTERRUPTED));
    assert_eq!(driver.check_handle(handle), Err(Code::INTERRUPTED));
    assert_eq!(driver.write(queue, b"x", soon()), Err(Code::INTERRUPTED));
    assert_eq!(driver.queue(queue).unwrap().read_now(&mut [0; 8]), Err(Code::INTERRUPTED));
    assert_eq!(driver.open(URI), Err(Code::INTERRUPTED));
    assert_eq!(driver.create_queue(3, options()), Err(Code::INTERRUPTED));
    assert_eq!(driver.close(handle), Err(Code::INTERRUPTED));
    assert_eq!(driver.open(URI), Err(Code::INTERRUPTED), "the queue is not closed yet");
    driver.close_queue(queue).unwrap();

    let handle = driver.open(URI).unwrap();
    assert_eq!(echo(&driver, handle, b"alive again").unwrap(), [b"alive again"]);
    driver.close(handle).unwrap();
}

#[test]
fn a_process_that_sends_garbage_is_ended() {
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    assert_eq!(driver.invoke(handle, scalars(GARBAGE, 0, 0), &[], &[]), Err(Code::INTERRUPTED));
}

#[test]
fn reads_wait_no_longer_than_asked() {
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let queue = driver.queue(driver.create_queue(3, options()).unwrap()).unwrap();
    let begin = Instant::now();
    assert_eq!(queue.read(&mut [0; 8], Some(begin + Duration::from_millis(30))), Err(Code::EXPIRED));
    let waited = begin.elapsed();
    assert!(waited >= Duration::from_millis(30) && waited < Duration::from_secs(3), "{waited:?}");
    driver.close(handle).unwrap();
}

#[test]
fn writes_wait_for_room_no_longer_than_asked() {
    let (driver, _) = driver(Settings::default());
    driver.open(URI).unwrap();
    let queue = driver.create_queue(3, QueueOptions { request_bytes: 16 << 20, ..options() }).unwrap();
    driver.write(queue, PACKET_SLEEP, soon()).unwrap();
    // the socket is full long before a ring of this size
    let mut written = 0;
    let result = loop {
        match driver.write(queue, &vec![7; 30_000], Some(Instant::now() + Duration::from_millis(30))) {
            Ok(()) => written += 1,
            Err(code) => break code,
        }
        assert!(written < 500, "nobody reads, so there must be an end");
    };
    assert_eq!(result, Code::EXPIRED);
    assert!(written > 0);
}

#[test]
fn a_ring_is_full_until_the_dsp_answers() {
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let ring = |request_bytes| QueueOptions { request_bytes, ..options() };
    let queue = driver.create_queue(3, ring(4 * (64 + 16))).unwrap();
    let soon_over = || Some(Instant::now() + Duration::from_millis(30));
    let mut quiet = [0; 16];
    quiet[..PACKET_QUIET.len()].copy_from_slice(PACKET_QUIET);
    // what is answered makes room again and again
    for _ in 0..20 {
        driver.write(queue, &[1; 16], soon()).unwrap();
    }
    for _ in 0..20 {
        assert_eq!(read(&driver, queue).unwrap(), [1; 16]);
    }
    // what is not answered keeps its place
    for _ in 0..4 {
        driver.write(queue, &quiet, soon_over()).unwrap();
    }
    assert_eq!(driver.write(queue, &quiet, soon_over()), Err(Code::EXPIRED));
    assert_eq!(driver.write(queue, &[], Some(Instant::now())), Err(Code::EXPIRED));
    let other = driver.create_queue(3, ring(1024)).unwrap();
    driver.write(other, &[1; 16], soon()).unwrap();
    assert_eq!(read(&driver, other).unwrap(), [1; 16]);
    driver.close(handle).unwrap();
}

#[test]
fn a_packet_that_does_not_fit_the_buffer_stays() {
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let queue = driver.create_queue(3, options()).unwrap();
    driver.write(queue, b"twelve bytes", soon()).unwrap();
    let end = driver.queue(queue).unwrap();
    assert_eq!(end.read(&mut [0; 11], soon()), Err(Code::BAD_PARM));
    assert_eq!(end.read_now(&mut [0; 0]), Err(Code::BAD_PARM));
    assert_eq!(read(&driver, queue).unwrap(), b"twelve bytes");
    driver.close(handle).unwrap();
}

#[test]
fn packets_and_rings_have_limits() {
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let small = driver.create_queue(3, QueueOptions { request_bytes: 256, ..options() }).unwrap();
    assert_eq!(driver.write(small, &[0; 193], soon()), Err(Code::BAD_PARM));
    driver.write(small, &[0; 192], soon()).unwrap();
    let large = driver.create_queue(3, options()).unwrap();
    assert_eq!(driver.write(large, &[0; 65_537], soon()), Err(Code::BAD_PARM));
    driver.write(large, &[0; 65_536], soon()).unwrap();
    let too_large = QueueOptions { response_bytes: (16 << 20) + 1, ..options() };
    assert_eq!(driver.create_queue(3, too_large), Err(Code::BAD_PARM));
    assert_eq!(driver.create_queue(0, options()), Err(Code::BAD_PARM), "no such session");
    driver.close(handle).unwrap();
}

#[test]
fn queues_are_announced_when_there_is_a_process() {
    let (driver, heard) = driver(Settings::default());
    let early = driver.create_queue(3, options()).unwrap();
    assert_eq!(driver.write(early, b"x", soon()), Err(Code::BAD_STATE));
    let handle = driver.open(URI).unwrap();
    let late = driver.create_queue(3, options()).unwrap();
    let announced: Vec<_> = heard.wait(Kind::Queue, 2).iter().map(|queue| (queue.ab(), queue.c, queue.d)).collect();
    let expected = [early, late].map(|queue| (driver.queue(queue).unwrap().id, 128 << 10, 64 << 10));
    assert_eq!(announced, expected);
    driver.write(early, b"x", soon()).unwrap();
    assert_eq!(read(&driver, early).unwrap(), b"x");
    driver.close(handle).unwrap();
    assert_eq!(driver.write(late, b"x", soon()), Err(Code::INTERRUPTED), "the session is over");
    driver.close_queue(late).unwrap();
    assert_eq!(driver.close_queue(late), Err(Code::BAD_PARM));
    driver.close_queue(early).unwrap();
}

/// What the callbacks below have seen.
#[derive(Default)]
struct Seen {
    packets: AtomicUsize,
    error: AtomicI32,
}

unsafe extern "C" fn on_packet(queue: sys::dspqueue_t, error: i32, context: *mut libc::c_void) {
    assert!(!queue.is_null() && error == 0);
    // SAFETY: the test passes a Seen that outlives the queue.
    unsafe { &*context.cast::<Seen>() }.packets.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn on_error(_: sys::dspqueue_t, error: i32, context: *mut libc::c_void) {
    // SAFETY: as above.
    unsafe { &*context.cast::<Seen>() }.error.store(error, Ordering::SeqCst);
}

#[test]
fn callbacks_tell_of_packets_and_of_death() {
    let seen = Seen::default();
    let (driver, _) = driver(Settings::default());
    let handle = driver.open(URI).unwrap();
    let context = std::ptr::from_ref(&seen) as usize;
    let callbacks = Callbacks { packet: Some(on_packet), error: Some(on_error), context };
    let queue = driver.create_queue(3, QueueOptions { callbacks, ..options() }).unwrap();
    for _ in 0..3 {
        driver.write(queue, b"x", soon()).unwrap();
        assert_eq!(read(&driver, queue).unwrap(), b"x");
    }
    driver.write(queue, PACKET_DIE, soon()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while seen.error.load(Ordering::SeqCst) == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    driver.close_queue(queue).unwrap();
    assert_eq!(seen.packets.load(Ordering::SeqCst), 3);
    assert_eq!(seen.error.load(Ordering::SeqCst), 0x2e);
    assert_eq!(driver.close(handle), Err(Code::INTERRUPTED));
}

#[test]
fn injected_faults_lose_packets_and_kill() {
    let (driver, heard) = driver(faults("stall:2,kill:4"));
    let handle = driver.open(URI).unwrap();
    let queue = driver.create_queue(3, options()).unwrap();
    for text in [b"1", b"2", b"3"] {
        driver.write(queue, text, soon()).unwrap();
    }
    assert_eq!(read(&driver, queue).unwrap(), b"1");
    assert_eq!(read(&driver, queue).unwrap(), b"3");
    assert_eq!(heard.of_kind(Kind::Packet).len(), 2);
    driver.write(queue, PACKET_QUIET, soon()).unwrap();
    assert_eq!(read(&driver, queue), Err(Code::INTERRUPTED));
    assert_eq!(driver.close(handle), Err(Code::INTERRUPTED));
}

#[test]
fn logs_of_the_dsp_do_not_disturb() {
    // LOG is a message of the DSP; what it prints is seen by eye, that the connection goes on is checked here
    let (ours, theirs) = cdsprpc::launch::socket_pair().unwrap();
    let process = cdsprpc::process::Process::new(ours, None, 2).unwrap();
    let mut log = cdsprpc::protocol::Message::new(Kind::Log);
    (log.a, log.data) = (0, b"not printed".to_vec());
    let bytes = log.encode().unwrap();
    for _ in 0..3 {
        use std::os::fd::AsRawFd;
        // SAFETY: `bytes` is a buffer of that length.
        let sent = unsafe { libc::send(theirs.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        assert_eq!(sent, bytes.len() as isize);
    }
    std::thread::sleep(Duration::from_millis(20));
    assert!(process.is_alive());
    drop(theirs);
    process.end();
    process.join();
    assert!(!process.is_alive());
}
