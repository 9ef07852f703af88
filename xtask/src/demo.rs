//! `cargo xtask demo`: from a bare machine to a model that answers on HTP0.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use crate::device::{Device, Driver, Engine, HTP};
use crate::llama::Llama;
use crate::progress::Progress;
use crate::repo::Repo;
use crate::trace::{self, Perf, Placement, Speed};
use crate::{model, process};

#[derive(clap::Args)]
pub struct Args {
    /// What to ask the model
    #[arg(default_value = "What is the capital of France?")]
    prompt: String,
    /// A model of your own instead of the small one that is fetched
    #[arg(long, value_name = "FILE.gguf")]
    model: Option<PathBuf>,
    /// Convert the model to this type first [default: Q4_0; a model of your own stays as it is]
    #[arg(long, value_name = "TYPE")]
    quant: Option<String>,
    /// Tokens to generate
    #[arg(short = 'n', default_value_t = 24)]
    tokens: u32,
    /// Driver library to use
    #[arg(long, value_enum, default_value_t)]
    driver: Driver,
    /// Run on the CPU instead, to compare
    #[arg(long)]
    cpu: bool,
    /// Build of the simulated DSP to use
    #[arg(long, value_enum)]
    engine: Option<Engine>,
}

pub fn main(args: &Args) -> Result<bool> {
    let repo = Repo::find()?;
    let llama = Llama::get()?;
    let device = if args.cpu { Device::Cpu } else { Device::htp(&repo, args.driver, args.engine)? };
    let model = model::get(&llama, args.model.as_deref(), args.quant.as_deref())?;

    println!("{} on {}", model::label(args.model.as_deref(), args.quant.as_deref()), device.label());
    println!("> {}\n", args.prompt);
    let log = repo.log("demo");
    process::new_log(&log)?;
    answer(completion(&llama, &device, &model, &args.prompt, args.tokens), &log, &mut std::io::stdout())?;
    println!();
    let perf = Perf::parse(&fs::read_to_string(&log)?);

    let progress = Progress::spinner("looking at where the ops run");
    let trace = trace_run(&repo, &llama, &device, &model, &args.prompt)?;
    progress.clear();
    let file_bytes = fs::metadata(&model)?.len();
    print!("\n{}", table(&device, &perf, &trace, file_bytes));
    Ok(true)
}

/// A greedy, repeatable answer of the chat model.
pub fn completion(llama: &Llama, device: &Device, model: &Path, prompt: &str, tokens: u32) -> Command {
    let mut command = llama.program("llama-completion", device);
    command.arg("-m").arg(model).args(["-p", prompt, "-n", &tokens.to_string(), "--temp", "0", "--seed", "1"]);
    // A chat model takes an unfinished sentence for a question about nothing; this lets it finish one as well.
    command.args(["-sys", "You answer questions and finish sentences correctly and briefly."]);
    command.args(["-c", "1024", "-cnv", "--single-turn", "--no-display-prompt"]);
    command
}

/// Runs the program and passes its answer on as it comes; returns the answer. Its log goes to the file.
pub fn answer(mut command: Command, log: &Path, out: &mut impl Write) -> Result<String> {
    let program = process::name(&command);
    let stderr = fs::OpenOptions::new().create(true).append(true).open(log)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let mut stdout = child.stdout.take().with_context(|| format!("no output of {program}"))?;
    let mut text = Vec::new();
    // The program pads its answer with empty lines: they are passed on only when more text follows.
    let mut written = 0;
    let mut buffer = [0; 256];
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        text.extend_from_slice(&buffer[..count]);
        let end = text.trim_ascii_end().len();
        let start = text.len() - text.trim_ascii_start().len();
        if end > written.max(start) {
            out.write_all(&text[written.max(start)..end])?;
            out.flush()?;
            written = end;
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{program} failed ({status})\n{}\nThe whole log is in {}", process::tail(log, 15), log.display());
    }
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

/// A second, short run whose log tells the placement of weights and ops. Its log has thousands of lines, so it is
/// not the run whose speed is shown.
fn trace_run(repo: &Repo, llama: &Llama, device: &Device, model: &Path, prompt: &str) -> Result<String> {
    let log = repo.log("demo-trace");
    process::new_log(&log)?;
    let mut command = completion(llama, device, model, prompt, 2);
    command.arg("-v").env("GGML_SCHED_DEBUG", "2");
    answer(command, &log, &mut std::io::sink())?;
    Ok(String::from_utf8_lossy(&fs::read(&log)?).into_owned())
}

fn table(device: &Device, perf: &Perf, trace: &str, file_bytes: u64) -> String {
    let speed = |speed: Option<Speed>| match speed {
        Some(speed) => format!("{} tokens, {:.2} tokens/s", speed.tokens, speed.per_second),
        None => "not reported".to_owned(),
    };
    let weights = trace::weights(trace);
    let on_htp = weights.iter().filter(|(name, _)| name.starts_with(HTP)).fold(0.0, |sum, (_, size)| sum + size);
    let file = file_bytes as f64 / f64::from(1 << 20);
    let graphs = trace::placements(trace);
    let place = |graph: Option<&Placement>| match graph {
        Some(graph) => {
            let elsewhere = graph.elsewhere(HTP);
            let names: Vec<String> = elsewhere.iter().map(|(op, count)| format!("{op} {count}")).collect();
            let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            format!("{} on {HTP}, {} on the CPU{names}", graph.on(HTP), elsewhere.values().sum::<u64>())
        }
        None => "not reported".to_owned(),
    };
    let token = graphs.last();
    let prompt = graphs.len().checked_sub(2).and_then(|index| graphs.get(index));
    let rows = [
        ("device", device.label()),
        ("prompt", speed(perf.prompt)),
        ("generation", speed(perf.generation)),
        ("weights", format!("{on_htp:.1} MiB on {HTP}, the model file has {file:.1} MiB")),
        ("ops, prompt", place(prompt)),
        ("ops, a token", place(token)),
    ];
    rows.iter().map(|(name, value)| format!("{name:<13} {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_passed_on_without_its_padding() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("sh");
        command.args(["-c", r"printf '\n\nParis is\n'; sleep 0.1; printf '\nthe capital.\n\n\n'; echo log >&2"]);
        let log = dir.path().join("log");
        let mut out = Vec::new();
        let text = answer(command, &log, &mut out).expect("it runs");
        assert_eq!(text, "Paris is\n\nthe capital.");
        assert_eq!(String::from_utf8(out).expect("text"), text);
        assert_eq!(fs::read_to_string(log).expect("a log"), "log\n");
    }

    #[test]
    fn the_table_says_what_is_not_known() {
        let perf = Perf { prompt: Some(Speed { tokens: 5, per_second: 10.0 }), generation: None };
        let text = table(&Device::Cpu, &perf, "load_tensors:  HTP0 model buffer size =  56.75 MiB", 64 << 20);
        assert!(text.contains("5 tokens, 10.00 tokens/s") && text.contains("not reported"), "{text}");
        assert!(text.contains("56.8 MiB on HTP0, the model file has 64.0 MiB"), "{text}");
    }
}
