//! Topics, beside TopicCommand.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{Stage, text};

pub(super) fn created_listed_deleted(stage: &mut Stage) -> Result<()> {
    stage.ours("validate_topics", &["validated", "1:2"])?;
    stage.ours("create_topics", &["t", "1:2,2:3", "retention.ms=60000"])?;
    same_description(stage, "t", 2)?;
    stage.shows("TopicCommand", &["--describe", "--topic", "t"], &["retention.ms=60000"])?;
    let list = |stage: &mut Stage| Ok(strings(&stage.ours("list_topics", &[])?));
    let kafkas = |stage: &mut Stage| {
        Ok(stage.tool("TopicCommand", &["--list"])?.lines().map(str::to_owned).collect::<BTreeSet<_>>())
    };
    let listed = stage.same("the list of topics", list, kafkas)?;
    ensure!(listed.contains("t") && !listed.contains("validated"), "{listed:?}");

    stage.tool("TopicCommand", &["--create", "--topic", "theirs", "--replica-assignment", "3:1"])?;
    same_description(stage, "theirs", 1)?;
    stage.done("delete_topics", &["theirs"])?;
    stage.hides("TopicCommand", &["--list"], "theirs")
}

/// Both sides say the same of a topic, and so many partitions.
pub(super) fn same_description(stage: &mut Stage, topic: &str, partitions: usize) -> Result<()> {
    let ours = |stage: &mut Stage| described(&stage.ours("describe_topics", &[topic])?[topic]);
    let kafkas = |stage: &mut Stage| printed(&stage.tool("TopicCommand", &["--describe", "--topic", topic])?);
    let (_, said) = stage.same(&format!("the description of topic {topic}"), ours, kafkas)?;
    ensure!(said.len() == partitions, "{topic} has {partitions} partitions, not {said:?}");
    Ok(())
}

/// Of a topic: its id, and of each partition the leader, the replicas and those in sync.
type Description = (String, Vec<(String, String, BTreeSet<String>)>);

fn described(topic: &Value) -> Result<Description> {
    let partition = |p: &Value| {
        let numbers = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        (text(&p["leader"]), numbers(&p["replicas"]).join(","), numbers(&p["in_sync"]).into_iter().collect())
    };
    let partitions = topic["partitions"].as_array().context("a topic has partitions")?;
    Ok((text(&topic["id"]), partitions.iter().map(partition).collect()))
}

fn printed(output: &str) -> Result<Description> {
    let after = |line: &str, name: &str| {
        let rest = line.split(name).nth(1).unwrap_or_default();
        rest.split_whitespace().next().unwrap_or_default().to_owned()
    };
    let header = output.lines().next().context("TopicCommand prints something")?;
    let partitions = output.lines().filter(|line| line.contains("Partition: ")).map(|line| {
        let in_sync = after(line, "Isr: ").split(',').map(str::to_owned).collect();
        (after(line, "Leader: "), after(line, "Replicas: "), in_sync)
    });
    Ok((after(header, "TopicId: "), partitions.collect()))
}

/// The strings of a list.
pub(super) fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().map(text).collect()
}
