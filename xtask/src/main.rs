//! `cargo xtask`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{interrupt, kafka, layers, no_c, vectors};

/// Development tasks of the ackflow workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Kafka(kafka::command::Arguments),
    Layers(layers::Arguments),
    NoC(no_c::Arguments),
    Vectors(vectors::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) if interrupt::requested() => {
            eprintln!("{error:#}");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<ExitCode> {
    interrupt::listen()?;
    match task {
        Task::Kafka(arguments) => kafka::command::run(&arguments),
        Task::Layers(_) => layers::run().map(|()| ExitCode::SUCCESS),
        Task::NoC(_) => no_c::run().map(|()| ExitCode::SUCCESS),
        Task::Vectors(arguments) => vectors::run(&arguments).map(|()| ExitCode::SUCCESS),
    }
}
