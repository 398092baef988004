//! Records, offsets and producers, beside GetOffsetShell, DeleteRecordsCommand and TransactionsCommand.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{Stage, text};
use super::table::rows;

const RECORDS: u64 = 100;

pub(super) fn found_and_deleted(stage: &mut Stage) -> Result<()> {
    // Of one partition, because a producer may choose any for all it has.
    stage.ours("create_topics", &["records", "1:2"])?;
    stage.tools().produce("records", RECORDS, 10, -1)?;
    for (ours, kafkas) in [("earliest", "-2"), ("latest", "-1"), ("max-timestamp", "-3")] {
        same_offset(stage, ours, kafkas)?;
    }
    let newest = stage.ours("list_offsets", &["records", "0", "max-timestamp", "uncommitted"])?;
    let time = text(&newest["records-0"]["timestamp"]);
    same_offset(stage, &time, &time)?;

    let end = same_offset(stage, "latest", "-1")?.parse::<u64>().context("the end is a number")?;
    ensure!(end > 2, "partition 0 has records");
    let first = (end / 2).to_string();
    let deleted = stage.ours("delete_records", &["records", "0", &first])?;
    ensure!(text(&deleted["records-0"]) == first, "{deleted}");
    ensure!(same_offset(stage, "earliest", "-2")? == first, "the partition begins at {first}");
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("all.json");
    fs::write(&file, r#"{"partitions":[{"topic":"records","partition":0,"offset":-1}]}"#)?;
    stage.tool("DeleteRecordsCommand", &["--offset-json-file", &file.to_string_lossy()])?;
    ensure!(same_offset(stage, "earliest", "-2")? == end.to_string(), "the partition begins at its end");

    same_producers(stage, "records", "0").map(drop)
}

fn same_offset(stage: &mut Stage, ours: &str, kafkas: &str) -> Result<String> {
    let ask = |stage: &mut Stage| {
        let said = stage.ours("list_offsets", &["records", "0", ours, "uncommitted"])?;
        Ok(text(&said["records-0"]["offset"]))
    };
    let tool = |stage: &mut Stage| {
        let printed = stage.tool("GetOffsetShell", &["--topic-partitions", "records:0", "--time", kafkas])?;
        Ok(printed.trim().rsplit(':').next().unwrap_or_default().to_owned())
    };
    stage.same(&format!("the offset {ours} of records-0"), ask, tool)
}

/// Both sides say the same of the producers of a partition: id, epoch, the last sequence, the coordinator's epoch, the start of a transaction.
pub(super) fn same_producers(stage: &mut Stage, topic: &str, partition: &str) -> Result<Vec<[String; 5]>> {
    let ours = |stage: &mut Stage| {
        let described = stage.ours("describe_producers", &[topic, partition])?;
        let producers = described[format!("{topic}-{partition}")].as_array().context("a list of producers")?.clone();
        Ok(producers.iter().map(said).collect())
    };
    let tool = |stage: &mut Stage| {
        let arguments = ["describe-producers", "--topic", topic, "--partition", partition];
        let printed = stage.tool("TransactionsCommand", &arguments)?;
        let columns =
            ["ProducerId", "ProducerEpoch", "LastSequence", "LatestCoordinatorEpoch", "CurrentTransactionStartOffset"];
        let mut producers: Vec<_> =
            rows(&printed, "ProducerId").iter().map(|row| columns.map(|column| row[column].to_owned())).collect();
        producers.sort();
        Ok(producers)
    };
    let producers: Vec<[String; 5]> = stage.same(&format!("the producers of {topic}-{partition}"), ours, tool)?;
    ensure!(!producers.is_empty(), "{topic}-{partition} has producers");
    Ok(producers)
}

/// In the tool's words for what there is not.
fn said(producer: &Value) -> [String; 5] {
    let or = |value: &Value, none: &str| if value.is_null() { none.to_owned() } else { text(value) };
    [
        text(&producer["producer_id"]),
        text(&producer["producer_epoch"]),
        or(&producer["last_sequence"], "-1"),
        or(&producer["coordinator_epoch"], "-1"),
        or(&producer["transaction_start"], "None"),
    ]
}
