//! `ackflow wire`: the codec against frames that somebody else wrote.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use ackflow_protocol::vectors::check_line;
use anyhow::{Context, bail};
use clap::Subcommand;

/// At most this many failures are printed; the summary counts them all.
const FAILURES_SHOWN: u64 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prove {api,kind,version,key,json,hex} lines in both directions
    ///
    /// Bytes must decode to the JSON, the JSON must encode to the bytes. Example: ackflow wire check vectors.jsonl
    Check {
        /// Files of JSON lines, as `cargo xtask vectors` writes them
        #[arg(required = true, value_name = "FILE.jsonl")]
        files: Vec<PathBuf>,
    },
}

pub(crate) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    let Command::Check { files } = command;
    let mut passed: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut failures = 0;
    for file in &files {
        let input = std::fs::File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
        for (number, line) in BufReader::new(input).lines().enumerate() {
            let line = line.with_context(|| format!("cannot read {}", file.display()))?;
            match check_line(&line) {
                Ok(checked) => *passed.entry(checked.name).or_default() += 1,
                Err(error) => {
                    failures += 1;
                    if failures <= FAILURES_SHOWN {
                        eprintln!("{}:{}: {error:#}", file.display(), number + 1);
                    }
                }
            }
        }
    }
    for (name, count) in &passed {
        println!("{name:<36} {count:>7} passed");
    }
    let total: u64 = passed.values().sum();
    println!("{total} passed, {failures} failed");
    if total + failures == 0 {
        bail!("no line to check: nothing is proven");
    }
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
