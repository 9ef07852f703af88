//! `cargo xtask docs`: the tables in `docs/` that are written from the code.
//!
//! The plug-in itself prints them, in a program of its own: this one must build while generated files are stale.

use std::fs;
use std::process::Stdio;

use anyhow::{ensure, Context, Result};

use crate::repo::Repo;

#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail when the committed file differs from what would be written
    #[arg(long)]
    check: bool,
}

pub fn main(args: &Args) -> Result<bool> {
    let repo = Repo::find()?;
    let mut command = repo.cargo(&["run", "--quiet", "--package", "ggml-hexagon", "--example", "ops_table"]);
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "the program that prints the table failed ({})", output.status);
    let file = repo.root.join("docs/ops.md");
    let current = fs::read(&file).is_ok_and(|committed| committed == output.stdout);
    if current {
        println!("docs/ops.md is current");
    } else if args.check {
        println!("docs/ops.md is not what the claims say: run `cargo xtask docs`");
    } else {
        fs::write(&file, &output.stdout).with_context(|| format!("cannot write {}", file.display()))?;
        println!("docs/ops.md written");
    }
    Ok(current || !args.check)
}
