//! Batches by Fetch: what their headers say.

use std::io::Write;
use std::path::Path;

use ackflow_protocol::records::RecordBatch;
use ackflow_protocol::records::control::ControlRecord;
use anyhow::{Context, ensure};
use serde_json::json;

use crate::Isolation;
use crate::lines::plan;
use crate::log::Log;

pub(crate) async fn run(bootstrap: &str, file: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let plan = plan(file)?;
    let log = Log::open(bootstrap, &plan).await?;
    for partition in &plan {
        let (mut next, mut partial) = (0, 0);
        while next < partition.end {
            let fetched = log.fetch(partition, next, Isolation::Uncommitted).await?;
            ensure!(!fetched.batches.is_empty(), "{partition:?} gives nothing from {next} on");
            partial += usize::from(fetched.partial > 0);
            for batch in &fetched.batches {
                let line = json!({
                    "topic": partition.topic,
                    "partition": partition.partition,
                    "first": batch.base_offset(),
                    "last": batch.last_offset(),
                    "records": batch.records().count(),
                    "compression": batch.compression().name(),
                    "transactional": batch.is_transactional(),
                    "timestamp_type": format!("{:?}", batch.timestamp_type()),
                    "delete_horizon": batch.has_delete_horizon(),
                    "control": control(batch)?,
                });
                writeln!(out, "{line}")?;
                next = next.max(batch.last_offset() + 1);
            }
        }
        writeln!(out, "{}", json!({"topic": partition.topic, "partition": partition.partition, "cut_off": partial}))?;
    }
    Ok(())
}

/// What a control batch says; nothing of any other.
fn control(batch: &RecordBatch) -> anyhow::Result<Option<&'static str>> {
    if !batch.is_control() {
        return Ok(None);
    }
    let record = batch.records().next().context("a control batch has a record")??;
    Ok(Some(match ControlRecord::parse(&record)? {
        ControlRecord::Abort { .. } => "abort",
        ControlRecord::Commit { .. } => "commit",
        ControlRecord::Other { .. } => "other",
    }))
}
