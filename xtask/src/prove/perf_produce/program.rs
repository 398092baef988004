//! A producer as a program, and a run of it.

use anyhow::{Result, ensure};

use super::Setting;
use crate::kafka::Tools;
use crate::peers::Peer;
use crate::prove::support::throughput::{Report, Run};

/// How many records are timed.
const RECORDS: u64 = 2_000_000;
const SIZE: u64 = 100;

/// How many records a run has confirmed, those of the warm-up among them.
pub(super) const CONFIRMED: u64 = RECORDS + RECORDS / 10;

/// Produces everything.
pub(super) fn run(program: &Peer, tools: &Tools, setting: &Setting) -> Result<Run> {
    let mut command = program.command();
    command.args([tools.bootstrap(), "t"]);
    command.args([RECORDS, SIZE, setting.batch.into(), setting.linger.into()].map(|number| number.to_string()));
    let report = Report::of(program.name, &mut command)?;
    let (timed, all) = (report.number("records")?, CONFIRMED as f64);
    let is_whole = timed + report.number("warm")? == all;
    ensure!(is_whole, "{}: not every record was confirmed: {}", program.name, report.line);
    report.run(&format!("{:>5} a batch", setting.name), timed, all)
}
