//! Development tasks. `cargo xtask help` lists them.

mod kafka;
mod vectors;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Development tasks of the ackflow workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Vectors(vectors::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<ExitCode> {
    match task {
        Task::Vectors(arguments) => vectors::run(arguments).map(|()| ExitCode::SUCCESS),
    }
}
