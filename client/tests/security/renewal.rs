//! Sessions that end and are renewed under load.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_client::admin::{ConfigChange, ConfigResource, NewTopic};
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{Admin, ClientConfig, Producer, ProducerConfig, ProducerRecord};

use crate::{PLAIN, SCRAM, properties};

/// Longer than two sessions of 3 s.
const LOAD: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_row_63_nothing_is_lost_and_nothing_stalls_while_sessions_are_renewed() {
    tokio::join!(run("PLAIN", PLAIN), run("SCRAM-SHA-256", SCRAM));
}

async fn run(mechanism: &str, jaas: &str) {
    let topic: Arc<str> = format!("renewed-{mechanism}").into();
    let mut properties = properties("SHORT", &[("sasl.mechanism", mechanism), ("sasl.jaas.config", jaas)]);
    let admin = Admin::new(ClientConfig::from_properties(&properties).unwrap());
    admin
        .create_topics([NewTopic::new(&*topic, 3)])
        .await
        .unwrap()
        .into_values()
        .for_each(|created| assert!(created.is_ok(), "{created:?}"));
    let group = ConfigResource::group(&*topic);
    let earliest = ConfigChange::set("share.auto.offset.reset", "earliest");
    admin
        .alter_configs([(group.clone(), vec![earliest])])
        .await
        .unwrap()
        .into_values()
        .for_each(|changed| changed.unwrap());
    admin.await_configs(&group, &[("share.auto.offset.reset", "earliest")]).await.unwrap();
    let producer = Producer::new(ProducerConfig::from_properties(&properties).unwrap()).unwrap();
    properties.insert("group.id".into(), topic.to_string());
    let mut consumer = OwnedShareConsumer::new(ShareConsumerConfig::from_properties(&properties).unwrap()).unwrap();
    consumer.subscribe([&*topic]).unwrap();

    let sending = tokio::spawn({
        let topic = Arc::clone(&topic);
        async move {
            let (began, mut sent, mut longest) = (Instant::now(), 0_u64, Duration::ZERO);
            while began.elapsed() < LOAD {
                let one = Instant::now();
                let record = ProducerRecord::new(Arc::clone(&topic), sent.to_string());
                producer.send(record).await.unwrap().await.unwrap();
                longest = longest.max(one.elapsed());
                sent += 1;
            }
            (sent, longest)
        }
    });
    let (mut seen, mut twice) = (BTreeSet::new(), 0);
    let mut sent = None;
    let mut sending = Some(sending);
    while sent.is_none_or(|(sent, _)| seen.len() as u64 != sent) {
        if let Some(delivery) = consumer.poll(Duration::from_millis(500)).await.unwrap() {
            for record in delivery.records() {
                let value = String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap();
                twice += u32::from(!seen.insert(value));
            }
            delivery.accept().await.unwrap();
        }
        if sending.as_ref().is_some_and(|sending| sending.is_finished()) {
            sent = Some(sending.take().unwrap().await.unwrap());
        }
    }
    let (sent, longest) = sent.unwrap();
    assert!(sent > 20 && twice == 0, "{mechanism}: {sent} sent, {twice} came twice");
    assert!(longest < Duration::from_secs(2), "{mechanism}: one waited {longest:?}");
    consumer.close(Duration::from_secs(10)).await.unwrap();
}
