//! What is subscribed to, and changes.

use std::time::{Duration, Instant};

use ackflow_client::ErrorKind;
use ackflow_client::share::OwnedShareConsumer;
use ackflow_protocol::wire::Uuid;

use crate::cluster::{Cluster, SECOND};
use crate::support::eventually;

/// The topics of the partitions that the consumer serves.
fn topics(consumer: &OwnedShareConsumer) -> Vec<String> {
    let mut topics: Vec<_> = consumer.assignment().iter().map(|partition| partition.topic.to_string()).collect();
    topics.dedup();
    topics
}

/// Polls until the consumer serves these topics and no others.
async fn serves(consumer: &mut OwnedShareConsumer, expected: &[&String]) {
    let begun = Instant::now();
    while topics(consumer) != expected.iter().map(|topic| topic.as_str()).collect::<Vec<_>>() {
        assert!(begun.elapsed() < 20 * SECOND, "{:?} and not {expected:?}", topics(consumer));
        assert!(consumer.poll(SECOND / 50).await.unwrap().is_none());
    }
}

async fn gets(consumer: &mut OwnedShareConsumer, topic: &str, records: usize) {
    let mut got = 0;
    while got < records {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert_eq!(&**delivery.topic(), topic);
        got += delivery.len();
        delivery.accept().await.unwrap();
    }
    assert_eq!(got, records);
}

pub(crate) async fn a_pattern_means_the_topics_that_match_as_they_come_and_go(cluster: Cluster) {
    let name = |suffix: &str| format!("{}-{suffix}", cluster.topic);
    let (a, b, other) = (name("a1"), name("b2"), name("other"));
    let a_id = cluster.create_topic(&a, 1).await;
    let other_id = cluster.create_topic(&other, 1).await;
    let config = cluster.config().client(|client| client.metadata_max_age = SECOND / 2);
    let mut consumer = OwnedShareConsumer::new(config.build().unwrap()).unwrap();
    assert_eq!(consumer.subscribe_pattern("(").unwrap_err().kind(), ErrorKind::Invalid);
    consumer.subscribe_pattern(&format!("{}-[ab][0-9]", cluster.topic)).unwrap();
    serves(&mut consumer, &[&a]).await;
    cluster.produce_to(&other, other_id, 0, 0..10).await;
    cluster.produce_to(&a, a_id, 0, 0..10).await;
    gets(&mut consumer, &a, 10).await;

    let b_id = cluster.create_topic(&b, 1).await;
    serves(&mut consumer, &[&a, &b]).await;
    cluster.produce_to(&b, b_id, 0, 0..10).await;
    gets(&mut consumer, &b, 10).await;

    cluster.admin.delete_topics([&a]).await.unwrap().remove(&a).unwrap().unwrap();
    serves(&mut consumer, &[&b]).await;
    cluster.produce_to(&b, b_id, 0, 10..20).await;
    gets(&mut consumer, &b, 10).await;
    consumer.close(10 * SECOND).await.unwrap();
}

pub(crate) async fn a_pattern_that_matches_nothing_waits_for_what_does(cluster: Cluster) {
    let topic = format!("{}-later", cluster.topic);
    let config = cluster.config().client(|client| client.metadata_max_age = SECOND / 2);
    let mut consumer = OwnedShareConsumer::new(config.build().unwrap()).unwrap();
    consumer.subscribe_pattern(&format!("{}-.*", cluster.topic)).unwrap();
    assert!(consumer.poll(3 * SECOND / 2).await.unwrap().is_none());
    let id = cluster.create_topic(&topic, 1).await;
    eventually("the topic", async || {
        assert!(consumer.poll(SECOND / 50).await.unwrap().is_none_or(|delivery| **delivery.topic() != *topic));
        topics(&consumer).contains(&topic).then_some(())
    })
    .await;
    cluster.produce_to(&topic, id, 0, 0..10).await;
    let mut got = 0;
    while got < 10 {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        got += if **delivery.topic() == *topic { delivery.len() } else { 0 };
        delivery.accept().await.unwrap();
    }
    consumer.close(10 * SECOND).await.unwrap();
}

async fn produce(cluster: &Cluster, (topic, id): &(String, Uuid)) {
    cluster.produce_to(topic, *id, 0, 0..30).await;
}

pub(crate) async fn a_list_that_changes_gives_back_what_waits_and_brings_what_is_new(cluster: Cluster) {
    let topic = async |suffix: &str| {
        let name = format!("{}-{suffix}", cluster.topic);
        let id = cluster.create_topic(&name, 1).await;
        (name, id)
    };
    let (old, kept, new) = (topic("old").await, topic("kept").await, topic("new").await);
    let mut consumer = OwnedShareConsumer::new(cluster.config().max_poll_records(10).build().unwrap()).unwrap();
    consumer.subscribe([&old.0, &kept.0]).unwrap();
    serves(&mut consumer, &[&kept.0, &old.0]).await;
    produce(&cluster, &old).await;
    let held = consumer.poll(20 * SECOND).await.unwrap().unwrap();
    assert_eq!((&**held.topic(), held.len()), (&*old.0, 10));

    consumer.subscribe([&kept.0, &new.0]).unwrap();
    let changed = Instant::now();
    produce(&cluster, &kept).await;
    gets(&mut consumer, &kept.0, 30).await;
    // What it holds it can still settle.
    held.accept().await.unwrap();
    serves(&mut consumer, &[&kept.0, &new.0]).await;
    produce(&cluster, &new).await;
    gets(&mut consumer, &new.0, 30).await;

    let mut other = OwnedShareConsumer::new(cluster.config().build().unwrap()).unwrap();
    other.subscribe([&old.0]).unwrap();
    gets(&mut other, &old.0, 20).await;
    assert!(changed.elapsed() < 15 * SECOND, "a lock would have lasted 30 s: {:?}", changed.elapsed());
    for consumer in [consumer, other] {
        consumer.close(10 * SECOND).await.unwrap();
    }
}

/// The list changes all the time, and nothing comes twice or not at all.
pub(crate) async fn lists_that_change_all_the_time_lose_nothing(cluster: Cluster) {
    let mut topics = Vec::new();
    for suffix in ["a", "b", "c"] {
        let name = format!("{}-{suffix}", cluster.topic);
        topics.push((cluster.create_topic(&name, 1).await, name));
    }
    let mut consumer = OwnedShareConsumer::new(cluster.config().max_poll_records(7).build().unwrap()).unwrap();
    cluster.set_group_config("share.delivery.count.limit", "10").await;
    for (id, name) in &topics {
        cluster.produce_to(name, *id, 0, 0..100).await;
    }
    let mut left: Vec<std::collections::BTreeSet<i64>> = vec![(0..100).collect(); 3];
    let begun = Instant::now();
    for round in 0.. {
        let wanted: Vec<_> = (0..3).filter(|at| *at != round % 3 && !left[*at].is_empty()).collect();
        if left.iter().all(|left| left.is_empty()) {
            break;
        }
        assert!(begun.elapsed() < 40 * SECOND, "{left:?}");
        if wanted.is_empty() {
            continue;
        }
        consumer.subscribe(wanted.iter().map(|at| &topics[*at].1)).unwrap();
        let until = Instant::now() + Duration::from_millis(1_200);
        while let Some(delivery) = consumer.poll(until.saturating_duration_since(Instant::now())).await.unwrap() {
            let at = topics.iter().position(|(_, name)| **name == **delivery.topic()).unwrap();
            assert!(wanted.contains(&at), "{} is not subscribed to", delivery.topic());
            let offsets: Vec<_> = delivery.records().map(|record| record.unwrap().offset).collect();
            if delivery.accept().await.is_ok() {
                assert!(offsets.iter().all(|offset| left[at].remove(offset)), "{offsets:?} again");
            }
            if left[at].len() < 60 && round < 4 {
                break;
            }
        }
    }
    consumer.close(10 * SECOND).await.unwrap();
}
