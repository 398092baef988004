//! Commits: sync, async, by themselves, of what and when.

use std::sync::mpsc;
use std::time::Duration;

use ackflow_client::consumer::{Consumer, OffsetAndMetadata};

use crate::*;

async fn committed(group: &str, topic: &str) -> Option<OffsetAndMetadata> {
    let mut reader = member(group);
    let kept = reader.committed([partition(topic, 0)]).await.unwrap().remove(&partition(topic, 0)).unwrap();
    reader.close(TIMEOUT).await.unwrap();
    kept
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_offsets_of_ones_own_are_kept_with_their_metadata_and_asynchronous_commits_tell_how_they_went()
 {
    let (topic, group) = (topic("commits", 1).await, unique("group"));
    produce(&topic, 0, 0, 10).await;
    let mut consumer = member(&group);
    consumer.subscribe([&topic]).unwrap();
    take(&mut consumer, 10).await;
    let offset = OffsetAndMetadata { offset: 4, leader_epoch: Some(0), metadata: "note".into() };
    consumer.commit_offsets([(partition(&topic, 0), offset.clone())].into()).await.unwrap();
    assert_eq!(consumer.committed([partition(&topic, 0)]).await.unwrap()[&partition(&topic, 0)], Some(offset));
    let (sender, heard) = mpsc::channel();
    consumer.commit_async(None, move |result| sender.send(result.unwrap()).unwrap());
    let result = eventually("the callback", async || {
        consumer.poll(Duration::from_millis(10)).await.unwrap();
        heard.try_recv().ok()
    });
    assert_eq!(result.await[&partition(&topic, 0)].offset, 10);
    consumer.close(TIMEOUT).await.unwrap();
    assert_eq!(committed(&group, &topic).await.map(|kept| kept.offset), Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_what_earlier_polls_handed_out_is_committed_by_itself_and_the_rest_by_closing() {
    let (topic, group) = (topic("auto", 1).await, unique("group"));
    produce(&topic, 0, 0, 10).await;
    let config = config(&group)
        .enable_auto_commit(true)
        .auto_commit_interval(Duration::from_millis(100))
        .max_poll_records(5)
        .build()
        .unwrap();
    let mut consumer = Consumer::new(config).unwrap();
    consumer.subscribe([&topic]).unwrap();
    take(&mut consumer, 5).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let kept = consumer.committed([partition(&topic, 0)]).await.unwrap().remove(&partition(&topic, 0)).unwrap();
    assert!(kept.is_none_or(|kept| kept.offset == 0), "the application may be at work on them");
    take(&mut consumer, 5).await;
    eventually("the commit", async || {
        let kept = consumer.committed([partition(&topic, 0)]).await.unwrap().remove(&partition(&topic, 0)).unwrap();
        kept.filter(|kept| kept.offset == 5)
    })
    .await;
    consumer.close(TIMEOUT).await.unwrap();
    assert_eq!(committed(&group, &topic).await.map(|kept| kept.offset), Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_consumer_that_is_dropped_leaves_and_commits_nothing() {
    let (topic, group) = (topic("dropped", 1).await, unique("group"));
    produce(&topic, 0, 0, 10).await;
    let mut consumer = Consumer::new(config(&group).enable_auto_commit(true).build().unwrap()).unwrap();
    consumer.subscribe([&topic]).unwrap();
    take(&mut consumer, 10).await;
    drop(consumer);
    let admin = admin();
    eventually("an empty group", async || {
        let described = admin.describe_consumer_groups([&group]).await.remove(&group)?.ok()?;
        described.members.is_empty().then_some(())
    })
    .await;
    assert_eq!(committed(&group, &topic).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_partitions_of_ones_own_are_read_and_committed_without_a_membership() {
    let (topic, group) = (topic("assigned", 2).await, unique("group"));
    produce(&topic, 0, 0, 10).await;
    produce(&topic, 1, 100, 10).await;
    let mut consumer = member(&group);
    consumer.assign([partition(&topic, 1)]).unwrap();
    assert_eq!(take(&mut consumer, 10).await[0], (1, 0, "100".to_owned()));
    consumer.commit().await.unwrap();
    consumer.assign([partition(&topic, 0), partition(&topic, 1)]).unwrap();
    assert!(take(&mut consumer, 10).await.iter().all(|(index, ..)| *index == 0));
    consumer.close(TIMEOUT).await.unwrap();
    let mut again = member(&group);
    again.assign([partition(&topic, 1)]).unwrap();
    take_nothing(&mut again).await;
    assert_eq!(again.position(&partition(&topic, 1)).await.unwrap(), 10);
    again.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_topic_that_is_deleted_holds_back_neither_commits_nor_closing() {
    let (kept, gone, group) = (topic("kept", 1).await, topic("gone", 1).await, unique("group"));
    produce(&kept, 0, 0, 10).await;
    produce(&gone, 0, 0, 10).await;
    let mut consumer = member(&group);
    consumer.subscribe([&kept, &gone]).unwrap();
    take(&mut consumer, 20).await;
    delete(&gone).await;
    let began = Instant::now();
    let error = consumer.commit().await.unwrap_err();
    assert!(error.to_string().contains(&gone), "{error}");
    consumer.commit_offsets([(partition(&kept, 0), OffsetAndMetadata::new(9))].into()).await.unwrap();
    consumer.close(TIMEOUT).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let described = admin().describe_consumer_groups([&group]).await.remove(&group).unwrap().unwrap();
    assert!(described.members.is_empty(), "{described:?}");
    assert_eq!(committed(&group, &kept).await.map(|kept| kept.offset), Some(9));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_who_goes_on_with_partitions_of_its_own_has_committed_what_it_read_as_a_member() {
    let (read, next, group) = (topic("read", 1).await, topic("next", 1).await, unique("group"));
    produce(&read, 0, 0, 10).await;
    let config = config(&group).enable_auto_commit(true).build().unwrap();
    let mut consumer = Consumer::new(config).unwrap();
    consumer.subscribe([&read]).unwrap();
    take(&mut consumer, 10).await;
    consumer.unsubscribe();
    consumer.assign([partition(&next, 0)]).unwrap();
    eventually("the commit", async || committed(&group, &read).await.filter(|kept| kept.offset == 10)).await;
    let described = admin().describe_consumer_groups([&group]).await.remove(&group).unwrap().unwrap();
    assert!(described.members.is_empty(), "{described:?}");
    consumer.close(TIMEOUT).await.unwrap();
}
