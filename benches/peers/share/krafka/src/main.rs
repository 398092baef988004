//! Consumes a topic through a share group: BOOTSTRAP TOPIC GROUP RECORDS FETCH.

use std::error::Error;
use std::time::{Duration, Instant};

use krafka::Kafka;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, group, records, fetch] = args.as_slice() else {
        return Err("BOOTSTRAP TOPIC GROUP RECORDS FETCH".into());
    };
    let (wanted, fetch): (u64, i32) = (records.parse()?, fetch.parse()?);
    let kafka = Kafka::builder(bootstrap.as_str()).connect().await?;
    let mut builder = kafka.share_consumer(group.as_str());
    if fetch > 0 {
        // The second is the size that the broker aims for; it is never above the first.
        builder = builder.max_poll_records(fetch).batch_size(fetch);
    }
    let consumer = builder.build().await?;
    consumer.subscribe([topic.as_str()]).await?;

    let (mut records, mut bytes) = (0, 0);
    let mut first = None;
    while records < wanted {
        let polled = consumer.poll(Duration::from_secs(1)).await?;
        if !polled.is_empty() {
            first.get_or_insert_with(Instant::now);
        }
        for record in &polled {
            records += 1;
            bytes += record.value.as_ref().map_or(0, |value| value.len());
        }
    }
    let seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
    consumer.commit().await?;
    consumer.close().await?;
    println!("{{\"records\": {records}, \"bytes\": {bytes}, \"seconds\": {seconds:.6}}}");
    Ok(())
}
