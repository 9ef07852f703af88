//! A few threads that wait for work: transfers are too short to start threads for each.

use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::thread;

use parking_lot::{Condvar, Mutex};

/// Threads that run a borrowed task together with the caller.
///
/// Workers are started when they are first needed and stay; the plug-in is never unloaded (see `build.rs`), so they may.
/// One task runs at a time. A caller that finds the pool busy works alone.
pub(super) struct Pool {
    turn: Mutex<()>,
    state: Mutex<State>,
    posted: Condvar,
    left: Condvar,
}

struct State {
    /// Threads started.
    workers: usize,
    /// The task of the caller whose turn it is, until nobody else may join.
    task: Option<Task>,
    /// How many more workers may join.
    wanted: usize,
    /// How many are in the task.
    running: usize,
    /// What the first that panicked panicked with.
    panic: Option<Box<dyn Any + Send>>,
}

#[derive(Clone, Copy)]
struct Task(&'static (dyn Fn() + Sync));

/// Ends a task, whichever way the caller leaves it: nobody joins any more, and those who have joined are waited for.
struct End<'a>(&'a Pool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.wanted = 0;
        state.task = None;
        while state.running > 0 {
            self.0.left.wait(&mut state);
        }
    }
}

impl Pool {
    pub const fn new() -> Pool {
        let state = State { workers: 0, task: None, wanted: 0, running: 0, panic: None };
        Pool { turn: Mutex::new(()), state: Mutex::new(state), posted: Condvar::new(), left: Condvar::new() }
    }

    /// Runs `task` on this thread and on up to `helpers` others. Returns when all have left it.
    ///
    /// A helper may come late or not at all: the task has to be complete when this thread's call of it ends and those
    /// that have begun end.
    ///
    /// # Panics
    /// When a call of `task` did.
    pub fn run(&'static self, helpers: usize, task: &(dyn Fn() + Sync)) {
        let Some(_turn) = self.turn.try_lock() else { return task() };
        // SAFETY: only the lifetime changes. Workers take the reference from `state.task` alone, and are counted in
        // `running` while they have it; `End` is dropped before `task` goes out of scope, also in a panic, and takes
        // the reference away and waits for them.
        let task_of_workers =
            Task(unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(task) });
        {
            let end = End(self);
            self.post(helpers, task_of_workers);
            task();
            drop(end);
        }
        if let Some(panic) = self.state.lock().panic.take() {
            resume_unwind(panic);
        }
    }

    fn post(&'static self, helpers: usize, task: Task) {
        let mut state = self.state.lock();
        while state.workers < helpers {
            let builder = thread::Builder::new().name("htp-repack".into());
            // Without it, the others do its part.
            if builder.spawn(|| self.work()).is_err() {
                break;
            }
            state.workers += 1;
        }
        state.task = Some(task);
        state.wanted = helpers;
        // A panic of a turn whose caller panicked too.
        state.panic = None;
        drop(state);
        for _ in 0..helpers {
            self.posted.notify_one();
        }
    }

    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            let task = match state.task {
                Some(task) if state.wanted > 0 => task,
                _ => {
                    self.posted.wait(&mut state);
                    continue;
                }
            };
            state.wanted -= 1;
            state.running += 1;
            drop(state);
            let result = catch_unwind(AssertUnwindSafe(task.0));
            state = self.state.lock();
            state.running -= 1;
            if let Err(panic) = result {
                state.panic.get_or_insert(panic);
            }
            if state.running == 0 {
                self.left.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn helpers_take_part_and_are_gone_afterwards() {
        static POOL: Pool = Pool::new();
        for helpers in [0, 1, 3, 2] {
            let (calls, inside) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let begin = Instant::now();
            POOL.run(helpers, &|| {
                inside.fetch_add(1, Ordering::SeqCst);
                calls.fetch_add(1, Ordering::SeqCst);
                // Until all are there.
                while calls.load(Ordering::SeqCst) <= helpers && begin.elapsed() < Duration::from_secs(20) {
                    thread::yield_now();
                }
                inside.fetch_sub(1, Ordering::SeqCst);
            });
            assert_eq!((calls.into_inner(), inside.into_inner()), (helpers + 1, 0));
        }
        assert_eq!(POOL.state.lock().workers, 3);
    }

    #[test]
    fn callers_that_meet_work_alone() {
        static POOL: Pool = Pool::new();
        let inner = AtomicUsize::new(0);
        POOL.run(0, &|| {
            POOL.run(5, &|| {
                inner.fetch_add(1, Ordering::SeqCst);
            });
        });
        assert_eq!((inner.into_inner(), POOL.state.lock().workers), (1, 0));
    }

    #[test]
    fn panics_reach_the_caller_and_the_pool_lives_on() {
        static POOL: Pool = Pool::new();
        let caller = thread::current().id();
        for of_caller in [true, false] {
            let begin = Instant::now();
            let calls = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                POOL.run(1, &|| {
                    calls.fetch_add(1, Ordering::SeqCst);
                    while calls.load(Ordering::SeqCst) < 2 && begin.elapsed() < Duration::from_secs(20) {
                        thread::yield_now();
                    }
                    assert!((thread::current().id() == caller) != of_caller, "on purpose");
                });
            }));
            assert!(result.is_err());
        }
        let calls = AtomicUsize::new(0);
        POOL.run(1, &|| {
            calls.fetch_add(1, Ordering::SeqCst);
        });
        assert!((1..=2).contains(&calls.into_inner()));
    }
}
