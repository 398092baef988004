//! How fast a consumer of partitions takes records, and at what CPU time.
//!
//! ```text
//! cargo run --release -p ackflow-client --example consume_throughput -- localhost:9092 topic group 2000000 [key=value ...]
//! ```
//!
//! The records have to be there; the group begins at the earliest. Further arguments are Kafka's properties, such as `max.poll.records=5000`. The
//! clock starts at the first record.

use std::time::{Duration, Instant};

use ackflow_client::consumer::{Consumer, ConsumerConfig};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const WAIT: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, group, records, more @ ..] = &arguments[..] else {
        return Err("usage: consume_throughput BOOTSTRAP TOPIC GROUP RECORDS [KEY=VALUE ...]".into());
    };
    let basics = [("bootstrap.servers", &**bootstrap), ("group.id", group), ("auto.offset.reset", "earliest")];
    let said = more.iter().filter_map(|more| more.split_once('='));
    let properties = basics.into_iter().chain(said).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let wanted: u64 = records.parse()?;
    let mut consumer = Consumer::new(ConsumerConfig::from_properties(&properties)?)?;
    consumer.subscribe([topic])?;
    let mut begun = None;
    let (mut count, mut bytes) = (0, 0);
    while count < wanted {
        let records = consumer.poll(WAIT).await?;
        if records.is_empty() {
            break;
        }
        begun.get_or_insert_with(|| (Instant::now(), cpu_time()));
        for record in &records {
            count += 1;
            bytes += record?.value.map_or(0, <[u8]>::len);
        }
    }
    let Some((start, cpu)) = begun else {
        println!("no record came");
        return Ok(());
    };
    let (elapsed, cpu) = (start.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
    println!(
        "{count} records, {bytes} bytes in {elapsed:.3} s: {:.0} records/s, CPU {cpu:.2} s ({:.0} records a CPU second), of the whole process {:.2} s",
        count as f64 / elapsed,
        count as f64 / cpu.max(0.01),
        cpu_time().as_secs_f64()
    );
    consumer.close(WAIT).await?;
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
