//! Programs that the commands need, and the distribution packages that bring them.

use std::io::Write;
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

/// What building the DSP libraries needs.
pub const MAKE: Package = Package { name: "make", present: || on_path("make").is_some() };

/// Installs the packages that are missing, or says how.
pub fn ensure<'a>(packages: impl IntoIterator<Item = &'a Package>) -> Result<()> {
    let missing: Vec<&str> = packages.into_iter().filter(|p| !(p.present)()).map(|p| p.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    install(&missing, None)
}

/// Installs packages; from `suite`, a newer one of the same distribution, if one is given.
pub fn install(missing: &[&str], suite: Option<&str>) -> Result<()> {
    let from = suite.map_or(String::new(), |suite| format!(" -t {suite}"));
    let by_hand = format!("sudo apt-get update && sudo apt-get install -y{from} {}", missing.join(" "));
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
    let sources = suite.map(|suite| Sources::with_suite(prefix, suite)).transpose()?;
    apt(prefix, &["update"]).with_context(|| format!("by hand: {by_hand}"))?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(suite.iter().flat_map(|suite| ["-t", suite]));
    install.extend(missing);
    let result = apt(prefix, &install).with_context(|| format!("by hand: {by_hand}"));
    drop(sources);
    result?;
    progress.done();
    Ok(())
}

/// The machine's own package sources with another suite, as long as the value lives.
struct Sources<'a> {
    prefix: &'a [&'a str],
}

impl Sources<'_> {
    const FILE: &'static str = "/etc/apt/sources.list.d/ggml-hexagon.sources";

    fn with_suite<'a>(prefix: &'a [&'a str], suite: &str) -> Result<Sources<'a>> {
        let folder = std::fs::read_dir("/etc/apt/sources.list.d").context("this machine has no apt sources")?;
        let files = folder.flatten().map(|entry| entry.path());
        let text = files
            .filter(|path| path.extension().is_some_and(|extension| extension == "sources"))
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .find_map(|text| other_suite(&text, suite))
            .or_else(|| other_suite_of_list(&std::fs::read_to_string("/etc/apt/sources.list").ok()?, suite))
            .context("no apt source of the distribution itself was found")?;
        let mut write = Command::new(prefix.first().unwrap_or(&"tee"));
        write.args(prefix.iter().skip(1)).args(prefix.first().map(|_| "tee")).arg(Self::FILE);
        let mut child = write.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        child.stdin.take().context("tee takes no input")?.write_all(text.as_bytes())?;
        if !child.wait()?.success() {
            bail!("cannot write {}", Self::FILE);
        }
        Ok(Sources { prefix })
    }
}

impl Drop for Sources<'_> {
    fn drop(&mut self) {
        let words: Vec<&str> = self.prefix.iter().copied().chain(["rm", "-f", Self::FILE]).collect();
        // What stays behind is one more source of packages; the next run overwrites it.
        Command::new(words[0]).args(&words[1..]).status().ok();
    }
}

/// The first paragraph of a .sources file that has the suite `X` of `X-backports`, with that suite instead.
fn other_suite(text: &str, suite: &str) -> Option<String> {
    let own = suite.strip_suffix("-backports")?;
    let paragraph = text.split("\n\n").find(|paragraph| {
        paragraph
            .lines()
            .filter_map(|line| line.strip_prefix("Suites:"))
            .any(|s| s.split_whitespace().any(|s| s == own))
    })?;
    let lines = paragraph.lines().map(|line| match line.starts_with("Suites:") {
        true => format!("Suites: {suite}\n"),
        false => format!("{line}\n"),
    });
    Some(lines.collect())
}

/// The same for the one-line format: `deb [options] URI suite component...`
fn other_suite_of_list(text: &str, suite: &str) -> Option<String> {
    let own = suite.strip_suffix("-backports")?;
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("deb ")?;
        let rest = rest.rsplit_once(']').map_or(rest, |(_, rest)| rest);
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (uri, components) = match words[..] {
            [uri, found, ref components @ ..] if found == own => (uri, components.join(" ")),
            _ => return None,
        };
        Some(format!("Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: {components}\n"))
    })
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
        is_libclang(&name) && path.exists()
    })
}

/// libclang-cpp is another library, which bindgen cannot use.
fn is_libclang(name: &str) -> bool {
    let versioned = name.starts_with("libclang-") && !name.starts_with("libclang-cpp") && name.contains(".so");
    versioned || name.starts_with("libclang.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_libclang() {
        for name in ["libclang.so", "libclang.so.1", "libclang-14.so.14.0.6", "libclang-14.so.1"] {
            assert!(is_libclang(name), "{name}");
        }
        for name in ["libclang-cpp.so.14", "libclang-cpp14.so", "libclang-14.a", "libclangBasic.so"] {
            assert!(!is_libclang(name), "{name}");
        }
    }

    #[test]
    fn sources_of_another_suite() {
        let text =
            "Types: deb\nURIs: http://a/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\nTypes: deb\n";
        let expected = "Types: deb\nURIs: http://a/debian\nSuites: bookworm-backports\nComponents: main\n";
        assert_eq!(other_suite(text, "bookworm-backports").as_deref(), Some(expected));
        assert_eq!(other_suite(text, "trixie-backports"), None);
        let list = "# a comment\ndeb [signed-by=/k] http://a/debian bookworm main contrib\n";
        let expected = "Types: deb\nURIs: http://a/debian\nSuites: bookworm-backports\nComponents: main contrib\n";
        assert_eq!(other_suite_of_list(list, "bookworm-backports").as_deref(), Some(expected));
    }
}
