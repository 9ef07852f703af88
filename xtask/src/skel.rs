//! `cargo xtask skel`: builds the DSP libraries of htp-kernels with its Makefile and looks whether the DSP's loader
//! would take them. No device is needed, and none was ever used: what a library must look like comes from libraries
//! that are known to load.

mod library;
mod objects;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::progress::Progress;
use crate::repo::Repo;
use crate::{hexagon, packages, process};

/// The architectures that libraries are built for.
pub const ARCHS: [u32; 6] = [68, 69, 73, 75, 79, 81];

#[derive(clap::Args)]
pub struct Args {
    /// Build and check only these architectures
    #[arg(long, value_name = "NN", value_delimiter = ',', default_values_t = ARCHS)]
    arch: Vec<u32>,
}

impl Default for Args {
    fn default() -> Args {
        Args { arch: ARCHS.to_vec() }
    }
}

/// Builds and checks; false when a library is not as it must be.
pub fn run(args: &Args) -> Result<bool> {
    if let Some(arch) = args.arch.iter().find(|arch| !ARCHS.contains(arch)) {
        bail!("there is no library for v{arch}; known are {ARCHS:?}");
    }
    let repo = Repo::find()?;
    let list: Vec<String> = args.arch.iter().map(u32::to_string).collect();
    make(&repo, &["skel", &format!("ARCHS={}", list.join(" "))])?;

    let kernels = repo.root.join("htp-kernels");
    let imports = kernels.join("elf/imports.txt");
    let text = fs::read_to_string(&imports).with_context(|| format!("cannot read {}", imports.display()))?;
    let imports = Imports::parse(&text).with_context(|| format!("in {}", imports.display()))?;
    let mut good = true;
    for &arch in &args.arch {
        good &= check(&kernels.join("build"), arch, &imports)?;
    }
    Ok(good)
}

/// Runs make in htp-kernels, with a compiler that is fetched into the cache when none is installed.
pub fn make(repo: &Repo, args: &[&str]) -> Result<()> {
    packages::ensure(&[packages::MAKE])?;
    let mut command = Command::new("make");
    command.arg("-C").arg(repo.root.join("htp-kernels")).args(args);
    command.arg(format!("-j{}", std::thread::available_parallelism().map_or(1, usize::from)));
    command.arg(format!("ZIG={}", hexagon::compiler()?));
    let log = repo.log("skel");
    process::new_log(&log)?;
    let progress = Progress::spinner(&format!("make {}", args[0]));
    process::logged(&mut command, &log, |_| ())?;
    progress.done();
    Ok(())
}

/// Checks the library of one architecture and the objects of its kernels, and says what is wrong.
fn check(build: &Path, arch: u32, imports: &Imports) -> Result<bool> {
    let name = format!("libggml-htp-v{arch}.so");
    let path = build.join(&name);
    let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let report = library::check(&data, &name, arch, imports);
    let mut problems = report.problems;
    problems.extend(objects::check(&build.join(format!("v{arch}/ops")))?);
    for problem in &problems {
        println!("{name}: {problem}");
    }
    let word = if problems.is_empty() { "ok" } else { "FAILED" };
    println!("{word:<8} {name}  {} bytes, {} imports", data.len(), report.imports);
    Ok(problems.is_empty())
}

/// What the DSP is known to offer: name, and whether an image may lack it.
pub struct Imports(BTreeMap<String, bool>);

impl Imports {
    /// Reads elf/imports.txt: a name a line, `weak` in front of it or not, comments behind `#`.
    pub fn parse(text: &str) -> Result<Imports> {
        let mut names = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            let (name, weak) = match words[..] {
                [] => continue,
                [name] => (name, false),
                ["weak", name] => (name, true),
                _ => bail!("not a name or `weak` and a name: {line}"),
            };
            if names.insert(name.to_owned(), weak).is_some() {
                bail!("{name} is listed twice");
            }
        }
        Ok(Imports(names))
    }

    /// Why a library must not import this name in this way; `None`: it may.
    fn objection(&self, name: &str, weak: bool) -> Option<String> {
        match self.0.get(name) {
            None => Some(format!("imports {name}, which is not known to exist on the DSP (elf/imports.txt)")),
            Some(true) if !weak => Some(format!("imports {name}, which some images lack, but not as a weak symbol")),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_imports() {
        let imports = Imports::parse("# text\n\nmemcpy # the C library's\nweak HAP_x\n").expect("a list");
        assert!(imports.objection("memcpy", false).is_none());
        assert!(imports.objection("memcpy", true).is_none());
        assert!(imports.objection("HAP_x", true).is_none());
        assert!(imports.objection("HAP_x", false).is_some());
        assert!(imports.objection("text", true).is_some());
        assert!(Imports::parse("strong memcpy\n").is_err());
        assert!(Imports::parse("memcpy\nweak memcpy\n").is_err());
    }

    #[test]
    fn the_committed_list_is_well_formed() {
        let text = include_str!("../../htp-kernels/elf/imports.txt");
        let imports = Imports::parse(text).expect("a list");
        assert!(imports.objection("qurt_thread_create", false).is_none());
    }
}
