//! `cargo xtask`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{ci, interrupt, kafka, layers, lengths, mutate, no_c, prove, schemas, vectors};

/// Development tasks of the ackflow workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Ci(ci::Arguments),
    Kafka(kafka::command::Arguments),
    Layers(layers::Arguments),
    Lengths(lengths::Arguments),
    Mutate(mutate::Arguments),
    NoC(no_c::Arguments),
    Prove(prove::Arguments),
    Schemas(schemas::Arguments),
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
        Task::Kafka(arguments) => return kafka::command::run(&arguments),
        Task::Ci(arguments) => ci::run(&arguments)?,
        Task::Layers(_) => layers::run()?,
        Task::Lengths(_) => lengths::run()?,
        Task::Mutate(arguments) => mutate::run(&arguments)?,
        Task::NoC(_) => no_c::run()?,
        Task::Prove(arguments) => prove::run(&arguments)?,
        Task::Schemas(arguments) => schemas::run(&arguments)?,
        Task::Vectors(arguments) => vectors::run(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}
