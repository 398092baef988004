//! The same, killed three times on the way: nothing is lost, and little comes twice.

use std::time::Duration;

use anyhow::Result;

use super::Proof;
use super::support::ackflow::Ackflow;
use super::support::delivered::{Delivered, Topic};
use super::support::sink_run::SinkRun;
use super::support::wait;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "file-sink-kill",
    shows: "the same with three SIGKILLs on the way: every record at least once, few twice",
    run,
};

const RECORDS: u64 = 1_000_000;
const PARTITIONS: u32 = 3;
const KILLS: u64 = 3;
/// Lines that must come between two kills.
const PROGRESS: u64 = 150_000;
/// A broker lets a group hold at most this many records of a partition undecided
/// (group.share.partition.max.record.locks): all that a kill can bring back.
const UNDECIDED: u64 = 2_000;

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let folder = tempfile::tempdir()?;
    // A dead member holds its partitions for the session timeout, 45 s unless the settings are fast.
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let tools = cluster.tools();
    tools.create_topic("t", PARTITIONS)?;
    tools.produce("t", RECORDS, 100, -1)?;
    let topic = Topic::read(&tools, "t", PARTITIONS, RECORDS)?;

    let mut sink = SinkRun::new(&ackflow, folder.path().join("sink"), tools.bootstrap(), "file-sink-kill", "t", 2)?;
    let mut at_kill = Vec::new();
    for _ in 0..KILLS {
        let before = sink.counted();
        sink.start()?;
        sink.wait_for_lines(before + PROGRESS, Duration::from_secs(120))?;
        sink.kill()?;
        at_kill.push(sink.counted());
    }
    sink.start()?;
    sink.wait_for_lines(RECORDS, Duration::from_secs(180))?;
    let lag = || tools.share_group_lag("connect-file-sink-kill");
    wait::until("lag 0", Duration::from_secs(90), || Ok(lag()? == Some(0)))?;
    sink.stop()?;

    let mut delivered = Delivered::of(&topic);
    let lines = delivered.add_file(&sink.output())?;
    let allowed = KILLS * u64::from(PARTITIONS) * UNDECIDED;
    let mut verdict = Verdict::default();
    verdict.figure("records", RECORDS);
    verdict.figure("killed_at_lines", format!("{at_kill:?}").replace(' ', ""));
    verdict.figure("lines", lines);
    verdict.figure("missing", delivered.missing());
    verdict.figure("extra", delivered.extra());
    verdict.figure("extra_allowed", allowed);
    verdict.figure("strange", delivered.strange());
    verdict.figure("lag", 0);
    verdict.require(at_kill.iter().all(|lines| *lines < RECORDS), "every kill comes before the end");
    verdict.require(delivered.missing() == 0, "every record is there");
    verdict.require(delivered.extra() <= allowed, "few records are there twice");
    verdict.require(delivered.strange() == 0, "every line is a record of the topic");
    Ok(verdict)
}
