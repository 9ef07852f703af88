//! Unpacking the fetched packages. Nothing has its final name before it is whole.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Component, Path, PathBuf};

use anyhow::{bail, Context, Result};

/// A name beside `path` for what is not finished.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".unfinished");
    path.with_file_name(name)
}

/// Unpacks the folder `tree` of a .tar.gz into the folder `dest`.
pub fn unpack_tree(archive: &Path, tree: &str, dest: &Path) -> Result<()> {
    let temporary = unfinished(dest);
    if temporary.exists() {
        fs::remove_dir_all(&temporary)?;
    }
    fs::create_dir_all(&temporary)?;
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(BufReader::new(file)));
    let mut count = 0;
    for entry in tar.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Ok(inner) = path.strip_prefix(tree) else { continue };
        // The archive is pinned by its hash; a path that leaves the folder would still be a mistake.
        if inner.components().any(|part| !matches!(part, Component::Normal(_))) {
            bail!("{}: unexpected path {}", archive.display(), path.display());
        }
        if inner.as_os_str().is_empty() {
            continue;
        }
        let target = temporary.join(inner);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        entry.unpack(&target).with_context(|| format!("cannot unpack {}", path.display()))?;
        count += 1;
    }
    if count == 0 {
        bail!("{} holds no {tree}", archive.display());
    }
    fs::rename(&temporary, dest).with_context(|| format!("cannot rename to {}", dest.display()))
}

/// Unpacks the folder `tree` of a .zip (or .whl) into the folder `dest`, with the permissions that it records.
pub fn unpack_zip_tree(archive: &Path, tree: &str, dest: &Path) -> Result<()> {
    let temporary = unfinished(dest);
    if temporary.exists() {
        fs::remove_dir_all(&temporary)?;
    }
    fs::create_dir_all(&temporary)?;
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    let mut zip = zip::ZipArchive::new(BufReader::new(file))?;
    // The archive's own check refuses paths that leave the folder.
    zip.extract(&temporary).with_context(|| format!("cannot unpack {}", archive.display()))?;
    let inner = temporary.join(tree);
    if !inner.is_dir() {
        bail!("{} holds no {tree}", archive.display());
    }
    fs::rename(&inner, dest).with_context(|| format!("cannot rename to {}", dest.display()))?;
    fs::remove_dir_all(&temporary).ok();
    Ok(())
}

/// Unpacks one file of a .zip (or .whl).
pub fn unpack_file(archive: &Path, name: &str, dest: &Path) -> Result<()> {
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    let mut zip = zip::ZipArchive::new(BufReader::new(file))?;
    let mut entry = zip.by_name(name).with_context(|| format!("{} holds no {name}", archive.display()))?;
    let temporary = unfinished(dest);
    io::copy(&mut entry, &mut File::create(&temporary)?).with_context(|| format!("cannot unpack {name}"))?;
    fs::rename(&temporary, dest).with_context(|| format!("cannot rename to {}", dest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn one_folder_of_a_tar() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("a.tar.gz");
        let gz = flate2::write::GzEncoder::new(File::create(&path).expect("a file"), flate2::Compression::fast());
        let mut tar = tar::Builder::new(gz);
        for (name, text) in [("p-1/vendor/x/a/b.c", "inner"), ("p-1/setup.py", "outer")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, text.as_bytes()).expect("an entry");
        }
        tar.into_inner().and_then(|gz| gz.finish()).expect("an archive");

        let dest = dir.path().join("tree");
        unpack_tree(&path, "p-1/vendor/x", &dest).expect("unpacked");
        assert_eq!(fs::read_to_string(dest.join("a/b.c")).expect("a file"), "inner");
        assert!(!dest.join("setup.py").exists() && !unfinished(&dest).exists());
        assert!(unpack_tree(&path, "p-2", &dir.path().join("none")).is_err());
    }

    #[test]
    fn one_file_of_a_zip() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("a.whl");
        let mut zip = zip::ZipWriter::new(File::create(&path).expect("a file"));
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file("m/model.gguf", options).expect("an entry");
        zip.write_all(b"GGUF").expect("data");
        zip.finish().expect("an archive");

        let dest = dir.path().join("model.gguf");
        unpack_file(&path, "m/model.gguf", &dest).expect("unpacked");
        assert_eq!(fs::read(&dest).expect("a file"), b"GGUF");
        assert!(unpack_file(&path, "m/other.gguf", &dest).is_err());
    }
}
