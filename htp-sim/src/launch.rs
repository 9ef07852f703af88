//! How the DSP program is found and started.

use std::ffi::{CStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::settings::{Engine, Settings};

/// The emulator knows no later processor; later ones run the same program.
const LAST_EMULATED_ARCH: u32 = 73;

/// Why there is no DSP process. The text says what to do.
#[derive(Debug)]
pub enum LaunchError {
    /// The program is in none of the places.
    NotFound {
        /// Its file name.
        name: &'static str,
        /// The variable that can name it.
        variable: &'static str,
        /// Where it was looked for.
        folders: Vec<PathBuf>,
    },
    /// The system did not start it.
    Start {
        /// What was started.
        program: OsString,
        /// Why it failed.
        error: io::Error,
    },
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::NotFound { name, variable, folders } => write!(
                f,
                "cannot start the DSP process: no {name} in {folders:?}. Build it and put it beside libcdsprpc.so, or \
                 set {variable} to its path"
            ),
            LaunchError::Start { program, error } => write!(
                f,
                "cannot start the DSP process {program:?}: {error}. Check that the file exists and may be executed \
                 (HTP_SIM_DSP, or HTP_SIM_DSP_HEXAGON and QEMU_HEXAGON)"
            ),
        }
    }
}

impl std::error::Error for LaunchError {}

/// Starts a DSP process. Returns the driver's end of the socket and the process.
pub fn launch(settings: &Settings) -> Result<(OwnedFd, Child), LaunchError> {
    let mut command = command(settings)?;
    let program = command.get_program().to_owned();
    let start = |error| LaunchError::Start { program, error };
    let (driver_end, dsp_end) = match socket_pair() {
        Ok(pair) => pair,
        Err(error) => return Err(start(error)),
    };
    let fd = dsp_end.as_raw_fd();
    command
        .env("HTP_SIM_SOCKET", fd.to_string())
        .env("HTP_SIM_HOST_PID", std::process::id().to_string())
        .env("HTP_SIM_ARCH", settings.arch.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // an interrupt from the keyboard is for the host, which may want to go on
        .process_group(0);
    // SAFETY: between fork and exec only fcntl is called, which is async-signal-safe, on a descriptor that is open.
    unsafe {
        command.pre_exec(move || match libc::fcntl(fd, libc::F_SETFD, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        })
    };
    match command.spawn() {
        Ok(child) => Ok((driver_end, child)),
        Err(error) => Err(start(error)),
    }
}

/// The two ends of a connection, both closed on exec.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: `fds` has room for the two descriptors.
    let result =
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: socketpair has just returned these descriptors, nobody else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

fn command(settings: &Settings) -> Result<Command, LaunchError> {
    let program = match settings.named_program() {
        Some(program) => PathBuf::from(program),
        None => find(settings.engine)?,
    };
    Ok(match settings.engine {
        Engine::Native => Command::new(program),
        Engine::Hexagon => {
            let mut command = Command::new(&settings.emulator);
            command.arg("-cpu").arg(format!("v{}", settings.arch.min(LAST_EMULATED_ARCH))).arg(program);
            command
        }
    })
}

fn find(engine: Engine) -> Result<PathBuf, LaunchError> {
    let (name, variable) = match engine {
        Engine::Native => ("htp-dsp", "HTP_SIM_DSP"),
        Engine::Hexagon => ("htp-dsp-hexagon", "HTP_SIM_DSP_HEXAGON"),
    };
    // one folder up: cargo keeps the libraries of tests in deps/, programs above it
    let library = own_path().unwrap_or_default();
    let folders: Vec<_> = library.ancestors().skip(1).take(2).map(Path::to_owned).collect();
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or(LaunchError::NotFound { name, variable, folders })
}

/// The file that this code was loaded from.
fn own_path() -> Option<PathBuf> {
    // SAFETY: all fields may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = own_path as *const libc::c_void;
    // SAFETY: dladdr accepts any address and fills `info`.
    if unsafe { libc::dladdr(here, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a C string that lives as long as the library is loaded, that is, longer than this call.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    std::fs::canonicalize(PathBuf::from(OsString::from_vec(name.to_bytes().to_vec()))).ok()
}
