//! The panic guard around every function that ggml calls.

use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs `body`; when it panics, logs that `function` failed and returns `fallback` instead.
///
/// A panic is a defect of this crate: nothing that the outside world does causes one. State behind locks stays usable
/// because parking_lot locks do not poison and every update is completed before a lock is released.
pub fn guard<T>(function: &str, fallback: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(_) => {
            // The log itself may be what panics: no second unwinding from here.
            let _ = catch_unwind(|| log::error!("internal error in {function}: please report it with the log above"));
            fallback
        }
    }
}

#[cfg(test)]
mod tests {
    use super::guard;

    #[test]
    fn a_panic_becomes_the_fallback() {
        assert_eq!(guard("test", 7, || 3), 3);
        assert_eq!(guard("test", 7, || panic!("on purpose")), 7);
    }
}
