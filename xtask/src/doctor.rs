//! `cargo xtask doctor`: what is there, and how to repair what is not.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::repo::Repo;
use crate::{cache, hexagon, llama, packages, pins, skel};

#[derive(clap::Args)]
pub struct Args {}

/// Where drivers of real devices live.
const DRIVER_FOLDERS: &[&str] =
    &["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib/aarch64-linux-gnu", "/vendor/lib64", "/system/lib64"];

struct Report {
    problems: u32,
}

impl Report {
    fn line(&mut self, what: &str, found: Result<String, String>) {
        match found {
            Ok(found) => println!("ok       {what:<18} {found}"),
            Err(remedy) => {
                self.problems += 1;
                println!("missing  {what:<18} {remedy}");
            }
        }
    }

    fn note(&self, what: &str, text: &str) {
        println!("         {what:<18} {text}");
    }
}

/// True when nothing is missing that the commands could not bring by themselves.
pub fn main(_: &Args) -> Result<bool> {
    let repo = Repo::find()?;
    let mut report = Report { problems: 0 };
    report.note("machine", &format!("{} {}", std::env::consts::ARCH, std::env::consts::OS));
    for package in packages::BASE.iter().chain([&packages::LIBCLANG]) {
        let remedy = format!("sudo apt-get install {} (the commands do it when they may)", package.name);
        report.line(package.name, if (package.present)() { Ok("installed".to_owned()) } else { Err(remedy) });
    }
    for component in ["rustfmt", "clippy"] {
        let program = if component == "clippy" { "cargo-clippy" } else { component };
        let there = packages::quiet(program, &["--version"]);
        let remedy = format!("rustup component add {component} (needed by `cargo xtask test`)");
        report.line(component, if there { Ok("installed".to_owned()) } else { Err(remedy) });
    }

    hexagon(&report, &repo);
    let dist = repo.dist();
    for (what, file) in [("plug-in", &dist.plugin), ("simulated driver", &dist.driver)] {
        let remedy = "not built; `cargo xtask demo` builds it".to_owned();
        report.line(what, existing(file).ok_or(remedy));
    }
    let named = std::env::var_os("GGML_HEXAGON_DRIVER").map(PathBuf::from);
    match &named {
        Some(path) => {
            let remedy = format!("GGML_HEXAGON_DRIVER names {}, which is not there", path.display());
            report.line("named driver", existing(path).ok_or(remedy));
        }
        None => report.note("named driver", "GGML_HEXAGON_DRIVER is not set"),
    }
    let system = DRIVER_FOLDERS.iter().map(|dir| Path::new(dir).join("libcdsprpc.so")).find(|path| path.exists());
    match system {
        Some(path) => report.note("system driver", &path.display().to_string()),
        None => report.note("system driver", "none found; the simulated device is used, `--driver system` will fail"),
    }

    let cache = cache::dir()?;
    report.note("cache", &format!("{} ({})", cache.display(), mib(size(&cache))));
    for (what, path) in [
        (pins::LLAMA.file, cache.join("downloads").join(pins::LLAMA.file)),
        (pins::MODEL.file, cache.join("downloads").join(pins::MODEL.file)),
    ] {
        report.note("", &format!("{what}: {}", existing(&path).unwrap_or_else(|| "not fetched yet".to_owned())));
    }
    let build = llama::build_dir(&cache);
    let state = if llama::is_complete(&build) { "built" } else { "not built yet; `cargo xtask demo` builds it" };
    report.note("", &format!("llama.cpp: {state}"));
    println!("{}", if report.problems == 0 { "nothing is missing" } else { "see the lines marked missing" });
    Ok(report.problems == 0)
}

/// What Hexagon code needs. None of it is missing: the commands that need it bring it, the tests do without.
fn hexagon(report: &Report, repo: &Repo) {
    let compiler = match std::env::var("ZIG") {
        Ok(zig) => format!("ZIG={zig}"),
        Err(_) if pins::ziglang().is_some() => "ziglang of PyPI, fetched when it is needed".to_owned(),
        Err(_) => "no pinned ziglang for this machine; install one and set ZIG".to_owned(),
    };
    report.note("Hexagon compiler", &compiler);
    let emulator = match hexagon::installed_emulator() {
        Ok(program) => program.display().to_string(),
        Err(why) => format!("{why}; `cargo xtask check --engine hexagon` installs one"),
    };
    report.note("Hexagon emulator", &emulator);
    let build = repo.root.join("htp-kernels/build");
    let built: Vec<String> = skel::ARCHS
        .iter()
        .filter(|arch| build.join(format!("libggml-htp-v{arch}.so")).exists())
        .map(|arch| format!("v{arch}"))
        .collect();
    let built = if built.is_empty() { "none built; `cargo xtask skel` does it".to_owned() } else { built.join(" ") };
    report.note("DSP libraries", &built);
}

fn existing(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    Some(format!("{} ({})", path.display(), mib(meta.len())))
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Bytes below a folder; links are not followed.
fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
