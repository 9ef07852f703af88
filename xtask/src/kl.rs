//! `cargo xtask kl`: the model's token probabilities on HTP0 against those on the CPU.

use std::fs;
use std::path::PathBuf;

use anyhow::{bail, Context, Result};

use crate::device::{Device, Driver, Engine};
use crate::llama::Llama;
use crate::progress::Progress;
use crate::repo::Repo;
use crate::{model, process};

#[derive(clap::Args)]
pub struct Args {
    /// A model of your own instead of the small one that is fetched
    #[arg(long, value_name = "FILE.gguf")]
    pub model: Option<PathBuf>,
    /// Convert the model to this type first [default: Q4_0; a model of your own stays as it is]
    #[arg(long, value_name = "TYPE")]
    pub quant: Option<String>,
    /// Flash attention: on, off or auto
    #[arg(long, value_name = "WHEN")]
    pub fa: Option<String>,
    /// Type of the KV cache
    #[arg(long, value_name = "TYPE")]
    pub cache_type: Option<String>,
    /// Score only so many windows of the text
    #[arg(long, value_name = "N")]
    pub chunks: Option<u64>,
    /// Largest mean KL divergence that passes
    #[arg(long, default_value_t = LIMIT_MEAN)]
    pub limit_mean: f64,
    /// Smallest share of tokens, in percent, whose most probable successor is the same
    #[arg(long, default_value_t = LIMIT_TOP)]
    pub limit_top: f64,
    /// Driver library to use
    #[arg(long, value_enum, default_value_t)]
    pub driver: Driver,
    /// Build of the simulated DSP to use
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,
}

const LIMIT_MEAN: f64 = 0.005;
const LIMIT_TOP: f64 = 97.0;

impl Default for Args {
    fn default() -> Self {
        Args {
            model: None,
            quant: None,
            fa: None,
            cache_type: None,
            chunks: None,
            limit_mean: LIMIT_MEAN,
            limit_top: LIMIT_TOP,
            driver: Driver::default(),
            engine: None,
        }
    }
}

impl Args {
    /// What both devices are told beside the model and the text.
    fn options(&self) -> Vec<String> {
        let chunks = self.chunks.map(|chunks| chunks.to_string());
        [("-fa", &self.fa), ("-ctk", &self.cache_type), ("-ctv", &self.cache_type), ("--chunks", &chunks)]
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_owned(), value.clone()?]))
            .flatten()
            .collect()
    }
}

/// Tokens of one window. llama-perplexity takes four windows at a time, as four sequences of a batch, and scores the
/// second half of each.
const CONTEXT: u64 = 512;

/// Fewest scored tokens that make the limits mean something.
const MIN_SCORED: u64 = 512;

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Divergence {
    pub mean: f64,
    pub same_top: f64,
    pub chunks: u64,
}

impl Divergence {
    pub fn scored(&self) -> u64 {
        self.chunks * (CONTEXT - 1 - CONTEXT / 2)
    }
}

pub fn main(args: &Args) -> Result<bool> {
    let repo = Repo::find()?;
    let llama = Llama::get()?;
    let device = Device::htp(&repo, args.driver, args.engine)?;
    let divergence = run(&repo, &llama, &device, args)?;
    println!("{}", describe(&divergence, args));
    Ok(passes(&divergence, args))
}

pub fn describe(d: &Divergence, args: &Args) -> String {
    format!(
        "mean KL divergence {:.6} (limit {}), same top token {:.2} % (limit {} %), {} tokens",
        d.mean,
        args.limit_mean,
        d.same_top,
        args.limit_top,
        d.scored()
    )
}

pub fn passes(d: &Divergence, args: &Args) -> bool {
    // Written so that a NaN does not pass.
    d.mean <= args.limit_mean && d.same_top >= args.limit_top
}

/// Scores the text on the CPU, then on the device.
pub fn run(repo: &Repo, llama: &Llama, device: &Device, args: &Args) -> Result<Divergence> {
    let model = model::get(llama, args.model.as_deref(), args.quant.as_deref())?;
    let text = repo.root.join("tests/data/text.txt");
    let base = repo.out().join("kl.base");
    let perplexity = |device: &Device| {
        let mut command = llama.program("llama-perplexity", device);
        command.arg("-m").arg(&model).arg("-f").arg(&text).args(["-c", &CONTEXT.to_string()]);
        command.arg("--kl-divergence-base").arg(&base).args(args.options());
        command
    };
    let log = repo.log("kl");
    process::new_log(&log)?;
    let progress = Progress::spinner("scoring the text on the CPU");
    process::logged(perplexity(&Device::Cpu).arg("--save-all-logits").arg(&base), &log, |_| ())?;
    progress.done();
    let progress = Progress::spinner(&format!("scoring the text on {}", device.label()));
    let mut output = String::new();
    process::logged(perplexity(device).arg("--kl-divergence"), &log, |line| {
        output += line;
        output.push('\n');
    })?;
    progress.done();
    fs::remove_file(&base).ok();
    let divergence =
        parse(&output).with_context(|| format!("no KL divergence in the output, see {}", log.display()))?;
    if divergence.scored() < MIN_SCORED {
        bail!("{} tokens were scored, at least {MIN_SCORED} are needed", divergence.scored());
    }
    Ok(divergence)
}

/// Reads the statistics that llama-perplexity prints.
fn parse(output: &str) -> Option<Divergence> {
    let (mut mean, mut same_top, mut chunks) = (None, None, 0);
    for line in output.lines() {
        let number = |text: &str| text.split_whitespace().next()?.trim_end_matches('%').parse::<f64>().ok();
        if let Some((name, value)) = line.split_once(':') {
            match name.split_whitespace().collect::<Vec<_>>().join(" ").as_str() {
                "Mean KLD" => mean = number(value),
                "Same top p" => same_top = number(value),
                _ => {}
            }
        } else if line.contains('±') {
            // A row of the table of windows begins with the window's number.
            chunks = line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(chunks);
        }
    }
    Some(Divergence { mean: mean?, same_top: same_top?, chunks })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
chunk             PPL               ln(PPL(Q)/PPL(base))          KL Divergence              Δp RMS            Same top p
   1       1.0679 ±    0.0093      -0.00000 ±       -nan       0.00000 ±    0.00000     0.000 ±  0.000 %    100.000 ±  0.000 %
   5       1.0932 ±    0.0068       0.00000 ±    0.00000       0.00000 ±    0.00000     0.000 ±  0.000 %    100.000 ±  0.000 %

====== Perplexity statistics ======
Mean PPL(Q)                   :   1.093221 ±   0.006760

====== KL divergence statistics ======
Mean    KLD:   0.001234 ±   0.000010
Maximum KLD:   0.000036

====== Token probability statistics ======
Mean    Δp: -0.000 ± 0.000 %
Same top p: 98.425 ± 0.300 %
";

    #[test]
    fn the_statistics() {
        let divergence = parse(OUTPUT).expect("statistics");
        assert_eq!(divergence, Divergence { mean: 0.001234, same_top: 98.425, chunks: 5 });
        assert_eq!(divergence.scored(), 1275);
        assert!(passes(&divergence, &Args::default()));
        assert_eq!(parse("no statistics"), None);
    }

    #[test]
    fn options_of_both_devices() {
        assert!(Args::default().options().is_empty());
        let args = Args { fa: Some("on".into()), cache_type: Some("q8_0".into()), chunks: Some(4), ..Args::default() };
        assert_eq!(args.options(), ["-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0", "--chunks", "4"]);
    }

    #[test]
    fn limits_hold_and_nan_fails() {
        let good = Divergence { mean: 0.001, same_top: 98.0, chunks: 5 };
        assert!(passes(&good, &Args::default()));
        assert!(!passes(&Divergence { mean: 0.006, ..good }, &Args::default()));
        assert!(!passes(&Divergence { same_top: 96.9, ..good }, &Args::default()));
        assert!(!passes(&Divergence { mean: f64::NAN, ..good }, &Args::default()));
        let nan = parse(&OUTPUT.replace("0.001234", "-nan"));
        assert!(nan.is_none_or(|d| !passes(&d, &Args::default())));
    }
}
