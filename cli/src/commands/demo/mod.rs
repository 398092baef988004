//! `ackflow demo`: the whole path at work, with a task killed on the way.

mod sink;
mod tally;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_client::producer::{Producer, ProducerConfig, ProducerRecord};
use ackflow_sink_runtime::{ConnectorConfig, Plugins, RunningWorker, Worker, WorkerConfig};
use ackflow_testkit::EmbeddedBroker;
use anyhow::{Context, bail};
use serde_json::json;

use crate::numbers::within;
use crate::progress::Progress;
use crate::stderr::tell;
use crate::stdout::say;
use sink::TallySink;
use tally::Tally;

const TOPIC: &str = "demo";
const CONNECTOR: &str = "demo";
/// The demo ends when nothing has come for this long.
const STALLED_AFTER: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ackflow demo --records 1000000 --json")]
pub(crate) struct Args {
    /// How many records go through one partition
    #[arg(long, default_value_t = 200_000, value_parser = within::<u64>(1..=50_000_000), allow_negative_numbers = true)]
    records: u64,

    /// How many sink tasks share the partition
    #[arg(long, default_value_t = 4, value_parser = within::<u64>(3..=100), allow_negative_numbers = true)]
    tasks: u64,

    /// Print the result as one JSON line, last
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let broker = EmbeddedBroker::builder()
        .fast()
        .topic(TOPIC, 1)
        .start()
        .await
        .context("cannot start the embedded broker on a loopback port")?;
    let bootstrap = broker.bootstrap_servers();
    note(&format!("an embedded broker listens on {bootstrap}"));
    produce(&bootstrap, args.records).await?;
    note(&format!("{} records of 100 bytes are in one partition; {} tasks share it", args.records, args.tasks));

    let tally = Arc::new(Tally::new(args.records));
    let started = Instant::now();
    let worker = start_worker(&bootstrap, args.tasks, &tally).await?;
    let killed = deliver(&worker, &tally, args.records).await;
    let elapsed = tally.last_record().saturating_duration_since(started).as_secs_f64().max(1e-3);
    worker.stop().await;
    broker.shutdown().await;
    killed?;

    let counts = tally.counts();
    let lost = args.records - counts.delivered;
    let per_second = (counts.delivered as f64 / elapsed).round();
    let tasks = counts.by_task.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    say!("produced      {:>12}", args.records)?;
    say!("delivered     {:>12}", counts.delivered)?;
    say!("redelivered   {:>12}   among them what the killed task held", counts.redelivered)?;
    say!("lost          {lost:>12}")?;
    say!("records/s     {per_second:>12}")?;
    say!("put by task   {tasks}")?;
    if args.json {
        let line = json!({
            "produced": args.records,
            "delivered": counts.delivered,
            "redelivered": counts.redelivered,
            "lost": lost,
            "records_per_s": per_second,
            "tasks": args.tasks,
            "killed": 1,
            "seconds": (elapsed * 1000.0).round() / 1000.0,
        });
        say!("{line}")?;
    }
    Ok(if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn note(text: &str) {
    tell!("ackflow: {text}");
}

async fn produce(bootstrap: &str, records: u64) -> anyhow::Result<()> {
    let properties = BTreeMap::from([("bootstrap.servers".to_owned(), bootstrap.to_owned())]);
    let producer = Producer::new(ProducerConfig::from_properties(&properties)?)?;
    let topic: Arc<str> = TOPIC.into();
    let mut progress = Progress::new("produced", records);
    for i in 0..records {
        let value = format!("{i:0100}");
        // The report is not awaited: a record that cannot be produced fails the flush.
        drop(producer.send(ProducerRecord::new(Arc::clone(&topic), value)).await?);
        progress.at(i);
    }
    producer.flush().await?;
    producer.close().await?;
    Ok(())
}

async fn start_worker(bootstrap: &str, tasks: u64, tally: &Arc<Tally>) -> anyhow::Result<RunningWorker> {
    let mut plugins = Plugins::builtin();
    plugins.register(Box::new(TallySink::new(Arc::clone(tally))));
    let worker = WorkerConfig::from_properties(&format!("bootstrap.servers={bootstrap}\n"), "the demo's worker")?;
    let connector = json!({
        "name": CONNECTOR,
        "config": {
            "connector.class": sink::CLASS,
            "topics": TOPIC,
            "tasks.max": tasks.to_string(),
            "consumer.override.group.protocol": "share",
        },
    });
    let connector = ConnectorConfig::from_json(&connector.to_string(), "the demo's connector")?;
    Ok(Worker::start(worker, plugins, vec![connector]).await?)
}

/// Kills a task on the way and waits until every record has come, or nothing comes any more.
async fn deliver(worker: &RunningWorker, tally: &Tally, records: u64) -> anyhow::Result<()> {
    let mut progress = Progress::new("delivered", records);
    let mut changed = tally.watch();
    let mut killed = false;
    loop {
        changed.mark_unchanged();
        let count = tally.delivered();
        progress.at(count);
        if count >= records {
            break;
        }
        if let Some(victim) = tally.victim()
            && !killed
        {
            worker.abort_task(CONNECTOR, victim);
            note(&format!("task {victim} is killed with records in its hands"));
            killed = true;
        }
        match tokio::time::timeout(STALLED_AFTER, changed.changed()).await {
            Ok(changed) => changed.context("the demo's sink is gone")?,
            Err(_) => bail!("no record for {STALLED_AFTER:?}: {count} of {records} have come"),
        }
    }
    if !killed {
        bail!("no task was killed: {records} records are too few for the demo");
    }
    Ok(())
}
