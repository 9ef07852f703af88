//! The folder that keeps what is fetched and what is built from it, between runs and between work trees.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fd_lock::RwLock;

/// `$GGML_HEXAGON_CACHE`, else `ggml-hexagon` in the user's cache folder.
pub fn dir() -> Result<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let dir = match var("GGML_HEXAGON_CACHE") {
        // Programs are started from other folders, so a relative path is made absolute once.
        Some(dir) => std::path::absolute(dir)?,
        None => var("XDG_CACHE_HOME")
            .or_else(|| var("HOME").map(|home| home.join(".cache")))
            .context("no cache folder: set HOME, XDG_CACHE_HOME or GGML_HEXAGON_CACHE")?
            .join("ggml-hexagon"),
    };
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

/// Runs `work` while no other process changes the cache.
pub fn locked<T>(cache: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let path = cache.join("lock");
    let open = || -> std::io::Result<File> { OpenOptions::new().create(true).append(true).open(&path) };
    let mut lock = RwLock::new(open().with_context(|| format!("cannot open {}", path.display()))?);
    if lock.try_write().is_err() {
        eprintln!("waiting for another command that uses {}", cache.display());
    }
    let guard = lock.write().with_context(|| format!("cannot lock {}", path.display()))?;
    let result = work();
    drop(guard);
    result
}
