//! `cargo xtask test`: every check of the project, one stage after the other.

mod cases;

use std::fs;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{bail, Context, Result};

use crate::device::{Device, Driver, Engine};
use crate::llama::Llama;
use crate::packages::{self, Package};
use crate::progress::Progress;
use crate::repo::{Dist, Repo};
use crate::{check, demo, hexagon, kl, loader, model, ops, packets, process, skel};

#[derive(clap::Args)]
pub struct Args {
    /// Run only these stages (and none that they need)
    #[arg(long, value_name = "STAGE", conflicts_with = "skip")]
    only: Vec<String>,
    /// Leave these stages out
    #[arg(long, value_name = "STAGE")]
    skip: Vec<String>,
    /// Say which stages there are
    #[arg(long)]
    list: bool,
}

/// Individual tests of a stage.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Counts {
    pub fn one(passed: bool) -> Counts {
        Counts { passed: passed.into(), failed: (!passed).into(), skipped: 0 }
    }

    pub fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// What a stage reports: counts, and text for the user when something failed or was left out.
struct Outcome {
    counts: Counts,
    text: String,
}

impl Outcome {
    fn passed() -> Result<Outcome> {
        Ok(Outcome { counts: Counts::one(true), text: String::new() })
    }

    fn skipped(why: &str) -> Result<Outcome> {
        Ok(Outcome { counts: Counts { skipped: 1, ..Counts::default() }, text: why.to_owned() })
    }
}

/// One check. To add one, add a line to [`STAGES`].
struct Stage {
    name: &'static str,
    about: &'static str,
    /// Stages without whose success this one says nothing
    needs: &'static [&'static str],
    run: fn(&Suite) -> Result<Outcome>,
}

/// In the order they run: quick ones first.
const STAGES: &[Stage] = &[
    Stage { name: "fmt", about: "the code is formatted", needs: &[], run: fmt },
    Stage { name: "clippy", about: "no lint warns", needs: &[], run: clippy },
    Stage { name: "build", about: "plug-in and simulator build in release", needs: &[], run: build },
    Stage { name: "bindings", about: "generated files are current", needs: &[], run: bindings },
    Stage { name: "kernels", about: "HVX kernels against scalar ones", needs: &["build"], run: kernels },
    Stage { name: "cargo-test", about: "unit and integration tests", needs: &["build"], run: cargo_test },
    Stage { name: "skel", about: "DSP libraries for six architectures", needs: &[], run: skel_libraries },
    Stage {
        name: "hexagon-check",
        about: "the kernels as Hexagon code, same results",
        needs: &["build"],
        run: hexagon_kernels,
    },
    Stage { name: "packets", about: "no kernel takes more packets than committed", needs: &[], run: packet_counts },
    Stage { name: "loader", about: "the ways to load the plug-in", needs: &["build"], run: loader_tests },
    Stage { name: "ops", about: "every claimed op against the CPU", needs: &["build"], run: all_ops },
    Stage { name: "answer", about: "the demo's answer", needs: &["build"], run: answer },
    Stage { name: "kl", about: "token probabilities against the CPU", needs: &["build"], run: divergence },
    Stage {
        name: "hexagon-ops",
        about: "an op case a kernel, in Hexagon code",
        needs: &["hexagon-check"],
        run: hexagon_ops,
    },
    Stage {
        name: "hexagon-answer",
        about: "the model in Hexagon code",
        needs: &["hexagon-check"],
        run: hexagon_answer,
    },
];

/// What the stages share.
struct Suite {
    repo: Repo,
    llama: Llama,
}

impl Suite {
    fn dist(&self) -> Dist {
        self.repo.dist()
    }

    fn htp(&self) -> Device {
        Device::Htp { dist: self.dist(), driver: Driver::Simulator, engine: None }
    }
}

pub fn main(args: &Args) -> Result<bool> {
    if args.list {
        for stage in STAGES {
            println!("{:<12} {}", stage.name, stage.about);
        }
        return Ok(true);
    }
    for name in args.only.iter().chain(&args.skip) {
        if !STAGES.iter().any(|stage| stage.name == name) {
            bail!("there is no stage {name}; `cargo xtask test --list` names them");
        }
    }
    let needed: Vec<&Package> = packages::BASE.iter().chain([&packages::LIBCLANG]).collect();
    packages::ensure(needed)?;
    let context = Suite { repo: Repo::find()?, llama: Llama::get()? };
    // Fetched and converted before the first stage, so that no stage's time holds a download.
    model::get(&context.llama, None, None)?;

    let selected = STAGES.iter().filter(|stage| {
        (args.only.is_empty() || args.only.iter().any(|name| name == stage.name))
            && !args.skip.iter().any(|name| name == stage.name)
    });
    let mut total = Counts::default();
    let mut failed = Vec::new();
    let mut lines = Vec::new();
    for stage in selected {
        let started = Instant::now();
        let outcome = match stage.needs.iter().find(|name| failed.contains(*name)) {
            Some(name) => Outcome::skipped(&format!("not run: {name} failed")),
            None => (stage.run)(&context),
        };
        let outcome =
            outcome.unwrap_or_else(|error| Outcome { counts: Counts::one(false), text: format!("{error:#}") });
        let counts = outcome.counts;
        let word = match counts {
            Counts { failed: 1.., .. } => "FAILED",
            Counts { passed: 0, .. } => "skipped",
            _ => "ok",
        };
        if counts.failed > 0 {
            failed.push(stage.name);
        }
        if !outcome.text.is_empty() {
            println!("{}: {}", stage.name, outcome.text.trim_end());
        }
        let line = format!(
            "{word:<8} {:<12} {:>8.1} s  {}  ({} passed, {} failed)",
            stage.name,
            started.elapsed().as_secs_f64(),
            stage.about,
            counts.passed,
            counts.failed
        );
        println!("{line}");
        lines.push(line);
        total.add(counts);
    }
    println!("\n{}\n\n{}", lines.join("\n"), summary(total));
    Ok(total.failed == 0)
}

/// The closing line, in the form that test runners share.
fn summary(total: Counts) -> String {
    let skipped = if total.skipped > 0 { format!(", {} skipped", total.skipped) } else { String::new() };
    format!("{} passed, {} failed{skipped}", total.passed, total.failed)
}

/// Runs a cargo command with its output in the stage's log.
fn cargo(context: &Suite, stage: &str, args: &[&str], on_line: impl FnMut(&str)) -> Result<()> {
    let log = context.repo.log(stage);
    process::new_log(&log)?;
    let progress = Progress::spinner(stage);
    process::logged(&mut context.repo.cargo(args), &log, on_line)?;
    progress.clear();
    Ok(())
}

fn fmt(context: &Suite) -> Result<Outcome> {
    if !packages::quiet("rustfmt", &["--version"]) {
        return Outcome::skipped("rustfmt is not installed: rustup component add rustfmt");
    }
    cargo(context, "fmt", &["fmt", "--all", "--check"], |_| ())?;
    Outcome::passed()
}

fn clippy(context: &Suite) -> Result<Outcome> {
    if !packages::quiet("cargo-clippy", &["--version"]) {
        return Outcome::skipped("clippy is not installed: rustup component add clippy");
    }
    let args = ["clippy", "--workspace", "--all-targets", "--features", "xtask/bindings", "--", "-D", "warnings"];
    cargo(context, "clippy", &args, |_| ())?;
    Outcome::passed()
}

fn build(context: &Suite) -> Result<Outcome> {
    context.repo.build()?;
    Outcome::passed()
}

fn bindings(context: &Suite) -> Result<Outcome> {
    let args = ["run", "--package", "xtask", "--features", "bindings", "--", "bindings", "--check"];
    cargo(context, "bindings", &args, |_| ())?;
    Outcome::passed()
}

/// The lines that say what failed, and the counts of a check of all families.
fn check_all(context: &Suite, check: impl Fn(&[String], &(dyn Fn(&str) + Sync)) -> Result<Counts>) -> Result<Outcome> {
    let failures = Mutex::new(String::new());
    let counts = check(&check::families(&context.repo)?, &|line| {
        if let (true, Ok(mut text)) = (line.starts_with("FAILED"), failures.lock()) {
            *text += &format!("{line}\n");
        }
    })?;
    Ok(Outcome { counts, text: failures.into_inner().unwrap_or_default() })
}

fn kernels(context: &Suite) -> Result<Outcome> {
    check_all(context, |families, say| check::native(&context.repo, families, say))
}

/// Why no Hexagon code can be built and run here, if so.
fn no_hexagon() -> Option<String> {
    let error = hexagon::compiler().map(|_| ()).and_then(|()| hexagon::emulator().map(|_| ())).err()?;
    Some(format!("no Hexagon compiler or emulator here: {error:#}"))
}

fn hexagon_kernels(context: &Suite) -> Result<Outcome> {
    if let Some(why) = no_hexagon() {
        return Outcome::skipped(&why);
    }
    check_all(context, |families, say| check::both(&context.repo, families, say))
}

fn packet_counts(context: &Suite) -> Result<Outcome> {
    if let Some(why) = no_hexagon() {
        return Outcome::skipped(&why);
    }
    let counts = packets::count(&context.repo, &hexagon::emulator()?, None)?;
    let problems = packets::compare(&counts, &packets::baseline(&context.repo)?);
    let failed = problems.len() as u64;
    let passed = (counts.len() as u64).saturating_sub(failed);
    Ok(Outcome { counts: Counts { passed, failed, skipped: 0 }, text: problems.join("\n") })
}

fn skel_libraries(_: &Suite) -> Result<Outcome> {
    if let Err(error) = hexagon::compiler() {
        return Outcome::skipped(&format!("no Hexagon compiler here: {error:#}"));
    }
    if !skel::run(&skel::Args::default())? {
        bail!("a library is not as the DSP's loader wants it");
    }
    Outcome::passed()
}

/// HTP0 on the emulator.
fn hexagon_device(context: &Suite) -> Result<Device> {
    Device::htp(&context.repo, Driver::Simulator, Some(Engine::Hexagon))
}

fn hexagon_ops(context: &Suite) -> Result<Outcome> {
    if let Some(why) = no_hexagon() {
        return Outcome::skipped(&why);
    }
    let device = hexagon_device(context)?;
    let mut outcome = Outcome { counts: Counts::default(), text: String::new() };
    for (op, params) in cases::CASES {
        let args = ops::Args { op: Some(op.to_string()), params: Some(params.to_string()), ..ops::Args::default() };
        let report = ops::run(&context.repo, &context.llama, &device, &args)?;
        if report.total(|op| op.passed) == 0 {
            bail!("no case of {op} has the parameters {params}");
        }
        outcome.counts.add(Counts {
            passed: report.total(|op| op.passed),
            failed: report.total(|op| op.failed),
            skipped: 0,
        });
    }
    Ok(outcome)
}

/// Every matrix multiplication as Hexagon instructions: the first tokens are those of the native engine, and the profile
/// has the packets of each op.
fn hexagon_answer(context: &Suite) -> Result<Outcome> {
    if let Some(why) = no_hexagon() {
        return Outcome::skipped(&why);
    }
    let model = model::get(&context.llama, None, None)?;
    let log = context.repo.log("hexagon-answer");
    let emulated = hexagon_device(context)?;
    let progress = Progress::spinner("asking the model in the emulator");
    let ask = |device: &Device| {
        let mut command = context.llama.program("llama-completion", device);
        command.arg("-v").env("GGML_HEXAGON_PROFILE", "1");
        command.arg("-m").arg(&model).args(["-p", "The capital of France is", "-n", "4", "--temp", "0", "--seed", "1"]);
        command.args(["-c", "128", "-no-cnv", "--no-warmup"]);
        process::new_log(&log)?;
        demo::answer(command, &log, &mut std::io::sink()).context("the model gave no answer")
    };
    let (native, hexagon) = (ask(&context.htp())?, ask(&emulated)?);
    progress.clear();
    let profile = fs::read_to_string(&log)?;
    let ops = profile.lines().filter(|line| line.contains("profile-op MUL_MAT|")).collect::<Vec<_>>();
    if let Some(op) = ops.iter().find(|op| op.contains(" packets 0|")) {
        bail!("an op without packets: {op}");
    }
    if ops.is_empty() {
        bail!("there is no profile in {}", log.display());
    }
    if native.trim().is_empty() || native != hexagon {
        bail!("the engines differ: native {native:?}, hexagon {hexagon:?}");
    }
    Outcome::passed()
}

/// `12 passed, 0 failed`, with `, 1 skipped` behind it or a word and a colon in front.
pub fn closing_line(line: &str) -> Option<Counts> {
    let line = line.rsplit_once(": ").map_or(line, |(_, rest)| rest);
    let mut counts = Counts::default();
    let mut parts = 0;
    for part in line.trim().split(", ") {
        let (number, what) = part.split_once(' ')?;
        let number = number.parse().ok()?;
        match what {
            "passed" => counts.passed = number,
            "failed" => counts.failed = number,
            "skipped" => counts.skipped = number,
            _ => return None,
        }
        parts += 1;
    }
    (parts >= 2).then_some(counts)
}

fn cargo_test(context: &Suite) -> Result<Outcome> {
    let log = context.repo.log("cargo-test");
    process::new_log(&log)?;
    let progress = Progress::spinner("cargo test");
    let mut command =
        context.repo.cargo(&["test", "--workspace", "--release", "--no-fail-fast", "--", "--include-ignored"]);
    // Integration tests start llama.cpp's programs and load what the build stage made.
    command
        .env("GGML_HEXAGON_TEST_BIN", &context.llama.bin)
        .env("GGML_HEXAGON_TEST_SOURCE", &context.llama.source)
        .env("GGML_HEXAGON_TEST_MODEL", model::get(&context.llama, None, None)?)
        .env("GGML_HEXAGON_TEST_DIST", context.repo.out().join("dist"));
    let mut counts = Counts::default();
    let end = process::watch(&mut command, &log, process::STALL, process::Lines::Both, |line| {
        if let Some(result) = test_result(line) {
            counts.add(result);
        }
    })?;
    progress.clear();
    let mut text = String::new();
    if !end.success() {
        // A crash or a compile error has no count of its own.
        counts.failed = counts.failed.max(1);
        text =
            format!("cargo test failed ({end})\n{}\nThe whole output is in {}", process::tail(&log, 40), log.display());
    }
    Ok(Outcome { counts, text })
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn test_result(line: &str) -> Option<Counts> {
    let (_, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut counts = Counts::default();
    for part in numbers.split(';') {
        match part.trim().split_once(' ') {
            Some((number, "passed")) => counts.passed = number.parse().ok()?,
            Some((number, "failed")) => counts.failed = number.parse().ok()?,
            Some((number, "ignored")) => counts.skipped = number.parse().ok()?,
            _ => {}
        }
    }
    Some(counts)
}

fn loader_tests(context: &Suite) -> Result<Outcome> {
    let mut outcome = Outcome { counts: Counts::default(), text: String::new() };
    for (name, test) in loader::TESTS {
        let result = test(&context.repo, &context.llama, &context.dist());
        outcome.counts.add(Counts::one(result.is_ok()));
        if let Err(error) = result {
            outcome.text += &format!("{name}: {error:#}\n");
        }
    }
    Ok(outcome)
}

/// All cases but two: products of experts with 2^30 weights, minutes each, most of them to make the data. A third one stays.
const WITHOUT_THE_LARGEST: &str = "^(?!.*n_mats=128,n_used=4,b=0,m=4096,n=(32|64))";

fn all_ops(context: &Suite) -> Result<Outcome> {
    let args = ops::Args { params: Some(WITHOUT_THE_LARGEST.to_owned()), ..ops::Args::default() };
    let report = ops::run(&context.repo, &context.llama, &context.htp(), &args)?;
    let counts = Counts { passed: report.total(|op| op.passed), failed: report.failures.len() as u64, skipped: 0 };
    if report.total(|op| op.claimed) == 0 {
        bail!("the plug-in claims no op at all");
    }
    Ok(Outcome { counts, text: ops::table(&report) })
}

/// The answer must be readable and right, and the same on every run.
fn answer(context: &Suite) -> Result<Outcome> {
    let model = model::get(&context.llama, None, None)?;
    let log = context.repo.log("answer");
    process::new_log(&log)?;
    let progress = Progress::spinner("asking the model");
    let ask = || {
        let command = demo::completion(&context.llama, &context.htp(), &model, "What is the capital of France?", 24);
        demo::answer(command, &log, &mut std::io::sink()).context("the model gave no answer")
    };
    let (first, second) = (ask()?, ask()?);
    progress.clear();
    if !first.contains("Paris") {
        bail!("the answer is not the expected one: {first:?}");
    }
    if first != second {
        bail!("two runs gave two answers: {first:?} and {second:?}");
    }
    Outcome::passed()
}

/// The whole text with the usual model, then a part of it with other weights, attention in steps, and a quantised cache.
fn divergence(context: &Suite) -> Result<Outcome> {
    let part = || kl::Args { chunks: Some(4), ..kl::Args::default() };
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        ("Q4_0", kl::Args::default()),
        ("Q8_0", kl::Args { quant: text("Q8_0"), ..part() }),
        ("Q4_1", kl::Args { quant: text("Q4_1"), ..part() }),
        ("Q4_K_M", kl::Args { quant: text("Q4_K_M"), ..part() }),
        ("Q5_K_M", kl::Args { quant: text("Q5_K_M"), ..part() }),
        ("Q6_K", kl::Args { quant: text("Q6_K"), ..part() }),
        ("IQ4_XS", kl::Args { quant: text("IQ4_XS"), ..part() }),
        ("Q3_K_M", kl::Args { quant: text("Q3_K_M"), ..part() }),
        ("Q4_0, no flash attention", kl::Args { fa: text("off"), ..part() }),
        ("Q4_0, cache of q8_0", kl::Args { fa: text("on"), cache_type: text("q8_0"), ..part() }),
    ];
    let mut outcome = Outcome { counts: Counts::default(), text: String::new() };
    for (name, args) in &cases {
        let divergence = kl::run(&context.repo, &context.llama, &context.htp(), args)?;
        outcome.counts.add(Counts::one(kl::passes(&divergence, args)));
        outcome.text += &format!("{name}: {}\n", kl::describe(&divergence, args));
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_test() {
        let line = "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s";
        assert_eq!(test_result(line), Some(Counts { passed: 12, failed: 2, skipped: 1 }));
        assert_eq!(test_result("test a::b ... ok"), None);
    }

    #[test]
    pub fn closing_lines() {
        assert_eq!(closing_line("12 passed, 0 failed"), Some(Counts { passed: 12, failed: 0, skipped: 0 }));
        assert_eq!(
            closing_line("check: 3 passed, 1 failed, 2 skipped"),
            Some(Counts { passed: 3, failed: 1, skipped: 2 })
        );
        assert_eq!(closing_line("12 passed"), None);
        assert_eq!(closing_line("rope 3 of 4 passed, 1 failed"), None);
    }

    #[test]
    fn the_last_line() {
        assert_eq!(summary(Counts { passed: 3, failed: 0, skipped: 0 }), "3 passed, 0 failed");
        assert_eq!(summary(Counts { passed: 3, failed: 1, skipped: 2 }), "3 passed, 1 failed, 2 skipped");
    }

    #[test]
    fn stages_are_well_formed() {
        for (index, stage) in STAGES.iter().enumerate() {
            assert!(!STAGES[..index].iter().any(|other| other.name == stage.name), "{} is there twice", stage.name);
            for need in stage.needs {
                assert!(
                    STAGES[..index].iter().any(|other| other.name == *need),
                    "{need} must run before {}",
                    stage.name
                );
            }
        }
    }
}
