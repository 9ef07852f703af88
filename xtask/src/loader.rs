//! The ways a program comes to load the plug-in, each tried with a real program.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use crate::device::{Device, HTP};
use crate::llama::Llama;
use crate::repo::{Dist, Repo};

type Test = fn(&Repo, &Llama, &Dist) -> Result<()>;

/// Name and body of every test.
pub const TESTS: &[(&str, Test)] = &[
    ("named by GGML_BACKEND_PATH", named_by_path),
    ("found beside the executable", beside_the_executable),
    ("ggml loaded with RTLD_LOCAL", local_symbols),
    ("no driver library", no_driver),
    ("a driver library that is none", wrong_driver),
];

/// stdout and stderr of a program, and whether it succeeded.
fn output(command: &mut Command) -> Result<(bool, String)> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

fn expect_device(command: &mut Command) -> Result<()> {
    let (success, text) = output(command)?;
    if !success || !text.lines().any(|line| line.trim_start().starts_with(&format!("{HTP}:"))) {
        bail!("{HTP} is not in the list of devices:\n{text}");
    }
    Ok(())
}

fn htp(dist: &Dist) -> Device {
    Device::Htp { dist: dist.clone(), driver: crate::device::Driver::Simulator, engine: None }
}

fn named_by_path(_: &Repo, llama: &Llama, dist: &Dist) -> Result<()> {
    expect_device(llama.bare("llama-completion", &htp(dist)).arg("--list-devices"))
}

/// llama.cpp looks for backends in the folder of the executable, so the program is copied, not linked.
fn beside_the_executable(repo: &Repo, llama: &Llama, dist: &Dist) -> Result<()> {
    let folder = repo.out().join("beside");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for name in ["llama-completion", "libggml-cpu.so"] {
        fs::copy(llama.bin.join(name), folder.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    fs::copy(&dist.plugin, folder.join("libggml-hexagon.so")).context("cannot copy the plug-in")?;
    let mut command = Command::new(folder.join("llama-completion"));
    command.arg("--list-devices").env_remove("GGML_BACKEND_PATH").env("GGML_HEXAGON_DRIVER", &dist.driver);
    expect_device(&mut command)
}

/// As Python and Node load libraries: no symbol of ggml is in the global scope.
const LOCAL_SYMBOLS: &str = r#"
import ctypes, os, sys
bin, plugin = sys.argv[1:]
base = ctypes.CDLL(os.path.join(bin, "libggml-base.so.0"), mode=os.RTLD_LOCAL | os.RTLD_NOW)
ggml = ctypes.CDLL(os.path.join(bin, "libggml.so.0"), mode=os.RTLD_LOCAL | os.RTLD_NOW)
ggml.ggml_backend_load.restype = ctypes.c_void_p
ggml.ggml_backend_load.argtypes = [ctypes.c_char_p]
base.ggml_backend_reg_dev_count.restype = ctypes.c_size_t
base.ggml_backend_reg_dev_count.argtypes = [ctypes.c_void_p]
reg = ggml.ggml_backend_load(plugin.encode())
print("registered" if reg else "refused", base.ggml_backend_reg_dev_count(reg) if reg else 0)
"#;

/// The plug-in in such a program: how many devices it has, and all output. ggml's own log is written at once, while
/// llama.cpp's programs have a thread for it and may end before it.
fn local_program(llama: &Llama, dist: &Dist, driver: &Path) -> Result<(Option<u32>, String)> {
    let mut command = Command::new("python3");
    command.args(["-c", LOCAL_SYMBOLS]).arg(&llama.bin).arg(&dist.plugin);
    command.env("GGML_HEXAGON_DRIVER", driver);
    let (success, text) = output(&mut command)?;
    if !success {
        bail!("the program ended with an error:\n{text}");
    }
    let devices = text.lines().find_map(|line| line.strip_prefix("registered ")?.trim().parse().ok());
    Ok((devices, text))
}

fn local_symbols(_: &Repo, llama: &Llama, dist: &Dist) -> Result<()> {
    match local_program(llama, dist, &dist.driver)? {
        (Some(1..), _) => Ok(()),
        (_, text) => bail!("the plug-in registered no device:\n{text}"),
    }
}

/// Without a driver the program must go on without the device, and the log must name the file.
fn no_driver(repo: &Repo, llama: &Llama, dist: &Dist) -> Result<()> {
    let missing = repo.out().join("no-such-driver.so");
    expect_refusal(llama, dist, &missing)
}

fn wrong_driver(repo: &Repo, llama: &Llama, dist: &Dist) -> Result<()> {
    let file = repo.out().join("not-a-driver.so");
    fs::write(&file, "this is not a library")?;
    expect_refusal(llama, dist, &file)
}

fn expect_refusal(llama: &Llama, dist: &Dist, driver: &Path) -> Result<()> {
    let (devices, text) = local_program(llama, dist, driver)?;
    if devices != Some(0) {
        bail!("there is a device without a driver, or no plug-in at all:\n{text}");
    }
    let name = driver.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !text.contains(&name) {
        bail!("the output does not name {name}:\n{text}");
    }
    Ok(())
}
