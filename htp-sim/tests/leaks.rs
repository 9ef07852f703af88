//! Nothing is left behind by sessions that come and go. Alone in its program: it counts what the process has open.

#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use cdsprpc::{Code, Settings};
use common::*;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// The threads of test peers end a moment after the driver's.
fn wait_for(count: usize, now: impl Fn() -> usize, what: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while now() > count && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(now(), count, "{what}");
}

#[test]
fn a_thousand_sessions_leave_nothing() {
    let (driver, _) = driver(Settings::default());
    let (fds, tasks) = (descriptors(), threads());
    for n in 0..1000 {
        let buffer = driver.allocate(4096).unwrap();
        let fd = driver.buffer_fd(buffer).unwrap();
        let handle = driver.open(URI).unwrap();
        let queue = driver.create_queue(3, options()).unwrap();
        driver.map(3, fd, 0, 4096, 2).unwrap();
        driver.write(queue, b"x", soon()).unwrap();
        assert_eq!(driver.queue(queue).unwrap().read(&mut [0; 8], soon()), Ok(1));
        if n % 100 == 0 {
            // a session that dies leaves nothing either
            assert_eq!(driver.invoke(handle, scalars(DIE, 0, 0), &[], &[]), Err(Code::INTERRUPTED));
        }
        driver.unmap(3, fd).unwrap();
        driver.close_queue(queue).unwrap();
        assert_eq!(driver.close(handle).is_err(), n % 100 == 0);
        driver.free(buffer);
    }
    wait_for(fds, descriptors, "descriptors");
    wait_for(tasks, threads, "threads");
}
