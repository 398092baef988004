//! `ackflow consume`: a share group on the console.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ackflow_client::admin::{ConfigChange, ConfigResource};
use ackflow_client::share::{AckError, AckType, Delivery, OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{Admin, ClientError, ErrorKind};
use ackflow_sink_runtime::record_json::RecordJson;
use anyhow::Context;
use clap::ValueEnum;

use crate::connection::{Connection, name_group};
use crate::numbers::within;
use crate::signals::Stop;
use crate::stderr::tell;
use crate::stdout;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "One JSON line a record: topic, partition, offset, timestamp, deliveryCount, key, value, headers.\n\
    A new share group starts at the end of the topic unless --offset-reset-strategy earliest is given.\n\n\
    Example: ackflow consume --bootstrap-server localhost:9092 --topic t --group g --max-messages 10"
)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: Connection,

    /// The topic; several with repeated --topic
    #[arg(long, required = true)]
    topic: Vec<String>,

    /// The share group; console-share-consumer unless this or the property group.id names one
    #[arg(long)]
    group: Option<String>,

    /// End after this many records
    #[arg(long, value_name = "COUNT", value_parser = within(0..=u64::MAX), allow_negative_numbers = true)]
    max_messages: Option<u64>,

    /// End after this many milliseconds without a record
    #[arg(long, value_name = "MS", value_parser = within(0..=u64::MAX), allow_negative_numbers = true)]
    timeout_ms: Option<u64>,

    /// Set where the group starts in partitions that it has not read yet (share.auto.offset.reset of the group)
    #[arg(long, value_enum)]
    offset_reset_strategy: Option<OffsetReset>,

    /// What becomes of each record once it is printed; renew accepts it after its lock was renewed once
    #[arg(long, value_enum, default_value = "accept")]
    ack: Ack,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Ack {
    Accept,
    Release,
    Reject,
    Renew,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OffsetReset {
    Earliest,
    Latest,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut stop = Stop::listen()?;
    let config = config(&args)?;
    if let Some(strategy) = args.offset_reset_strategy {
        set_offset_reset(&config, strategy).await?;
    }
    let mut consumer = OwnedShareConsumer::new(config)?;
    consumer.subscribe(args.topic.iter().map(String::as_str))?;
    let result = tokio::select! {
        result = print_records(&mut consumer, &args) => result,
        () = stop.requested() => Ok(()),
    };
    // What was decided is sent even where printing failed; what was not goes back to the group.
    let closed = consumer.close(Duration::from_secs(30)).await;
    result?;
    closed?;
    Ok(ExitCode::SUCCESS)
}

async fn set_offset_reset(config: &ShareConsumerConfig, strategy: OffsetReset) -> anyhow::Result<()> {
    let value = match strategy {
        OffsetReset::Earliest => "earliest",
        OffsetReset::Latest => "latest",
    };
    let group = ConfigResource::group(config.group_id.as_str());
    let change = ConfigChange::set("share.auto.offset.reset", value);
    let admin = Admin::new(config.client.clone());
    let results = admin.alter_configs([(group.clone(), vec![change])]).await?;
    results.into_values().collect::<Result<(), _>>().context("--offset-reset-strategy")?;
    // The first fetch decides where the group starts.
    admin.await_configs(&group, &[("share.auto.offset.reset", value)]).await.context("--offset-reset-strategy")
}

fn config(args: &Args) -> anyhow::Result<ShareConsumerConfig> {
    let mut properties = args.connection.properties()?;
    name_group(&mut properties, args.group.as_deref(), "console-share-consumer")?;
    if let Some(limit) = args.max_messages {
        // A record acquired and not printed would go back with one delivery attempt spent.
        properties.values.entry("share.acquire.mode".to_owned()).or_insert_with(|| "record_limit".to_owned());
        properties.values.entry("max.poll.records".to_owned()).or_insert_with(|| limit.clamp(1, 500).to_string());
    }
    properties.read(ShareConsumerConfig::from_properties)
}

async fn print_records(consumer: &mut OwnedShareConsumer, args: &Args) -> anyhow::Result<()> {
    let timeout = args.timeout_ms.map(Duration::from_millis);
    let mut left = args.max_messages.unwrap_or(u64::MAX);
    let mut last_record = Instant::now();
    while left > 0 && timeout.is_none_or(|timeout| last_record.elapsed() < timeout) {
        let mut delivery = match consumer.poll(Duration::from_millis(100)).await {
            Ok(Some(delivery)) => delivery,
            Ok(None) => continue,
            Err(error) if passes(consumer, &error) => {
                tell!("ackflow: {error}");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        last_record = Instant::now();
        let printed = print(&mut delivery, &mut left);
        if left == 0 || printed.is_err() {
            // What goes back when the delivery is dropped must not be acquired again by this member.
            consumer.pause();
        }
        if let Some(printed) = printed?
            && let Err(error) = acknowledge(&mut delivery, printed, args.ack).await
        {
            tell!("ackflow: {error}; these records come again");
        }
    }
    Ok(())
}

/// Whether the consumer goes on by itself: an error about some records, or about what may be better in a moment.
fn passes(consumer: &OwnedShareConsumer, error: &ClientError) -> bool {
    let passes = error.records().is_some() || error.is_retriable() && error.kind() != ErrorKind::Unreachable;
    passes && consumer.failure().is_none()
}

async fn acknowledge(delivery: &mut Delivery, (first, last): (i64, i64), ack: Ack) -> Result<(), AckError> {
    if ack == Ack::Renew {
        delivery.acknowledge(first..=last, AckType::Renew).await?;
    }
    delivery.acknowledge(first..=last, ack.verdict()).await
}

/// Prints at most `left` records and counts them off it. Gives the first and last offset that is out. What cannot be read is told and rejected.
fn print(delivery: &mut Delivery, left: &mut u64) -> anyhow::Result<Option<(i64, i64)>> {
    let mut printed: Option<(i64, i64)> = None;
    let mut lines = Vec::new();
    let mut unreadable = Vec::new();
    for record in delivery.records() {
        if *left == 0 {
            break;
        }
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                tell!("ackflow: {error}");
                unreadable.push(error.first..=error.last);
                continue;
            }
        };
        RecordJson::raw(&record).write_to(&mut lines);
        lines.push(b'\n');
        *left -= 1;
        printed = Some((printed.map_or(record.offset, |(first, _)| first), record.offset));
    }
    for offsets in unreadable {
        drop(delivery.acknowledge(offsets, AckType::Reject));
    }
    // Nothing is acknowledged before it is out.
    stdout::write(&lines)?;
    Ok(printed)
}

impl Ack {
    fn verdict(self) -> AckType {
        match self {
            Self::Accept | Self::Renew => AckType::Accept,
            Self::Release => AckType::Release,
            Self::Reject => AckType::Reject,
        }
    }
}
