//! `ackflow perf share-consume`: how fast a share group is consumed, every record touched and accepted.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ackflow_client::share::{Delivery, OwnedShareConsumer, ShareConsumerConfig};
use anyhow::Context;
use jiff::Zoned;
use serde_json::json;
use tokio::task::JoinSet;

use super::stats::{HEADER, Stats};
use crate::connection::{Connection, name_group};
use crate::numbers::within;
use crate::stderr::tell;
use crate::stdout::say;

/// Example: ackflow perf share-consume --bootstrap-server localhost:9092 --topic t --num-records 1000000
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: Connection,

    /// The topic to consume from
    #[arg(long)]
    topic: String,

    /// The share group; perf-share-consumer unless this or the property group.id names one
    #[arg(long)]
    group: Option<String>,

    /// How many records to consume
    #[arg(long, value_name = "COUNT", value_parser = within(1..=u64::MAX), allow_negative_numbers = true)]
    num_records: u64,

    /// The longest time without a record, in milliseconds, before the run ends
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = within(0..=u64::MAX), allow_negative_numbers = true)]
    timeout: u64,

    /// How many share consumers share the work
    #[arg(long, default_value_t = 1, value_parser = within::<u64>(1..=200), allow_negative_numbers = true)]
    threads: u64,

    /// Do not print the header line
    #[arg(long)]
    hide_header: bool,

    /// Print a line for each reporting interval
    #[arg(long)]
    show_detailed_stats: bool,

    /// Milliseconds between two detailed lines
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = within(1..=u64::MAX), allow_negative_numbers = true)]
    reporting_interval: u64,

    /// Print the result as one JSON line, last
    #[arg(long)]
    pub(super) json: bool,
}

/// What all consumers of the run have together.
struct Shared {
    records: AtomicU64,
    wanted: u64,
    timeout: Duration,
    /// Milliseconds between two detailed lines.
    report_every: Option<Duration>,
}

/// What one consumer has seen.
#[derive(Default)]
struct Count {
    records: u64,
    bytes: u64,
    redelivered: u64,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut properties = args.connection.properties()?;
    name_group(&mut properties, args.group.as_deref(), "perf-share-consumer")?;
    let config = properties.read(ShareConsumerConfig::from_properties)?;
    if !args.hide_header {
        say!("{HEADER}")?;
    }
    let shared = Arc::new(Shared {
        records: AtomicU64::new(0),
        wanted: args.num_records,
        timeout: Duration::from_millis(args.timeout),
        report_every: args.show_detailed_stats.then(|| Duration::from_millis(args.reporting_interval)),
    });
    let start = Zoned::now();
    let mut consumers = JoinSet::new();
    for id in 0..args.threads {
        let mut consumer = OwnedShareConsumer::new(config.clone())?;
        consumer.subscribe([args.topic.as_str()])?;
        consumers.spawn(consume(consumer, id, Arc::clone(&shared)));
    }
    let mut total = Count::default();
    let mut ended = Vec::new();
    while let Some(consumer) = consumers.join_next().await {
        let (count, consumer) = consumer.context("a consumer of the run has failed")??;
        total.records += count.records;
        total.bytes += count.bytes;
        total.redelivered += count.redelivered;
        ended.push(consumer);
    }
    let stats = Stats { start, end: Zoned::now(), bytes: total.bytes, records: total.records };
    for consumer in ended {
        consumer.close(Duration::from_secs(30)).await?;
    }
    if total.records < args.num_records {
        tell!(
            "WARNING: Exiting before consuming the expected number of records: timeout ({} ms) exceeded. \
             You can use the --timeout option to increase the timeout.",
            args.timeout
        );
    }
    say!("{}", stats.row())?;
    if args.json {
        let line = json!({
            "records": stats.records,
            "bytes": stats.bytes,
            "redelivered": total.redelivered,
            "records_per_s": stats.records_per_second().round(),
        });
        say!("{line}")?;
    }
    Ok(if total.records < args.num_records { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn consume(
    mut consumer: OwnedShareConsumer,
    id: u64,
    shared: Arc<Shared>,
) -> anyhow::Result<(Count, OwnedShareConsumer)> {
    let mut count = Count::default();
    let mut last_record = Instant::now();
    let mut interval = Interval::start(&shared);
    while shared.records.load(Ordering::Relaxed) < shared.wanted && last_record.elapsed() < shared.timeout {
        let Some(delivery) = consumer.poll(Duration::from_millis(100)).await? else { continue };
        last_record = Instant::now();
        let before = count.records;
        count.add(&delivery)?;
        // Accepting is a message to the driver; the run ends with a commit that waits for the answers.
        drop(delivery.accept());
        shared.records.fetch_add(count.records - before, Ordering::Relaxed);
        interval.report(&count, id)?;
    }
    consumer.commit_sync(Duration::from_secs(30)).await?;
    Ok((count, consumer))
}

impl Count {
    fn add(&mut self, delivery: &Delivery) -> anyhow::Result<()> {
        for record in delivery.records() {
            let record = record?;
            self.records += 1;
            self.bytes += (record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len)) as u64;
            self.redelivered += u64::from(record.delivery_count > 1);
        }
        Ok(())
    }
}

/// The detailed lines of one consumer.
struct Interval {
    every: Option<Duration>,
    since: Instant,
    start: Zoned,
    records: u64,
    bytes: u64,
}

impl Interval {
    fn start(shared: &Shared) -> Self {
        Self { every: shared.report_every, since: Instant::now(), start: Zoned::now(), records: 0, bytes: 0 }
    }

    fn report(&mut self, count: &Count, id: u64) -> anyhow::Result<()> {
        if self.every.is_none_or(|every| self.since.elapsed() < every) {
            return Ok(());
        }
        let stats = Stats {
            start: std::mem::replace(&mut self.start, Zoned::now()),
            end: Zoned::now(),
            bytes: count.bytes - self.bytes,
            records: count.records - self.records,
        };
        say!("{} for share consumer {}", stats.row(), id + 1)?;
        (self.since, self.records, self.bytes) = (Instant::now(), count.records, count.bytes);
        Ok(())
    }
}
