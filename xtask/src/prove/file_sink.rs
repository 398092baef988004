//! A million records of Kafka's producer go through the file sink, each exactly once.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::Proof;
use super::support::ackflow::Ackflow;
use super::support::delivered::{Delivered, Topic};
use super::support::sink_run::SinkRun;
use super::support::wait;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "file-sink",
    shows: "1,000,000 records of a real Kafka through the file sink, each exactly once, lag 0",
    run,
};

const RECORDS: u64 = 1_000_000;
const PARTITIONS: u32 = 3;

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let folder = tempfile::tempdir()?;
    let cluster = Cluster::start(&Options::default())?;
    let tools = cluster.tools();
    tools.create_topic("t", PARTITIONS)?;
    tools.produce("t", RECORDS, 100, -1)?;
    let topic = Topic::read(&tools, "t", PARTITIONS, RECORDS)?;

    let mut sink = SinkRun::new(&ackflow, folder.path().join("sink"), tools.bootstrap(), "file-sink", "t", 2)?;
    let start = Instant::now();
    sink.start()?;
    sink.wait_for_lines(RECORDS, Duration::from_secs(180))?;
    let seconds = start.elapsed().as_secs_f64();
    sink.stop()?;
    let lag = || tools.share_group_lag("connect-file-sink");
    wait::until("lag 0", Duration::from_secs(30), || Ok(lag()? == Some(0)))?;

    let mut delivered = Delivered::of(&topic);
    let lines = delivered.add_file(&sink.output())?;
    let mut verdict = Verdict::default();
    verdict.figure("records", RECORDS);
    verdict.figure("lines", lines);
    verdict.figure("missing", delivered.missing());
    verdict.figure("extra", delivered.extra());
    verdict.figure("strange", delivered.strange());
    verdict.figure("lag", 0);
    verdict.figure("records_per_s_from_process_start", (RECORDS as f64 / seconds).round());
    verdict.require(delivered.missing() == 0, "every record is there");
    verdict.require(delivered.extra() == 0, "no record is there twice");
    verdict.require(delivered.strange() == 0, "every line is a record of the topic");
    Ok(verdict)
}
