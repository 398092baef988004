//! Throughput, CPU time and memory of the producer beside those of other clients.
//!
//! Each produces records of 100 bytes to 3 partitions of one broker, idempotent and with `acks=all`, and learns what became of each. Each client has its
//! turn in each round, and another one begins each round. Twice: with Kafka's default batches, and with large ones, where the broker has less to do a
//! record and clients have to be faster.

mod judge;
mod program;

use anyhow::{Context, Result};

use self::judge::judge;
use self::program::CONFIRMED;
use super::Proof;
use super::support::throughput::{Results, ours};
use super::verdict::Verdict;
use crate::kafka::{Cluster, DEFAULT_VERSION, Libs, Options, Tools};
use crate::peers;

pub(super) const PROOF: Proof = Proof {
    name: "perf-produce",
    shows: "the idempotent producer beside those of librdkafka, Java and franz-go: records/s, CPU time, memory, allocations",
    run,
};

const ROUNDS: usize = 3;

/// What all clients are set to.
struct Setting {
    name: &'static str,
    /// `batch.size`.
    batch: u32,
    /// `linger.ms`.
    linger: u32,
}

const SETTINGS: [Setting; 2] =
    [Setting { name: "16k", batch: 16 << 10, linger: 5 }, Setting { name: "128k", batch: 128 << 10, linger: 5 }];

fn run() -> Result<Verdict> {
    let mut programs = vec![ours("produce_throughput")?];
    programs.extend(peers::producers(&Libs::fetch(DEFAULT_VERSION)?)?);
    // Nobody reads the records, and the disk should not be what is measured.
    let config = [
        ("log.segment.bytes", "67108864"),
        ("log.retention.bytes", "67108864"),
        ("log.retention.check.interval.ms", "1000"),
        ("log.segment.delete.delay.ms", "0"),
    ];
    let config = config.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let cluster = Cluster::start(&Options { config, ..Options::default() })?;
    let tools = cluster.tools();
    tools.create_topic("t", 3)?;

    // The broker's JIT gets warmer with each run; the first ones count for nobody.
    let mut sent = 0;
    for (program, setting) in programs.iter().zip(&SETTINGS) {
        program::run(program, &tools, setting)?;
        sent += CONFIRMED;
    }
    let mut results = SETTINGS.map(|_| Results::default());
    for round in 0..ROUNDS {
        for (setting, results) in SETTINGS.iter().zip(&mut results) {
            for turn in 0..programs.len() {
                let program = &programs[(round + turn) % programs.len()];
                results.add(program.name, program::run(program, &tools, setting)?);
                sent += CONFIRMED;
            }
        }
    }
    let written = written(&tools)?;
    drop(cluster);

    let mut verdict = Verdict::default();
    for (setting, results) in SETTINGS.iter().zip(&results) {
        judge(&mut verdict, setting.name, results);
    }
    verdict.require(written == sent, format!("of {sent} records each is written once: there are {written}"));
    Ok(verdict)
}

/// The sum of the ends of the topic's partitions.
fn written(tools: &Tools) -> Result<u64> {
    let text = tools.run("GetOffsetShell", &["--topic", "t"])?;
    let ends = text.lines().map(|line| line.rsplit(':').next().unwrap_or_default().parse::<u64>());
    ends.sum::<Result<u64, _>>().with_context(|| format!("GetOffsetShell printed:\n{text}"))
}
