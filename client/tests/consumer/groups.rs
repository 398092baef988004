//! Members that come, share partitions, and go.

use std::collections::BTreeSet;
use std::time::Duration;

use ackflow_client::consumer::Consumer;
use ackflow_client::{ClientConfig, admin::Admin};
use ackflow_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;

use crate::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_what_was_written_is_read_once_in_order_and_the_group_goes_on_where_it_was() {
    let (topic, group) = (topic("resume", 3).await, unique("group"));
    for index in 0..3 {
        produce(&topic, index, 0, 400).await;
    }
    let mut consumer = member(&group);
    consumer.subscribe([&topic]).unwrap();
    let mut taken = take(&mut consumer, 1200).await;
    // In order by partition.
    for index in 0..3 {
        let of: Vec<i64> = taken.iter().filter(|(at, ..)| *at == index).map(|(_, offset, _)| *offset).collect();
        assert_eq!(of, (0..400).collect::<Vec<_>>());
    }
    taken.sort();
    assert!(taken.iter().all(|(_, offset, value)| offset.to_string() == *value));
    let committed = consumer.commit().await.unwrap();
    assert_eq!(committed.values().map(|offset| offset.offset).collect::<Vec<_>>(), [400, 400, 400]);
    consumer.close(TIMEOUT).await.unwrap();

    produce(&topic, 1, 400, 5).await;
    let mut consumer = member(&group);
    consumer.subscribe([&topic]).unwrap();
    let taken = take(&mut consumer, 5).await;
    assert_eq!(taken[0], (1, 400, "400".to_owned()));
    take_nothing(&mut consumer).await;
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_pattern_is_evaluated_by_the_coordinator_and_takes_in_topics_that_come() {
    let prefix = unique("regex");
    let (one, other) = (topic(&format!("{prefix}-a"), 1).await, topic(&format!("other-{prefix}"), 1).await);
    produce(&one, 0, 0, 3).await;
    produce(&other, 0, 100, 3).await;
    let mut consumer = member(&unique("group"));
    consumer.subscribe_pattern(format!("{prefix}-.*")).unwrap();
    assert_eq!(take(&mut consumer, 3).await[2].2, "2");
    take_nothing(&mut consumer).await;
    let later = topic(&format!("{prefix}-b"), 1).await;
    produce(&later, 0, 50, 2).await;
    assert_eq!(take(&mut consumer, 2).await[1].2, "51");
    assert_eq!(consumer.assignment().len(), 2);
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_two_members_share_the_partitions_and_hear_of_it() {
    let (topic, group) = (topic("shared", 4).await, unique("group"));
    let (mut first, heard_first) = (member(&group), Journal::default());
    first.set_rebalance_listener(heard_first.clone());
    first.subscribe([&topic]).unwrap();
    eventually("all partitions", async || {
        first.poll(MOMENT).await.unwrap();
        (first.assignment().len() == 4).then_some(())
    })
    .await;
    for index in 0..4 {
        produce(&topic, index, 0, 10).await;
    }
    take(&mut first, 40).await;
    let (mut second, heard_second) = (member(&group), Journal::default());
    second.set_rebalance_listener(heard_second.clone());
    second.subscribe([&topic]).unwrap();
    eventually("a half each", async || {
        let (one, two) = tokio::join!(first.poll(MOMENT), second.poll(MOMENT));
        assert!(one.unwrap().is_empty() && two.unwrap().is_empty(), "what was revoked was committed before");
        (first.assignment().len() == 2 && second.assignment().len() == 2).then_some(())
    })
    .await;
    let revoked: BTreeSet<i32> = heard_first.heard("revoked").into_iter().collect();
    let second_has: BTreeSet<i32> = second.assignment().iter().map(|partition| partition.partition).collect();
    assert_eq!(revoked, second_has);
    assert_eq!(heard_second.heard("assigned").into_iter().collect::<BTreeSet<_>>(), second_has);

    for index in 0..4 {
        produce(&topic, index, 10, 5).await;
    }
    let (one, two) = tokio::join!(take(&mut first, 10), take(&mut second, 10));
    let all: BTreeSet<(i32, i64)> = one.iter().chain(&two).map(|(index, offset, _)| (*index, *offset)).collect();
    assert_eq!(all.len(), 20);
    // The other's partitions come back when it closes.
    second.commit().await.unwrap();
    second.close(TIMEOUT).await.unwrap();
    assert_eq!(heard_second.heard("revoked").len(), 2);
    eventually("all partitions again", async || {
        assert!(first.poll(MOMENT).await.unwrap().is_empty());
        (first.assignment().len() == 4).then_some(())
    })
    .await;
    assert!(heard_first.heard("lost").is_empty());
    first.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_kafkas_tools_see_the_group_and_its_members() {
    let (topic, group) = (topic("seen", 2).await, unique("group"));
    let config = config(&group).client_id("who-reads").build().unwrap();
    let mut consumer = Consumer::new(config).unwrap();
    consumer.subscribe([&topic]).unwrap();
    produce(&topic, 0, 0, 7).await;
    take(&mut consumer, 7).await;
    consumer.commit().await.unwrap();
    let described = {
        let (servers, group) = (servers(), group.clone());
        let tool = tokio::task::spawn_blocking(move || describe(&servers, &group));
        tokio::pin!(tool);
        loop {
            tokio::select! {
                described = &mut tool => break described.unwrap(),
                polled = consumer.poll(MOMENT) => assert!(polled.unwrap().is_empty()),
            }
        }
    };
    let line = described.lines().find(|line| line.contains(&topic) && line.contains("who-reads"));
    let fields: Vec<&str> = line.unwrap_or_else(|| panic!("{described}")).split_whitespace().collect();
    assert!(described.contains(&group), "{described}");
    // GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG
    let of_first = described.lines().find(|line| line.contains(&topic) && line.contains(" 7 "));
    assert!(of_first.is_some() && fields.len() >= 8, "{described}");
    consumer.close(TIMEOUT).await.unwrap();
}

/// What `kafka-consumer-groups.sh --describe` says.
fn describe(servers: &str, group: &str) -> String {
    let libs = env::var("ACKFLOW_KAFKA_LIBS").expect("ACKFLOW_KAFKA_LIBS has to name the folder of Kafka's jars");
    let mut java = std::process::Command::new("java");
    java.args(["-cp", &format!("{libs}/*"), "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"]);
    java.args(["--bootstrap-server", servers, "--describe", "--group", group]);
    let output = java.stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Kicks a member out as an epoch that is not its own does: a leave in its name.
async fn expel(group: &str, member: &str) {
    let pool = ackflow_client::net::Pool::new(ClientConfig::new(&servers()).unwrap());
    let request = ConsumerGroupHeartbeatRequest {
        group_id: group.to_owned(),
        member_id: member.to_owned(),
        member_epoch: -1,
        ..Default::default()
    };
    // One broker leads and coordinates everything.
    let response = pool.any().await.unwrap().call(&request, Duration::from_secs(10)).await.unwrap();
    assert!(response.error_code.is_none(), "{response:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_member_that_is_fenced_loses_its_partitions_and_comes_back() {
    let (topic, group) = (topic("fenced", 1).await, unique("group"));
    let (mut consumer, heard) = (member(&group), Journal::default());
    consumer.set_rebalance_listener(heard.clone());
    consumer.subscribe([&topic]).unwrap();
    produce(&topic, 0, 0, 4).await;
    take(&mut consumer, 4).await;
    let admin: Admin = admin();
    let described = admin.describe_consumer_groups([&group]).await.remove(&group).unwrap().unwrap();
    expel(&group, &described.members[0].member_id).await;
    eventually("the loss and the return", async || {
        // What was not committed comes again.
        let _ = consumer.poll(MOMENT).await.unwrap();
        (heard.heard("lost") == [0] && heard.heard("assigned") == [0, 0]).then_some(())
    })
    .await;
    consumer.commit().await.unwrap();
    consumer.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_member_that_does_not_poll_leaves_and_comes_back_with_the_next_poll() {
    let (topic, group) = (topic("away", 1).await, unique("group"));
    let config = config(&group).max_poll_interval(Duration::from_secs(2)).build().unwrap();
    let (mut consumer, heard) = (Consumer::new(config).unwrap(), Journal::default());
    consumer.set_rebalance_listener(heard.clone());
    consumer.subscribe([&topic]).unwrap();
    produce(&topic, 0, 0, 4).await;
    take(&mut consumer, 4).await;
    let admin = admin();
    eventually("an empty group", async || {
        let described = admin.describe_consumer_groups([&group]).await.remove(&group)?.ok()?;
        described.members.is_empty().then_some(())
    })
    .await;
    let error = consumer.commit().await.unwrap_err();
    assert_eq!(error.kind(), ackflow_client::ErrorKind::Fenced, "{error}");
    assert_eq!(take(&mut consumer, 4).await.len(), 4, "nothing was committed");
    assert_eq!(heard.heard("lost"), [0]);
    consumer.close(TIMEOUT).await.unwrap();
}
