//! How long a record takes from the producer to the consumer, and how long its acknowledgement takes, on a topic with little traffic.
//!
//! ```text
//! cargo run --release -p ackflow-client --example share_latency -- localhost:9092 topic group 60 10
//! ```
//!
//! For 60 seconds, 10 records a second. The group begins wherever its settings say; what is older than the run is accepted and not counted.

use std::time::{Duration, Instant};

use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{Producer, ProducerConfig, ProducerRecord};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, group, seconds, rate] = &arguments[..] else {
        return Err("usage: share_latency BOOTSTRAP TOPIC GROUP SECONDS RECORDS_PER_SECOND".into());
    };
    let (seconds, rate): (u32, u32) = (seconds.parse()?, rate.parse()?);
    let mut consumer = OwnedShareConsumer::new(ShareConsumerConfig::builder(bootstrap, group).build()?)?;
    consumer.subscribe([topic])?;
    while consumer.assignment().is_empty() {
        drop(consumer.poll(Duration::from_millis(100)).await?.map(|delivery| delivery.accept()));
    }

    let epoch = Instant::now();
    let producing = tokio::spawn(produce(bootstrap.clone(), topic.clone(), epoch, seconds * rate, rate));
    let mut waits = Vec::new();
    let mut commits = Vec::new();
    while !producing.is_finished() || waits.len() < (seconds * rate) as usize {
        let Some(delivery) = consumer.poll(Duration::from_secs(2)).await? else { break };
        let now = epoch.elapsed();
        let sent = delivery.records().filter_map(|record| parse(record.ok()?.value?));
        waits.extend(sent.filter_map(|sent| now.checked_sub(sent)));
        drop(delivery.accept());
        let begun = Instant::now();
        consumer.commit_sync(Duration::from_secs(10)).await?;
        commits.push(begun.elapsed());
    }
    producing.await??;
    print("from send to poll", &mut waits);
    print("commit_sync", &mut commits);
    consumer.close(Duration::from_secs(10)).await?;
    Ok(())
}

/// Sends records whose value is when they were sent, in ns since `epoch`.
async fn produce(
    bootstrap: String,
    topic: String,
    epoch: Instant,
    records: u32,
    rate: u32,
) -> std::result::Result<(), ackflow_client::ClientError> {
    let producer = Producer::new(ProducerConfig::new(&bootstrap)?)?;
    let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
    for _ in 0..records {
        tick.tick().await;
        let sent = epoch.elapsed().as_nanos().to_string();
        drop(producer.send(ProducerRecord::new(topic.as_str(), sent)).await?);
    }
    producer.close().await
}

fn parse(value: &[u8]) -> Option<Duration> {
    Some(Duration::from_nanos(std::str::from_utf8(value).ok()?.parse().ok()?))
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)));
    let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|share| at(share).copied().unwrap_or_default());
    println!("{what}: {} times, p50 {p50:.1?}, p90 {p90:.1?}, p99 {p99:.1?}, max {max:.1?}", times.len());
}
