//! Offsets of share groups.

use std::time::Duration;

use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_protocol::wire::ErrorCode;

use crate::{admin, eventually, partition, produce, servers, topic, unique};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_offsets_of_a_share_group_are_set_described_and_deleted() {
    let admin = admin();
    let name = topic(&admin, "share-offsets", 1).await;
    produce(&name, 5).await;
    let group = unique("share-offsets");
    let set = admin.alter_share_group_offsets(&group, [(partition(&name, 0), 2)]).await.unwrap();
    assert!(set[&partition(&name, 0)].is_ok(), "{set:?}");
    let offsets = admin.share_group_offsets(&group).await.unwrap();
    let [only] = &offsets[..] else { panic!("{offsets:?}") };
    assert_eq!((only.topic.as_str(), only.start_offset, only.lag), (name.as_str(), Some(2), Some(3)));
    assert_eq!(only.leader_epoch, Some(0));

    // Where the member begins to read is the broker's, which on a busy machine has begun elsewhere (docs/broker-behaviour.md).
    let config = ShareConsumerConfig::builder(&servers(), &group).build().unwrap();
    let mut consumer = OwnedShareConsumer::new(config).unwrap();
    consumer.subscribe([&name]).unwrap();
    eventually("an assignment", async || {
        consumer.poll(Duration::from_millis(20)).await.unwrap();
        (!consumer.assignment().is_empty()).then_some(())
    })
    .await;
    let error = admin.alter_share_group_offsets(&group, [(partition(&name, 0), 0)]).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NON_EMPTY_GROUP));
    let error = admin.delete_share_group_offsets(&group, [&name]).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NON_EMPTY_GROUP));
    consumer.close(Duration::from_secs(10)).await.unwrap();

    let deleted = admin.delete_share_group_offsets(&group, [name.clone(), unique("unknown")]).await.unwrap();
    assert!(deleted[&name].is_ok(), "{deleted:?}");
    assert_eq!(deleted.values().filter(|result| result.is_err()).count(), 1, "{deleted:?}");
    eventually("no offsets", async || admin.share_group_offsets(&group).await.unwrap().is_empty().then_some(())).await;
    assert!(admin.delete_groups([&group]).await[&group].is_ok());
    let error = admin.describe_share_groups([&group]).await.remove(&group).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_offsets_of_topics_that_do_not_exist_cannot_be_set() {
    let admin = admin();
    let (group, unknown) = (unique("share-unknown"), partition(&unique("unknown"), 0));
    let set = admin.alter_share_group_offsets(&group, [(unknown.clone(), 0)]).await.unwrap();
    let error = set[&unknown].as_ref().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}
