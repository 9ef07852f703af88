//! Programs that the commands need, and the distribution packages that bring them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use crate::progress::Progress;

/// A package of Debian and Ubuntu and how to see that what it brings is there.
pub struct Package {
    pub name: &'static str,
    pub present: fn() -> bool,
}

/// What fetching, building and running llama.cpp needs.
pub const BASE: &[Package] = &[
    Package { name: "cmake", present: || on_path("cmake").is_some() },
    Package { name: "ninja-build", present: || on_path("ninja").is_some() },
    Package { name: "g++", present: || on_path("c++").is_some() },
    Package { name: "python3", present: || on_path("python3").is_some() },
    Package { name: "python3-pip", present: || quiet("python3", &["-c", "import pip"]) },
    Package { name: "curl", present: || on_path("curl").is_some() },
    Package { name: "ca-certificates", present: || Path::new("/etc/ssl/certs/ca-certificates.crt").exists() },
];

/// What `bindings` needs beside [`BASE`].
pub const LIBCLANG: Package = Package { name: "libclang-dev", present: || libclang().is_some() };

/// Installs the packages that are missing, or says how.
pub fn ensure<'a>(packages: impl IntoIterator<Item = &'a Package>) -> Result<()> {
    let missing: Vec<&str> = packages.into_iter().filter(|p| !(p.present)()).map(|p| p.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!("sudo apt-get update && sudo apt-get install -y {}", missing.join(" "));
    if on_path("apt-get").is_none() {
        bail!("please install these packages (names are those of Debian and Ubuntu): {}", missing.join(" "));
    }
    let prefix: &[&str] = if is_root() {
        &[]
    } else if quiet("sudo", &["-n", "true"]) {
        &["sudo", "-n"]
    } else {
        bail!("some packages are missing and installing them needs root; please run\n  {by_hand}");
    };
    let progress = Progress::spinner(&format!("installing {}", missing.join(" ")));
    apt(prefix, &["update"]).with_context(|| format!("by hand: {by_hand}"))?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(&missing);
    apt(prefix, &install).with_context(|| format!("by hand: {by_hand}"))?;
    progress.done();
    Ok(())
}

fn apt(prefix: &[&str], args: &[&str]) -> Result<()> {
    let mut words = prefix.to_vec();
    words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]);
    words.extend(args);
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("apt-get {} failed: {}", args[0], String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn is_root() -> bool {
    // SAFETY: geteuid has no conditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Whether a program can be started and succeeds; its output is dropped.
pub fn quiet(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The full path of a program.
pub fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// A shared libclang that bindgen would find.
pub fn libclang() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from).into_iter().collect();
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    for dir in versions {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("llvm-") {
            folders.push(dir.join("lib"));
        } else if name.contains("-linux-gnu") {
            folders.push(dir);
        }
    }
    let entries = folders.into_iter().flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten());
    entries.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.starts_with("libclang.so") || name.starts_with("libclang-")) && name.contains(".so") && path.exists()
    })
}
