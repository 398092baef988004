//! How fast the embedded broker is: it must never be what a measurement of a client measures.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Proof;
use super::support::ackflow::Ackflow;
use super::support::embedded::Embedded;
use super::support::perf_table::consumed;
use super::support::statistics::median;
use super::verdict::Verdict;
use crate::kafka::{DEFAULT_VERSION, Libs, Tools};
use crate::process::Process;

pub(super) const PROOF: Proof = Proof {
    name: "embedded-speed",
    shows: "the embedded broker: 1,000,000 records/s of 100 bytes through a share group, each acknowledged; ready within 50 ms",
    run,
};

const RECORDS: u64 = 3_000_000;
const ROUNDS: usize = 5;
const STARTS: usize = 20;
const LEAST: f64 = 1_000_000.0;
const READY: Duration = Duration::from_millis(50);
const RUN_LIMIT: Duration = Duration::from_secs(120);

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let libs = Libs::fetch(DEFAULT_VERSION)?;
    let mut verdict = Verdict::default();

    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let broker = Embedded::start(&ackflow, &[])?;
        TcpStream::connect(broker.address()).context("a broker that is ready lets one in")?;
        starts.push(broker.ready_after().as_secs_f64() * 1000.0);
        ensure!(broker.stop()?, "the broker ends in good order");
    }
    let ready = median(&starts);
    verdict.figure("ready_ms", format!("{ready:.1}"));
    verdict.require(ready < READY.as_secs_f64() * 1000.0, format!("it is ready within {} ms", READY.as_millis()));

    let broker = Embedded::start(&ackflow, &[])?;
    let tools = Tools::new(libs, broker.address());
    tools.create_topic("t", 3)?;
    tools.produce("t", RECORDS, 100, -1)?;
    let records = RECORDS.to_string();
    let mut rates = Vec::new();
    for round in 0..ROUNDS {
        let group = format!("group-{round}");
        tools.read_from_the_start(&group)?;
        let arguments = ["--topic", "t", "--group", &group, "--num-records", &records, "--timeout", "60000"];
        let arguments = [&["perf", "share-consume", "--bootstrap-server", broker.address()], &arguments[..]].concat();
        let (text, _) = Process::capture("ackflow perf share-consume", &mut ackflow.command(&arguments), RUN_LIMIT)?;
        let consumed = consumed(&text).context("it prints a table")?;
        verdict.require(consumed.records >= RECORDS, format!("{} of {RECORDS} records came", consumed.records));
        rates.push(consumed.per_second);
        let lag = lag(&tools, &group)?;
        verdict.require(lag == 0, format!("{lag} records of {group} are not acknowledged"));
    }
    let rate = median(&rates);
    verdict.figure("records_a_second", format!("{rate:.0}"));
    verdict.require(rate >= LEAST, format!("at least {LEAST} records a second"));
    ensure!(broker.stop()?, "the broker ends in good order");
    Ok(verdict)
}

/// What a share group has not acknowledged.
fn lag(tools: &Tools, group: &str) -> Result<u64> {
    let table = tools.run("consumer.group.ShareGroupCommand", &["--describe", "--offsets", "--group", group])?;
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.first() == Some(&group));
    let lags = rows.map(|row| row.last().context("a row has a lag")?.parse::<u64>().context("a lag is a number"));
    lags.sum()
}
