//! `ackflow wire encode`: frames from JSON lines.

use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use ackflow_capture::{Encoded, encode, hex};
use anyhow::{Context, anyhow, bail};

use super::{name, open, reader_is_gone};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A line needs direction (request or response), api (or apiKey), version and body, the JSON of Kafka's own converters; \
    without correlationId it is 0, without clientId null. A line with hex is written as it is; lines about skipped bytes are passed over.\n\n\
    Examples:\n  \
    echo '{\"direction\":\"request\",\"api\":\"ListGroups\",\"version\":0,\"body\":{}}' | ackflow wire encode --hex -\n  \
    ackflow wire decode --show-secrets frames.bin | ackflow wire encode - | cmp - frames.bin"
)]
pub(crate) struct Args {
    /// File of JSON lines; - for stdin
    #[arg(value_name = "FILE.jsonl")]
    file: PathBuf,

    /// Write hexadecimal text, a frame a line, instead of bytes
    #[arg(long)]
    hex: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.hex && io::stdout().is_terminal() {
        bail!("frames are bytes, and stdout is a terminal: send it to a file or a pipe, or ask for --hex");
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let mut passed_over = 0;
    for (number, line) in BufReader::new(open(&args.file)?).lines().enumerate() {
        let at = || format!("{}:{}", name(&args.file), number + 1);
        let line = line.with_context(|| format!("cannot read {}", at()))?;
        if line.trim().is_empty() {
            continue;
        }
        let written = match encode(&line).map_err(|error| anyhow!("{}: {error}", at()))? {
            Encoded::Frame(frame) if args.hex => writeln!(out, "{}", hex::write(&frame)),
            Encoded::Frame(frame) => out.write_all(&frame),
            Encoded::Nothing => {
                passed_over += 1;
                Ok(())
            }
        };
        match written {
            Err(error) if reader_is_gone(&error) => return Ok(ExitCode::SUCCESS),
            written => written.context("cannot write to stdout")?,
        }
    }
    match out.flush() {
        Err(error) if reader_is_gone(&error) => {}
        flushed => flushed.context("cannot write to stdout")?,
    }
    if passed_over > 0 {
        eprintln!("passed over {passed_over} lines that have no whole frame");
    }
    Ok(ExitCode::SUCCESS)
}
