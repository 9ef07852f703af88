//! Sessions against a driver that is part of the test: bring-up and teardown, batches, and what happens when things go
//! wrong on the way.

mod dsp_driver;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dsp_driver::{response, Answer, Driver, DEAD};
use ggml_hexagon::batch::wire::*;
use ggml_hexagon::config::{Config, Profile};
use ggml_hexagon::dsp::{Capabilities, MappedBuffer, Session, SharedMemory};
use ggml_hexagon::error::{Error, HtpStatus};
use hexagon_sdk_sys::*;

const CDSP: i32 = 3;
const BATCH_BYTES: u32 = 256;

fn config() -> Config {
    Config { timeout_ms: 5000, ..Config::default() }
}

fn open_with(rpc: Arc<FastRpc>, index: usize, config: &Config) -> Result<Arc<Session>, Error> {
    let capabilities = Capabilities { arch: 75, hvx: true, hmx: true, vtcm_bytes: 8 << 20, unsigned_pd: true };
    Session::open(rpc, index, config, &capabilities)
}

fn open(driver: &Driver) -> Arc<Session> {
    open_with(driver.rpc(), 0, &config()).expect("bring-up")
}

fn run(session: &Session, command: &MappedBuffer) -> Result<(), Error> {
    session.run(command, 0, BATCH_BYTES).map(|_| ())
}

/// A session, a command buffer of it, and a log without their bring-up.
fn ready(driver: &Driver) -> (Arc<Session>, Arc<MappedBuffer>) {
    let session = open(driver);
    let command = session.allocate(4096).expect("memory");
    driver.take_log();
    (session, command)
}

#[test]
fn bring_up_and_teardown_have_an_order() {
    let driver = Driver::new();
    let profile = Profile { enabled: true, events: vec![3, 0x111] };
    let config = Config { nhvx: 3, use_hmx: false, etm: true, profile, ..config() };
    let session = open_with(driver.rpc(), 1, &config).expect("bring-up");
    let uri = "file:///libggml-htp-v75.so?htp_iface_skel_handle_invoke&_modver=1.0&_dom=cdsp&_session=1&asked=1";
    let open = format!("open {uri}");
    let before = ["reserve cdsp HTP1", "unsigned 11 1", &open, "latency", "queue 11", "export", "etm 1"];
    assert_eq!(driver.take_log(), [&before[..], &["start", "hwinfo", "events [3, 273]"]].concat());
    let start = driver.starts()[0];
    assert_eq!((start.session_id, start.n_hvx, start.use_hmx, start.version), (1, 3, 0, HTP_WIRE_VERSION));
    assert_eq!(start.queue_id, 64 | 1 << 40);
    let info = session.hwinfo().expect("the session is open");
    assert_eq!((info.arch, info.n_hvx, info.vtcm_bytes, info.has_hmx), (75, 4, 8 << 20, true));

    let buffer = session.allocate(10_000).expect("memory");
    assert_eq!(driver.take_log(), ["rpcmem_alloc2", "map"]);
    assert_eq!(driver.mapped(11), [buffer.fd()]);
    drop(session);
    assert_eq!(driver.take_log(), [""; 0], "a buffer keeps its session");
    drop(buffer);
    assert_eq!(driver.take_log(), ["unmap", "free", "stop", "events []", "etm 0", "queue close", "close"]);
    driver.assert_idle();
    assert_eq!(driver.reserved(), 0);
}

#[test]
fn a_step_that_fails_undoes_those_before_it() {
    let undo_open: &[&str] = &["close"];
    let undo_queue: &[&str] = &["queue close", "close"];
    let undo_etm: &[&str] = &["etm 0", "queue close", "close"];
    let undo_start: &[&str] = &["stop", "etm 0", "queue close", "close"];
    let steps: [(&str, &str, &[&str]); 7] = [
        ("reserve", "FASTRPC_RESERVE_NEW_SESSION", &[]),
        ("unsigned", "DSPRPC_CONTROL_UNSIGNED_MODULE", &[]),
        ("open", "remote_handle64_open", &[]),
        ("queue", "dspqueue_create", undo_open),
        ("export", "dspqueue_export", undo_queue),
        ("start", "htp_iface_start", undo_etm),
        ("hwinfo", "htp_iface_hwinfo", undo_start),
    ];
    for (step, name, undone) in steps {
        let driver = Driver::new();
        driver.fail(step, 0x8000_0414);
        let error = open_with(driver.rpc(), 1, &Config { etm: true, ..config() }).err().expect(step);
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("0x80000414") && text.contains("HTP1"), "{text}");
        let log = driver.take_log();
        let failed = log.iter().position(|line| *line == format!("{step} failed")).expect(step);
        assert_eq!(log[failed + 1..], *undone, "after {step}");
        driver.assert_idle();
    }
}

/// The DSP has one set of counters for all sessions.
#[test]
fn events_are_counted_until_the_last_session_ends() {
    let driver = Driver::new();
    let config = Config { profile: Profile { enabled: true, events: vec![3, 4, 5] }, ..config() };
    let first = open_with(driver.rpc(), 0, &config).expect("bring-up");
    let counted = |session: &Arc<Session>| {
        let command = session.allocate(4096).expect("memory");
        session.run(&command, 0, BATCH_BYTES).expect("a batch").n_events
    };
    assert_eq!(counted(&first), 3);
    for step in ["start", "hwinfo"] {
        driver.fail(step, 0x8000_0414);
        assert!(open_with(driver.rpc(), 1, &config).is_err());
        driver.repair();
    }
    let second = open_with(driver.rpc(), 1, &config).expect("bring-up");
    driver.fail("events", AEE_EUNSUPPORTED);
    let without = open_with(driver.rpc(), 2, &config).expect("bring-up");
    driver.repair();
    assert_eq!((counted(&second), counted(&without)), (3, 0));
    drop((without, second));
    assert!(!driver.take_log().contains(&"events []".to_owned()), "the first still counts");
    assert_eq!(counted(&first), 3);
    drop(first);
    assert!(driver.take_log().contains(&"events []".to_owned()));
}

#[test]
fn a_library_of_another_version_is_refused() {
    let driver = Driver::new();
    driver.set_version(HTP_WIRE_VERSION + 1);
    let error = open_with(driver.rpc(), 0, &config()).err().expect("another version");
    assert!(matches!(error, Error::WireVersion { arch: 75, .. }), "{error}");
    assert!(driver.take_log().ends_with(&["stop".into(), "queue close".into(), "close".into()]));
    driver.assert_idle();
}

#[test]
fn a_missing_library_is_named_with_the_remedy() {
    let driver = Driver::new();
    driver.fail("open", DSP_AEE_EUNABLETOLOAD);
    let text = open_with(driver.rpc(), 0, &config()).err().expect("no library").to_string();
    for part in ["libggml-htp-v75.so", "0x80000406", "ADSP_LIBRARY_PATH", "HTP0"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn old_drivers_do() {
    let driver = Driver::new();
    driver.fail("uri", AEE_EUNSUPPORTED);
    driver.fail("latency", AEE_EUNSUPPORTED);
    driver.fail("etm", AEE_EUNSUPPORTED);
    driver.fail("events", AEE_EUNSUPPORTED);
    let profile = Profile { enabled: true, events: vec![3] };
    let config = Config { etm: true, profile, ..config() };
    let sessions: Vec<_> = (0..2).map(|index| open_with(driver.rpc(), index, &config).expect("bring-up")).collect();
    let log = driver.take_log();
    let uris: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("open ")).collect();
    let module = "file:///libggml-htp-v75.so?htp_iface_skel_handle_invoke&_modver=1.0";
    assert_eq!(uris, [format!("{module}&_dom=cdsp"), format!("{module}&_dom=cdsp&_session=1")]);
    drop(sessions);
    assert!(
        !driver.take_log().iter().any(|line| line.starts_with("etm 0") || line.starts_with("events [")),
        "what was not turned on is not turned off"
    );
    driver.repair();

    let old = open_with(driver.old_rpc(), 0, &config).expect("bring-up without optional functions");
    let buffer = old.allocate(100).expect("memory");
    assert!(driver.take_log().contains(&"rpcmem_alloc".to_owned()));
    run(&old, &old.allocate(4096).expect("memory")).expect("a batch");
    let too_large = old.allocate(i32::MAX as usize - 100).expect_err("its size is an int");
    assert!(matches!(too_large, Error::TooLarge { .. }), "{too_large}");
    drop((buffer, old));
    driver.assert_idle();
}

#[test]
fn batches_are_numbered_and_reported() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    let report = session.run(&command, 128, BATCH_BYTES).expect("a batch");
    assert_eq!((report.ops_done, report.dsp_time), (2, Duration::from_millis(1)));
    run(&session, &command).expect("a batch");
    assert_eq!(driver.packets(), [1, 2]);
}

#[test]
fn threads_take_turns() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| run(&session, &command).expect("a batch")));
        }
    });
    let packets = driver.packets();
    assert_eq!(packets.len(), 200);
    assert_eq!(packets.into_iter().collect::<BTreeSet<_>>().len(), 200, "every request has its own number");
    assert_eq!(driver.take_log(), [""; 0], "the session was never opened again");
}

#[test]
fn a_batch_that_fails_leaves_the_session() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    driver.script([Answer::Failed(HTP_STATUS_NO_VTCM, 5, 77), Answer::Failed(HTP_STATUS_BAD_BATCH, HTP_NO_TENSOR, 0)]);
    let error = run(&session, &command).expect_err("no VTCM");
    assert_eq!(error.failed_op(), Some(5));
    assert!(matches!(error, Error::Batch { status: HtpStatus::NoVtcm, detail: 77, ops_done: 2, .. }), "{error}");
    assert_eq!(run(&session, &command).expect_err("a bad batch").failed_op(), None);
    run(&session, &command).expect("the session goes on");
    assert_eq!(driver.take_log(), [""; 0]);
}

/// What a lost session does next: the same work again, on a new process, with everything mapped.
fn assert_recovers(driver: &Driver, session: &Arc<Session>, command: &MappedBuffer) {
    let log = driver.take_log();
    assert!(session.hwinfo().is_none(), "the session is lost");
    assert!(!log.contains(&"stop".to_owned()), "nothing is asked of a process that was given up: {log:?}");
    assert_eq!(log[log.len() - 2..], ["queue close", "close"], "{log:?}");
    assert!(driver.mapped(CDSP).is_empty());
    run(session, command).expect("the next batch opens the session again");
    assert!(driver.mapped(CDSP).contains(&command.fd()));
    assert!(session.hwinfo().is_some());
    driver.take_log();
}

#[test]
fn answers_that_make_no_sense_lose_the_session() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    let answers: [(dsp_driver::MakeAnswer, &str); 8] = [
        (|seq| response(seq, 0, 0, 0)[..31].to_vec(), "31 bytes"),
        (|seq| [response(seq, 0, 0, 0), vec![0]].concat(), "33 bytes"),
        (|_| vec![], "0 bytes"),
        (|_| vec![0; 10_000], "bytes"),
        (|seq| [&[1], &response(seq, 0, 0, 0)[1..]].concat(), "magic"),
        (|seq| response(seq + 1, 0, 0, 0), "request"),
        (|_| response(0, HTP_STATUS_BAD_PACKET, 0, 0), "request 0"),
        (|seq| response(seq, 4711, 0, 0), "status 4711"),
    ];
    for (answer, reason) in answers {
        driver.script([Answer::Bytes(answer)]);
        match run(&session, &command) {
            Err(Error::Malformed(text)) => assert!(text.contains(reason), "{text}"),
            other => panic!("{reason}: {other:?}"),
        }
        assert_recovers(&driver, &session, &command);
    }
}

#[test]
fn a_dsp_that_does_not_answer_is_killed() {
    let driver = Driver::new();
    let config = Config { timeout_ms: 50, ..Config::default() };
    let session = open_with(driver.rpc(), 0, &config).expect("bring-up");
    let command = session.allocate(4096).expect("memory");
    driver.take_log();
    driver.script([Answer::Nothing]);
    let error = run(&session, &command).expect_err("no answer");
    assert!(matches!(error, Error::TimedOut(time) if time == Duration::from_millis(50)), "{error}");
    assert!(error.to_string().contains("50 ms") && error.to_string().contains("GGML_HEXAGON_TIMEOUT_MS"), "{error}");
    let log = driver.take_log();
    assert_eq!(log, ["kill 3", "unmap", "queue close", "close"]);
    run(&session, &command).expect("the next batch opens the session again");
}

#[test]
fn an_answer_later_than_one_read_waits_is_taken() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    for nothing_yet in [AEE_EEXPIRED, AEE_EWOULDBLOCK] {
        driver.fail_nth("read", 1, nothing_yet);
        run(&session, &command).expect("a slow batch");
    }
    assert!(session.hwinfo().is_some());
}

#[test]
fn a_dead_dsp_is_replaced_and_memory_survives() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    let weights = session.allocate(100_000).expect("memory");
    // SAFETY: 100000 bytes that nobody else uses.
    unsafe { weights.as_ptr().write_bytes(42, weights.len()) };
    for (answer, call) in [(Some(Answer::Die), "dspqueue_read"), (None, "dspqueue_write")] {
        match answer {
            Some(answer) => driver.script([answer]),
            None => driver.fail_nth("write", 1, AEE_EINTERRUPTED),
        }
        let error = run(&session, &command).expect_err("the DSP died");
        assert!(matches!(error, Error::Call { code: DEAD, call: its, .. } if its == call), "{error}");
        assert!(error.to_string().contains("0x2e"), "{error}");
        assert_recovers(&driver, &session, &command);
        assert_eq!(driver.mapped(CDSP), [command.fd(), weights.fd()]);
    }
    // SAFETY: as above.
    assert_eq!(unsafe { weights.as_ptr().add(99_999).read() }, 42);
    drop((command, weights, session));
    driver.assert_idle();
}

#[test]
fn a_session_that_cannot_be_opened_again_is_tried_at_every_call() {
    let driver = Driver::new();
    let session = open_with(driver.rpc(), 1, &config()).expect("bring-up");
    let command = session.allocate(4096).expect("memory");
    driver.script([Answer::Die]);
    run(&session, &command).expect_err("the DSP died");
    driver.take_log();
    driver.fail("open", AEE_ECONNREFUSED);
    for _ in 0..5 {
        let error = run(&session, &command).expect_err("it cannot be opened");
        assert!(matches!(error, Error::Call { call: "remote_handle64_open", code: 0x72, .. }), "{error}");
        assert!(matches!(session.allocate(1), Err(Error::Call { code: 0x72, .. })));
    }
    assert_eq!(driver.reserved(), 1, "attempts do not use up the driver's sessions");
    assert_eq!(driver.blocks(), 1, "memory that could not be mapped is freed");
    driver.repair();
    run(&session, &command).expect("it can again");
    assert_eq!(driver.mapped(11), [command.fd()]);
    drop((command, session));
    driver.assert_idle();
    assert_eq!(driver.reserved(), 0);
}

#[test]
fn buffers_that_cannot_be_mapped_again_undo_the_opening() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    let others: Vec<_> = (0..3).map(|_| session.allocate(1 << 16).expect("memory")).collect();
    driver.script([Answer::Die]);
    run(&session, &command).expect_err("the DSP died");
    driver.take_log();
    driver.fail_nth("fastrpc_mmap", 3, AEE_ENOMEMORY);
    let error = run(&session, &command).expect_err("no room");
    assert!(matches!(error, Error::Call { call: "fastrpc_mmap", .. }), "{error}");
    let log = driver.take_log();
    assert_eq!(log[log.len() - 6..], ["fastrpc_mmap failed", "unmap", "unmap", "stop", "queue close", "close"]);
    drop(others);
    run(&session, &command).expect("there is room again");
    assert_eq!(driver.mapped(CDSP), [command.fd()], "buffers that were dropped meanwhile are not mapped");
    drop((command, session));
    driver.assert_idle();
}

#[test]
fn allocations_that_fail_leave_nothing() {
    let driver = Driver::new();
    let session = open(&driver);
    driver.fail("rpcmem_alloc2", 0);
    let error = session.allocate(5000).expect_err("no memory");
    assert!(matches!(error, Error::OutOfMemory { call: "rpcmem_alloc2", bytes: 5000 }), "{error}");
    driver.repair();
    driver.fail("rpcmem_to_fd", u32::MAX);
    assert!(matches!(session.allocate(5000), Err(Error::NoDescriptor { fd: -1 })));
    driver.repair();
    driver.fail("fastrpc_mmap", AEE_ENOMEMORY);
    let text = session.allocate(5000).expect_err("no room").to_string();
    assert!(text.contains("fastrpc_mmap") && text.contains("0x02") && text.contains("-ngl"), "{text}");
    assert!(matches!(session.allocate(usize::MAX), Err(Error::TooLarge { .. })));
    assert_eq!(driver.blocks(), 0);
    assert!(session.hwinfo().is_some(), "the session is not lost for that");

    driver.repair();
    driver.fail_nth("fastrpc_mmap", 1, AEE_EINTERRUPTED);
    session.allocate(5000).expect_err("the DSP died");
    assert!(session.hwinfo().is_none());
    session.allocate(5000).expect("the next allocation opens the session again");
}

#[test]
fn memory_is_counted() {
    let driver = Driver::new();
    let session = open(&driver);
    let (_, total) = session.memory();
    assert!(total > 0 && total <= 3200 << 20, "{total}");
    let empty = session.allocate(0).expect("no bytes are fine");
    assert_eq!((empty.len(), empty.is_empty()), (0, true));
    // the kernel's figure for free memory moves; beyond the whole budget there is nothing left in any case
    let budget: Vec<_> = (0..4).map(|_| session.allocate(850 << 20).expect("untouched memory costs nothing")).collect();
    assert_eq!(session.memory(), (0, total));
    drop(budget);
    assert!(session.memory().0 > 0);
}

#[test]
fn shared_memory_is_freed_once() {
    let driver = Driver::new();
    let memory = SharedMemory::allocate(&driver.rpc(), 4097).expect("memory");
    assert_eq!((memory.len(), memory.as_ptr().addr() % 4096, driver.blocks()), (4097, 0, 1));
    // SAFETY: inside the block, which has padding behind it.
    unsafe { memory.as_ptr().write_bytes(1, 4097) };
    drop(memory);
    driver.assert_idle();
}

#[test]
fn a_batch_that_does_not_fit_is_not_sent() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    let other = open_with(driver.rpc(), 1, &config()).expect("bring-up");
    let foreign = other.allocate(4096).expect("memory");
    driver.take_log();
    for (buffer, offset, size) in [
        (&command, 64, BATCH_BYTES),
        (&command, 0, 31),
        (&command, 0, 4097),
        (&command, 3968, 129),
        (&command, u32::MAX - 127, BATCH_BYTES),
        (&foreign, 0, BATCH_BYTES),
    ] {
        let error = session.run(buffer, offset, size).expect_err("no such place");
        assert!(matches!(error, Error::BadRequest(_)), "{error}");
    }
    session.run(&command, 3968, 128).expect("the last bytes of the buffer");
    assert_eq!((driver.packets().len(), driver.take_log().len()), (1, 0));
}

#[test]
fn teardown_survives_a_driver_that_fails_everywhere() {
    let driver = Driver::new();
    let (session, command) = ready(&driver);
    for call in ["fastrpc_munmap", "stop", "queue close", "close", "kill"] {
        driver.fail(call, AEE_EFAILED);
    }
    drop((command, session));
    let log = driver.take_log();
    assert!(
        log.ends_with(&[
            "stop failed".into(),
            "queue close failed".into(),
            "queue close".into(),
            "close failed".into(),
            "close".into()
        ]),
        "{log:?}"
    );
    driver.assert_idle();
}

#[test]
fn capabilities_are_asked() {
    let driver = Driver::new();
    let query = |config: &Config| Capabilities::query(&driver.rpc(), config);
    let expected = Capabilities { arch: 75, hvx: true, hmx: true, vtcm_bytes: 8 << 20, unsigned_pd: true };
    assert_eq!(query(&config()).expect("answers"), expected);
    let wanted = Config { arch: Some(73), ..config() };
    assert_eq!(query(&wanted).expect("answers"), Capabilities { arch: 73, ..expected });

    driver.set_attribute(DSP_ATTR_HMX_SUPPORT_DEPTH, 0);
    driver.set_attribute(DSP_ATTR_UNSIGNED_PD_SUPPORT, 0);
    assert_eq!(query(&config()).expect("answers"), Capabilities { hmx: false, unsigned_pd: false, ..expected });
    driver.set_attribute(DSP_ATTR_HVX_SUPPORT_128B, 0);
    assert!(matches!(query(&wanted), Err(Error::Unusable { .. })));
    driver.set_attribute(DSP_ATTR_HVX_SUPPORT_128B, 4);
    driver.set_attribute(DSP_ATTR_DOMAIN_SUPPORT, 0);
    assert!(matches!(query(&wanted), Err(Error::Unusable { .. })));
}

#[test]
fn an_unknown_architecture_is_not_guessed() {
    let driver = Driver::new();
    let wanted = Config { arch: Some(79), ..config() };
    driver.fail("info", AEE_EUNSUPPORTED);
    for rpc in [driver.rpc(), driver.old_rpc()] {
        let error = Capabilities::query(&rpc, &config()).expect_err("nobody knows");
        assert!(
            matches!(error, Error::UnknownArch { .. }) && error.to_string().contains("GGML_HEXAGON_ARCH"),
            "{error}"
        );
        assert_eq!(Capabilities::query(&rpc, &wanted).expect("the user knows").arch, 79);
    }
    driver.repair();
    driver.set_attribute(DSP_ATTR_ARCH_VER, 0);
    assert!(matches!(Capabilities::query(&driver.rpc(), &config()), Err(Error::UnknownArch { .. })));
}
