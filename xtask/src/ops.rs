//! `cargo xtask ops`: llama.cpp's test-backend-ops on HTP0, counted by op.
//!
//! The program's console output is read, not its CSV: it is flushed case by case, so a crash loses nothing, and it
//! carries the error values. After a crash the run goes on with the ops that have not been tried.

mod output;
mod ties;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use serde::Serialize;

use self::output::{csv_fields, Case, Outcome, Reader};

use crate::device::{Device, Driver, Engine, HTP};
use crate::llama::Llama;
use crate::process::{self, End, Lines};
use crate::progress::Progress;
use crate::repo::Repo;

#[derive(clap::Args)]
pub struct Args {
    /// Only these ops: a comma separated list, passed on to test-backend-ops
    #[arg(short = 'o', value_name = "OP")]
    pub op: Option<String>,
    /// Only the cases whose parameters match, passed on to test-backend-ops
    #[arg(short = 'p', value_name = "REGEX")]
    pub params: Option<String>,
    /// Driver library to use
    #[arg(long, value_enum, default_value_t)]
    pub driver: Driver,
    /// Build of the simulated DSP to use
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,
    /// Write the counts to a file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seconds without a finished case after which the run counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = STALL_SECONDS)]
    pub stall: u64,
}

/// The slowest single cases take tens of seconds on the emulated engine.
const STALL_SECONDS: u64 = 600;

impl Default for Args {
    fn default() -> Self {
        Args { op: None, params: None, driver: Driver::default(), engine: None, json: None, stall: STALL_SECONDS }
    }
}

/// The counts of one op.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OpCount {
    pub op: String,
    /// Cases that test-backend-ops has
    pub cases: u64,
    /// Cases that the plug-in says it supports
    pub claimed: u64,
    pub passed: u64,
    pub failed: u64,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    pub counts: Vec<OpCount>,
    /// Failing cases, with the reason where it is known
    pub failures: Vec<String>,
    /// Cases that failed by ties, and count as passed
    pub ties: Vec<String>,
}

impl Report {
    pub fn total(&self, of: impl Fn(&OpCount) -> u64) -> u64 {
        self.counts.iter().map(of).sum()
    }
}

pub fn main(args: &Args) -> Result<bool> {
    let repo = Repo::find()?;
    let llama = Llama::get()?;
    let device = Device::htp(&repo, args.driver, args.engine)?;
    let report = run(&repo, &llama, &device, args)?;
    print!("{}", table(&report));
    if let Some(path) = &args.json {
        fs::write(path, serde_json::to_string_pretty(&report.counts)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let claimed = report.total(|op| op.claimed);
    if claimed == 0 {
        bail!("the plug-in claims none of these cases");
    }
    Ok(report.failures.is_empty())
}

/// Runs the cases; an error only when nothing could be run at all.
pub fn run(repo: &Repo, llama: &Llama, device: &Device, args: &Args) -> Result<Report> {
    let log = repo.log("ops");
    process::new_log(&log)?;
    let mut listed = list(repo, llama, device, args)?;
    let mut progress = Progress::steps("testing ops");
    let mut tally = Tally::default();
    let mut only = args.op.clone();
    loop {
        let mut command = llama.bare("test-backend-ops", device);
        command.args(["test", "-b", HTP]);
        command.args(only.iter().flat_map(|op| ["-o", op]));
        command.args(args.params.iter().flat_map(|params| ["-p", params]));
        let total = tally.seen() + listed.len() as u64;
        let mut seen = tally.seen();
        let mut reader = Reader::default();
        let mut next = 0;
        let end = process::watch(&mut command, &log, Duration::from_secs(args.stall), Lines::Stdout, |line| {
            if let Some(case) = reader.line(line) {
                next = next_after(&listed, next, &case.name());
                tally.add(case);
                seen += 1;
                progress.set(seen.min(total), total);
            }
        })?;
        if reader.finished {
            if !reader.has_backend {
                bail!("{HTP} is not there\n{}", process::tail(&log, 15));
            }
            tally.add_unseen(&reader.failing);
            tally.end(&end, !reader.failing.is_empty());
            break;
        }
        let Some(suspect) = listed.get(next) else {
            bail!("test-backend-ops ended early ({end})\n{}", process::tail(&log, 15));
        };
        tally.crash(suspect, &end);
        // Go on with the ops that have cases left; one that was begun before is run again from its start.
        let rest: BTreeSet<String> =
            ops_of(&listed[next..]).filter(|op| !tally.crashed.contains(*op)).map(String::from).collect();
        if rest.is_empty() {
            break;
        }
        tally.forget(&rest);
        listed.retain(|case| rest.contains(op_of(case)));
        only = Some(rest.into_iter().collect::<Vec<_>>().join(","));
    }
    progress.done();
    for case in tally.failed_with_ties() {
        if ties::explain(llama, device, &log, &case)? {
            tally.forgive(&case);
        }
    }
    Ok(tally.report())
}

/// Every case in the order it will run, as `OP(params)`. Fused cases are not listed by llama.cpp.
fn list(repo: &Repo, llama: &Llama, device: &Device, args: &Args) -> Result<Vec<String>> {
    let mut command = llama.bare("test-backend-ops", device);
    command.args(["support", "-b", HTP, "--output", "csv"]);
    command.args(args.op.iter().flat_map(|op| ["-o", op]));
    command.args(args.params.iter().flat_map(|params| ["-p", params]));
    let mut cases = Vec::new();
    let log = repo.log("ops-list");
    process::new_log(&log)?;
    process::logged(&mut command, &log, |line| {
        let fields = csv_fields(line);
        if fields.len() >= 4 && fields[3] == "support" {
            cases.push(format!("{}({})", fields[1], fields[2]));
        }
    })?;
    Ok(cases)
}

/// Where the case to come stands in the list, when `name` was reported and `next` was to come. A case that is not
/// listed (a fused one) moves nothing.
fn next_after(listed: &[String], next: usize, name: &str) -> usize {
    let rest = listed.get(next..).unwrap_or_default();
    rest.iter().position(|case| case == name).map_or(next, |at| next + at + 1)
}

fn op_of(case: &str) -> &str {
    case.split('(').next().unwrap_or(case)
}

fn ops_of(cases: &[String]) -> impl Iterator<Item = &str> {
    cases.iter().map(|case| op_of(case))
}

/// Counts and failures so far.
#[derive(Default)]
struct Tally {
    ops: BTreeMap<String, OpCount>,
    failures: Vec<(String, String)>,
    crashed: BTreeSet<String>,
    ties: Vec<String>,
}

impl Tally {
    fn add(&mut self, case: Case) {
        let count =
            self.ops.entry(case.op.clone()).or_insert_with(|| OpCount { op: case.op.clone(), ..Default::default() });
        count.cases += 1;
        match case.outcome {
            Outcome::Unclaimed => return,
            Outcome::Unchecked => {}
            Outcome::Passed => count.passed += 1,
            Outcome::Failed => {
                count.failed += 1;
                self.failures.push((case.name(), case.detail.clone()));
            }
        }
        count.claimed += 1;
    }

    /// Failures that printed no line of their own.
    fn add_unseen(&mut self, failing: &[String]) {
        for name in failing {
            if !self.failures.iter().any(|(failed, _)| failed == name) {
                let (op, params) = name.split_once('(').unwrap_or((name, ""));
                self.add(Case {
                    op: op.to_owned(),
                    params: params.strip_suffix(')').unwrap_or(params).to_owned(),
                    detail: "could not be run".to_owned(),
                    outcome: Outcome::Failed,
                });
            }
        }
    }

    fn crash(&mut self, suspect: &str, end: &End) {
        let op = op_of(suspect).to_owned();
        let count = self.ops.entry(op.clone()).or_insert_with(|| OpCount { op: op.clone(), ..Default::default() });
        count.cases += 1;
        count.claimed += 1;
        count.failed += 1;
        self.failures.push((suspect.to_owned(), format!("the program ended in or right before it: {end}")));
        self.crashed.insert(op);
    }

    /// The program's end after its last case: exit code 1 stands for failed cases, anything else is one more failure.
    fn end(&mut self, end: &End, has_failed: bool) {
        let code = match end {
            End::Exit(status) => status.code(),
            End::Stalled(_) => None,
        };
        if !matches!((code, has_failed), (Some(0), false) | (Some(1), true)) {
            self.failures.push(("test-backend-ops".to_owned(), format!("ended badly after the last case: {end}")));
        }
    }

    fn forget(&mut self, ops: &BTreeSet<String>) {
        self.ops.retain(|op, _| !ops.contains(op));
        self.failures.retain(|(case, _)| !ops.contains(op_of(case)));
    }

    /// Failed cases that ties may explain.
    fn failed_with_ties(&self) -> Vec<String> {
        let of_ties = |(case, detail): &&(String, String)| {
            ties::are_possible(op_of(case), detail) && !self.crashed.contains(op_of(case))
        };
        self.failures.iter().filter(of_ties).map(|(case, _)| case.clone()).collect()
    }

    /// A failed case was right after all.
    fn forgive(&mut self, case: &str) {
        let before = self.failures.len();
        self.failures.retain(|(failed, _)| failed != case);
        let forgiven = (before - self.failures.len()) as u64;
        if let Some(count) = self.ops.get_mut(op_of(case)) {
            count.failed = count.failed.saturating_sub(forgiven);
            count.passed += forgiven;
        }
        self.ties.push(case.to_owned());
    }

    fn seen(&self) -> u64 {
        self.ops.values().map(|op| op.cases).sum()
    }

    fn report(self) -> Report {
        let failures = self.failures.into_iter().map(|(case, why)| format!("{case}: {why}")).collect();
        Report { counts: self.ops.into_values().collect(), failures, ties: self.ties }
    }
}

/// Counts of the claimed ops, then the failures.
pub fn table(report: &Report) -> String {
    let mut text = format!("{:<30} {:>7} {:>8} {:>7} {:>7}\n", "op", "cases", "claimed", "passed", "failed");
    let mut row = |op: &str, c: &OpCount| {
        text += &format!("{op:<30} {:>7} {:>8} {:>7} {:>7}\n", c.cases, c.claimed, c.passed, c.failed);
    };
    let mut sum = OpCount::default();
    let mut unclaimed = Vec::new();
    for count in &report.counts {
        sum.cases += count.cases;
        sum.claimed += count.claimed;
        sum.passed += count.passed;
        sum.failed += count.failed;
        match count.claimed {
            0 => unclaimed.push(count.op.as_str()),
            _ => row(&count.op, count),
        }
    }
    row("all", &sum);
    if !unclaimed.is_empty() {
        text += &format!("not claimed at all: {}\n", unclaimed.join(", "));
    }
    let unchecked = sum.claimed.saturating_sub(sum.passed + sum.failed);
    if unchecked > 0 {
        text += &format!("claimed but not compared (the CPU backend cannot compute them): {unchecked}\n");
    }
    for case in &report.ties {
        text += &format!("failed by a tie, and at most once in {} more runs: {case}\n", ties::RUNS);
    }
    const SHOWN: usize = 50;
    for failure in report.failures.iter().take(SHOWN) {
        text += &format!("FAILED {failure}\n");
    }
    if report.failures.len() > SHOWN {
        text += &format!("... and {} more\n", report.failures.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Testing 2 devices

Backend 1/2: HTP0
  Device description: Hexagon
  Device memory: 2048 MB (2048 MB free)

  ADD(type=f32,ne=[1,1,1,1],nr=[1,1,1,1],nf=1): \u{1b}[1;32mOK\u{1b}[0m
[ADD] ERR = 0.500000000 > 0.000000100   ADD(type=f16,ne=[5,7,11,13]): \u{1b}[1;31mFAIL\u{1b}[0m
  ADD(type=bf16): not supported [HTP0] 
  MUL_MAT(type_a=q4_0,o=1): not supported [CPU] 
  MUL_MAT(type_a=q4_1,o=1): not supported [HTP0, CPU] 
failed to allocate tensors [HTP0]   1/3 tests passed

Failing tests:
  ADD(type=f16,ne=[5,7,11,13])
  SCALE(type=f32,ne=[1,1])
  Backend HTP0: \u{1b}[1;31mFAIL\u{1b}[0m
Backend 2/2: CPU
  Skipping
1/2 backends passed
\u{1b}[1;31mFAIL\u{1b}[0m
";

    fn read(output: &str) -> (Reader, Tally) {
        let (mut reader, mut tally) = (Reader::default(), Tally::default());
        for line in output.lines() {
            if let Some(case) = reader.line(line) {
                tally.add(case);
            }
        }
        (reader, tally)
    }

    #[test]
    fn a_whole_run() {
        let (reader, mut tally) = read(OUTPUT);
        assert!(reader.finished && reader.has_backend);
        assert_eq!(reader.failing.len(), 2);
        tally.add_unseen(&reader.failing);
        let report = tally.report();
        let add = &report.counts[0];
        assert_eq!((add.op.as_str(), add.cases, add.claimed, add.passed, add.failed), ("ADD", 3, 2, 1, 1));
        let mul_mat = &report.counts[1];
        assert_eq!((mul_mat.cases, mul_mat.claimed, mul_mat.passed, mul_mat.failed), (2, 1, 0, 0));
        assert_eq!(report.counts[2].failed, 1, "a failure that printed no line");
        assert!(report.failures[0].contains("ERR = 0.500000000"), "{:?}", report.failures);
        assert!(table(&report).contains("claimed but not compared"), "{}", table(&report));
    }

    #[test]
    fn a_crash_names_the_case_and_keeps_what_passed() {
        let cut = OUTPUT.find("  ADD(type=bf16)").expect("a case");
        let (reader, mut tally) = read(&OUTPUT[..cut]);
        assert!(!reader.finished);
        tally.crash("ADD(type=bf16)", &End::Stalled(Duration::from_secs(1)));
        let report = tally.report();
        assert_eq!((report.counts[0].passed, report.counts[0].failed), (1, 2));
        assert!(report.failures.iter().any(|failure| failure.starts_with("ADD(type=bf16): the program ended")));
    }

    #[test]
    fn how_the_program_may_end() {
        let status = |code: i32| End::Exit(std::os::unix::process::ExitStatusExt::from_raw(code));
        let bad = |end: End, has_failed| {
            let mut tally = Tally::default();
            tally.end(&end, has_failed);
            !tally.failures.is_empty()
        };
        assert!(!bad(status(0), false) && !bad(status(1 << 8), true));
        assert!(bad(status(1 << 8), false), "a failure without a failed case");
        assert!(bad(status(11), false) && bad(status(11), true), "a crash at the very end");
    }

    #[test]
    fn only_what_ties_explain_is_forgiven() {
        let detail = "[VIEW] ERR = 0.1 > 0.0";
        let case = |op: &str, outcome| Case { op: op.into(), params: "n=1".into(), detail: detail.into(), outcome };
        let mut tally = Tally::default();
        tally.add(case("ADD", Outcome::Failed));
        tally.add(case("TOPK_MOE", Outcome::Failed));
        tally.add(case("TOPK_MOE", Outcome::Passed));
        assert_eq!(tally.failed_with_ties(), ["TOPK_MOE(n=1)"]);
        tally.forgive("TOPK_MOE(n=1)");
        assert!(tally.failed_with_ties().is_empty());
        let report = tally.report();
        assert_eq!(report.failures.len(), 1);
        assert_eq!((report.counts[1].passed, report.counts[1].failed), (2, 0));
        assert!(table(&report).contains("runs: TOPK_MOE(n=1)"), "{}", table(&report));
    }

    #[test]
    fn the_case_to_come() {
        let listed: Vec<String> = ["ADD(a)", "ADD(a)", "MUL(a)", "ADD(b)"].map(String::from).into();
        assert_eq!(next_after(&listed, 0, "ADD(a)"), 1);
        assert_eq!(next_after(&listed, 1, "ADD(a)"), 2, "the same case twice");
        assert_eq!(next_after(&listed, 2, "FUSED(x)"), 2, "not listed");
        assert_eq!(next_after(&listed, 1, "MUL(a)"), 3, "one that printed nothing is passed over");
        assert_eq!(next_after(&listed, 4, "ADD(b)"), 4, "beyond the end");
        assert_eq!(ops_of(&listed[2..]).collect::<Vec<_>>(), ["MUL", "ADD"]);
    }

    #[test]
    fn a_crash_forgets_what_runs_again() {
        let (_, mut tally) = read(OUTPUT);
        assert_eq!(tally.seen(), 5);
        tally.forget(&BTreeSet::from(["ADD".to_owned()]));
        assert_eq!(tally.seen(), 2);
        assert!(tally.report().failures.is_empty());
    }
}
