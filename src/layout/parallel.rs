//! Independent jobs on a few threads.

use std::sync::OnceLock;
use std::thread;

use parking_lot::Mutex;

use super::pool::Pool;

/// Memory is the limit soon: more threads gain nothing.
const MAX_DEFAULT_THREADS: usize = 4;
/// Below this, a transfer is over (some 30 microseconds) before a waiting thread has woken up.
const PARALLEL_BYTES: usize = 256 << 10;
/// What a thread takes at a time.
const BATCH_BYTES: usize = 64 << 10;

/// Threads when nothing else is asked for.
pub(super) fn default_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, |n| n.get()).min(MAX_DEFAULT_THREADS))
}

/// Runs `work` for each job, on up to `threads` threads when the jobs, of about `job_bytes` each, move `bytes` in all.
///
/// The caller's thread takes jobs like the others, so nothing waits for one that does not come.
pub(super) fn for_each<J: Send>(
    threads: usize,
    bytes: usize,
    job_bytes: usize,
    jobs: impl Iterator<Item = J> + Send,
    work: impl Fn(J) + Sync,
) {
    if threads <= 1 || bytes < PARALLEL_BYTES {
        return jobs.for_each(work);
    }
    let batch = BATCH_BYTES.div_ceil(job_bytes.max(1));
    let jobs = Mutex::new(jobs);
    let worker = || {
        let mut mine = Vec::with_capacity(batch);
        loop {
            mine.extend(jobs.lock().by_ref().take(batch));
            if mine.is_empty() {
                return;
            }
            mine.drain(..).for_each(&work);
        }
    };
    static POOL: Pool = Pool::new();
    POOL.run((threads - 1).min(bytes / BATCH_BYTES), &worker);
}
