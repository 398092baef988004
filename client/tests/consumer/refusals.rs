//! What is refused, by us and by the broker.

use ackflow_client::ErrorKind;
use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};

use crate::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_what_the_coordinator_refuses_ends_the_consumer_with_the_remedy() {
    let topic = topic("refused", 1).await;
    let mut consumer = member(&unique("group"));
    consumer.subscribe_pattern("(").unwrap();
    let error = eventually("the error", async || consumer.poll(MOMENT).await.err()).await;
    assert!(error.to_string().contains("RE2/J"), "{error}");
    assert!(consumer.failure().is_some());
    consumer.close(TIMEOUT).await.unwrap();

    let config = config(&unique("group")).group_remote_assignor("nobody").build().unwrap();
    let mut consumer = Consumer::new(config).unwrap();
    consumer.subscribe([&topic]).unwrap();
    let error = eventually("the error", async || consumer.poll(MOMENT).await.err()).await;
    assert!(error.to_string().contains("group.remote.assignor"), "{error}");
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_topic_that_does_not_exist_is_named_and_read_as_soon_as_it_does() {
    let name = unique("later");
    let mut consumer = member(&unique("group"));
    consumer.subscribe([&name]).unwrap();
    let error = eventually("the error", async || consumer.poll(MOMENT).await.err()).await;
    assert!(error.to_string().contains(&name), "{error}");
    admin().create_topics([NewTopic::new(&name, 1)]).await.unwrap();
    produce(&name, 0, 0, 3).await;
    assert_eq!(take(&mut consumer, 3).await.len(), 3);
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_the_classic_protocol_is_refused_with_the_remedy() {
    let properties =
        [("bootstrap.servers", servers()), ("group.id", unique("group")), ("group.protocol", "classic".into())];
    let values = properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let error = ConsumerConfig::from_properties(&values).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("set group.protocol=consumer"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_group_of_another_type_is_named_with_the_remedy() {
    let (topic, group) = (topic("type", 1).await, unique("group"));
    let mut sharing = ShareConsumer::new(ShareConsumerConfig::builder(&servers(), &group).build().unwrap()).unwrap();
    sharing.subscribe([&topic]).unwrap();
    let admin = admin();
    eventually("the share group", async || {
        sharing.poll(MOMENT).await.unwrap();
        let described = admin.describe_share_groups([&group]).await.remove(&group)?.ok()?;
        (!described.members.is_empty()).then_some(())
    })
    .await;
    let mut consumer = member(&group);
    consumer.subscribe([&topic]).unwrap();
    let error = eventually("the error", async || consumer.poll(MOMENT).await.err()).await;
    let text = error.to_string();
    assert!(text.contains(&group) && text.contains("use another group.id"), "{text}");
    consumer.close(TIMEOUT).await.unwrap();
    sharing.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_partition_that_does_not_exist_is_named_and_the_others_are_read() {
    let topic = topic("few", 1).await;
    produce(&topic, 0, 0, 3).await;
    let mut consumer = member(&unique("group"));
    assert_eq!(consumer.assign([partition(&topic, -1)]).unwrap_err().kind(), ErrorKind::Invalid);
    consumer.assign([partition(&topic, 0), partition(&topic, 99)]).unwrap();
    let error = eventually("the error", async || consumer.poll(MOMENT).await.err()).await;
    assert!(error.to_string().contains(&format!("{topic}-99")), "{error}");
    assert_eq!(take(&mut consumer, 3).await.len(), 3);
    consumer.close(TIMEOUT).await.unwrap();
}
