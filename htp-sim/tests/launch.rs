//! DSP processes that are programs: how they are started, and what happens when that fails or they die.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cdsprpc::faults::Faults;
use cdsprpc::queue::{Callbacks, QueueOptions};
use cdsprpc::settings::Engine;
use cdsprpc::{Code, Driver, Settings};

const URI: &str = "file:///libggml-htp-v73.so?htp_iface_skel_handle_invoke&_modver=1.0&_dom=cdsp";

/// A program that says in the file `out` beside it how it was started, then does what `then` says.
fn script(folder: &Path, then: &str) -> PathBuf {
    let path = folder.join("program");
    let out = folder.join("out");
    let text = format!(
        "#!/bin/sh\n\
         kind=`readlink /proc/self/fd/$HTP_SIM_SOCKET`\n\
         echo \"$HTP_SIM_ARCH $HTP_SIM_HOST_PID ${{kind%%:*}} $*\" > {}\n{then}\n",
        out.display()
    );
    // written elsewhere and moved: a file that is open for writing cannot be executed
    let draft = folder.join("draft");
    fs::write(&draft, text).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(draft, &path).unwrap();
    path
}

fn device(settings: Settings) -> Driver {
    let driver = Driver::new(settings);
    driver.allow_unsigned(3, true).unwrap();
    driver
}

#[test]
fn the_program_learns_all_from_its_environment() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "exit 3");
    let driver = device(Settings { program: Some(program), ..Settings::default() });
    assert_eq!(driver.open(URI), Err(Code::INTERRUPTED), "it ends without an answer");
    let out = fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(out.trim_end(), format!("73 {} socket", std::process::id()));
}

#[test]
fn the_emulator_gets_processor_and_program() {
    let folder = tempfile::tempdir().unwrap();
    let emulator = script(folder.path(), "exit 3").into_os_string();
    let program = Some(PathBuf::from("/some/htp-dsp-hexagon"));
    let settings =
        Settings { engine: Engine::Hexagon, emulator, program_hexagon: program, arch: 79, ..Settings::default() };
    assert_eq!(device(settings).open(&URI.replace("v73", "v79")), Err(Code::INTERRUPTED));
    let out = fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(out.trim_end(), format!("79 {} socket -cpu v73 /some/htp-dsp-hexagon", std::process::id()));
}

#[test]
fn what_cannot_be_started_cannot_be_loaded() {
    let missing = Settings { program: Some("/does/not/exist".into()), ..Settings::default() };
    let driver = device(missing);
    assert_eq!(driver.open(URI), Err(Code::UNABLE_TO_LOAD));
    assert_eq!(driver.open(URI), Err(Code::UNABLE_TO_LOAD), "a failed start leaves nothing that interrupts");
    let no_emulator = Settings {
        engine: Engine::Hexagon,
        emulator: "/does/not/exist".into(),
        program_hexagon: Some("/bin/true".into()),
        ..Settings::default()
    };
    assert_eq!(device(no_emulator).open(URI), Err(Code::UNABLE_TO_LOAD));
}

#[test]
fn a_program_that_ignores_the_end_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    // closes the socket, so that the open fails, but goes on
    let program = script(folder.path(), "eval \"exec $HTP_SIM_SOCKET>&-\"; echo $$ > \"$0.pid\"; exec sleep 60");
    let driver = device(Settings { program: Some(program), ..Settings::default() });
    let begin = Instant::now();
    assert_eq!(driver.open(URI), Err(Code::INTERRUPTED));
    assert!(begin.elapsed() < Duration::from_secs(20));
    let pid = fs::read_to_string(folder.path().join("program.pid")).unwrap();
    assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists(), "it still runs");
}

fn real(faults: &str) -> Driver {
    let program = Some(PathBuf::from(env!("CARGO_BIN_EXE_htp-dsp")));
    device(Settings { program, faults: Faults::parse(faults, |text| panic!("{text}")), ..Settings::default() })
}

/// The program that this package builds.
#[test]
fn the_real_program_comes_and_goes() {
    let driver = real("");
    for _ in 0..20 {
        let handle = driver.open(URI).unwrap();
        let begin = Instant::now();
        driver.close(handle).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(2), "it has to be killed");
    }
}

#[test]
fn the_real_program_can_be_killed_and_comes_back() {
    let driver = real("kill:1");
    let callbacks = Callbacks { packet: None, error: None, context: 0 };
    let handle = driver.open(URI).unwrap();
    let queue = driver.create_queue(3, QueueOptions { request_bytes: 0, response_bytes: 0, callbacks }).unwrap();
    driver.write(queue, b"the last one", None).unwrap();
    assert_eq!(driver.queue(queue).unwrap().read(&mut [0; 64], None), Err(Code::INTERRUPTED));
    assert_eq!(driver.invoke(handle, HWINFO, &[], &[24]), Err(Code::INTERRUPTED));
    driver.close_queue(queue).unwrap();
    assert_eq!(driver.close(handle), Err(Code::INTERRUPTED));

    let handle = driver.open(URI).unwrap();
    let info = driver.invoke(handle, HWINFO, &[], &[24]).unwrap();
    assert_eq!(info[0][..4], 73_u32.to_le_bytes());
    driver.close(handle).unwrap();
}

/// Method 5 of `htp_iface`: one output buffer.
const HWINFO: u32 = 5 << 24 | 1 << 8;
