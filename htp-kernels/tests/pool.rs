//! Worker threads and the DMA of the posix build.
#![allow(missing_docs, clippy::unwrap_used)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

type ThreadFn = extern "C" fn(*mut c_void, u32, u32);

extern "C" {
    fn htp_pool_start(pool: *mut *mut c_void, n_threads: u32) -> i32;
    fn htp_pool_run(pool: *mut c_void, n: u32, run: ThreadFn, arg: *mut c_void);
    fn htp_pool_threads(pool: *const c_void) -> u32;
    fn htp_pool_stop(pool: *mut c_void);

    fn htp_dma_init(queue: *mut Dma);
    fn htp_dma_push(
        queue: *mut Dma,
        dst: *mut u8,
        dst_stride: u32,
        src: *const u8,
        src_stride: u32,
        row_bytes: u32,
        rows: u32,
    );
    fn htp_dma_wait(queue: *mut Dma);
    fn htp_dma_wait_all(queue: *mut Dma);
}

struct Pool(*mut c_void);

impl Pool {
    fn start(n: u32) -> Result<Self, i32> {
        let _ = htp_kernels::dsp_main as fn() -> i32; // links the library that holds the C code
        let mut pool = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        match unsafe { htp_pool_start(&mut pool, n) } {
            0 => Ok(Self(pool)),
            error => Err(error),
        }
    }

    fn run(&mut self, n: u32, round: &mut Round) {
        // SAFETY: the pool is started, has this one caller, and `visit` takes its argument for a Round.
        unsafe { htp_pool_run(self.0, n, visit, std::ptr::from_mut(round).cast()) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: no run is under way, since that borrows the pool.
        unsafe { htp_pool_stop(self.0) }
    }
}

/// One call of `run`: how often each thread came.
#[derive(Default)]
struct Round {
    n: u32,
    visits: [AtomicU32; 16],
    main: Option<std::thread::ThreadId>,
    wrong: AtomicU32,
}

extern "C" fn visit(arg: *mut c_void, i: u32, n: u32) {
    // SAFETY: `run` passes a Round, which lives until all threads have returned.
    let round = unsafe { &*arg.cast::<Round>() };
    let on_main = round.main == Some(std::thread::current().id());
    if n != round.n || i >= n || on_main != (i == 0) {
        round.wrong.fetch_add(1, Ordering::Relaxed);
        return;
    }
    round.visits[i as usize].fetch_add(1, Ordering::Relaxed);
}

#[test]
fn every_round_runs_each_index_once() {
    let mut pool = Pool::start(4).unwrap();
    for k in 0..100_000u32 {
        let n = k % 4 + 1;
        let mut round = Round { n, main: Some(std::thread::current().id()), ..Round::default() };
        pool.run(n, &mut round);
        assert_eq!(*round.wrong.get_mut(), 0);
        for i in 0..16 {
            assert_eq!(*round.visits[i].get_mut(), u32::from((i as u32) < n), "round {k}, index {i} of {n}");
        }
        if k % 1000 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1)); // lets the workers fall asleep
        }
    }
}

#[test]
fn starts_and_stops() {
    for n in 1..=16 {
        let mut pool = Pool::start(n).unwrap();
        // SAFETY: the pool is started.
        assert_eq!(unsafe { htp_pool_threads(pool.0) }, n);
        let mut round = Round { n, main: Some(std::thread::current().id()), ..Round::default() };
        pool.run(n, &mut round);
        assert_eq!(*round.wrong.get_mut(), 0);
        assert_eq!(round.visits.iter().map(|v| v.load(Ordering::Relaxed)).sum::<u32>(), n);
    }
    assert!(Pool::start(0).is_err());
    assert!(Pool::start(17).is_err());
}

/// Room for struct htp_dma, whose fields are not the test's business.
#[repr(C, align(16))]
struct Dma([u8; 1024]);

#[test]
fn dma_copies_when_waited_for_and_not_before() {
    let mut dma = Dma([0xff; 1024]);
    let mut src: Vec<u8> = (0..=255).collect();
    let mut dst = [0u8; 64];
    // SAFETY: all copies stay inside src and dst, which outlive the queue's use.
    unsafe {
        htp_dma_init(&mut dma);
        htp_dma_push(&mut dma, dst.as_mut_ptr(), 8, src.as_ptr(), 100, 4, 2);
        assert_eq!(dst, [0; 64]);
        src[100] = 7;
        htp_dma_wait(&mut dma);
        assert_eq!(dst[..12], [0, 1, 2, 3, 0, 0, 0, 0, 7, 101, 102, 103]);

        // one more than fit: the oldest is done, the others are not
        dst = [0; 64];
        for i in 0..17 {
            htp_dma_push(&mut dma, dst.as_mut_ptr().add(i), 1, src.as_ptr().add(i + 1), 1, 1, 1);
        }
        assert_eq!(dst[..3], [1, 0, 0]);
        htp_dma_wait_all(&mut dma);
        assert_eq!(dst[..18], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0]);
        htp_dma_wait(&mut dma); // nothing left: returns
    }
}
