//! Records by Fetch.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use ackflow_protocol::messages::fetch::AbortedTransaction;
use ackflow_protocol::records::RecordBatch;
use ackflow_protocol::records::control::ControlRecord;
use anyhow::ensure;

use crate::Isolation;
use crate::lines::{Partition, Shown, plan};
use crate::log::Log;

pub(crate) async fn run(
    bootstrap: &str,
    file: &Path,
    isolation: Isolation,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let plan = plan(file)?;
    let log = Log::open(bootstrap, &plan).await?;
    for partition in &plan {
        let mut next = 0;
        while next < partition.end {
            let fetched = log.fetch(partition, next, isolation).await?;
            ensure!(!fetched.batches.is_empty(), "{partition:?} gives nothing from {next} on");
            let mut aborted = Aborted::new(fetched.aborted);
            for batch in &fetched.batches {
                if aborted.keeps(batch)? {
                    print(partition, batch, next, out)?;
                }
                next = next.max(batch.last_offset() + 1);
            }
        }
    }
    Ok(())
}

/// A batch may begin before the offset that was asked for.
fn print(partition: &Partition, batch: &RecordBatch, from: i64, out: &mut impl Write) -> anyhow::Result<()> {
    for record in batch.records() {
        let record = record?;
        if record.offset < from {
            continue;
        }
        let shown = Shown {
            topic: &partition.topic,
            partition: partition.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            timestamp_type: batch.timestamp_type(),
            key: record.key,
            value: record.value,
            headers: record.headers(),
        };
        shown.print(out)?;
    }
    Ok(())
}

/// Tells batches of aborted transactions by what the answer said of them; it says nothing with read uncommitted.
struct Aborted {
    /// Those that begin later.
    ahead: Vec<AbortedTransaction>,
    /// The producers whose aborted transactions are under way.
    now: BTreeSet<i64>,
}

impl Aborted {
    fn new(mut ahead: Vec<AbortedTransaction>) -> Self {
        ahead.sort_by_key(|aborted| std::cmp::Reverse(aborted.first_offset));
        Self { ahead, now: BTreeSet::new() }
    }

    /// Whether a consumer sees the records of the batch.
    fn keeps(&mut self, batch: &RecordBatch) -> anyhow::Result<bool> {
        while let Some(aborted) = self.ahead.pop_if(|aborted| aborted.first_offset <= batch.last_offset()) {
            self.now.insert(aborted.producer_id);
        }
        if batch.is_control() {
            if let Some(record) = batch.records().next()
                && matches!(ControlRecord::parse(&record?)?, ControlRecord::Abort { .. })
            {
                self.now.remove(&batch.producer_id());
            }
            return Ok(false);
        }
        Ok(!batch.is_transactional() || !self.now.contains(&batch.producer_id()))
    }
}
