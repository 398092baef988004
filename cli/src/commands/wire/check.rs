//! `ackflow wire check`: the codec against frames that somebody else wrote.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use ackflow_capture::{Direction, is_secret};
use ackflow_protocol::vectors::{VectorError, check_line};
use ackflow_protocol::wire::ApiKey;
use anyhow::{Context, bail};
use serde_json::Value;

use super::{name, open};
use crate::stderr::tell;
use crate::stdout::reader_is_gone;

/// At most this many failures are printed; the summary counts them all.
const FAILURES_SHOWN: u64 = 20;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Bytes must decode to the JSON, the JSON must encode to the bytes. The summary has a line for each API. \
    Blank lines are passed over. Of a field that may hold a password or the like, only is said that it differs.\n\n\
    Exit codes: 0 if all lines passed, 1 if one failed, 2 if there was nothing to check or a file cannot be read.\n\n\
    Example: ackflow wire check vectors.jsonl"
)]
pub(crate) struct Args {
    /// Files of JSON lines, as `cargo xtask vectors` writes them; - for stdin
    #[arg(required = true, value_name = "FILE.jsonl")]
    files: Vec<PathBuf>,
}

/// What became of the lines of one API.
#[derive(Debug, Default)]
struct Api {
    /// The first and the last version that lines had.
    versions: Option<(i64, i64)>,
    passed: u64,
    failed: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut apis: BTreeMap<String, Api> = BTreeMap::new();
    let mut failed = 0;
    for file in &args.files {
        for (number, line) in BufReader::new(open(file)?).split(b'\n').enumerate() {
            let line = line.with_context(|| format!("cannot read {}", name(file)))?;
            let Some(line) = text(&line) else {
                bail!(
                    "{}:{}: is not text: check reads JSON lines; captures and frames are for ackflow wire decode",
                    name(file),
                    number + 1
                );
            };
            if line.trim().is_empty() {
                continue;
            }
            let checked = check_line(line);
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            let (api, version) = subject(&line);
            let api = apis.entry(api).or_default();
            if let Some(version) = version {
                let (first, last) = api.versions.unwrap_or((version, version));
                api.versions = Some((first.min(version), last.max(version)));
            }
            match checked {
                Ok(_) => api.passed += 1,
                Err(error) => {
                    api.failed += 1;
                    failed += 1;
                    if failed <= FAILURES_SHOWN {
                        tell!("{}:{}: {}", name(file), number + 1, without_secrets(&error, &line));
                    }
                }
            }
        }
    }
    if apis.is_empty() {
        bail!("no line to check: nothing is proven");
    }
    match summarize(&apis) {
        Err(error) if reader_is_gone(&error) => {}
        written => written.context("cannot write to stdout")?,
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line, if it is text. Frames without a byte that UTF-8 does not have are none all the same: their sizes begin with zero.
fn text(line: &[u8]) -> Option<&str> {
    str::from_utf8(line).ok().filter(|line| !line.contains('\0'))
}

/// What a line is about, as far as it says, also where it is wrong.
fn subject(line: &Value) -> (String, Option<i64>) {
    let api = line["api"].as_str().unwrap_or("(no API)").to_owned();
    (api, line["version"].as_i64())
}

/// An error, which shows values only where none of them can be secret.
fn without_secrets(error: &VectorError, line: &Value) -> String {
    let direction = match line["kind"].as_str() {
        Some("request") => Direction::Request,
        Some("response") => Direction::Response,
        // Headers, and what is embedded in other messages.
        _ => return error.to_string(),
    };
    // An error that has values is of a line whose key is its API's.
    let key = ApiKey(line["key"].as_i64().and_then(|key| key.try_into().ok()).unwrap_or(-1));
    match error {
        VectorError::Field { name, version, path, .. } if is_secret(key, direction, path) => {
            format!(
                "{name} v{version}: {path} differs between the bytes and the JSON; it may be secret, so it is not shown"
            )
        }
        VectorError::Byte { name, version, input, at, .. } if is_secret(key, direction, "") => {
            format!(
                "{name} v{version}: read from {input} and written again, byte {at} differs; it may be secret, so it is not shown"
            )
        }
        _ => error.to_string(),
    }
}

fn summarize(apis: &BTreeMap<String, Api>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{:<30} {:>9} {:>9} {:>9}", "API", "versions", "passed", "failed")?;
    for (name, api) in apis {
        let versions = match api.versions {
            Some((first, last)) if first == last => first.to_string(),
            Some((first, last)) => format!("{first}-{last}"),
            None => "-".to_owned(),
        };
        writeln!(out, "{name:<30} {versions:>9} {:>9} {:>9}", api.passed, api.failed)?;
    }
    let total = |count: fn(&Api) -> u64| apis.values().map(count).sum::<u64>();
    writeln!(out, "{} passed, {} failed", total(|api| api.passed), total(|api| api.failed))?;
    out.flush()
}
