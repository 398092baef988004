//! A producer and a share consumer of one topic, as fast as they go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ackflow_benches::secure::Properties;
use ackflow_benches::{begin_at_start, create_topic};
use ackflow_client::admin::NewTopic;
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{Admin, ClientConfig, Producer, ProducerConfig, ProducerRecord};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

/// How many records are sent before the first of them has to be acknowledged.
const AT_ONCE: u64 = 500;
/// How many may wait for the consumer, so that it is not the last to end by much.
const AHEAD: u64 = 20_000;
/// How long the last records may take.
const LAST: Duration = Duration::from_secs(30);

/// What came of it.
pub(crate) struct Report {
    pub(crate) mechanism: &'static str,
    pub(crate) group: String,
    pub(crate) produced: u64,
    pub(crate) consumed: u64,
    /// Records that never came.
    pub(crate) lost: u64,
    /// Records that came more than once.
    pub(crate) again: u64,
    /// Calls that failed.
    pub(crate) errors: u64,
    pub(crate) longest_ack_pause: Duration,
    pub(crate) longest_record_pause: Duration,
}

impl Report {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "mechanism": self.mechanism, "produced": self.produced, "consumed": self.consumed, "lost": self.lost,
            "again": self.again, "errors": self.errors,
            "longest_ack_pause_ms": self.longest_ack_pause.as_millis(),
            "longest_record_pause_ms": self.longest_record_pause.as_millis(),
        })
    }
}

/// Produces for `period` and consumes until all has come.
pub(crate) async fn run(mechanism: &'static str, mut properties: Properties, period: Duration) -> Result<Report> {
    let topic: Arc<str> = format!("reauth-{}", mechanism.to_lowercase()).into();
    let admin = Admin::new(ClientConfig::from_properties(&properties)?);
    create_topic(&admin, NewTopic::new(&*topic, 3)).await?;
    begin_at_start(&admin, &topic).await?;
    let producer = Producer::new(ProducerConfig::from_properties(&properties)?)?;
    properties.insert("group.id".into(), topic.to_string());
    let mut consumer = OwnedShareConsumer::new(ShareConsumerConfig::from_properties(&properties)?)?;
    consumer.subscribe([&*topic])?;
    let consumed = Arc::new(AtomicU64::new(0));
    let producing = tokio::spawn(produce(producer, Arc::clone(&topic), period, Arc::clone(&consumed)));

    let (mut seen, mut again, mut errors) = (Vec::new(), 0, 0);
    // It begins with the first record, and ends when nothing more is sent.
    let (mut pauses, mut producing) = (Pauses::default(), Some(producing));
    let mut total: Option<(u64, u64, Duration)> = None;
    let mut ended = Instant::now();
    while total.is_none_or(|(total, ..)| consumed.load(Ordering::Relaxed) < total) {
        match consumer.poll(Duration::from_millis(200)).await {
            Ok(Some(delivery)) => {
                let mut fresh = 0;
                for record in delivery.records() {
                    let value = record.context("a record can be read")?.value.context("a record has a value")?;
                    let number = u64::from_le_bytes(value.try_into().context("a value is a number")?);
                    let index = usize::try_from(number)?;
                    if seen.len() <= index {
                        seen.resize(index + 1, false);
                    }
                    match std::mem::replace(&mut seen[index], true) {
                        true => again += 1,
                        false => fresh += 1,
                    }
                }
                pauses.mark();
                errors += u64::from(delivery.accept().await.is_err());
                consumed.fetch_add(fresh, Ordering::Relaxed);
            }
            Ok(None) => {}
            Err(_) => errors += 1,
        }
        if let Some(done) = producing.take_if(|producing| producing.is_finished()) {
            total = Some(done.await??);
            ended = Instant::now();
        }
        if total.is_some() && ended.elapsed() > LAST {
            break;
        }
    }
    consumer.close(LAST).await?;
    let (produced, failed, longest_ack_pause) = total.context("the producer has ended")?;
    let consumed = consumed.load(Ordering::Relaxed);
    ensure!(consumed <= produced, "{consumed} records of {produced}");
    Ok(Report {
        mechanism,
        group: topic.to_string(),
        produced,
        consumed,
        lost: produced - consumed,
        again,
        errors: errors + failed,
        longest_ack_pause,
        longest_record_pause: pauses.longest,
    })
}

/// How many records were acknowledged, how many were not, and the longest pause between two acknowledgements.
async fn produce(
    producer: Producer,
    topic: Arc<str>,
    period: Duration,
    consumed: Arc<AtomicU64>,
) -> Result<(u64, u64, Duration)> {
    let (began, mut sent, mut failed, mut pauses) = (Instant::now(), 0_u64, 0, Pauses::default());
    while began.elapsed() < period {
        if sent > consumed.load(Ordering::Relaxed) + AHEAD {
            sleep(Duration::from_millis(1)).await;
            pauses.forget();
            continue;
        }
        let mut acknowledged = Vec::new();
        for _ in 0..AT_ONCE {
            let record = ProducerRecord::new(Arc::clone(&topic), sent.to_le_bytes().to_vec());
            acknowledged.push(producer.send(record).await?);
            sent += 1;
        }
        for one in acknowledged {
            failed += u64::from(one.await.is_err());
        }
        pauses.mark();
    }
    producer.close().await?;
    Ok((sent, failed, pauses.longest))
}

/// The longest time between two marks.
#[derive(Default)]
struct Pauses {
    last: Option<Instant>,
    longest: Duration,
}

impl Pauses {
    fn mark(&mut self) {
        let now = Instant::now();
        self.longest = self.longest.max(self.last.replace(now).map_or(Duration::ZERO, |last| now - last));
    }

    /// What follows is no pause of the one that is measured.
    fn forget(&mut self) {
        self.last = None;
    }
}
