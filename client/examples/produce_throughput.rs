//! How fast a producer is, and at what CPU time.
//!
//! ```text
//! cargo run --release -p ackflow-client --example produce_throughput -- localhost:9092 topic 5000000 100 [compression]
//! ```
//!
//! Sends so many records of so many bytes, with the producer's defaults, and waits for all to be confirmed. The topic has to be there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_client::{Producer, ProducerConfig, ProducerRecord};
use bytes::Bytes;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, records, size, compression @ ..] = &arguments[..] else {
        return Err("usage: produce_throughput BOOTSTRAP TOPIC RECORDS SIZE [COMPRESSION]".into());
    };
    let mut config = ProducerConfig::new(bootstrap)?;
    if let Some(compression) = compression.first() {
        config.compression = compression.parse()?;
    }
    let producer = Producer::new(config)?;
    let (records, size): (u64, usize) = (records.parse()?, size.parse()?);
    // Words of a small vocabulary, so that compression has something to do.
    let value: Bytes = (0..size).map(|i| b'a' + (i * i % 23) as u8).collect::<Vec<_>>().into();
    let topic = Arc::from(topic.as_str());

    let (begin, cpu) = (Instant::now(), cpu_time());
    for _ in 0..records {
        drop(producer.send(ProducerRecord::new(Arc::clone(&topic), value.clone())).await?);
    }
    producer.close().await?;
    let (elapsed, cpu) = (begin.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
    let (rate, mib) = (records as f64 / elapsed, (records as usize * size) as f64 / elapsed / f64::from(1 << 20));
    println!("{records} records, {elapsed:.2} s, {rate:.0} records/s, {mib:.1} MiB/s, {cpu:.2} s of CPU");
    Ok(())
}

/// User and system time of this process, as Linux tells it; nothing elsewhere.
fn cpu_time() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, the name, stands in parentheses and may hold anything.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).map(|ticks| TICK * ticks).sum()
}
