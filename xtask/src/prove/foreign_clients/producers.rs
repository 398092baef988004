//! VerifiableProducer, ProducerPerformance and ConsoleProducer.

use std::fs::File;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::Stage;

/// How many records each producer writes to a topic of its own.
pub(super) const RECORDS: u64 = 2000;
/// What VerifiableProducer has written, for consumers.
pub(super) const VERIFIABLE: &str = "verifiable";

/// The lines of a tool that prints events.
pub(super) fn events(printed: &str) -> Vec<Value> {
    printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

pub(super) fn verifiable(stage: &mut Stage) -> Result<()> {
    stage.asks("TopicCommand", &["--create", "--topic", VERIFIABLE])?;
    let limit = RECORDS.to_string();
    let arguments = ["--topic", VERIFIABLE, "--max-messages", &limit, "--value-prefix", "7", "--repeating-keys", "10"];
    let events = events(&stage.counts("VerifiableProducer", &arguments)?);
    let sent: Vec<&Value> = events.iter().filter(|event| event["name"] == "producer_send_success").collect();
    stage.is("records confirmed", sent.len() as u64, RECORDS)?;
    for (index, event) in sent.iter().enumerate() {
        let expected = (index as u64, format!("7.{index}"), (index % 10).to_string());
        let found = (event["offset"].as_u64(), event["value"].as_str(), event["key"].as_str());
        ensure!(found == (Some(expected.0), Some(&expected.1), Some(&expected.2)), "record {index} is told as {event}");
    }
    let data = events.iter().find(|event| event["name"] == "tool_data").context("it tells what it has done")?;
    stage.is("records acknowledged", data["acked"].as_u64().unwrap_or_default(), RECORDS)?;
    let held = stage.held(VERIFIABLE)?;
    stage.is("records held", held, RECORDS)
}

pub(super) fn performance(stage: &mut Stage) -> Result<()> {
    let limit = RECORDS.to_string();
    let size = ["--num-records", &limit, "--record-size", "100", "--throughput", "-1"];
    stage.asks("TopicCommand", &["--create", "--topic", "fast"])?;
    let printed = stage.counts("ProducerPerformance", &[&["--topic", "fast"], &size[..]].concat())?;
    sent_all(&printed)?;
    let held = stage.held("fast")?;
    stage.is("records held", held, RECORDS)?;

    stage.asks("TopicCommand", &["--create", "--topic", "atomic"])?;
    let transactional = ["--transactional-id", "performance", "--transaction-duration-ms", "20"];
    let printed = stage.counts("ProducerPerformance", &[&["--topic", "atomic"], &size[..], &transactional].concat())?;
    sent_all(&printed)?;
    // The number of transactions depends on the time that they took; each has a marker.
    let held = stage.held("atomic")?;
    ensure!(held > RECORDS, "{held} records and markers are held, of {RECORDS} records in transactions");

    stage.asks("TopicCommand", &["--create", "--topic", "typed"])?;
    let typed = stage.file("typed", &["a:1".to_owned(), "b:2".to_owned(), "a:3".to_owned()])?;
    let arguments = ["--topic", "typed", "--reader-property", "parse.key=true", "--reader-property", "key.separator=:"];
    let mut command = stage.command("ConsoleProducer", &arguments);
    stage.counts_with(command.stdin(File::open(typed)?), "ConsoleProducer", &arguments)?;
    let held = stage.held("typed")?;
    stage.is("records held", held, 3)
}

fn sent_all(printed: &str) -> Result<()> {
    let last = printed.lines().rfind(|line| line.contains("records sent")).unwrap_or_default();
    ensure!(last.starts_with(&format!("{RECORDS} records sent, ")), "it printed:\n{printed}");
    Ok(())
}
