//! Throughput and CPU time of the hot path against Kafka's own client, and what decoding costs.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Proof;
use super::support::ackflow::Ackflow;
use super::support::perf_table::{Consumed, consumed};
use super::support::statistics::median;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};
use crate::process::Process;
use crate::workspace::cargo;

pub(super) const PROOF: Proof = Proof {
    name: "perf-core",
    shows: "at least 1.5 times the records/s of Kafka's share consumer at a quarter of its CPU time; decoding",
    run,
};

const RECORDS: u64 = 2_000_000;
const ROUNDS: usize = 3;
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// One consumer's runs.
#[derive(Default)]
struct Side {
    /// Records a second, as its own table says.
    rates: Vec<f64>,
    /// CPU time a record, in nanoseconds, the process as a whole.
    cpu: Vec<f64>,
}

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let cluster = Cluster::start(&Options::default())?;
    let tools = cluster.tools();
    tools.create_topic("t", 3)?;
    tools.produce("t", RECORDS, 100, -1)?;

    let records = RECORDS.to_string();
    let (mut ours, mut javas) = (Side::default(), Side::default());
    for round in 0..ROUNDS {
        // Each goes first in turn: the broker's page cache and JIT get warmer with each run.
        for turn in 0..2 {
            let java = (round + turn) % 2 == 1;
            let group = format!("{}-{round}", if java { "java" } else { "ackflow" });
            tools.read_from_the_start(&group)?;
            // Kafka's tool ends as a whole after its --timeout, 10 s, of which joining takes 6 s: longer, for both.
            let arguments = ["--topic", "t", "--group", &group, "--num-records", &records, "--timeout", "120000"];
            if java {
                let command = tools.performance_tool("ShareConsumerPerformance", &arguments);
                javas.add("ShareConsumerPerformance", command)?;
            } else {
                let command = ["perf", "share-consume", "--bootstrap-server", tools.bootstrap()];
                ours.add("ackflow perf share-consume", ackflow.command(&[&command[..], &arguments].concat()))?;
            }
        }
    }
    drop(cluster);

    let rate = median(&ours.rates) / median(&javas.rates);
    let cpu = median(&ours.cpu) / median(&javas.cpu);
    let mut verdict = Verdict::default();
    verdict.figure("records_per_s", format!("{:.0}", median(&ours.rates)));
    verdict.figure("java_records_per_s", format!("{:.0}", median(&javas.rates)));
    verdict.figure("rate_ratio", format!("{rate:.2}"));
    verdict.figure("cpu_ns_per_record", format!("{:.0}", median(&ours.cpu)));
    verdict.figure("java_cpu_ns_per_record", format!("{:.0}", median(&javas.cpu)));
    verdict.figure("cpu_ratio", format!("{cpu:.3}"));
    verdict.require(rate >= 1.5, "at least 1.5 times the records/s");
    verdict.require(cpu <= 0.25, "at most a quarter of the CPU time");
    decoding(&mut verdict)?;
    Ok(verdict)
}

impl Side {
    fn add(&mut self, name: &str, mut command: Command) -> Result<()> {
        let (table, exit) = Process::capture(name, &mut command, RUN_LIMIT)?;
        let Consumed { records, per_second } = consumed(&table).with_context(|| format!("{name} printed:\n{table}"))?;
        let cpu = exit.cpu.as_nanos() as f64 / records as f64;
        println!("{name:<28} {records} records  {per_second:>9.0} records/s  {cpu:>6.0} ns CPU a record");
        self.rates.push(per_second);
        self.cpu.push(cpu);
        Ok(())
    }
}

/// The benchmark of decoding a ShareFetch response, which judges itself in its last line.
fn decoding(verdict: &mut Verdict) -> Result<()> {
    let mut bench = cargo();
    let bench = bench.args(["bench", "-q", "-p", "ackflow-protocol", "--bench", "records"]).output()?;
    let table = String::from_utf8_lossy(&bench.stdout);
    print!("{table}");
    let last = table.lines().last().unwrap_or_default();
    let number = |after: &str| last.split(after).nth(1).and_then(|rest| rest.split_whitespace().next());
    verdict.figure("decode_to_crc32c", number("ratio ").unwrap_or("?"));
    verdict.figure("allocations_of_records", number("grow with the records: ").unwrap_or("?"));
    verdict.require(
        bench.status.success() && last.starts_with("met"),
        format!(
            "decoding takes at most 4 times crc32c, and allocates nothing a record\n{}",
            String::from_utf8_lossy(&bench.stderr)
        ),
    );
    Ok(())
}
