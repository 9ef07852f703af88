//! Starting programs: output into a log file, lines to a callback, and the end of the log when something failed.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{bail, Context, Result};

/// How a program that was watched came to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Exit(ExitStatus),
    /// No line of output for the time allowed; it was killed.
    Stalled(Duration),
}

impl End {
    pub fn success(&self) -> bool {
        matches!(self, End::Exit(status) if status.success())
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(status) => status.fmt(f),
            End::Stalled(after) => write!(f, "no output for {} s, killed", after.as_secs()),
        }
    }
}

/// The program's name as the user would type it.
pub fn name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A fresh log file; the folder is made too.
pub fn new_log(path: &Path) -> Result<File> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    File::create(path).with_context(|| format!("cannot create {}", path.display()))
}

/// What of a program's output a callback sees; the log gets both streams in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// stdout and stderr in the order they were written
    Both,
    /// stdout alone, for parsers that a line of stderr would disturb
    Stdout,
}

/// Runs a program with no input, its stderr and stdout in `log` (appended); each line goes to `on_line` too. A
/// program that prints nothing for `stall` is killed.
pub fn watch(
    command: &mut Command,
    log: &Path,
    stall: Duration,
    which: Lines,
    mut on_line: impl FnMut(&str),
) -> Result<End> {
    let program = name(command);
    let open = || {
        OpenOptions::new().create(true).append(true).open(log).with_context(|| format!("cannot open {}", log.display()))
    };
    let mut out = open()?;
    let (output, writer) = pipe().context("no pipe")?;
    let stderr = if which == Lines::Both { Stdio::from(writer.try_clone()?) } else { Stdio::from(open()?) };
    command.stdin(Stdio::null()).stdout(writer).stderr(stderr);
    let child = command.spawn().with_context(|| format!("cannot start {program}"));
    // The command keeps its ends of the pipe until they are replaced, and the reader would wait for them for ever.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child?;
    let (sender, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while matches!(output.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    loop {
        match lines.recv_timeout(stall) {
            Ok(line) => {
                out.write_all(&line)?;
                on_line(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']));
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().ok();
                child.wait()?;
                // A grandchild may hold the pipe open, so the reader is left to itself.
                return Ok(End::Stalled(stall));
            }
        }
    }
    reader.join().ok();
    Ok(End::Exit(child.wait()?))
}

/// Reading and writing end of a new pipe.
fn pipe() -> std::io::Result<(File, File)> {
    let mut fds = [-1; 2];
    // SAFETY: `fds` is room for the two descriptors that pipe2 writes.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: pipe2 succeeded, so both descriptors are open, and nothing else owns them.
    Ok(unsafe { (File::from_raw_fd(fds[0]), File::from_raw_fd(fds[1])) })
}

/// Long enough for any single compile or test; short enough that a hang ends before a CI run does.
pub const STALL: Duration = Duration::from_secs(1200);

/// As [`watch`], and a failure becomes an error that shows the end of the log.
pub fn logged(command: &mut Command, log: &Path, on_line: impl FnMut(&str)) -> Result<()> {
    let end = watch(command, log, STALL, Lines::Both, on_line)?;
    if !end.success() {
        bail!("{} failed ({end})\n{}\nThe whole output is in {}", name(command), tail(log, 30), log.display());
    }
    Ok(())
}

/// The last lines of a file, for an error message.
pub fn tail(path: &Path, lines: usize) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn lines_and_log() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let log = dir.path().join("log");
        for (which, expected) in [(Lines::Both, "one two three"), (Lines::Stdout, "one three")] {
            let mut lines = Vec::new();
            let mut command = shell("echo one; echo two >&2; printf three");
            let end = watch(&mut command, &log, STALL, which, |line| lines.push(line.to_owned()));
            assert!(end.expect("it starts").success());
            assert_eq!(lines.join(" "), expected);
            let text = fs::read_to_string(&log).expect("a log");
            assert!(text.contains("two"), "{text}");
            new_log(&log).expect("a fresh log");
        }
    }

    #[test]
    fn a_failure_shows_the_end_of_the_log() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let log = dir.path().join("log");
        let error = logged(&mut shell("seq 100; echo the reason >&2; exit 3"), &log, |_| ()).expect_err("exit 3");
        let text = format!("{error:#}");
        assert!(text.contains("the reason") && text.contains("exit status: 3") && !text.contains("\n50\n"), "{text}");
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (mut command, log) = (shell("exec sleep 60"), dir.path().join("log"));
        let end = watch(&mut command, &log, Duration::from_millis(200), Lines::Both, |_| ());
        assert!(matches!(end.expect("it starts"), End::Stalled(_)));
    }
}
