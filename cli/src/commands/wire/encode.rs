//! `ackflow wire encode`: frames from JSON lines.

use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use ackflow_capture::{EncodeStream, Encoded, hex};
use anyhow::{Context, bail};

use super::{name, open};
use crate::stderr::tell;
use crate::stdout::reader_is_gone;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A line needs direction (request or response), api (a name in any case, or a key), version and body, the JSON of Kafka's own converters; \
    without correlationId it is 0, without clientId null. It may as well be several lines, as of decode --pretty. Fields that are \
    not known, and names that stand twice, are refused. A line with hex instead of a body is written as it is; lines about skipped bytes are passed over.\n\n\
    Exit codes: 0 if all was written, 1 if a line is wrong (the frames before it are written), 2 if it could not begin. \
    Without any line it is 0 and no frame: a filter in front may have left none.\n\n\
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
    let mut lines = EncodeStream::new(BufReader::new(open(&args.file)?));
    let (mut passed_over, mut changed) = (0, 0);
    let mut code = ExitCode::SUCCESS;
    while let Some((number, encoded)) = lines.next_line() {
        let frame = match encoded {
            Ok(Encoded::Frame(frame)) => frame,
            Ok(Encoded::Other(frame)) => {
                changed += 1;
                frame
            }
            Ok(Encoded::Nothing) => {
                passed_over += 1;
                continue;
            }
            Err(error) => {
                tell!("ackflow: {}:{number}: {error}", name(&args.file));
                code = ExitCode::FAILURE;
                break;
            }
        };
        let written = if args.hex { writeln!(out, "{}", hex::write(&frame)) } else { out.write_all(&frame) };
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
        tell!("passed over {passed_over} lines that have no whole frame");
    }
    if changed > 0 {
        tell!("{changed} frames have other bytes than those that were decoded: see the note in their lines");
    }
    Ok(code)
}
