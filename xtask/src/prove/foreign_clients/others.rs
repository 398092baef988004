//! librdkafka and franz-go: producing with and without transactions, consuming, as members of consumer groups and of share groups.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use super::consumers::PROTOCOLS;
use super::producers::{self, VERIFIABLE};
use super::sharing::left;
use super::stage::Stage;
use crate::peers::{self, Peer};
use crate::process::Process;

const LIMIT: Duration = Duration::from_secs(90);
/// How many records of each count.
const RECORDS: u64 = 400;

/// Fetches and builds them, once for both brokers.
pub(super) fn build() -> Result<()> {
    peers::librdkafka()?;
    peers::franz_go()?;
    peers::foreign_share_consumers().map(drop)
}

pub(super) fn others(stage: &mut Stage) -> Result<()> {
    let clients = [peers::librdkafka()?, peers::franz_go()?];
    let sharing = peers::foreign_share_consumers()?;
    for (client, sharing) in clients.iter().zip(&sharing) {
        produces(stage, client)?;
        for protocol in PROTOCOLS {
            joins(stage, client, protocol)?;
        }
        shares(stage, sharing)?;
    }
    // Each reads what the other has written.
    for (reader, writer) in clients.iter().zip(clients.iter().rev()) {
        reads(stage, reader, writer)?;
    }
    Ok(())
}

fn topic(client: &Peer) -> String {
    format!("of-{}", client.name)
}

fn value(index: u64) -> String {
    BASE64_STANDARD.encode(format!("value-{index:04}"))
}

/// Half of the records in a transaction that is committed; as many again in one that is aborted.
fn produces(stage: &mut Stage, client: &Peer) -> Result<()> {
    let topic = topic(client);
    stage.asks("TopicCommand", &["--create", "--topic", &topic])?;
    // Records of another year would be too old to be kept.
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let record = |index: u64| {
        json!({"op": "record", "partition": 0, "timestamp": now + index, "key": value(index), "value": value(index),
               "headers": [["index", value(index)], ["none", null]]})
    };
    let open = |id: Value| json!({"op": "open", "topic": topic, "compression": "lz4", "transactional_id": id});
    let mut script = vec![open(Value::Null)];
    script.extend((0..RECORDS / 2).map(record));
    script.extend([json!({"op": "flush"}), open(json!(topic)), json!({"op": "begin"})]);
    script.extend((RECORDS / 2..RECORDS).map(record));
    script.extend([json!({"op": "commit"}), json!({"op": "begin"})]);
    script.extend((0..RECORDS / 2).map(record));
    script.push(json!({"op": "abort"}));
    let script = stage.file("script", &script.iter().map(Value::to_string).collect::<Vec<_>>())?;
    let mut command = client.command();
    command.args(["write", stage.tools().bootstrap()]).arg(script);
    run(client, &mut command)?;
    let held = stage.held(&topic)?;
    // And two markers.
    stage.is(&format!("records held of {}", client.name), held, RECORDS + RECORDS / 2 + 2)
}

fn reads(stage: &mut Stage, reader: &Peer, writer: &Peer) -> Result<()> {
    let topic = topic(writer);
    let end = stage.held(&topic)?;
    let plan = stage.file("plan", &[json!({"topic": topic, "partition": 0, "end": end}).to_string()])?;
    let mut command = reader.command();
    command.args(["read", stage.tools().bootstrap()]).arg(plan).arg("read_committed");
    let printed = run(reader, &mut command)?;
    let records: Vec<Value> = printed.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    stage.is(&format!("records of {} that {} reads", writer.name, reader.name), records.len() as u64, RECORDS)?;
    for (index, record) in (0..).zip(&records) {
        let headers = json!([["index", value(index)], ["none", null]]);
        ensure!(
            record["key"] == value(index) && record["value"] == value(index) && record["headers"] == headers,
            "record {index} of {} is {record} to {}",
            writer.name,
            reader.name
        );
    }
    Ok(())
}

fn joins(stage: &mut Stage, client: &Peer, protocol: &str) -> Result<()> {
    let group = format!("{}-{protocol}", client.name);
    let mut command = client.command();
    command.args(["group", stage.tools().bootstrap(), &topic(client), &group, protocol, &RECORDS.to_string()]);
    let printed = run(client, &mut command)?;
    let line: Value = serde_json::from_str(printed.lines().last().unwrap_or_default())
        .with_context(|| format!("{} printed:\n{printed}", client.name))?;
    stage.is(&format!("records read by {group}"), line["records"].as_u64().unwrap_or_default(), RECORDS)?;
    // What comes behind the last record may be before or after the markers.
    let described = stage.quietly("consumer.group.ConsumerGroupCommand", &["--describe", "--group", &group])?;
    let row =
        described.lines().find(|line| line.split_whitespace().next() == Some(&group)).context("the group has a row")?;
    let committed: u64 = row.split_whitespace().nth(3).context("a committed offset")?.parse()?;
    ensure!(committed >= RECORDS, "{group} has committed {committed} after {RECORDS} records");
    stage.say(format!("{group} has committed"));
    Ok(())
}

/// Of records without transactions: who acknowledges the offsets of markers is not the same in all clients.
fn shares(stage: &mut Stage, sharing: &Peer) -> Result<()> {
    let group = format!("{}-shares", sharing.name);
    stage.read_from_the_start(&group)?;
    let mut command = sharing.command();
    let limit = producers::RECORDS.to_string();
    command.args([stage.tools().bootstrap(), VERIFIABLE, &group, &limit, "0"]);
    let printed = run(sharing, &mut command)?;
    let line: Value = serde_json::from_str(printed.lines().last().unwrap_or_default())
        .with_context(|| format!("{} printed:\n{printed}", sharing.name))?;
    stage.is(
        &format!("records shared by {group}"),
        line["records"].as_u64().unwrap_or_default(),
        producers::RECORDS,
    )?;
    left(stage, &group, 0)
}

fn run(client: &Peer, command: &mut Command) -> Result<String> {
    Ok(Process::capture(client.name, command, LIMIT)?.0)
}
