//! A share consumer as a program, and a run of it.

use anyhow::{Result, ensure};

use super::RECORDS;
use crate::kafka::Tools;
use crate::peers::Peer;
use crate::prove::support::throughput::{Report, Run};

/// Consumes everything as the first and only member of a group.
pub(super) fn run(program: &Peer, tools: &Tools, group: &str, fetch: u32) -> Result<Run> {
    tools.read_from_the_start(group)?;
    let mut command = program.command();
    command.args([tools.bootstrap(), "t", group, &RECORDS.to_string(), &fetch.to_string()]);
    let report = Report::of(program.name, &mut command)?;
    let (records, bytes) = (report.number("records")?, report.number("bytes")?);
    let is_whole = records >= RECORDS as f64 && bytes >= 100.0 * records;
    ensure!(is_whole, "{} missed records: {}", program.name, report.line);
    let setting = if fetch == 0 { "default".to_owned() } else { fetch.to_string() };
    report.run(&format!("{setting:>6} a fetch"), records, records)
}
