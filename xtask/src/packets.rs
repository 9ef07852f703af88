//! `cargo xtask packets`: what the kernels cost, in instruction packets of a v73 DSP.
//!
//! The kernels are compiled to assembly text as for the DSP library, [`rewrite`] replaces the float vector instructions,
//! which the emulator lacks, and the drivers in htp-kernels/packets run them with the emulator's counters around each
//! call. The counts are the same on every run; they are compared with the committed ones. Packets are not cycles:
//! stalls, memory and DMA are not in them.

mod rewrite;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};

use crate::repo::Repo;
use crate::{hexagon, process, skel};

/// By how much the packets of a case may rise: compilers place the same instructions a little differently after any
/// change nearby.
const TOLERANCE: f64 = 0.03;

/// Counts must not depend on data, or replaced instructions would count wrong: two sets of data must give the same.
const SEEDS: [&str; 2] = ["1", "2"];

#[derive(clap::Args)]
pub struct Args {
    /// Family, a folder name in htp-kernels/ops
    kernel: Option<String>,
    /// Write the counts to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Make these counts the committed ones
    #[arg(long, conflicts_with = "kernel")]
    update: bool,
}

/// What a case costs for each unit of its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Family
    pub kernel: String,
    pub case: String,
    /// What the numbers are for: "1024 weights", "row", ...
    pub unit: String,
    pub packets: f64,
    /// Instructions
    pub insns: f64,
    /// Vector instructions among them
    pub hvx: f64,
}

pub fn main(args: &Args) -> Result<bool> {
    let repo = Repo::find()?;
    let emulator = hexagon::emulator()?;
    let counts = count(&repo, &emulator, args.kernel.as_deref())?;
    if let Some(path) = &args.json {
        write(path, &counts)?;
    }
    if args.update {
        write(&baseline_path(&repo), &counts)?;
    }
    let mut baseline = baseline(&repo)?;
    baseline.retain(|count| args.kernel.as_ref().is_none_or(|kernel| *kernel == count.kernel));
    print!("{}", table(&counts, &baseline));
    if args.kernel.is_none() {
        print!("{}", uncounted(&repo, &counts)?);
    }
    let problems = compare(&counts, &baseline);
    for problem in &problems {
        println!("{problem}");
    }
    Ok(problems.is_empty())
}

/// Builds the drivers and counts, all families or one.
pub fn count(repo: &Repo, emulator: &Path, kernel: Option<&str>) -> Result<Vec<Count>> {
    let kernels = repo.root.join("htp-kernels");
    skel::make(repo, &["packets-text"])?;
    let build = kernels.join("build/packets");
    rewrite_folder(&build.join("text"), &build.join("counted"))?;
    skel::make(repo, &["packets-program"])?;

    let log = repo.log("packets");
    process::new_log(&log)?;
    let mut runs = Vec::new();
    for seed in SEEDS {
        let mut command = Command::new(emulator);
        command.args(["-cpu", "v73"]).arg(build.join("count")).arg(seed).args(kernel);
        let mut lines = Vec::new();
        process::logged(&mut command, &log, |line| lines.push(line.to_owned()))?;
        runs.push(lines);
    }
    if let Some((one, other)) = runs[0].iter().zip(&runs[1]).find(|(one, other)| one != other) {
        bail!("counts depend on the data, so they mean nothing:\n  {one}\n  {other}");
    }
    if runs[0].is_empty() || runs[0].len() != runs[1].len() {
        bail!("the drivers counted nothing, or not the same cases twice; their output is in {}", log.display());
    }
    runs[0].iter().map(|line| parse(line).with_context(|| format!("not a line of counts: {line}"))).collect()
}

/// Writes the text files of a folder and its subfolders anew, without float vector instructions. A file that comes out
/// as it is already keeps its time, so that make has nothing to do.
fn rewrite_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            rewrite_folder(&path, &target)?;
        } else if path.extension().is_some_and(|extension| extension == "s") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let text = rewrite::to_integers(&text).with_context(|| format!("in {}", path.display()))?;
            if fs::read_to_string(&target).ok().as_ref() != Some(&text) {
                fs::write(&target, text).with_context(|| format!("cannot write {}", target.display()))?;
            }
        }
    }
    Ok(())
}

/// A line of a driver: kernel, case, unit, units, packets, instructions, vector instructions.
fn parse(line: &str) -> Result<Count> {
    let words: Vec<&str> = line.split('\t').collect();
    let [kernel, case, unit, units, packets, insns, hvx] = words[..] else { bail!("it has {} fields", words.len()) };
    let units: f64 = units.parse()?;
    if units <= 0.0 {
        bail!("no unit of work was done");
    }
    let each =
        |number: &str| -> Result<f64> { Ok((f64::from(number.parse::<u32>()?) / units * 100.0).round() / 100.0) };
    Ok(Count {
        kernel: kernel.to_owned(),
        case: case.to_owned(),
        unit: unit.to_owned(),
        packets: each(packets)?,
        insns: each(insns)?,
        hvx: each(hvx)?,
    })
}

/// What is wrong in comparison with the committed counts; nothing when all is well.
pub fn compare(counts: &[Count], baseline: &[Count]) -> Vec<String> {
    let mut problems = Vec::new();
    for count in counts {
        let name = format!("{}: {}", count.kernel, count.case);
        match committed(count, baseline) {
            None => problems.push(format!("{name} has no committed count: cargo xtask packets --update")),
            Some(old) if count.packets > old.packets * (1.0 + TOLERANCE) => problems.push(format!(
                "{name} takes {} packets a {}, {:.1} % more than the committed {}",
                count.packets,
                count.unit,
                rise(count, old),
                old.packets
            )),
            Some(_) => {}
        }
    }
    for old in baseline.iter().filter(|old| committed(old, counts).is_none()) {
        problems.push(format!("{}: {} is committed but was not counted", old.kernel, old.case));
    }
    problems
}

/// The count of the same case and unit in a list.
fn committed<'a>(count: &Count, list: &'a [Count]) -> Option<&'a Count> {
    list.iter().find(|old| (&old.kernel, &old.case, &old.unit) == (&count.kernel, &count.case, &count.unit))
}

/// In percent.
fn rise(count: &Count, old: &Count) -> f64 {
    (count.packets / old.packets - 1.0) * 100.0
}

pub fn table(counts: &[Count], baseline: &[Count]) -> String {
    let width = counts.iter().map(|count| count.case.len()).max().unwrap_or(0);
    let mut text = format!(
        "{:<10} {:<width$} {:<13} {:>9} {:>9} {:>9} {:>10}\n",
        "kernel", "case", "per", "packets", "insns", "hvx", "committed"
    );
    for count in counts {
        let old = match committed(count, baseline) {
            Some(old) => format!("{:>10.2} {:>+7.1} %", old.packets, rise(count, old)),
            None => format!("{:>10}", "none"),
        };
        let Count { kernel, case, unit, packets, insns, hvx } = count;
        // Writing to a string cannot fail.
        writeln!(text, "{kernel:<10} {case:<width$} {unit:<13} {packets:>9.2} {insns:>9.2} {hvx:>9.2} {old}").ok();
    }
    text
}

/// A line about the families that have no driver.
fn uncounted(repo: &Repo, counts: &[Count]) -> Result<String> {
    let counted: BTreeSet<&str> = counts.iter().map(|count| count.kernel.as_str()).collect();
    let folder = repo.root.join("htp-kernels/ops");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut missing: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|family| !counted.contains(family.as_str()))
        .collect();
    missing.sort();
    Ok(if missing.is_empty() { String::new() } else { format!("not counted, no driver: {}\n", missing.join(", ")) })
}

fn baseline_path(repo: &Repo) -> PathBuf {
    repo.root.join("htp-kernels/packets/baseline.json")
}

/// The committed counts; none when there is no such file.
pub fn baseline(repo: &Repo) -> Result<Vec<Count>> {
    let path = baseline_path(repo);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))
}

/// A case a line, so that a change shows what it changes.
fn write(path: &Path, counts: &[Count]) -> Result<()> {
    let lines = counts.iter().map(|count| Ok(format!("  {}", serde_json::to_string(count)?)));
    let text = format!("[\n{}\n]\n", lines.collect::<Result<Vec<_>>>()?.join(",\n"));
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(case: &str, packets: f64) -> Count {
        Count { kernel: "k".into(), case: case.into(), unit: "row".into(), packets, insns: 0.0, hvx: 0.0 }
    }

    #[test]
    fn lines_of_the_drivers() {
        let count = parse("matmul\tgemv q4_0\t1024 weights\t3.000000\t29\t60\t50").expect("a count");
        assert_eq!((count.kernel.as_str(), count.unit.as_str()), ("matmul", "1024 weights"));
        assert_eq!((count.packets, count.insns, count.hvx), (9.67, 20.0, 16.67));
        for line in ["", "a\tb\tc\t1.0\t1\t1", "a\tb\tc\t0.0\t1\t1\t1", "a\tb\tc\t1.0\tmany\t1\t1"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_rise_beyond_the_tolerance_is_a_problem() {
        let old = [of("a", 100.0), of("b", 100.0)];
        assert!(compare(&[of("a", 103.0), of("b", 50.0)], &old).is_empty());
        let problems = compare(&[of("a", 103.1), of("b", 100.0)], &old);
        assert!(problems.len() == 1 && problems[0].contains("3.1 % more"), "{problems:?}");
    }

    #[test]
    fn cases_come_and_go_with_the_committed_counts() {
        let problems = compare(&[of("new", 1.0)], &[of("old", 1.0)]);
        assert_eq!(problems.len(), 2);
        assert!(problems[0].contains("new has no committed count"), "{problems:?}");
        assert!(problems[1].contains("old is committed but was not counted"), "{problems:?}");
        assert!(table(&[of("new", 1.0)], &[]).contains("none"));
    }
}
