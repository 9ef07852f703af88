//! Cases that choose the largest of random numbers which a backend has computed.
//!
//! Numbers that differ in their last place only, or not at all once they are rounded, may be chosen by one backend and
//! not by another, and both are right: of 288 scores, the eighth and ninth are that close in one row of some thousands.
//! Every run draws other numbers. So a case that failed is run many times, and is right when it fails as rarely as ties
//! come. This tells ties from gross faults only. That kernels keep the order of neighbours, which a fault of the last
//! digits but a few would change, is what `cargo xtask check` asks.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::output::{Case, Outcome, Reader};
use crate::device::{Device, HTP};
use crate::llama::Llama;
use crate::process::{self, End, Lines};

const OPS: &[&str] = &["TOPK_MOE"];
/// A case fails by ties in less than 1 of 100 runs (measured: 3 failures of the worst two in 300 runs of each).
pub const RUNS: usize = 40;
const MOST_FAILURES: usize = 1;

/// Whether a tie may be why the case failed: its op chooses, and numbers came out, other ones than the CPU's.
pub fn are_possible(op: &str, detail: &str) -> bool {
    OPS.contains(&op) && is_mismatch(detail)
}

/// What test-backend-ops says of wrong numbers. NaN, and cases that were not run, are something else.
fn is_mismatch(detail: &str) -> bool {
    detail.contains("ERR = ") && !detail.contains("NaN") && !detail.contains("nan")
}

/// Whether the case, `OP(params)`, fails so rarely that ties explain it.
pub fn explain(llama: &Llama, device: &Device, log: &Path, case: &str) -> Result<bool> {
    let (op, params) = case.split_once('(').unwrap_or((case, ""));
    let pattern = exactly(params.strip_suffix(')').unwrap_or(params));
    let mut mismatches = 0;
    for _ in 0..RUNS {
        let mut command = llama.bare("test-backend-ops", device);
        command.args(["test", "-b", HTP, "-o", op, "-p", &pattern]);
        let mut reader = Reader::default();
        let mut cases = Vec::new();
        let end =
            process::watch(&mut command, log, Duration::from_secs(super::STALL_SECONDS), Lines::Stdout, |line| {
                cases.extend(reader.line(line));
            })?;
        match again(&reader, &cases, &end) {
            Again::Passed => {}
            Again::Mismatch if mismatches < MOST_FAILURES => mismatches += 1,
            Again::Mismatch | Again::Broken => return Ok(false),
        }
    }
    Ok(true)
}

/// What came of one more run.
#[derive(Debug, PartialEq, Eq)]
enum Again {
    Passed,
    Mismatch,
    /// A crash, a stall, NaN, nothing run
    Broken,
}

fn again(reader: &Reader, cases: &[Case], end: &End) -> Again {
    let End::Exit(status) = end else { return Again::Broken };
    let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let (passed, failed) = (count(Outcome::Passed), count(Outcome::Failed));
    let explained = cases.iter().all(|case| case.outcome == Outcome::Passed || is_mismatch(&case.detail));
    match (reader.finished && explained && passed + failed == cases.len(), status.code(), failed) {
        (true, Some(0), 0) if passed > 0 => Again::Passed,
        (true, Some(1), 1..) => Again::Mismatch,
        _ => Again::Broken,
    }
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

    #[test]
    fn only_other_numbers_are_a_tie() {
        let status = |code: i32| End::Exit(std::os::unix::process::ExitStatusExt::from_raw(code));
        let case = |detail: &str, outcome| Case {
            op: "TOPK_MOE".into(),
            params: "n=1".into(),
            detail: detail.into(),
            outcome,
        };
        let (passed, wrong) = (case("", Outcome::Passed), case("[VIEW] ERR = 0.1 > 0.0", Outcome::Failed));
        let nan = case("[VIEW] NaN at index 3 (HTP0=nan CPU=1.0)", Outcome::Failed);
        let unclaimed = case("", Outcome::Unclaimed);
        let mut finished = Reader::default();
        finished.finished = true;
        let is = |case: &Case, end: End| again(&finished, std::slice::from_ref(case), &end);
        assert_eq!((is(&passed, status(0)), is(&wrong, status(1 << 8))), (Again::Passed, Again::Mismatch));
        for broken in [
            is(&nan, status(1 << 8)),
            is(&unclaimed, status(0)),
            is(&passed, status(11)),
            is(&wrong, status(11)),
            is(&wrong, End::Stalled(Duration::from_secs(1))),
            again(&finished, &[], &status(0)),
            again(&Reader::default(), std::slice::from_ref(&passed), &status(0)),
        ] {
            assert_eq!(broken, Again::Broken);
        }
        assert!(are_possible("TOPK_MOE", &wrong.detail) && !are_possible("ADD", &wrong.detail));
        assert!(!are_possible("TOPK_MOE", &nan.detail) && !are_possible("TOPK_MOE", "could not be run"));
    }
}
