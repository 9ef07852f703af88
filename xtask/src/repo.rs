//! This work tree: its folders, its cargo, and the artefacts that the other programs load.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};
use serde_json::Value;

use crate::archive::unfinished;
use crate::{hexagon, skel};

/// The work tree.
pub struct Repo {
    pub root: PathBuf,
    pub target: PathBuf,
}

/// What was built, under the names it is installed with.
#[derive(Clone)]
pub struct Dist {
    pub plugin: PathBuf,
    pub driver: PathBuf,
}

impl Repo {
    /// The tree that holds this program's source.
    pub fn find() -> Result<Repo> {
        let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let here = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let root = here.parent().context("xtask has no parent folder")?.to_owned();
        let output = Command::new(cargo_program())
            .current_dir(&root)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo")?;
        let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata failed")?;
        let target = metadata["target_directory"].as_str().context("cargo metadata names no target folder")?;
        Ok(Repo { root, target: PathBuf::from(target) })
    }

    /// A cargo command in the root of the tree.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_program());
        command.current_dir(&self.root).args(args);
        command
    }

    /// Folder for what these commands leave behind.
    pub fn out(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// The log file of one piece of work.
    pub fn log(&self, name: &str) -> PathBuf {
        self.out().join("logs").join(format!("{name}.log"))
    }

    /// Where [`Repo::build`] puts the artefacts.
    pub fn dist(&self) -> Dist {
        let dir = self.out().join("dist");
        Dist { plugin: dir.join("libggml-hexagon.so"), driver: dir.join("libcdsprpc.so") }
    }

    /// Builds the plug-in and the simulated device in release and copies them to the dist folder. Compiler messages
    /// and cargo's own progress go to stderr.
    pub fn build(&self) -> Result<Dist> {
        let output = self
            .cargo(&["build", "--release", "--message-format=json-render-diagnostics"])
            .args(["-p", "ggml-hexagon", "-p", "htp-sim"])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo")?;
        if !output.status.success() {
            bail!("cargo build failed ({})", output.status);
        }
        let files = artifacts(&String::from_utf8_lossy(&output.stdout));
        let dist = self.dist();
        let dir = dist.plugin.parent().context("no dist folder")?;
        fs::create_dir_all(dir)?;
        for (built, installed) in [
            ("libggml_hexagon.so", "libggml-hexagon.so"),
            ("libcdsprpc.so", "libcdsprpc.so"),
            // The simulated driver starts the DSP process from beside itself.
            ("htp-dsp", "htp-dsp"),
        ] {
            let file = files.iter().find(|file| file.file_name().is_some_and(|name| name == built));
            install(file.with_context(|| format!("cargo built no {built}"))?, &dir.join(installed))?;
        }
        Ok(dist)
    }
}

impl Repo {
    /// Builds the DSP program for the emulator, sees to the emulator itself, and puts the program beside the driver.
    pub fn build_hexagon(&self) -> Result<()> {
        hexagon::emulator()?;
        skel::make(self, &["hexagon"])?;
        let name = "htp-dsp-hexagon";
        let built = self.root.join("htp-kernels/build").join(name);
        install(&built, &self.dist().driver.with_file_name(name))
    }
}

/// Copies under a new inode: a program that runs or has mapped the old file keeps it.
fn install(from: &Path, to: &Path) -> Result<()> {
    let temporary = unfinished(to);
    fs::copy(from, &temporary).with_context(|| format!("cannot copy {}", from.display()))?;
    fs::rename(&temporary, to).with_context(|| format!("cannot rename to {}", to.display()))
}

fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The files named in cargo's JSON messages.
fn artifacts(messages: &str) -> Vec<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let artifacts = messages.filter(|message| message["reason"] == "compiler-artifact");
    artifacts
        .flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default())
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifact_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"a"},"filenames":["/t/liba.so","/t/liba.rlib"]}
not json
{"reason":"build-finished","success":true}
{"reason":"compiler-artifact","filenames":["/t/htp-dsp"]}"#;
        let files = artifacts(messages);
        assert_eq!(files, ["/t/liba.so", "/t/liba.rlib", "/t/htp-dsp"].map(PathBuf::from));
    }
}
