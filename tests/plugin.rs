//! The plug-in in real programs: ways to load it, weights through it, and what it does when something is wrong.
//!
//! `cargo xtask test` runs these; they need its builds of llama.cpp and of this project, named by
//! `GGML_HEXAGON_TEST_{BIN,SOURCE,DIST,MODEL}`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What the tests find in the environment, and a folder of their own.
struct Setup {
    /// llama.cpp's programs and libraries.
    bin: PathBuf,
    /// llama.cpp's source.
    source: PathBuf,
    /// The plug-in, the simulated driver and the DSP program.
    dist: PathBuf,
    folder: TempDir,
}

impl Setup {
    fn new() -> Setup {
        Setup {
            bin: variable("BIN"),
            source: variable("SOURCE"),
            dist: variable("DIST"),
            folder: TempDir::new().expect("a temporary folder"),
        }
    }

    fn plugin(&self) -> PathBuf {
        self.dist.join("libggml-hexagon.so")
    }

    fn driver(&self) -> PathBuf {
        self.dist.join("libcdsprpc.so")
    }

    /// Compiles one of `tests/programs`.
    fn compile(&self, source: &str, output: &str, flags: &[&str]) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let output = self.folder.path().join(output);
        let mut cc = Command::new("cc");
        cc.arg("-O1").arg(format!("-I{}", self.source.join("ggml/include").display()));
        cc.arg(source).arg("-o").arg(&output).args(flags).args(["-ldl", "-lm"]);
        let result = run(&mut cc);
        assert!(result.status.success(), "{}", text(&result));
        output
    }

    fn probe(&self, how: &str) -> PathBuf {
        let folder = self.bin.display();
        let (library, rpath) = (format!("-L{folder}"), format!("-Wl,-rpath,{folder}"));
        match how {
            "linked" => {
                let flags = ["-Wl,--no-as-needed", &library, "-lggml", "-lggml-base", &rpath];
                self.compile("probe.c", how, &flags)
            }
            _ => self.compile("probe.c", how, &[]),
        }
    }

    /// A run of the probe with the simulated driver.
    fn run_probe(&self, program: &Path, how: &str, what: &str, environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(program);
        command.arg(how).arg(&self.bin).arg(self.plugin()).arg(what);
        command.env("GGML_HEXAGON_DRIVER", self.driver()).envs(environment.iter().copied());
        run(&mut command)
    }

    /// A short completion on the device.
    fn complete(&self, environment: &[(&str, &str)]) -> Output {
        self.complete_with(&[], environment)
    }

    fn complete_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(self.bin.join("llama-completion"));
        command.arg("-m").arg(variable("MODEL")).args(["-p", "Once upon a time", "-n", "8", "--temp", "0", "-no-cnv"]);
        command.args(["-ngl", "99", "--no-warmup", "-c", "256"]).args(arguments);
        command.env("GGML_BACKEND_PATH", self.plugin()).env("GGML_HEXAGON_DRIVER", self.driver());
        run(command.envs(environment.iter().copied()))
    }
}

fn variable(name: &str) -> PathBuf {
    let name = format!("GGML_HEXAGON_TEST_{name}");
    std::env::var_os(&name).unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`")).into()
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"))
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The program ended by itself (not by a signal: no crash, no abort) and said `expected`.
#[track_caller]
fn assert_said(output: &Output, expected: &[&str]) {
    let text = text(output);
    assert!(output.status.code().is_some(), "ended by a signal ({}):\n{text}", output.status);
    for line in expected {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn weights_in_a_program_linked_to_ggml() {
    let setup = Setup::new();
    let output = setup.run_probe(&setup.probe("linked"), "linked", "weights", &[]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn weights_in_a_program_that_opened_ggml_locally() {
    let setup = Setup::new();
    let output = setup.run_probe(&setup.probe("local"), "local", "weights", &[]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn indices_beyond_the_table_fail_the_graph_and_no_other() {
    let setup = Setup::new();
    let output = setup.run_probe(&setup.probe("linked"), "linked", "indices", &[]);
    assert!(output.status.success(), "{}", text(&output));
    assert_said(&output, &["an index in the data is out of range", "GET_ROWS", "SET_ROWS"]);
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn the_examples_build_and_run() {
    let setup = Setup::new();
    for (compiler, source) in [("cc", "examples/devices.c"), ("c++", "examples/devices.cpp")] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = setup.folder.path().join(compiler);
        let mut build = Command::new(compiler);
        build.arg(root.join(source)).arg("-o").arg(&program);
        build.arg(format!("-I{}", setup.source.join("ggml/include").display()));
        build.arg(format!("-I{}", root.join("include").display()));
        for folder in [&setup.dist, &setup.bin] {
            build.arg(format!("-L{}", folder.display())).arg(format!("-Wl,-rpath,{}", folder.display()));
        }
        let built = run(build.args(["-lggml-hexagon", "-lggml", "-lggml-base"]));
        assert!(built.status.success(), "{}", text(&built));
        let output = run(Command::new(&program).env("GGML_HEXAGON_DRIVER", setup.driver()));
        assert!(output.status.success(), "{source}: {}", text(&output));
        assert_said(&output, &["HTP0"]);
    }
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn two_devices_are_two_sessions() {
    let setup = Setup::new();
    let output = setup.run_probe(&setup.probe("linked"), "linked", "devices", &[("GGML_HEXAGON_NDEV", "2")]);
    assert_said(&output, &["2 devices", "HTP0:", "HTP1:"]);
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn another_ggml_is_refused_by_its_version() {
    let setup = Setup::new();
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libggml-base.so.0"];
    let other = setup.compile("other_ggml.c", "libggml-base.so.0", &flags);
    let load = setup.compile("load.c", "load", &[]);
    let output = run(Command::new(&load).arg(other).arg(setup.plugin()));
    assert_said(&output, &["refused", "ggml 9.9.9 is not supported"]);
    // and without any ggml at all
    let output = run(Command::new(&load).arg(setup.plugin()));
    assert_said(&output, &["refused", "no ggml library"]);
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn values_that_do_not_parse_are_named_once() {
    let setup = Setup::new();
    let probe = setup.probe("linked");
    for (name, value, default) in [
        ("GGML_HEXAGON_NDEV", "many", "1"),
        ("GGML_HEXAGON_NHVX", "-3", "0"),
        ("GGML_HEXAGON_OPBATCH", "0", "1280"),
        ("GGML_HEXAGON_USE_HMX", "perhaps", "1"),
    ] {
        let output = setup.run_probe(&probe, "linked", "devices", &[(name, value)]);
        assert_said(&output, &["1 devices", "HTP0:"]);
        let lines: Vec<String> = text(&output).lines().filter(|line| line.contains(name)).map(String::from).collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(value) && lines[0].contains(default), "{lines:?}");
    }
}

/// A copy of the driver in which the function `symbol` has another name.
fn driver_without(setup: &Setup, symbol: &str) -> PathBuf {
    let mut bytes = fs::read(setup.driver()).expect("the driver");
    let name = [&[0], symbol.as_bytes(), &[0]].concat();
    let at = bytes.windows(name.len()).position(|window| window == name).expect("the name in the symbol table");
    bytes[at + 1] = b'x';
    let folder = setup.folder.path().join(symbol);
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("libcdsprpc.so");
    fs::write(&path, bytes).expect("a copy of the driver");
    fs::copy(setup.dist.join("htp-dsp"), folder.join("htp-dsp")).expect("a copy of the DSP program");
    path
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn a_driver_may_lack_optional_functions_only() {
    let setup = Setup::new();
    let probe = setup.probe("linked");
    for symbol in ["rpcmem_alloc2", "remote_system_request", "dspqueue_read_noblock"] {
        let driver = driver_without(&setup, symbol);
        let environment = [("GGML_HEXAGON_DRIVER", driver.to_str().expect("a path"))];
        let output = setup.run_probe(&probe, "linked", "weights", &environment);
        assert!(output.status.success(), "without {symbol}: {}", text(&output));
    }
    for symbol in ["rpcmem_to_fd", "dspqueue_write", "remote_handle64_open"] {
        let driver = driver_without(&setup, symbol);
        let environment = [("GGML_HEXAGON_DRIVER", driver.to_str().expect("a path"))];
        let output = setup.run_probe(&probe, "linked", "devices", &environment);
        assert_said(&output, &["0 devices", symbol]);
    }
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn a_driver_that_refuses_leaves_no_device_and_says_why() {
    let setup = Setup::new();
    let probe = setup.probe("linked");
    for (call, code, named) in [
        ("remote_session_control", "0x72", "remote_session_control"),
        ("remote_handle64_open", "0x80000406", "remote_handle64_open"),
        ("remote_handle64_invoke", "0x2e", "htp_iface_start"),
        ("dspqueue_create", "0x0e", "dspqueue_create"),
        ("dspqueue_export", "0x14", "dspqueue_export"),
    ] {
        let fault = format!("{call}={code}");
        let output = setup.run_probe(&probe, "linked", "devices", &[("HTP_SIM_FAULTS", &fault)]);
        assert_said(&output, &["0 devices", named, code]);
    }
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn a_model_that_does_not_fit_is_refused() {
    let setup = Setup::new();
    for limit in ["HTP_SIM_MEMORY_MB", "HTP_SIM_MAP_MB"] {
        let output = setup.complete(&[(limit, "20")]);
        assert_said(&output, &["HTP0-REPACK: cannot allocate", "MiB"]);
        assert!(!output.status.success(), "{}", text(&output));
    }
}

#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn a_dsp_that_dies_fails_the_graph_and_not_the_program() {
    let setup = Setup::new();
    let output = setup.complete(&[("HTP_SIM_FAULTS", "kill:3")]);
    assert_said(&output, &["HTP0:", "0x2e"]);
}

/// llama.cpp's own scripts read the profile, with and without events that the simulated DSP does not count.
#[test]
#[ignore = "needs llama.cpp: cargo xtask test"]
fn a_profile_is_what_the_scripts_of_llama_cpp_read() {
    let setup = Setup::new();
    for (value, warnings) in [("1", 0), ("2", 1)] {
        let output = setup.complete_with(&["-v"], &[("GGML_HEXAGON_PROFILE", value)]);
        assert_said(&output, &["HTP0 profile-op OPBATCH|", "HTP0 profile-op RMS_NORM+MUL|", "HTP0: op  "]);
        let text = text(&output);
        assert_eq!(text.matches("hardware events cannot be counted").count(), warnings, "{text}");
        let log = setup.folder.path().join("log");
        fs::write(&log, &text).expect("a log file");
        let script = |name: &str| {
            let mut command = Command::new("python3");
            command.arg(setup.source.join("scripts/snapdragon").join(name)).arg(&log);
            command
        };
        let table = run(&mut script("ggml-hexagon-profile.py"));
        assert!(table.status.success(), "{}", self::text(&table));
        assert_said(&table, &["MUL_MAT", "RMS_NORM+MUL", "q4_0 x f32 -> f32", "576:576:1:1 x 576:"]);
        let trace = setup.folder.path().join("trace");
        let output = run(script("ggml-hexagon-trace.py").arg("-o").arg(&trace));
        assert!(output.status.success(), "{}", self::text(&output));
        let trace = fs::read(&trace).expect("a trace");
        assert!(trace.windows(7).any(|bytes| bytes == b"MUL_MAT"), "the trace names no op");
    }
}
