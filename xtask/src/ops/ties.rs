//! Cases that choose the largest of random numbers which a backend has computed.
//!
//! Numbers that differ in their last place only, or not at all once they are rounded, may be chosen by one backend and
//! not by another, and both are right: of 288 scores, the eighth and ninth are that close in one row of some thousands.
//! Every run draws other numbers. So a case that failed is run many times, and is right when it fails as rarely as ties
//! come. A kernel that is less exact than the last places fails in more of the runs; that kernels keep the order of
//! neighbours is what `cargo xtask check` asks.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::output::{Outcome, Reader};
use crate::device::{Device, HTP};
use crate::llama::Llama;
use crate::process::{self, Lines};

const OPS: &[&str] = &["TOPK_MOE"];
/// A case fails by ties in less than 1 of 100 runs (measured: 3 failures of the worst two in 300 runs of each).
pub const RUNS: usize = 40;
const MOST_FAILURES: usize = 1;

/// Whether ties decide what the op's cases give.
pub fn are_possible(op: &str) -> bool {
    OPS.contains(&op)
}

/// Whether the case, `OP(params)`, fails so rarely that ties explain it.
pub fn explain(llama: &Llama, device: &Device, log: &Path, case: &str) -> Result<bool> {
    let (op, params) = case.split_once('(').unwrap_or((case, ""));
    let pattern = exactly(params.strip_suffix(')').unwrap_or(params));
    let mut failures = 0;
    for _ in 0..RUNS {
        failures += usize::from(!passes(llama, device, log, op, &pattern)?);
        if failures > MOST_FAILURES {
            return Ok(false);
        }
    }
    Ok(true)
}

fn passes(llama: &Llama, device: &Device, log: &Path, op: &str, pattern: &str) -> Result<bool> {
    let mut command = llama.bare("test-backend-ops", device);
    command.args(["test", "-b", HTP, "-o", op, "-p", pattern]);
    let (mut reader, mut outcomes) = (Reader::default(), Vec::new());
    process::watch(&mut command, log, Duration::from_secs(super::STALL_SECONDS), Lines::Stdout, |line| {
        outcomes.extend(reader.line(line).map(|case| case.outcome));
    })?;
    let all_passed = outcomes.iter().all(|outcome| *outcome == Outcome::Passed);
    Ok(reader.finished && !outcomes.is_empty() && all_passed)
}

/// A regular expression for this text and no other.
fn exactly(text: &str) -> String {
    let mut pattern = String::from("^");
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "$"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_for_a_case() {
        assert_eq!(exactly("ne=[8,2],w=2.0"), r"^ne\=\[8\,2\]\,w\=2\.0$");
    }
}
