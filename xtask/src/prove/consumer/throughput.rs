//! Records a CPU second beside librdkafka.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::kafka::{Cluster, Options, Tools};
use crate::peers;
use crate::process::{Process, TICK};
use crate::prove::support::program::Program;
use crate::prove::support::statistics::median;
use crate::prove::verdict::Verdict;

const RECORDS: u64 = 2_000_000;
const ROUNDS: usize = 3;
const LIMIT: Duration = Duration::from_secs(300);

/// What one run took.
struct Run {
    /// Records a second of CPU time of the whole process.
    per_cpu_second: f64,
    /// Records a second.
    rate: f64,
    allocations: Option<f64>,
}

pub(super) fn prove(program: &Program, verdict: &mut Verdict) -> Result<()> {
    let librdkafka = peers::librdkafka_consumer()?;
    let cluster = Cluster::start(&Options::default())?;
    let tools = cluster.tools();
    tools.create_topic("t", 3)?;
    tools.produce("t", RECORDS, 100, -1)?;

    let commands = || [program.command(&["throughput"]), librdkafka.command()];
    let mut results = [Vec::new(), Vec::new()];
    // The first round warms up the broker, and another one begins each round.
    for round in 0..=ROUNDS {
        for turn in 0..2 {
            let who = (round + turn) % 2;
            let command = commands().into_iter().nth(who).context("there are two")?;
            let run = measure(command, &tools, &format!("g-{round}-{who}"))?;
            if round > 0 {
                results[who].push(run);
            }
        }
    }
    let of = |who: usize, what: fn(&Run) -> f64| median(&results[who].iter().map(what).collect::<Vec<_>>());
    let (ours, theirs) = (of(0, |run| run.per_cpu_second), of(1, |run| run.per_cpu_second));
    verdict.figure("records_per_cpu_s", format!("{ours:.0}"));
    verdict.figure("librdkafka_records_per_cpu_s", format!("{theirs:.0}"));
    verdict.figure("times_librdkafka", format!("{:.2}", ours / theirs));
    verdict.figure("records_per_s", format!("{:.0}", of(0, |run| run.rate)));
    verdict.figure("librdkafka_records_per_s", format!("{:.0}", of(1, |run| run.rate)));
    let allocations = of(0, |run| run.allocations.unwrap_or(f64::NAN));
    verdict.figure("allocations_per_record", format!("{allocations:.4}"));
    verdict.require(ours >= 2.0 * theirs, "twice librdkafka's records a CPU second");
    verdict.require(allocations < 0.05, "no allocation a record");
    Ok(())
}

fn measure(mut command: std::process::Command, tools: &Tools, group: &str) -> Result<Run> {
    command.args([tools.bootstrap(), "t", group, &RECORDS.to_string()]);
    let (output, exit) = Process::capture(group, &mut command, LIMIT)?;
    let last = output.lines().last().unwrap_or_default();
    let line: Value = serde_json::from_str(last).with_context(|| format!("{group} printed:\n{output}"))?;
    let number = |name: &str| line[name].as_f64().with_context(|| format!("{group} printed no {name}"));
    let records = number("records")?;
    ensure!(number("bytes")? >= 100.0 * records, "{group} missed bytes: {line}");
    // User and system time are each rounded down to a tick, by half of one in the mean.
    let cpu = (exit.cpu + TICK).as_secs_f64();
    let run = Run {
        per_cpu_second: records / cpu,
        rate: records / number("seconds")?,
        allocations: number("allocations").ok().map(|allocations| allocations / records),
    };
    println!("{group}: {:.0} records a CPU second, {:.0} records/s", run.per_cpu_second, run.rate);
    Ok(run)
}
