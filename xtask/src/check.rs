//! `cargo xtask check`: the kernel check program, compiled for this machine and as Hexagon code.
//!
//! Each build compares every kernel with its scalar reference, and the two builds are compared with each other: all
//! results of a family, and every result of every intrinsic, are the same bits.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{bail, ensure, Context, Result};

use crate::device::Engine;
use crate::progress::Progress;
use crate::repo::Repo;
use crate::suite::{closing_line, Counts};
use crate::{hexagon, process, skel};

#[derive(clap::Args)]
pub struct Args {
    /// Family, a folder name in htp-kernels/ops
    family: Option<String>,
    /// Build of the kernels; hexagon compares its results with native's
    #[arg(long)]
    engine: Option<Engine>,
}

/// Prints a line a family; false when something failed.
pub fn main(args: &Args) -> Result<bool> {
    let repo = Repo::find()?;
    let families = match &args.family {
        Some(family) => vec![family.clone()],
        None => families(&repo)?,
    };
    let counts = match args.engine {
        Some(Engine::Hexagon) => both(&repo, &families, &|line| println!("{line}"))?,
        Some(Engine::Native) | None => native(&repo, &families, &|line| println!("{line}"))?,
    };
    println!("{} passed, {} failed", counts.passed, counts.failed);
    Ok(counts.failed == 0)
}

/// All families with a check: the folders of ops/, and the intrinsics. The one that takes longest by far is first, so
/// that the others run beside it.
pub fn families(repo: &Repo) -> Result<Vec<String>> {
    let folder = repo.root.join("htp-kernels/ops");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.push("hvx".to_owned());
    names.sort_by_key(|name| (name != "matmul", name.clone()));
    Ok(names)
}

/// What the check program said of a family: `matmul 2746 cases, 0 failed, worst error 7e-05 (...), results df702d1...`
struct Report {
    line: String,
    /// Lines about cases that failed
    failures: Vec<String>,
    counts: Counts,
}

impl Report {
    /// The hash of all results.
    fn results(&self) -> Option<&str> {
        self.line.rsplit_once("results ").map(|(_, hash)| hash)
    }
}

/// The check programs.
struct Programs {
    native: PathBuf,
    /// Emulator and program
    hexagon: Option<(PathBuf, PathBuf)>,
}

impl Programs {
    fn command(&self, engine: Engine) -> Result<Command> {
        if engine == Engine::Native {
            return Ok(Command::new(&self.native));
        }
        let (emulator, program) = self.hexagon.as_ref().context("the check was not built as Hexagon code")?;
        let mut command = Command::new(emulator);
        command.args(["-cpu", "v73"]).arg(program);
        Ok(command)
    }

    fn check(&self, engine: Engine, family: &str) -> Result<Report> {
        let output = self.command(engine)?.arg(family).stdin(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut report = Report { line: String::new(), failures: Vec::new(), counts: Counts::default() };
        for line in text.lines() {
            if line.starts_with("FAILED") {
                report.failures.push(line.to_owned());
            } else if let Some(counts) = closing_line(line) {
                report.counts = counts;
            } else {
                report.line = line.to_owned();
            }
        }
        if report.counts == Counts::default() || output.status.success() != (report.counts.failed == 0) {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("the {} check of {family} broke off: {}\n{text}{errors}", engine.name(), output.status);
        }
        Ok(report)
    }

    /// Every result of every intrinsic as text.
    fn intrinsics(&self, engine: Engine) -> Result<String> {
        let output = self.command(engine)?.arg("--print").stdin(Stdio::null()).output()?;
        ensure!(output.status.success(), "the {} check of intrinsics broke off: {}", engine.name(), output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn build_native(repo: &Repo) -> Result<PathBuf> {
    let log = repo.log("check");
    process::new_log(&log)?;
    let progress = Progress::spinner("building the checks");
    let args = ["build", "--release", "--package", "htp-kernels", "--features", "strict-qf", "--bin", "htp-check"];
    process::logged(&mut repo.cargo(&args), &log, |_| ())?;
    progress.clear();
    Ok(repo.out().with_file_name("release").join("htp-check"))
}

/// The families in this machine's code. `say` gets a line a family and one a failure.
pub fn native(repo: &Repo, families: &[String], say: &(dyn Fn(&str) + Sync)) -> Result<Counts> {
    let programs = Programs { native: build_native(repo)?, hexagon: None };
    all(families, |family| {
        let report = programs.check(Engine::Native, family)?;
        tell(&report, say);
        Ok(report.counts)
    })
}

/// The families in Hexagon code, and whether they and the intrinsics give the results of this machine's code.
pub fn both(repo: &Repo, families: &[String], say: &(dyn Fn(&str) + Sync)) -> Result<Counts> {
    let emulator = hexagon::emulator()?;
    skel::make(repo, &["hexagon"])?;
    let program = repo.root.join("htp-kernels/build/htp-check-hexagon");
    let programs = Programs { native: build_native(repo)?, hexagon: Some((emulator, program)) };
    all(families, |family| {
        let (one, other) = (programs.check(Engine::Native, family)?, programs.check(Engine::Hexagon, family)?);
        let mut counts = other.counts;
        tell(&other, say);
        let same = one.results().is_some() && one.results() == other.results();
        if !same {
            say(&format!("FAILED {family}: native code gives other results: {}", one.line));
        }
        counts.add(Counts::one(same));
        if family == "hvx" {
            let same = same_lines(&programs.intrinsics(Engine::Native)?, &programs.intrinsics(Engine::Hexagon)?);
            if let Err(difference) = &same {
                say(&format!("FAILED {difference}"));
            }
            counts.add(Counts::one(same.is_ok()));
        }
        Ok(counts)
    })
}

fn tell(report: &Report, say: &(dyn Fn(&str) + Sync)) {
    for line in report.failures.iter().chain([&report.line]) {
        say(line);
    }
}

/// The first line in which two texts differ, as an error.
fn same_lines(native: &str, hexagon: &str) -> Result<()> {
    ensure!(!native.is_empty(), "no results of intrinsics were printed");
    if let Some((one, other)) = native.lines().zip(hexagon.lines()).find(|(one, other)| one != other) {
        bail!("an intrinsic gives\n  native  {one}\n  hexagon {other}");
    }
    ensure!(native.lines().count() == hexagon.lines().count(), "the builds know different intrinsics");
    Ok(())
}

/// Runs `check` for all families, as many at a time as this machine has processors.
fn all(families: &[String], check: impl Fn(&str) -> Result<Counts> + Sync) -> Result<Counts> {
    let queue = Mutex::new(families.iter());
    let total = Mutex::new(Ok(Counts::default()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(families.len()) {
            scope.spawn(|| loop {
                let Some(family) = queue.lock().ok().and_then(|mut queue| queue.next()) else { return };
                let result = check(family);
                if let Ok(mut total) = total.lock() {
                    match (&mut *total, result) {
                        (Ok(total), Ok(counts)) => total.add(counts),
                        (Err(_), _) => {}
                        (total, Err(error)) => *total = Err(error),
                    }
                }
            });
        }
    });
    total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_run_until_the_end_and_add_up() {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let counts = all(&names, |_| Ok(Counts { passed: 2, failed: 1, skipped: 0 })).expect("counts");
        assert_eq!(counts, Counts { passed: 6, failed: 3, skipped: 0 });
        let error = all(&names, |family| if family == "b" { bail!("broken") } else { Ok(Counts::one(true)) });
        assert_eq!(error.expect_err("b breaks").to_string(), "broken");
    }

    #[test]
    fn texts_of_two_builds() {
        assert!(same_lines("a 1\nb 2\n", "a 1\nb 2\n").is_ok());
        assert!(same_lines("", "").is_err(), "nothing was compared");
        assert!(same_lines("a 1\n", "a 1\nb 2\n").is_err());
        assert!(same_lines("a 1\n", "a 2\n").expect_err("they differ").to_string().contains("hexagon a 2"));
    }

    #[test]
    fn the_hash_of_a_report() {
        let line = "norm 186 cases, 0 failed, worst error 1.10e-14 (limit 1e-10), results 1e31ea5a".to_owned();
        let report = Report { line, failures: Vec::new(), counts: Counts::one(true) };
        assert_eq!(report.results(), Some("1e31ea5a"));
    }
}
