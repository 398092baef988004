//! ackflow: Kafka share groups and sinks from the command line.

// Results go through `stdout`, messages through `stderr`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod commands;
mod common;
mod configs;
mod connection;
mod numbers;
mod progress;
mod report;
mod scope;
mod signals;
mod stderr;
mod stdout;
mod table;
mod times;

use std::io::IsTerminal;
use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

use args::{Args, Command};
use stderr::tell;

fn main() -> ExitCode {
    let args = Args::read();
    log_to_stderr();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::new(error).context("cannot start the threads of the program")),
    };
    let wants_json = args.command.wants_json();
    let result = runtime.block_on(run(args.command));
    // A blocking read of stdin may outlive the command; do not wait for it.
    runtime.shutdown_background();
    match wants_json {
        true => report::with_error_as_json(result),
        false => result.unwrap_or_else(|error| fail(&error)),
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(args) => commands::demo::run(args).await,
        Command::Run(args) => commands::run::run(args).await,
        Command::Consume(args) => commands::consume::run(args).await,
        Command::Produce(args) => commands::produce::run(args).await,
        Command::Broker(args) => commands::broker::run(args).await,
        Command::Groups(args) => commands::groups::run(args).await,
        Command::Topics(args) => commands::topics::run(args).await,
        Command::Conformance(args) => commands::conformance::run(args).await,
        Command::Wire(args) => commands::wire::run(args).await,
        Command::Perf(args) => commands::perf::run(args).await,
    }
}

/// One message on stderr: what was being done, then why it failed.
fn fail(error: &anyhow::Error) -> ExitCode {
    tell!("ackflow: {error:#}");
    ExitCode::FAILURE
}

/// Warnings and errors go to stderr; `ACKFLOW_LOG` (`info`, `ackflow_client=debug`, ...) chooses otherwise.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("ACKFLOW_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It would say by `eprintln!` that it cannot write.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
