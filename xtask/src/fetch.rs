//! Fetching the pinned files: resumed when they were cut off, checked before they get their name.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use sha2::{Digest, Sha256};

use crate::pins::Pin;
use crate::progress::Progress;

/// curl's exit codes for a server that cannot continue a download.
const CURL_CANNOT_RESUME: [i32; 2] = [33, 36];

/// The pinned file, from the cache or fetched into it.
pub fn fetch(cache: &Path, pin: &Pin) -> Result<PathBuf> {
    let folder = cache.join("downloads");
    fs::create_dir_all(&folder)?;
    let dest = folder.join(pin.file);
    if !dest.exists() {
        let url = file_url(pin.project, pin.file)?;
        download(&url, &dest, pin)?;
    }
    Ok(dest)
}

/// Asks the package index for the address of a file.
fn file_url(project: &str, file: &str) -> Result<String> {
    let output = Command::new("python3")
        .args(["-c", include_str!("file_url.py"), project, file])
        .stdin(Stdio::null())
        .output()
        .context("cannot start python3")?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim_end().lines().next_back().unwrap_or("").to_owned();
        bail!("cannot find {file} in the package index that pip is configured for: {reason}");
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Downloads to `dest.part`, checks size and hash, and renames.
fn download(url: &str, dest: &Path, pin: &Pin) -> Result<()> {
    let mut part = dest.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let size = |path: &Path| fs::metadata(path).map(|m| m.len()).unwrap_or(0);
    if size(&part) > pin.bytes {
        fs::remove_file(&part)?;
    }
    if size(&part) < pin.bytes {
        let code = curl(url, &part, pin)?;
        if CURL_CANNOT_RESUME.contains(&code) {
            fs::remove_file(&part).ok();
            let code = curl(url, &part, pin)?;
            if code != 0 {
                bail!("download of {} failed: curl exit code {code}", pin.file);
            }
        } else if code != 0 {
            bail!(
                "download of {} failed: curl exit code {code}; run again to continue at byte {}",
                pin.file,
                size(&part)
            );
        }
    }
    let progress = Progress::spinner(&format!("checking {}", pin.file));
    let found = sha256(&part)?;
    progress.clear();
    if found != pin.sha256 {
        let bytes = size(&part);
        fs::remove_file(&part)?;
        bail!(
            "{} is not the expected file: sha256 {found} ({bytes} bytes), expected {} ({} bytes). \
             It was deleted; run again to fetch it anew",
            pin.file,
            pin.sha256,
            pin.bytes
        );
    }
    fs::rename(&part, dest).with_context(|| format!("cannot rename to {}", dest.display()))
}

fn curl(url: &str, part: &Path, pin: &Pin) -> Result<i32> {
    let mut child = Command::new("curl")
        .args(["--fail", "--location", "--silent", "--show-error", "--connect-timeout", "30"])
        .args(["--speed-limit", "1", "--speed-time", "120", "--retry", "3", "--continue-at", "-", "--output"])
        .arg(part)
        .arg(url)
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start curl")?;
    let mut progress = Progress::bytes(&format!("fetching {}", pin.file), pin.bytes);
    loop {
        let status = child.try_wait()?;
        progress.set(fs::metadata(part).map(|m| m.len()).unwrap_or(0), pin.bytes);
        if let Some(status) = status {
            if status.success() {
                progress.done();
            }
            return Ok(status.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The hash of a file, in lower-case hexadecimal.
pub fn sha256(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{channel, Receiver};

    const BODY: &[u8] = b"0123456789abcdefghij";

    /// Answers requests on a port of this machine until the test ends, and tells which ranges were asked for.
    struct Server {
        url: String,
        ranges: Receiver<Option<usize>>,
    }

    impl Server {
        fn start(body: &'static [u8], knows_ranges: bool) -> Server {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let url = format!("http://{}/file.bin", listener.local_addr().expect("an address"));
            let (sender, ranges) = channel();
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let start = range_start(&stream);
                    sender.send(start).ok();
                    answer(stream, body, start.filter(|_| knows_ranges)).ok();
                }
            });
            Server { url, ranges }
        }
    }

    fn range_start(stream: &TcpStream) -> Option<usize> {
        let mut start = None;
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if line.is_empty() {
                break;
            }
            if let Some(range) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
                start = range.trim_end_matches('-').parse().ok();
            }
        }
        start
    }

    fn answer(mut stream: TcpStream, body: &[u8], start: Option<usize>) -> std::io::Result<()> {
        let rest = &body[start.unwrap_or(0)..];
        match start {
            Some(start) => write!(
                stream,
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{}\r\n",
                body.len() - 1,
                body.len()
            )?,
            None => write!(stream, "HTTP/1.1 200 OK\r\n")?,
        }
        write!(stream, "Content-Length: {}\r\nConnection: close\r\n\r\n", rest.len())?;
        stream.write_all(rest)
    }

    fn pin() -> Pin {
        let mut hasher = Sha256::new();
        hasher.update(BODY);
        let hash: &'static str = Box::leak(hex(&hasher.finalize()).into_boxed_str());
        Pin { project: "p", file: "file.bin", bytes: BODY.len() as u64, sha256: hash }
    }

    #[test]
    fn fetched_in_one_go() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dest = dir.path().join("file.bin");
        let server = Server::start(BODY, true);
        download(&server.url, &dest, &pin()).expect("a download");
        assert_eq!(fs::read(&dest).expect("the file"), BODY);
        assert!(!dir.path().join("file.bin.part").exists());
    }

    #[test]
    fn continued_where_it_was_cut_off() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dest = dir.path().join("file.bin");
        fs::write(dir.path().join("file.bin.part"), &BODY[..7]).expect("a part");
        let server = Server::start(BODY, true);
        download(&server.url, &dest, &pin()).expect("a download");
        assert_eq!(fs::read(&dest).expect("the file"), BODY);
        assert_eq!(server.ranges.try_iter().collect::<Vec<_>>(), [Some(7)]);
    }

    #[test]
    fn begun_anew_when_the_server_cannot_continue() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dest = dir.path().join("file.bin");
        fs::write(dir.path().join("file.bin.part"), &BODY[..7]).expect("a part");
        let server = Server::start(BODY, false);
        download(&server.url, &dest, &pin()).expect("a download");
        assert_eq!(fs::read(&dest).expect("the file"), BODY);
        assert_eq!(server.ranges.try_iter().collect::<Vec<_>>(), [Some(7), None]);
    }

    #[test]
    fn a_wrong_file_is_deleted() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dest = dir.path().join("file.bin");
        let server = Server::start(b"0123456789ABCDEFGHIJ", true);
        let error = download(&server.url, &dest, &pin()).expect_err("another file");
        assert!(format!("{error:#}").contains("not the expected file"), "{error:#}");
        assert!(!dest.exists() && !dir.path().join("file.bin.part").exists());
    }

    #[test]
    fn a_whole_part_is_not_fetched_again() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dest = dir.path().join("file.bin");
        fs::write(dir.path().join("file.bin.part"), BODY).expect("a part");
        download("http://127.0.0.1:1/", &dest, &pin()).expect("no request needed");
        assert_eq!(fs::read(&dest).expect("the file"), BODY);
    }

    #[test]
    fn a_server_that_is_away_keeps_the_part() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dest = dir.path().join("file.bin");
        fs::write(dir.path().join("file.bin.part"), &BODY[..7]).expect("a part");
        // A port that was just given back answers with "refused".
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let error = download(&format!("http://127.0.0.1:{port}/"), &dest, &pin()).expect_err("no server");
        assert!(format!("{error:#}").contains("continue at byte 7"), "{error:#}");
        assert_eq!(fs::read(dir.path().join("file.bin.part")).expect("the part"), &BODY[..7]);
    }

    /// Runs `find` of file_url.py on an index page.
    fn find(page: &str, is_json: bool) -> String {
        let script = format!(
            "{}\nimport sys\nprint(find(sys.argv[1], sys.argv[2] == '1', 'http://index/simple/p/', 'p-1+x.tar.gz'))",
            include_str!("file_url.py").replace("\nif __name__ == \"__main__\":\n    main()\n", "\n")
        );
        let output = Command::new("python3")
            .args(["-c", &script, page, if is_json { "1" } else { "0" }])
            .output()
            .expect("python3");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    #[test]
    fn both_forms_of_an_index_page() {
        let html = r#"<a href="../../f/p-0.tar.gz#sha256=1">p-0</a> <A HREF="../../f/p-1%2Bx.tar.gz#sha256=2">p</A>"#;
        assert_eq!(find(html, false), "http://index/f/p-1%2Bx.tar.gz");
        let json = r#"{"files": [{"filename": "p-1+x.tar.gz", "url": "http://files/1/p-1+x.tar.gz"}]}"#;
        assert_eq!(find(json, true), "http://files/1/p-1+x.tar.gz");
        assert_eq!(find("<p>nothing</p>", false), "None");
    }
}
