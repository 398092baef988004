//! How fast a share consumer takes records, and at what CPU time.
//!
//! ```text
//! cargo run --release -p ackflow-client --example share_throughput -- localhost:9092 topic group 2000000
//! ```
//!
//! The records have to be there, and the group has to begin at the earliest (`share.auto.offset.reset`). The owned consumer accepts
//! everything; a last argument `implicit` takes the implicit one. The clock starts at the first record.

use std::time::{Duration, Instant};

use ackflow_client::share::{OwnedShareConsumer, ShareConsumer, ShareConsumerConfig};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const WAIT: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, group, records, mode @ ..] = &arguments[..] else {
        return Err("usage: share_throughput BOOTSTRAP TOPIC GROUP RECORDS [implicit]".into());
    };
    let config = ShareConsumerConfig::builder(bootstrap, group).build()?;
    let wanted: u64 = records.parse()?;
    let mut run = Run::default();
    if mode.first().is_some_and(|mode| mode == "implicit") {
        let mut consumer = ShareConsumer::new(config)?;
        consumer.subscribe([topic])?;
        while run.records < wanted {
            let records = consumer.poll(WAIT).await?;
            if records.is_empty() {
                break;
            }
            run.begin();
            for record in &records {
                run.count(record?.value);
            }
        }
        consumer.commit_sync(WAIT).await?;
        run.end();
        consumer.close(WAIT).await?;
    } else {
        let mut consumer = OwnedShareConsumer::new(config)?;
        consumer.subscribe([topic])?;
        while run.records < wanted
            && let Some(delivery) = consumer.poll(WAIT).await?
        {
            run.begin();
            for record in delivery.records() {
                run.count(record?.value);
            }
            drop(delivery.accept());
        }
        consumer.commit_sync(WAIT).await?;
        run.end();
        consumer.close(WAIT).await?;
    }
    Ok(())
}

#[derive(Default)]
struct Run {
    begun: Option<(Instant, Duration)>,
    records: u64,
    bytes: u64,
}

impl Run {
    fn begin(&mut self) {
        self.begun.get_or_insert_with(|| (Instant::now(), cpu_time()));
    }

    fn count(&mut self, value: Option<&[u8]>) {
        self.records += 1;
        self.bytes += value.map_or(0, <[u8]>::len) as u64;
    }

    fn end(&self) {
        let Some((begun, cpu)) = self.begun else {
            return println!("no record came");
        };
        let (elapsed, cpu, all) = (begun.elapsed(), cpu_time() - cpu, cpu_time());
        let rate = self.records as f64 / elapsed.as_secs_f64();
        println!(
            "{} records, {} bytes in {:.3} s: {rate:.0} records/s, CPU {:.2} s, of the whole process {:.2} s",
            self.records,
            self.bytes,
            elapsed.as_secs_f64(),
            cpu.as_secs_f64(),
            all.as_secs_f64()
        );
    }
}

/// User and system time of this process, as Linux tells it; nothing elsewhere.
fn cpu_time() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, the name, stands in parentheses and may hold anything.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).map(|ticks| TICK * ticks).sum()
}
