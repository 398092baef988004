//! `ackflow wire`: Kafka's wire format, to look at and to prove.

mod check;
mod decode;
mod encode;

use std::io;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

use crate::stderr::tell;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show frames as JSON lines: of a capture file, of a stream of frames, of hexadecimal text
    Decode(decode::Args),
    /// Write frames from JSON lines, those of decode or written by hand
    Encode(encode::Args),
    /// Prove {api,kind,version,key,json,hex} lines in both directions
    Check(check::Args),
}

/// The exit code of a command that could not do its work at all; 1 says that something was not read. `grep` and `cmp` have
/// these codes, and so has the command line that cannot be understood.
const COULD_NOT_RUN: u8 = 2;

pub(crate) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    // Files and pipes are read on this thread, which has nothing else to do.
    let done = tokio::task::block_in_place(|| match command {
        Command::Decode(args) => decode::run(&args),
        Command::Encode(args) => encode::run(&args),
        Command::Check(args) => check::run(&args),
    });
    Ok(done.unwrap_or_else(|error| {
        tell!("ackflow: {error:#}");
        ExitCode::from(COULD_NOT_RUN)
    }))
}

/// The name of an input in messages.
fn name(file: &std::path::Path) -> String {
    if file.as_os_str() == "-" { "stdin".to_owned() } else { file.display().to_string() }
}

/// Opens a file, or stdin for `-`.
fn open(file: &std::path::Path) -> anyhow::Result<Box<dyn io::Read>> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let opened = std::fs::File::open(file).with_context(|| format!("cannot read {}", name(file)))?;
    Ok(Box::new(opened))
}
