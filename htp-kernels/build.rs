//! Compiles the DSP side for the machine that the simulator runs on.
//!
//! `HTP_SIM_MARCH` sets `-march` (empty: the compiler's default). Without it a build for this very machine uses all of
//! its instructions: the emulated vector instructions are loops that the compiler turns into the host's own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first clang that turns the emulation loops into good code.
const CLANG_MIN: u32 = 16;

fn main() {
    let mut sources = Vec::new();
    for folder in ["runtime", "platform/posix", "skel", "hvx", "hmx", "check"] {
        c_files(Path::new(folder), &mut sources);
    }
    for family in entries(Path::new("ops")) {
        c_files(&family, &mut sources);
    }
    sources.sort();

    let mut build = cc::Build::new();
    build.files(&sources).include("../include").include(".").std("gnu11").opt_level(3);
    build.warnings(true).extra_warnings(true).flag("-Werror=implicit-function-declaration");
    // No fused multiply-add where the source has none: all engines are to compute the same.
    build.flag("-ffp-contract=off");
    // Vectors are passed between functions of this library only, so it does not matter which gcc changed how.
    build.flag_if_supported("-Wno-psabi");
    if env::var_os("CARGO_FEATURE_STRICT_QF").is_some() {
        build.define("HVX_STRICT_QF", None);
    }
    if let Some(compiler) = preferred_compiler() {
        build.compiler(compiler);
    }
    if let Some(arch) = target_arch() {
        build.flag_if_supported(format!("-march={arch}"));
    }
    build.compile("htp_dsp");
    println!("cargo:rustc-link-lib=m");

    for path in ["build.rs", "runtime", "platform", "skel", "hvx", "hmx", "ops", "check", "../include"] {
        if Path::new(path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    for name in ["CC", "CFLAGS", "HTP_SIM_MARCH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
}

/// What a folder holds; nothing when it does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|found| found.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// The C files of a folder, without programs of their own.
fn c_files(folder: &Path, files: &mut Vec<PathBuf>) {
    files.extend(entries(folder).into_iter().filter(|path| {
        path.extension().is_some_and(|extension| extension == "c") && path.file_name().is_some_and(|n| n != "main.c")
    }));
}

fn is_native() -> bool {
    env::var_os("HOST") == env::var_os("TARGET")
}

fn target_arch() -> Option<String> {
    match env::var("HTP_SIM_MARCH") {
        Ok(arch) if arch.is_empty() => None,
        Ok(arch) => Some(arch),
        Err(_) => is_native().then(|| "native".to_string()),
    }
}

/// clang, when it is there, recent, and nobody has chosen another compiler.
fn preferred_compiler() -> Option<&'static str> {
    let target = env::var("TARGET").unwrap_or_default();
    let chosen = ["CC", "HOST_CC"].iter().any(|name| env::var_os(name).is_some())
        || env::var_os(format!("CC_{target}")).is_some()
        || env::var_os(format!("CC_{}", target.replace('-', "_"))).is_some();
    if chosen || !is_native() {
        return None;
    }
    let output = Command::new("clang").arg("-dumpversion").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    let major: u32 = version.trim().split('.').next()?.parse().ok()?;
    (major >= CLANG_MIN).then_some("clang")
}
