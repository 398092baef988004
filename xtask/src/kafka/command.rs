//! `cargo xtask kafka`.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Cluster, DEFAULT_VERSION, Options};
use crate::interrupt;
use crate::process::Process;

/// Run a command beside a real Kafka, which ends with it.
///
/// The command finds in its environment: ACKFLOW_BOOTSTRAP (addresses), ACKFLOW_KAFKA_LIBS (the folder of Kafka's
/// jars: java -cp "$ACKFLOW_KAFKA_LIBS/*"), ACKFLOW_KAFKA_LOG_DIRS (data folders) and ACKFLOW_KAFKA_PIDS (process
/// ids), the last two one a broker, separated by commas. Its exit code is this one's. Without a command the address is
/// printed and Kafka runs until SIGINT or SIGTERM.
///
/// Example: cargo xtask kafka --fast -- cargo test --workspace -- --ignored real_kafka_
#[derive(clap::Args)]
pub struct Arguments {
    /// Kafka's version; fetched from Maven once into $ACKFLOW_CACHE (default: .cache in the workspace).
    #[arg(long, default_value = DEFAULT_VERSION)]
    version: String,
    /// One broker or three.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=3))]
    brokers: u16,
    /// The finalized share.version; what the version formats by itself if absent, and 1 for the preview of 4.1.
    #[arg(long, value_parser = clap::value_parser!(u16).range(0..=2))]
    share_version: Option<u16>,
    /// Short locks, sessions and assignments, which tests can wait for.
    #[arg(long)]
    fast: bool,
    /// Listeners with TLS and SASL as well: ACKFLOW_KAFKA_LISTENERS has NAME=ADDRESS of each, separated by blanks, ACKFLOW_KAFKA_CERTIFICATES the folder
    /// of certificates and keys.
    #[arg(long)]
    secure: bool,
    /// A metrics reporter that takes what clients push: ACKFLOW_KAFKA_TELEMETRY names the file that has a line of JSON of each push.
    #[arg(long)]
    telemetry: bool,
    /// A broker setting, key=value; may be repeated.
    #[arg(long, value_parser = setting)]
    config: Vec<(String, String)>,
    /// Keep data and logs in this folder, which must be empty or absent.
    #[arg(long)]
    keep_dir: Option<PathBuf>,
    /// Each broker's -Xmx.
    #[arg(long, default_value = "1g")]
    heap: String,
    /// The command and its arguments.
    #[arg(last = true)]
    command: Vec<OsString>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a setting is key=value")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Runs it.
///
/// # Errors
/// When Kafka does not start or the command cannot be run.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut cluster = Cluster::start(&Options {
        version: arguments.version.clone(),
        brokers: arguments.brokers,
        share_version: arguments.share_version,
        fast: arguments.fast,
        secure: arguments.secure,
        telemetry: arguments.telemetry,
        config: arguments.config.clone(),
        keep_dir: arguments.keep_dir.clone(),
        heap: arguments.heap.clone(),
    })?;
    match arguments.command.split_first() {
        Some((program, rest)) => beside(&cluster, Command::new(program).args(rest)),
        None => {
            println!("{}", cluster.bootstrap());
            while !interrupt::requested() {
                cluster.check()?;
                thread::sleep(Duration::from_millis(200));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Runs a command that finds the cluster in its environment; its exit code is the result.
fn beside(cluster: &Cluster, command: &mut Command) -> Result<ExitCode> {
    cluster.describe_to(command);
    let name = format!("`{}`", command.get_program().to_string_lossy());
    let mut process = Process::start(name, command)?;
    loop {
        if let Some(exit) = process.poll()? {
            return exit_code(exit.status);
        }
        interrupt::check()?;
        thread::sleep(Duration::from_millis(10));
    }
}

/// The exit code a shell would give: a signal's number plus 128.
fn exit_code(status: ExitStatus) -> Result<ExitCode> {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    let code = code.with_context(|| format!("unknown exit status {status}"))?;
    Ok(ExitCode::from(u8::try_from(code)?))
}
