//! Progress on stderr: a bar on a terminal, a few plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// One piece of work that takes a while. Dropped without [`Progress::done`], it says nothing more: the error will.
pub struct Progress {
    bar: Option<ProgressBar>,
    what: String,
    started: Instant,
    tenth: u64,
}

impl Progress {
    /// Work measured in bytes.
    pub fn bytes(what: &str, total: u64) -> Self {
        Self::new(what, total, "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}")
    }

    /// Work measured in steps; the total may come later.
    pub fn steps(what: &str) -> Self {
        Self::new(what, 1, "{msg} [{bar:30}] {pos}/{len} {elapsed}")
    }

    /// Work of unknown length.
    pub fn spinner(what: &str) -> Self {
        Self::new(what, 0, "{spinner} {msg} {elapsed}")
    }

    fn new(what: &str, total: u64, template: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total);
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        if bar.is_none() {
            eprintln!("{what} ...");
        }
        Progress { bar, what: what.to_owned(), started: Instant::now(), tenth: 0 }
    }

    /// `done` of `total` units are finished.
    pub fn set(&mut self, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
        } else if let Some(tenth) = done.min(total).saturating_mul(10).checked_div(total) {
            if tenth > self.tenth && tenth < 10 {
                eprintln!("{}: {}0 %", self.what, tenth);
            }
            self.tenth = self.tenth.max(tenth);
        }
    }

    /// The work is finished.
    pub fn done(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        eprintln!("{} done in {:.1} s", self.what, self.started.elapsed().as_secs_f64());
    }

    /// The work is finished and its result will speak for itself.
    pub fn clear(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
