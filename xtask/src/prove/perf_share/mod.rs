//! Throughput, CPU time and memory of the share consumer beside those of other clients.
//!
//! One consumer reads 2,000,000 records of 100 bytes out of 3 partitions (producer's batches of 16 kB) of one broker, and accepts all of them.
//! Each client has its turn in each round, and another one begins each round. Twice: at everyone's defaults, and with `max.poll.records=2000`, which
//! is the size of a fetch everywhere but in ackflow.

mod judge;
mod program;

use anyhow::Result;

use self::judge::judge;
use super::Proof;
use super::support::throughput::{Results, ours};
use super::verdict::Verdict;
use crate::kafka::{Cluster, DEFAULT_VERSION, Libs, Options};
use crate::peers;

pub(super) const PROOF: Proof = Proof {
    name: "perf-share",
    shows: "the share consumer beside those of Java, librdkafka, franz-go and krafka: records/s, CPU time, memory, allocations",
    run,
};

const RECORDS: u64 = 2_000_000;
const ROUNDS: usize = 3;

/// `max.poll.records`: what each has by default, and as many as a partition has record locks by default.
const FETCHES: [u32; 2] = [0, 2_000];

fn run() -> Result<Verdict> {
    let mut programs = vec![ours("share_throughput")?];
    programs.extend(peers::share_consumers(&Libs::fetch(DEFAULT_VERSION)?)?);
    // A new member gets its first partitions with the second heartbeat. What is measured begins with the first record, so they come sooner here.
    let config = [("group.share.min.heartbeat.interval.ms", "1000"), ("group.share.heartbeat.interval.ms", "1000")];
    let config = config.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let cluster = Cluster::start(&Options { config, ..Options::default() })?;
    let tools = cluster.tools();
    tools.create_topic("t", 3)?;
    tools.produce("t", RECORDS, 100, -1)?;

    // The broker's JIT and page cache get warmer with each run; the first ones count for nobody.
    for (number, program) in programs.iter().enumerate().take(2) {
        program::run(program, &tools, &format!("warm-{number}"), 0)?;
    }
    let mut results = FETCHES.map(|_| Results::default());
    for round in 0..ROUNDS {
        for (fetch, results) in FETCHES.into_iter().zip(&mut results) {
            for turn in 0..programs.len() {
                let program = &programs[(round + turn) % programs.len()];
                let group = format!("{}-{fetch}-{round}", program.name);
                results.add(program.name, program::run(program, &tools, &group, fetch)?);
            }
        }
    }
    drop(cluster);

    let mut verdict = Verdict::default();
    let [defaults, full] = &results;
    judge(&mut verdict, defaults, full);
    Ok(verdict)
}
