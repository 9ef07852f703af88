//! The `log` crate's records, sent to the callback that the program set with `ggml_log_set`.

use std::ffi::CString;

use super::base::base;
use super::bindings::*;

struct Bridge;

impl log::Log for Bridge {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        let level = match record.level() {
            log::Level::Error => GGML_LOG_LEVEL_ERROR,
            log::Level::Warn => GGML_LOG_LEVEL_WARN,
            log::Level::Info => GGML_LOG_LEVEL_INFO,
            log::Level::Debug | log::Level::Trace => GGML_LOG_LEVEL_DEBUG,
        };
        let line = format!("ggml-hexagon: {}\n", record.args()).replace('\0', "");
        match (base(), CString::new(line)) {
            // SAFETY: a variadic printf-like function, given the format for the one string that follows.
            (Ok(base), Ok(line)) => unsafe { (base.log)(level, c"%s".as_ptr(), line.as_ptr()) },
            (Err(_), Ok(line)) => eprint!("{}", line.to_string_lossy()),
            _ => {}
        }
    }

    fn flush(&self) {}
}

/// Installs the bridge.
pub fn init() {
    // An error means that a logger is set already: this function ran before.
    let _ = log::set_logger(&Bridge);
    log::set_max_level(log::LevelFilter::Info);
}

/// Whether debug records are produced.
pub fn set_verbose(verbose: bool) {
    log::set_max_level(if verbose { log::LevelFilter::Debug } else { log::LevelFilter::Info });
}
