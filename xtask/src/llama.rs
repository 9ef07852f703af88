//! llama.cpp, built once into the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::device::Device;
use crate::progress::Progress;
use crate::{archive, cache, fetch, packages, pins, process};

/// How llama.cpp is configured: backends as plug-ins, nothing that needs the network.
const FLAGS: &[&str] = &[
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=ON",
    "-DGGML_BACKEND_DL=ON",
    "-DGGML_NATIVE=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_SERVER=OFF",
    "-DLLAMA_BUILD_TESTS=ON",
];

const TARGETS: &[&str] =
    &["test-backend-ops", "llama-quantize", "llama-bench", "llama-completion", "llama-perplexity", "ggml-cpu"];

/// A finished build.
pub struct Llama {
    pub bin: PathBuf,
    pub source: PathBuf,
    pub cache: PathBuf,
}

impl Llama {
    /// The build in the cache; fetched and built when it is not there.
    pub fn get() -> Result<Llama> {
        packages::ensure(packages::BASE)?;
        let cache = cache::dir()?;
        cache::locked(&cache, || {
            let source = source(&cache)?;
            let build = build_dir(&cache);
            if !is_complete(&build) {
                compile(&source, &build)?;
            }
            Ok(Llama { bin: build.join("bin"), source, cache: cache.clone() })
        })
    }

    /// A program that chooses its device by the usual arguments (llama-completion, llama-perplexity, ...).
    pub fn program(&self, name: &str, device: &Device) -> Command {
        let mut command = self.bare(name, device);
        command.args(device.args());
        command
    }

    /// A program with the device in its environment only (test-backend-ops, llama-quantize).
    pub fn bare(&self, name: &str, device: &Device) -> Command {
        let mut command = Command::new(self.bin.join(name));
        device.set_env(&mut command);
        command
    }
}

/// llama.cpp's source tree in the cache; the caller holds the cache's lock.
pub fn source(cache: &Path) -> Result<PathBuf> {
    let source = cache.join(format!("llama.cpp-{}", &pins::LLAMA.sha256[..12]));
    if !source.exists() {
        let archive = fetch::fetch(cache, &pins::LLAMA)?;
        let progress = Progress::spinner("unpacking llama.cpp");
        archive::unpack_tree(&archive, pins::LLAMA_TREE, &source)?;
        progress.done();
    }
    Ok(source)
}

/// Named after all that decides what is in it, so that another pin or flag is another folder.
pub fn build_dir(cache: &Path) -> PathBuf {
    let mut hasher = Sha256::new();
    hasher.update(pins::LLAMA.sha256);
    for flag in FLAGS {
        hasher.update(flag);
    }
    cache.join(format!("build-{}", &fetch::hex(&hasher.finalize())[..12]))
}

/// Whether the build was finished with all of today's targets.
pub fn is_complete(build: &Path) -> bool {
    fs::read_to_string(marker(build)).is_ok_and(|targets| targets == TARGETS.join(" "))
}

fn marker(build: &Path) -> PathBuf {
    build.with_extension("complete")
}

fn compile(source: &Path, build: &Path) -> Result<()> {
    let log = build.with_extension("log");
    process::new_log(&log)?;
    let progress = Progress::spinner("configuring llama.cpp");
    let mut cmake = Command::new("cmake");
    cmake.args(["-G", "Ninja", "-S"]).arg(source).arg("-B").arg(build).args(FLAGS);
    process::logged(&mut cmake, &log, |_| ())?;
    progress.done();

    let mut progress = Progress::steps("building llama.cpp");
    let mut ninja = Command::new("ninja");
    ninja.env("NINJA_STATUS", "[%f/%t] ").arg("-C").arg(build).args(TARGETS);
    process::logged(&mut ninja, &log, |line| {
        if let Some((done, total)) = ninja_status(line) {
            progress.set(done, total);
        }
    })?;
    progress.done();
    fs::write(marker(build), TARGETS.join(" ")).context("cannot mark the build as complete")
}

/// `[done/total] ...`
fn ninja_status(line: &str) -> Option<(u64, u64)> {
    let (done, total) = line.strip_prefix('[')?.split_once(']')?.0.split_once('/')?;
    Some((done.trim().parse().ok()?, total.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninja_lines() {
        assert_eq!(ninja_status("[12/345] Building CXX object a.o"), Some((12, 345)));
        assert_eq!(ninja_status("ninja: Entering directory `x'"), None);
        assert_eq!(ninja_status("[warning] 1/2"), None);
    }

    #[test]
    fn a_build_counts_only_with_all_its_targets() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let build = dir.path().join("build-1");
        assert!(!is_complete(&build));
        fs::write(marker(&build), "llama-quantize").expect("a marker");
        assert!(!is_complete(&build));
        fs::write(marker(&build), TARGETS.join(" ")).expect("a marker");
        assert!(is_complete(&build));
    }
}
