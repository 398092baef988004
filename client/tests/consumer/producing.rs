//! The transactional producer, and what readers see of it.

use ackflow_client::admin::{ConfigChange, ConfigResource};
use ackflow_client::consumer::IsolationLevel;
use ackflow_client::consumer::{OffsetAndMetadata, Offsets};
use ackflow_client::producer::GroupMetadata;
use ackflow_client::{ClientError, ErrorKind};

use ackflow_protocol::wire::ErrorCode;

use crate::*;

fn producer(id: &str) -> Producer {
    let mut config = ProducerConfig::new(&servers()).unwrap();
    config.transactional_id = Some(id.to_owned());
    Producer::new(config).unwrap()
}

async fn send(producer: &Producer, topic: &str, values: impl IntoIterator<Item = i64>) -> Result<(), ClientError> {
    for value in values {
        drop(producer.send(ProducerRecord::new(topic, value.to_string()).partition(0)).await?);
    }
    Ok(())
}

/// What a reader of committed records sees.
async fn committed(topic: &str, count: usize) -> Vec<i64> {
    let config = config(&unique("reader")).isolation_level(IsolationLevel::ReadCommitted).build().unwrap();
    let mut consumer = Consumer::new(config).unwrap();
    consumer.assign([partition(topic, 0)]).unwrap();
    let taken = take(&mut consumer, count).await;
    take_nothing(&mut consumer).await;
    consumer.close(TIMEOUT).await.unwrap();
    taken.into_iter().map(|(_, _, value)| value.parse().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_what_is_committed_counts_and_what_is_aborted_does_not() {
    let topic = topic("transactions", 1).await;
    let producer = producer(&unique("producer"));
    producer.init_transactions().await.unwrap();
    for round in 0..10 {
        producer.begin_transaction().unwrap();
        send(&producer, &topic, round * 10..round * 10 + 10).await.unwrap();
        match round % 3 {
            2 => producer.abort_transaction().await.unwrap(),
            _ => producer.commit_transaction().await.unwrap(),
        }
    }
    producer.close().await.unwrap();
    let expected: Vec<i64> = (0..100).filter(|value| value / 10 % 3 != 2).collect();
    assert_eq!(committed(&topic, 70).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_second_producer_of_the_same_id_fences_the_first_and_aborts_what_it_left() {
    let (topic, id) = (topic("fenced", 1).await, unique("producer"));
    let first = producer(&id);
    first.init_transactions().await.unwrap();
    first.begin_transaction().unwrap();
    send(&first, &topic, 0..5).await.unwrap();
    first.flush().await.unwrap();
    let second = producer(&id);
    second.init_transactions().await.unwrap();
    second.begin_transaction().unwrap();
    send(&second, &topic, 5..10).await.unwrap();
    second.commit_transaction().await.unwrap();
    let error = first.commit_transaction().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");
    assert_eq!(first.begin_transaction().unwrap_err().kind(), ErrorKind::Fenced);
    assert_eq!(committed(&topic, 5).await, [5, 6, 7, 8, 9]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_offsets_count_with_the_transaction() {
    let (from, to, group) = (topic("from", 1).await, topic("to", 1).await, unique("group"));
    produce(&from, 0, 0, 30).await;
    let producer = producer(&unique("producer"));
    producer.init_transactions().await.unwrap();
    let mut consumer = member(&group);
    consumer.subscribe([&from]).unwrap();
    take(&mut consumer, 30).await;
    for (until, commits) in [(10, true), (30, false), (20, true)] {
        producer.begin_transaction().unwrap();
        send(&producer, &to, [until]).await.unwrap();
        let offsets = [(partition(&from, 0), OffsetAndMetadata::new(until))].into();
        producer.send_offsets_to_transaction(offsets, &GroupMetadata::of_nobody(&group)).await.unwrap();
        match commits {
            true => producer.commit_transaction().await.unwrap(),
            false => producer.abort_transaction().await.unwrap(),
        }
        let kept = eventually("the offset", async || {
            let kept = consumer.committed([partition(&from, 0)]).await.ok()?.remove(&partition(&from, 0))?;
            kept.map(|kept| kept.offset)
        });
        assert_eq!(kept.await, until.min(20).min(if until == 30 { 10 } else { until }));
    }
    consumer.close(TIMEOUT).await.unwrap();
    assert_eq!(committed(&to, 2).await, [10, 20]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_records_are_sent_in_transactions_alone() {
    let topic = topic("alone", 1).await;
    let producer = producer(&unique("producer"));
    let error = send(&producer, &topic, 0..1).await.unwrap_err();
    assert!(error.to_string().contains("not initialized"), "{error}");
    producer.init_transactions().await.unwrap();
    assert_eq!(send(&producer, &topic, 0..1).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(producer.commit_transaction().await.unwrap_err().kind(), ErrorKind::Invalid);
    producer.begin_transaction().unwrap();
    assert_eq!(producer.begin_transaction().unwrap_err().kind(), ErrorKind::Invalid);
    // Without anything in it.
    producer.commit_transaction().await.unwrap();
    producer.begin_transaction().unwrap();
    producer.abort_transaction().await.unwrap();
    producer.begin_transaction().unwrap();
    send(&producer, &topic, 1..3).await.unwrap();
    producer.commit_transaction().await.unwrap();
    assert_eq!(committed(&topic, 2).await, [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_member_that_the_group_has_moved_on_from_cannot_commit_in_a_transaction() {
    let (from, to, group) = (topic("from", 2).await, topic("to", 1).await, unique("group"));
    produce(&from, 0, 0, 10).await;
    let producer = producer(&unique("producer"));
    producer.init_transactions().await.unwrap();
    let mut consumer = member(&group);
    assert_eq!(consumer.group_metadata().unwrap().generation_id_or_member_epoch, -1, "it has not subscribed");
    consumer.subscribe([&from]).unwrap();
    assert_eq!(consumer.group_metadata().unwrap_err().kind(), ErrorKind::Fenced);
    take(&mut consumer, 10).await;
    let before = consumer.group_metadata().unwrap();
    let mut other = member(&group);
    other.subscribe([&from]).unwrap();
    eventually("a rebalance", async || {
        consumer.poll(MOMENT).await.unwrap();
        other.poll(MOMENT).await.unwrap();
        (consumer.assignment().len() == 1 && other.assignment().len() == 1).then_some(())
    })
    .await;
    // What the member still has it may commit under an older epoch too (KIP-1251).
    let lost = other.assignment().remove(0);
    producer.begin_transaction().unwrap();
    send(&producer, &to, [1]).await.unwrap();
    let offsets = |of: &TopicPartition| Offsets::from([(of.clone(), OffsetAndMetadata::new(10))]);
    let error = producer.send_offsets_to_transaction(offsets(&lost), &before).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Abortable, "{error}");
    assert!(error.to_string().contains(&group), "{error}");
    assert_eq!(producer.commit_transaction().await.unwrap_err().kind(), ErrorKind::Abortable);
    producer.abort_transaction().await.unwrap();
    producer.begin_transaction().unwrap();
    send(&producer, &to, [2]).await.unwrap();
    let now = consumer.group_metadata().unwrap();
    let kept = consumer.assignment().remove(0);
    producer.send_offsets_to_transaction(offsets(&kept), &now).await.unwrap();
    producer.commit_transaction().await.unwrap();
    assert_eq!(committed(&to, 1).await, [2]);
    consumer.close(TIMEOUT).await.unwrap();
    other.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_record_that_is_refused_makes_the_transaction_abortable_and_the_next_one_is_well() {
    let topic = topic("refused", 1).await;
    let producer = producer(&unique("producer"));
    producer.init_transactions().await.unwrap();
    let of = ConfigResource::topic(&topic);
    let limit = vec![ConfigChange::set("max.message.bytes", "1000")];
    admin().alter_configs([(of.clone(), limit)]).await.unwrap().remove(&of).unwrap().unwrap();
    admin().await_configs(&of, &[("max.message.bytes", "1000")]).await.unwrap();
    producer.begin_transaction().unwrap();
    send(&producer, &topic, [1]).await.unwrap();
    let large = ProducerRecord::new(topic.as_str(), vec![b'1'; 2_000]).partition(0);
    let refused = producer.send(large).await.unwrap().await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::MESSAGE_TOO_LARGE));
    let error = send(&producer, &topic, [2]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Abortable, "{error}");
    assert!(error.to_string().contains("max.message.bytes"), "{error}");
    producer.abort_transaction().await.unwrap();
    producer.begin_transaction().unwrap();
    send(&producer, &topic, [3]).await.unwrap();
    producer.commit_transaction().await.unwrap();
    assert_eq!(committed(&topic, 1).await, [3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_closing_aborts_what_is_open() {
    let (topic, id) = (topic("open", 1).await, unique("producer"));
    let first = producer(&id);
    first.init_transactions().await.unwrap();
    first.begin_transaction().unwrap();
    send(&first, &topic, 0..5).await.unwrap();
    first.close().await.unwrap();
    let described = admin().describe_transactions([&id]).await.remove(&id).unwrap().unwrap();
    assert_ne!(described.state, "Ongoing", "{described:?}");
    let second = producer(&id);
    second.init_transactions().await.unwrap();
    second.begin_transaction().unwrap();
    send(&second, &topic, [7]).await.unwrap();
    second.commit_transaction().await.unwrap();
    assert_eq!(committed(&topic, 1).await, [7]);
}
