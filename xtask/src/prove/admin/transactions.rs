//! Transactions, beside TransactionsCommand and a producer of Kafka's that is killed in the middle of one.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::records::same_producers;
use super::stage::{Stage, text};
use super::table::rows;
use crate::process::Process;

const ID: &str = "hanging-id";

pub(super) fn listed_described_aborted(stage: &mut Stage) -> Result<()> {
    stage.ours("create_topics", &["hanging", "2:1"])?;
    let records = ["--topic", "hanging", "--num-records", "1000000", "--record-size", "10", "--throughput", "10"];
    let transaction = ["--transactional-id", ID, "--transaction-duration-ms", "600000"];
    let timeout = ["--command-property", "transaction.timeout.ms=600000", "--command-property", "linger.ms=0"];
    let arguments = [&records[..], &transaction[..], &timeout[..]].concat();
    let mut producer = stage.tools().tool("ProducerPerformance", &arguments);
    let mut producer = Process::start("ProducerPerformance", producer.stdout(Stdio::null()).stderr(Stdio::null()))?;
    let has_written = |described: &Value| {
        let producers = described["hanging-0"].as_array();
        producers.is_some_and(|all| all.iter().any(|one| !one["transaction_start"].is_null()))
    };
    let written = stage.says("describe_producers", &["hanging", "0"], "an open transaction", has_written);
    producer.kill()?;
    written?;

    same_listing(stage)?;
    same_description(stage)?;
    let producers = same_producers(stage, "hanging", "0")?;
    let [id, epoch, _, coordinator_epoch, _] = &producers[0];
    let coordinator_epoch = if coordinator_epoch == "-1" { "0" } else { coordinator_epoch };
    let end = |stage: &mut Stage, isolation: &str| {
        let said = stage.ours("list_offsets", &["hanging", "0", "latest", isolation])?;
        said["hanging-0"]["offset"].as_u64().context("the partition has an end")
    };
    ensure!(end(stage, "committed")? == 0, "readers of committed records are stuck at the start of the transaction");
    stage.done("abort_transaction", &["hanging", "0", id, epoch, coordinator_epoch])?;
    let after = same_producers(stage, "hanging", "0")?;
    ensure!(after[0][4] == "None", "no transaction is open any more: {after:?}");
    ensure!(end(stage, "committed")? == end(stage, "uncommitted")?, "readers of committed records reach the end");
    Ok(())
}

fn same_listing(stage: &mut Stage) -> Result<()> {
    let ours = |stage: &mut Stage| {
        let listed = stage.ours("list_transactions", &[])?;
        let one = listed.get(ID).context("the transaction is listed")?;
        Ok([text(&one["coordinator"]), text(&one["producer_id"]), text(&one["state"])])
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool("TransactionsCommand", &["list"])?;
        let rows = rows(&printed, "TransactionalId");
        let row = rows.iter().find(|row| row["TransactionalId"] == ID).context("the transaction has a row")?;
        Ok(["Coordinator", "ProducerId", "TransactionState"].map(|column| row[column].to_owned()))
    };
    let [_, _, state] = stage.same("the list of transactions", ours, kafkas)?;
    ensure!(state == "Ongoing", "its state is {state}");
    Ok(())
}

fn same_description(stage: &mut Stage) -> Result<()> {
    let ours = |stage: &mut Stage| {
        let described = stage.ours("describe_transactions", &[ID])?;
        let one = &described[ID];
        let names = ["coordinator", "producer_id", "producer_epoch", "state", "timeout_ms", "started"];
        Ok((names.map(|name| text(&one[name])), text(&one["partitions"][0])))
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool("TransactionsCommand", &["describe", "--transactional-id", ID])?;
        let rows = rows(&printed, "CoordinatorId");
        let row = rows.first().context("the transaction has a row")?;
        let columns = [
            "CoordinatorId",
            "ProducerId",
            "ProducerEpoch",
            "TransactionState",
            "TransactionTimeoutMs",
            "CurrentTransactionStartTimeMs",
        ];
        Ok((columns.map(|column| row[column].to_owned()), row["TopicPartitions"].to_owned()))
    };
    stage.same("the description of a transaction", ours, kafkas).map(drop)
}
