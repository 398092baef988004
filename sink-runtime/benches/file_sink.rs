//! How many records a second go through a worker into a file: from the embedded broker, or from the Kafka that `ACKFLOW_BOOTSTRAP` names.
//!
//! `cargo bench -p ackflow-sink-runtime [-- SINK RECORDS TASKS KEY=VALUE..]`

use std::collections::BTreeMap;
use std::error::Error;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use ackflow_client::ClientConfig;
use ackflow_client::admin::{Admin, NewTopic};
use ackflow_client::producer::{Producer, ProducerConfig, ProducerRecord};
use ackflow_sink_runtime::{ConnectorConfig, Plugins, Worker, WorkerConfig};
use ackflow_testkit::EmbeddedBroker;

const PARTITIONS: i32 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let argument = |at: usize, default: &str| arguments.get(at).map_or(default.to_owned(), String::clone);
    let (sink, records, tasks) = (argument(0, "file"), argument(1, "1000000").parse::<u64>()?, argument(2, "2"));

    let embedded = match std::env::var("ACKFLOW_BOOTSTRAP") {
        Ok(_) => None,
        Err(_) => Some(EmbeddedBroker::start().await?),
    };
    let bootstrap = match &embedded {
        Some(broker) => broker.bootstrap_servers(),
        None => std::env::var("ACKFLOW_BOOTSTRAP")?,
    };
    let topic = format!("bench-{:x}", RandomState::new().build_hasher().finish());
    produce(&bootstrap, &topic, records).await?;

    let directory = tempfile::tempdir()?;
    let path = directory.path().join("records.jsonl");
    let text = format!("bootstrap.servers={bootstrap}\nconsumer.group.protocol=share\nvalue.converter=StringConverter");
    let mut entries = BTreeMap::from(
        [("name", &*topic), ("topics", &*topic), ("connector.class", &*sink), ("tasks.max", &*tasks)]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    for setting in arguments.iter().skip(3).filter_map(|argument| argument.split_once('=')) {
        entries.insert(setting.0.to_owned(), setting.1.to_owned());
    }
    if sink == "file" {
        entries.insert("file".to_owned(), path.display().to_string());
    }
    let connector = ConnectorConfig::from_entries(entries, "bench")?;
    let worker =
        Worker::start(WorkerConfig::from_properties(&text, "bench")?, Plugins::builtin(), vec![connector]).await?;
    let accepted = || worker.counters().iter().map(|task| task.accepted).sum::<u64>();
    let mut first = None;
    while accepted() < records {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if first.is_none() && accepted() > 0 {
            first = Some(Instant::now());
        }
    }
    let seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
    println!("{sink}, {tasks} tasks: {records} records in {seconds:.2} s, {:.0} records/s", records as f64 / seconds);
    for counters in worker.counters() {
        println!("  {counters:?}");
    }
    worker.stop().await;
    Ok(())
}

async fn produce(bootstrap: &str, topic: &str, records: u64) -> Result<(), Box<dyn Error>> {
    let admin = Admin::new(ClientConfig::new(bootstrap)?);
    for created in admin.create_topics([NewTopic::new(topic, PARTITIONS)]).await?.into_values() {
        created?;
    }
    let producer = Producer::new(ProducerConfig::new(bootstrap)?)?;
    let value = bytes::Bytes::from("x".repeat(100));
    for _ in 0..records {
        drop(producer.send(ProducerRecord::new(topic, value.clone())).await?);
    }
    Ok(producer.close().await?)
}
