//! The project's commands: `cargo xtask demo`, `test`, `ops`, `kl`, `check`, `packets`, `skel`,
//! `bindings`, `docs`, `doctor`.
//!
//! What is fetched is pinned by sha256 ([`pins`]) and kept in the user's cache folder ([`cache`]); what is built from
//! this repository lands in `target/xtask/dist` ([`repo`]). [`llama`] builds llama.cpp and starts its programs on
//! HTP0 or on the CPU; every command above is a thin user of these.

mod archive;
mod bindings;
mod cache;
mod check;
mod demo;
mod device;
mod docs;
mod doctor;
mod fetch;
mod hexagon;
mod kl;
mod llama;
mod loader;
mod model;
mod ops;
mod packages;
mod packets;
mod pins;
mod process;
mod progress;
mod repo;
mod skel;
mod suite;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Project commands of ggml-hexagon")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install, fetch and build what is missing, then let a small model answer a prompt on HTP0
    Demo(demo::Args),
    /// Run the whole test suite
    Test(suite::Args),
    /// Compare every op the plug-in claims with the CPU (llama.cpp's test-backend-ops)
    Ops(ops::Args),
    /// Compare the model's token probabilities on HTP0 with the CPU's (KL divergence)
    Kl(kl::Args),
    /// Compare every kernel with its scalar reference: all families or one
    Check(check::Args),
    /// Count the instruction packets that the kernels take, and compare with the committed counts
    Packets(packets::Args),
    /// Build the DSP libraries and check that the DSP's loader would take them
    Skel(skel::Args),
    /// Regenerate the committed bindgen output, or check that it is current
    Bindings(bindings::Args),
    /// Write docs/ops.md from what the op families claim, or check that it is current
    Docs(docs::Args),
    /// Say what is installed, built and cached, and how to repair what is not
    Doctor(doctor::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Demo(args) => demo::main(&args),
        Command::Test(args) => suite::main(&args),
        Command::Ops(args) => ops::main(&args),
        Command::Kl(args) => kl::main(&args),
        Command::Check(args) => check::main(&args),
        Command::Packets(args) => packets::main(&args),
        Command::Skel(args) => skel::run(&args),
        Command::Bindings(args) => bindings::main(&args),
        Command::Docs(args) => docs::main(&args),
        Command::Doctor(args) => doctor::main(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
