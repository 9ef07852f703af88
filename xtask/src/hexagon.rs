//! What building and running Hexagon programs needs: the compiler of the PyPI package ziglang, and qemu-hexagon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use crate::progress::Progress;
use crate::{archive, cache, fetch, packages, pins};

/// The first emulator that knows v68 and later.
const QEMU_MIN: u32 = 10;

/// The command that runs the compiler, for `make`'s variable ZIG.
pub fn compiler() -> Result<String> {
    if let Ok(zig) = std::env::var("ZIG") {
        return Ok(zig);
    }
    packages::ensure(packages::BASE)?;
    let pin = pins::ziglang().context("the ziglang package has no build for this machine that is pinned here")?;
    let cache = cache::dir()?;
    let folder = cache.join(format!("ziglang-{}", &pin.sha256[..12]));
    let program = folder.join("zig");
    cache::locked(&cache, || {
        if !program.exists() {
            let wheel = fetch::fetch(&cache, pin)?;
            let progress = Progress::spinner("unpacking ziglang");
            archive::unpack_zip_tree(&wheel, "ziglang", &folder)?;
            progress.done();
        }
        Ok(())
    })?;
    let program = program.to_str().context("the cache folder's name is not text")?;
    if program.contains(char::is_whitespace) {
        bail!("make cannot run {program}: the name has spaces. Set GGML_HEXAGON_CACHE to another folder");
    }
    Ok(program.to_owned())
}

/// The emulator that QEMU_HEXAGON names, or the one in PATH.
///
/// # Errors
/// Why that one cannot be used.
pub fn installed_emulator() -> Result<PathBuf> {
    let program = std::env::var_os("QEMU_HEXAGON").map_or_else(|| PathBuf::from("qemu-hexagon"), PathBuf::from);
    check_version(&program).map(|()| program)
}

/// The emulator, which is installed now if it is not there yet.
pub fn emulator() -> Result<PathBuf> {
    let there = installed_emulator();
    if there.is_ok() || std::env::var_os("QEMU_HEXAGON").is_some() {
        return there;
    }
    // The distribution's own, when it is recent enough.
    packages::install(&["qemu-user"], None).ok();
    if installed_emulator().is_err() {
        packages::install(&["qemu-user"], Some(&backports()?))?;
    }
    installed_emulator()
}

/// Suite of newer packages for this distribution.
fn backports() -> Result<String> {
    let release = fs::read_to_string("/etc/os-release").context("this is no Debian or Ubuntu")?;
    let codename = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = codename.map(|name| name.trim_matches('"')).filter(|name| !name.is_empty());
    Ok(format!("{}-backports", codename.context("/etc/os-release names no codename")?))
}

fn check_version(program: &Path) -> Result<()> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match major_version(&text) {
        Some(version) if version >= QEMU_MIN => Ok(()),
        _ => bail!(
            "{} is not recent enough (version {QEMU_MIN} or newer is needed): {}",
            program.display(),
            text.lines().next().unwrap_or("it says no version")
        ),
    }
}

/// `qemu-hexagon version 10.0.2 (Debian ...)`
fn major_version(text: &str) -> Option<u32> {
    text.split_once("version ")?.1.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major_version;

    #[test]
    fn versions() {
        assert_eq!(major_version("qemu-hexagon version 10.0.2 (Debian 1:10.0.2+ds)\nCopyright"), Some(10));
        assert_eq!(major_version("qemu-hexagon version 7.2.17"), Some(7));
        assert_eq!(major_version("command not found"), None);
    }
}
