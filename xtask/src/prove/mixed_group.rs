//! Two of our processes and one Java consumer share a group.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Proof;
use super::support::ackflow::Ackflow;
use super::support::delivered::{Delivered, Topic};
use super::support::sink_run::SinkRun;
use super::support::wait;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options, Tools};
use crate::process::Process;

pub(super) const PROOF: Proof = Proof {
    name: "mixed-group",
    shows: "two ackflow processes and a Java share consumer share one group of a real Kafka",
    run,
};

const RECORDS: u64 = 300_000;
const PARTITIONS: u32 = 3;
const GROUP: &str = "connect-mixed";

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let folder = tempfile::tempdir()?;
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let tools = cluster.tools();
    tools.create_topic("t", PARTITIONS)?;

    let sink = |name: &str| SinkRun::new(&ackflow, folder.path().join(name), tools.bootstrap(), "mixed", "t", 1);
    let (mut one, mut two) = (sink("one")?, sink("two")?);
    one.start()?;
    two.start()?;
    let java_output = folder.path().join("java.jsonl");
    let mut java = java_consumer(&tools, &java_output)?;
    let members = || tools.share_group_members(GROUP);
    wait::until("three members", Duration::from_secs(60), || Ok(members().is_ok_and(|count| count == 3)))?;

    // At a pace that leaves work for all three.
    tools.produce("t", RECORDS, 100, 30_000)?;
    let topic = Topic::read(&tools, "t", PARTITIONS, RECORDS)?;
    wait::until("lag 0", Duration::from_secs(60), || Ok(tools.share_group_lag(GROUP)? == Some(0)))?;
    one.stop()?;
    two.stop()?;
    java.stop()?;

    let mut delivered = Delivered::of(&topic);
    let ours = [delivered.add_file(&one.output())?, delivered.add_file(&two.output())?];
    let javas = add_java(&mut delivered, &java_output)?;
    let mut verdict = Verdict::default();
    verdict.figure("records", RECORDS);
    verdict.figure("ackflow_1", ours[0]);
    verdict.figure("ackflow_2", ours[1]);
    verdict.figure("java", javas);
    verdict.figure("missing", delivered.missing());
    verdict.figure("extra", delivered.extra());
    verdict.figure("strange", delivered.strange());
    verdict.figure("lag", 0);
    verdict.require(ours[0] > 0 && ours[1] > 0 && javas > 0, "each gets some");
    verdict.require(delivered.missing() == 0, "nothing is missed");
    verdict.require(delivered.strange() == 0, "every line is a record of the topic");
    Ok(verdict)
}

fn java_consumer(tools: &Tools, output: &Path) -> Result<Process> {
    let arguments = ["--topic", "t", "--group-id", GROUP, "--offset-reset-strategy", "earliest"];
    let mut tool = tools.tool("VerifiableShareConsumer", &arguments);
    Process::start("VerifiableShareConsumer", tool.stdout(File::create(output)?).stderr(Stdio::inherit()))
}

/// Counts what the Java consumer has acknowledged: a record that it was only handed goes to another member.
fn add_java(delivered: &mut Delivered<'_>, output: &Path) -> Result<u64> {
    let mut count = 0;
    for line in BufReader::new(File::open(output)?).lines() {
        let event: Value = serde_json::from_str(&line?).context("VerifiableShareConsumer prints JSON")?;
        if event["name"] != "offsets_acknowledged" {
            continue;
        }
        for partition in event["partitions"].as_array().into_iter().flatten() {
            let number = usize::try_from(partition["partition"].as_u64().context("no partition")?)?;
            for offset in partition["offsets"].as_array().into_iter().flatten() {
                delivered.add(number, usize::try_from(offset.as_u64().context("no offset")?)?);
                count += 1;
            }
        }
    }
    Ok(count)
}
