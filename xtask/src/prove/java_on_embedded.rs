//! Kafka's own tools at work against the embedded broker.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::Proof;
use super::support::ackflow::Ackflow;
use super::support::embedded::Embedded;
use super::support::wait;
use super::verdict::Verdict;
use crate::kafka::{DEFAULT_VERSION, Libs, Tools};
use crate::process::Process;

pub(super) const PROOF: Proof = Proof {
    name: "java-on-embedded",
    shows: "Kafka's topic, config, group, producer and share consumer tools work against `ackflow broker`",
    run,
};

const RECORDS: u64 = 20_000;
const TOOL_LIMIT: Duration = Duration::from_secs(120);

/// What one tool has to do.
type Step = fn(&Tools) -> Result<()>;

const STEPS: [(&str, Step); 6] = [
    ("TopicCommand", topics),
    ("ConfigCommand", group_configs),
    ("ProducerPerformance", |tools| tools.produce("t", RECORDS, 100, -1)),
    ("ConsoleShareConsumer", console_consumer),
    ("VerifiableShareConsumer", verifiable_consumer),
    ("ShareGroupCommand", group_command),
];

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let libs = Libs::fetch(DEFAULT_VERSION)?;
    let broker = Embedded::start(&ackflow, &[])?;

    let mut verdict = Verdict::default();
    let tools = Tools::new(libs, broker.address());
    for (name, step) in STEPS {
        let outcome = step(&tools);
        verdict.figure(name, if outcome.is_ok() { "works" } else { "fails" });
        if let Err(error) = outcome {
            verdict.require(false, format!("{name}: {error:#}"));
        }
    }
    verdict.require(broker.stop()?, "the broker ends in good order");
    Ok(verdict)
}

fn topics(tools: &Tools) -> Result<()> {
    tools.create_topic("t", 3)?;
    expect(&tools.run("TopicCommand", &["--list"])?, &["t"])?;
    expect(
        &tools.run("TopicCommand", &["--describe", "--topic", "t"])?,
        &["PartitionCount: 3", "Partition: 2", "Leader: "],
    )?;
    tools.create_topic("short-lived", 1)?;
    tools.run("TopicCommand", &["--delete", "--topic", "short-lived"])?;
    let left = tools.run("TopicCommand", &["--list"])?;
    ensure!(!left.contains("short-lived"), "a deleted topic is still listed:\n{left}");
    Ok(())
}

fn group_configs(tools: &Tools) -> Result<()> {
    for group in ["console", "verifiable"] {
        tools.read_from_the_start(group)?;
    }
    let limit = "share.delivery.count.limit=3";
    let group = ["--entity-type", "groups", "--entity-name", "console"];
    tools.run("ConfigCommand", &[&["--alter"], &group[..], &["--add-config", limit]].concat())?;
    let described = tools.run("ConfigCommand", &[&["--describe"], &group[..]].concat())?;
    expect(&described, &["share.auto.offset.reset=earliest", limit])
}

fn console_consumer(tools: &Tools) -> Result<()> {
    let limit = RECORDS.to_string();
    let arguments = ["--topic", "t", "--group", "console", "--max-messages", &limit, "--timeout-ms", "30000"];
    let mut consumer = tools.tool("consumer.ConsoleShareConsumer", &arguments);
    let (output, _) = Process::capture("ConsoleShareConsumer", &mut consumer, TOOL_LIMIT)?;
    // ProducerPerformance makes capital letters.
    let capitals = |line: &str| line.len() == 100 && line.bytes().all(|byte| byte.is_ascii_uppercase());
    let records = output.lines().filter(|line| capitals(line)).count();
    ensure!(records as u64 == RECORDS, "{records} of {RECORDS} records came");
    Ok(())
}

fn verifiable_consumer(tools: &Tools) -> Result<()> {
    let limit = RECORDS.to_string();
    let arguments =
        ["--topic", "t", "--group-id", "verifiable", "--acknowledgement-mode", "sync", "--max-messages", &limit];
    let mut consumer = tools.tool("VerifiableShareConsumer", &arguments);
    let (output, _) = Process::capture("VerifiableShareConsumer", &mut consumer, TOOL_LIMIT)?;
    let acknowledged: u64 = output
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|event| event["name"] == "offsets_acknowledged" && event["success"] == true)
        .filter_map(|event| event["count"].as_u64())
        .sum();
    ensure!(acknowledged >= RECORDS, "{acknowledged} of {RECORDS} records were acknowledged");
    Ok(())
}

fn group_command(tools: &Tools) -> Result<()> {
    expect(&tools.run("consumer.group.ShareGroupCommand", &["--list"])?, &["console", "verifiable"])?;
    let lag = || tools.share_group_lag("verifiable");
    wait::until("lag 0 of the group that has read all", Duration::from_secs(20), || Ok(lag()? == Some(0)))
}

fn expect(output: &str, words: &[&str]) -> Result<()> {
    for word in words {
        ensure!(output.contains(word), "`{word}` is not in the output:\n{output}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::{Cluster, Options};

    #[test]
    #[ignore = "needs Java: cargo xtask kafka"]
    fn real_kafka_passes_every_step() {
        let cluster = Cluster::start(&Options { fast: true, ..Options::default() }).unwrap();
        for (name, step) in STEPS {
            step(&cluster.tools()).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        }
    }
}
