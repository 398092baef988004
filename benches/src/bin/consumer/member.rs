//! A member of a group that writes down what it is given before it commits it.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ackflow_client::consumer::{Consumer, ConsumerConfig, OffsetReset, Rebalance, RebalanceListener, TopicPartition};
use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

const POLL: Duration = Duration::from_millis(200);
const CLOSE: Duration = Duration::from_secs(20);

/// Consume until SIGTERM. The journal has a line for each record (`record PARTITION OFFSET VALUE`), each change of the assignment (`assigned` or
/// `gone`, and partitions) and each error (`error TEXT`).
#[derive(clap::Args)]
pub(crate) struct Args {
    bootstrap: String,
    topic: String,
    group: String,
    /// `client.id`.
    name: String,
    journal: PathBuf,
}

/// What a member has lived through. Lines are written as they come, so that a killed process has told all.
#[derive(Clone)]
struct Journal(Arc<Mutex<File>>);

impl Journal {
    fn write(&self, lines: &str) -> Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(lines.as_bytes()).context("writing the journal")
    }

    fn change(&self, what: &str, partitions: &[TopicPartition]) {
        let numbers: Vec<_> = partitions.iter().map(|partition| partition.partition.to_string()).collect();
        self.write(&format!("{what} {}\n", numbers.join(" "))).expect("the journal can be written");
    }
}

impl RebalanceListener for Journal {
    fn assigned(&mut self, partitions: &[TopicPartition], _: &mut Rebalance<'_>) {
        self.change("assigned", partitions);
    }

    fn revoked(&mut self, partitions: &[TopicPartition], _: &mut Rebalance<'_>) {
        self.change("gone", partitions);
    }
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(&args.journal).context("opening the journal")?;
    let journal = Journal(Arc::new(Mutex::new(file)));
    let config = ConsumerConfig::builder(&args.bootstrap)
        .group_id(args.group)
        .client_id(&args.name)
        .auto_offset_reset(OffsetReset::Earliest)
        .enable_auto_commit(false)
        .max_poll_records(100)
        .build()?;
    let mut consumer = Consumer::new(config)?;
    consumer.set_rebalance_listener(journal.clone());
    consumer.subscribe([args.topic])?;
    let mut end = signal(SignalKind::terminate())?;
    loop {
        let polled = tokio::select! {
            polled = consumer.poll(POLL) => polled,
            _ = end.recv() => break,
        };
        let records = match polled {
            Ok(records) => records,
            Err(error) => {
                journal.write(&format!("error {error}\n"))?;
                continue;
            }
        };
        let mut lines = String::new();
        for record in &records {
            let record = record?;
            let value = String::from_utf8_lossy(record.value.unwrap_or_default());
            writeln!(lines, "record {} {} {value}", record.partition, record.offset)?;
        }
        if !lines.is_empty() {
            journal.write(&lines)?;
            if let Err(error) = consumer.commit().await {
                journal.write(&format!("error {error}\n"))?;
            }
        }
    }
    Ok(consumer.close(CLOSE).await?)
}
