//! Seeking, pausing, positions, and the ends of partitions.

use std::time::Duration;

use ackflow_client::ErrorKind;
use ackflow_client::consumer::{Consumer, ConsumerConfig, OffsetReset};

use crate::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_seeks_go_where_they_say_and_positions_tell_it() {
    let topic = topic("seek", 1).await;
    let of = partition(&topic, 0);
    produce(&topic, 0, 0, 100).await;
    let mut consumer = member(&unique("group"));
    consumer.subscribe([&topic]).unwrap();
    take(&mut consumer, 100).await;
    assert_eq!(consumer.position(&of).await.unwrap(), 100);
    consumer.seek(&of, 95).unwrap();
    assert_eq!(consumer.position(&of).await.unwrap(), 95);
    assert_eq!(take(&mut consumer, 5).await[0].1, 95);
    consumer.seek_to_beginning(std::slice::from_ref(&of)).unwrap();
    assert_eq!(consumer.position(&of).await.unwrap(), 0);
    assert_eq!(take(&mut consumer, 100).await[0].1, 0);
    consumer.seek_to_end(std::slice::from_ref(&of)).unwrap();
    assert_eq!(consumer.position(&of).await.unwrap(), 100);
    take_nothing(&mut consumer).await;
    // Far behind the end: what auto.offset.reset says.
    consumer.seek(&of, 5_000).unwrap();
    assert_eq!(take(&mut consumer, 100).await[0].1, 0);
    assert_eq!(consumer.current_lag(&of), Some(0));
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_what_is_paused_is_not_handed_out_until_it_is_resumed() {
    let topic = topic("pause", 2).await;
    let mut consumer = member(&unique("group"));
    consumer.subscribe([&topic]).unwrap();
    eventually("the partitions", async || {
        consumer.poll(MOMENT).await.unwrap();
        (consumer.assignment().len() == 2).then_some(())
    })
    .await;
    consumer.pause(&[partition(&topic, 0)]).unwrap();
    produce(&topic, 0, 0, 10).await;
    produce(&topic, 1, 100, 10).await;
    assert!(take(&mut consumer, 10).await.iter().all(|(index, ..)| *index == 1));
    take_nothing(&mut consumer).await;
    consumer.resume(&[partition(&topic, 0)]).unwrap();
    assert!(take(&mut consumer, 10).await.iter().all(|(index, ..)| *index == 0));
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_ends_and_times_are_looked_up() {
    let (topic, begun) = (topic("ends", 2).await, two_hours_ago());
    produce_at(&topic, 0, 0, 10, Some(begun)).await;
    let mut consumer = Consumer::new(ConsumerConfig::builder(&servers()).build().unwrap()).unwrap();
    let both = || [partition(&topic, 0), partition(&topic, 1)];
    assert_eq!(consumer.beginning_offsets(both()).await.unwrap(), offsets(&topic, &[(0, 0), (1, 0)]));
    assert_eq!(consumer.end_offsets(both()).await.unwrap(), offsets(&topic, &[(0, 10), (1, 0)]));
    let found = consumer.offsets_for_times(offsets(&topic, &[(0, begun + 2_500), (1, 0)])).await.unwrap();
    let first = found[&partition(&topic, 0)].unwrap();
    assert_eq!((first.offset, first.timestamp), (3, begun + 3_000));
    assert_eq!(found[&partition(&topic, 1)], None);
    let error = consumer.committed(both()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("group.id"), "{error}");
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_each_policy_begins_where_it_says() {
    let topic = topic("reset", 1).await;
    produce_at(&topic, 0, 0, 10, Some(two_hours_ago())).await;
    for (reset, count) in
        [(OffsetReset::Earliest, 11), (OffsetReset::Latest, 1), (OffsetReset::ByDuration(Duration::from_secs(3600)), 1)]
    {
        let config = config(&unique("group")).auto_offset_reset(reset).build().unwrap();
        let mut consumer = Consumer::new(config).unwrap();
        consumer.subscribe([&topic]).unwrap();
        eventually("the position", async || {
            consumer.poll(Duration::from_millis(1)).await.unwrap();
            (!consumer.assignment().is_empty()).then_some(())
        })
        .await;
        let of = partition(&topic, 0);
        let position = consumer.position(&of).await.unwrap();
        let end = consumer.end_offsets([of]).await.unwrap().into_values().next().unwrap();
        assert_eq!(end - position + 1, if count == 11 { end + 1 } else { count }, "{reset:?}");
        consumer.close(TIMEOUT).await.unwrap();
    }
    let mut consumer =
        Consumer::new(config(&unique("group")).auto_offset_reset(OffsetReset::None).build().unwrap()).unwrap();
    consumer.subscribe([&topic]).unwrap();
    let error = eventually("the error", async || consumer.poll(MOMENT).await.err()).await;
    assert!(error.to_string().contains("auto.offset.reset=none"), "{error}");
    consumer.seek(&partition(&topic, 0), 7).unwrap();
    assert_eq!(take(&mut consumer, 3).await[0].1, 7);
    consumer.close(TIMEOUT).await.unwrap();
}
