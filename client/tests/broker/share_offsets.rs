//! Offsets of share groups that are set and deleted.

use ackflow_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::commits::commit;
use super::logs::produce;
use super::share::Session;
use super::support::{eventually, unique};
use super::{Broker, Log};

/// The code, and the message where there is one.
fn outcome(code: ErrorCode, message: Option<&str>) -> String {
    let name = code.name().unwrap_or("?");
    message.map_or_else(|| name.to_owned(), |message| format!("{name} ({message})"))
}

async fn alter(broker: &Broker, group: &str, offsets: &[(&str, &[(i32, i64)])]) -> String {
    let topic = |(name, partitions): &(&str, &[(i32, i64)])| AlterShareGroupOffsetsRequestTopic {
        topic_name: (*name).to_owned(),
        partitions: partitions
            .iter()
            .map(|&(partition_index, start_offset)| AlterShareGroupOffsetsRequestPartition {
                partition_index,
                start_offset,
            })
            .collect(),
    };
    let request =
        AlterShareGroupOffsetsRequest { group_id: group.to_owned(), topics: offsets.iter().map(topic).collect() };
    let response = broker.call(&request).await;
    let mut text = outcome(response.error_code, response.error_message.as_deref());
    // Kafka's order is that of a hash.
    let mut topics = response.responses;
    topics.sort_by(|a, b| a.topic_name.cmp(&b.topic_name));
    for topic in &topics {
        let id = if topic.topic_id == Uuid::ZERO { "no id" } else { "its id" };
        text.push_str(&format!("; {id}"));
        let mut partitions = topic.partitions.clone();
        partitions.sort_by_key(|partition| partition.partition_index);
        for partition in &partitions {
            let said = outcome(partition.error_code, partition.error_message.as_deref());
            text.push_str(&format!(", {} {said}", partition.partition_index));
        }
    }
    text
}

async fn delete(broker: &Broker, group: &str, topics: &[&str]) -> String {
    let topic = |name: &&str| DeleteShareGroupOffsetsRequestTopic { topic_name: (*name).to_owned() };
    let request =
        DeleteShareGroupOffsetsRequest { group_id: group.to_owned(), topics: topics.iter().map(topic).collect() };
    let response = broker.call(&request).await;
    let topics = response.responses.iter().map(|topic| {
        let id = if topic.topic_id == Uuid::ZERO { "no id" } else { "its id" };
        format!("{id} {}", outcome(topic.error_code, topic.error_message.as_deref()))
    });
    let mut topics: Vec<String> = topics.collect();
    topics.sort();
    [&[outcome(response.error_code, response.error_message.as_deref())], &topics[..]].concat().join("; ")
}

/// What is known of these partitions, or of all.
async fn describe(broker: &Broker, group: &str, topics: Option<(&str, &[i32])>) -> String {
    let topics = topics.map(|(name, partitions)| {
        vec![DescribeShareGroupOffsetsRequestTopic { topic_name: name.to_owned(), partitions: partitions.to_vec() }]
    });
    let asked = DescribeShareGroupOffsetsRequestGroup { group_id: group.to_owned(), topics };
    let response = broker.call(&DescribeShareGroupOffsetsRequest { groups: vec![asked] }).await;
    let described = &response.groups[0];
    let mut text = outcome(described.error_code, described.error_message.as_deref());
    for topic in &described.topics {
        let id = if topic.topic_id == Uuid::ZERO { "no id" } else { "its id" };
        text.push_str(&format!("; {id}"));
        let mut partitions = topic.partitions.clone();
        partitions.sort_by_key(|partition| partition.partition_index);
        for partition in &partitions {
            let said = outcome(partition.error_code, partition.error_message.as_deref());
            text.push_str(&format!(
                ", {} {said} {}+{} e{}",
                partition.partition_index, partition.start_offset, partition.lag, partition.leader_epoch
            ));
        }
    }
    text
}

async fn state(broker: &Broker, group: &str) -> String {
    let request = ShareGroupDescribeRequest { group_ids: vec![group.to_owned()], include_authorized_operations: false };
    let group = &broker.call(&request).await.groups[0];
    let said = outcome(group.error_code, group.error_message.as_deref());
    format!("{said} {} e{}/{}", group.group_state, group.group_epoch, group.assignment_epoch)
}

pub(super) async fn offsets_of_share_groups_are_set(broker: &Broker) {
    let mut log = Log::default();
    let (name, topic) = broker.topic(2).await;
    for partition in 0..2 {
        produce(broker, topic, partition, &[0, 1, 2]).await;
    }
    let group = unique("share");
    broker.coordinator(0, &group).await;
    let hide = |text: String| text.replace(&group, "GROUP").replace(&name, "TOPIC").replace(&topic.to_string(), "ID");
    log.say("nobody", describe(broker, &group, None).await);
    log.say("nobody's", hide(describe(broker, &group, Some((&name, &[0]))).await));
    log.say("no group", hide(alter(broker, "", &[(&name, &[(0, 1)])]).await));
    log.say("no topics", hide(alter(broker, &group, &[]).await));
    log.say("after it", hide(state(broker, &group).await));
    log.say("an unknown topic", hide(alter(broker, &group, &[("nothing", &[(0, 1)])]).await));
    log.say("after it", hide(state(broker, &group).await));
    log.say("an unknown partition", hide(alter(broker, &group, &[(&name, &[(7, 1)])]).await));
    log.say("after it", hide(state(broker, &group).await));
    log.say("set", hide(alter(broker, &group, &[(&name, &[(0, 2)])]).await));
    log.say("after it", hide(state(broker, &group).await));
    log.say("all", hide(describe(broker, &group, None).await));
    log.say("each", hide(describe(broker, &group, Some((&name, &[0, 1]))).await));
    log.say("of an unknown topic", hide(describe(broker, &group, Some(("nothing", &[0]))).await));
    log.say("behind the end", hide(alter(broker, &group, &[(&name, &[(1, 9)])]).await));
    log.say("all", hide(describe(broker, &group, None).await));
    log.say("below nothing", hide(alter(broker, &group, &[(&name, &[(1, -1)])]).await));
    log.say("all", hide(describe(broker, &group, None).await));
    log.say("some", hide(alter(broker, &group, &[(&name, &[(1, 1), (7, 1)]), ("nothing", &[(0, 1)])]).await));
    log.say("all", hide(describe(broker, &group, None).await));
    log.say("after it", hide(state(broker, &group).await));
    let consumers = broker.group().await;
    let committed = broker.call(&commit(&consumers, "", -1, topic, &[(0, 1)])).await;
    assert!(committed.topics[0].partitions[0].error_code.is_none(), "{committed:?}");
    log.say("another kind of group", alter(broker, &consumers, &[(&name, &[(0, 1)])]).await.replace(&consumers, "G"));
    assert_eq!(
        log.0,
        "nobody: NONE
nobody's: NONE; its id, 0 NONE -1+-1 e0
no group: INVALID_GROUP_ID (The group id is invalid.)
no topics: NONE
after it: GROUP_ID_NOT_FOUND (Group GROUP not found.)  e0/0
an unknown topic: NONE; no id, 0 UNKNOWN_TOPIC_OR_PARTITION (This server does not host this topic-partition.)
after it: GROUP_ID_NOT_FOUND (Group GROUP not found.)  e0/0
an unknown partition: NONE; its id, 7 UNKNOWN_TOPIC_OR_PARTITION (This server does not host this topic-partition.)
after it: NONE Empty e1/1
set: NONE; its id, 0 NONE
after it: NONE Empty e1/1
all: NONE; its id, 0 NONE 2+1 e0
each: NONE; its id, 0 NONE 2+1 e0, 1 NONE -1+-1 e0
of an unknown topic: NONE; no id, 0 NONE -1+-1 e0
behind the end: NONE; its id, 1 NONE
all: NONE; its id, 0 NONE 2+1 e0, 1 NONE 9+-6 e0
below nothing: NONE; its id, 1 NONE
all: NONE; its id, 0 NONE 2+1 e0, 1 NONE -1+-1 e0
some: NONE; no id, 0 UNKNOWN_TOPIC_OR_PARTITION (This server does not host this topic-partition.); its id, 1 NONE, 7 UNKNOWN_TOPIC_OR_PARTITION (This server does not host this topic-partition.)
all: NONE; its id, 0 NONE 2+1 e0, 1 NONE 1+2 e0
after it: NONE Empty e1/1
another kind of group: GROUP_ID_NOT_FOUND (Group G is not a share group.)
"
    );
}

pub(super) async fn offsets_of_share_groups_are_deleted(broker: &Broker) {
    let mut log = Log::default();
    let (name, topic) = broker.topic(2).await;
    let (other, _) = broker.topic(1).await;
    for partition in 0..2 {
        produce(broker, topic, partition, &[0, 1, 2]).await;
    }
    let group = unique("share");
    broker.coordinator(0, &group).await;
    let hide = |text: String| {
        text.replace(&group, "GROUP").replace(&name, "TOPIC").replace(&other, "OTHER").replace(&topic.to_string(), "ID")
    };
    log.say("no group", hide(delete(broker, "", &[&name]).await));
    log.say("nobody", hide(delete(broker, &group, &[&name]).await));
    let consumers = broker.group().await;
    let committed = broker.call(&commit(&consumers, "", -1, topic, &[(0, 1)])).await;
    assert!(committed.topics[0].partitions[0].error_code.is_none(), "{committed:?}");
    log.say("another kind of group", delete(broker, &consumers, &[&name]).await.replace(&consumers, "CONSUMERS"));
    alter(broker, &group, &[(&name, &[(0, 2), (1, 1)])]).await;
    log.say("set", hide(describe(broker, &group, None).await));
    log.say("no topics", hide(delete(broker, &group, &[]).await));
    log.say("others", hide(delete(broker, &group, &[&other, "nothing"]).await));
    log.say("its own and others", hide(delete(broker, &group, &["nothing", &name, &other]).await));
    log.say("after it", hide(describe(broker, &group, None).await));
    log.say("after it", hide(state(broker, &group).await));
    log.say("again", hide(delete(broker, &group, &[&name]).await));

    alter(broker, &group, &[(&name, &[(0, 2), (1, 1)])]).await;
    let mut request = ShareGroupHeartbeatRequest {
        group_id: group.clone(),
        member_id: "m".to_owned(),
        subscribed_topic_names: Some(vec![name.clone()]),
        ..Default::default()
    };
    eventually("the assignment", async || {
        let response = broker.call(&request).await;
        assert!(response.error_code.is_none(), "{response:?}");
        (request.member_epoch, request.subscribed_topic_names) = (response.member_epoch, None);
        response.assignment.filter(|assignment| !assignment.topic_partitions.is_empty())
    })
    .await;
    log.say("joined", hide(state(broker, &group).await));
    log.say("set with a member", hide(alter(broker, &group, &[(&name, &[(0, 0)])]).await));
    log.say("deleted with a member", hide(delete(broker, &group, &[&name]).await));
    let mut session = Session::open(broker, &group).await;
    log.say("read from where it was set", session.some(topic).await);
    drop(session);
    request.member_epoch = -1;
    assert!(broker.call(&request).await.error_code.is_none());
    log.say("set to the start", hide(alter(broker, &group, &[(&name, &[(0, 0)])]).await));
    log.say("all", hide(describe(broker, &group, None).await));
    log.say("deleted", hide(delete(broker, &group, &[&name]).await));
    log.say("all", hide(describe(broker, &group, None).await));
    assert_eq!(
        log.0,
        "no group: INVALID_GROUP_ID (The group id is invalid.)
nobody: GROUP_ID_NOT_FOUND (Group GROUP not found.)
another kind of group: GROUP_ID_NOT_FOUND (Group CONSUMERS is not a share group.)
set: NONE; its id, 0 NONE 2+1 e0, 1 NONE 1+2 e0
no topics: NONE
others: NONE; no id UNKNOWN_TOPIC_OR_PARTITION (There is no offset information to delete.); no id UNKNOWN_TOPIC_OR_PARTITION (This server does not host this topic-partition.)
its own and others: NONE; its id NONE; no id UNKNOWN_TOPIC_OR_PARTITION (There is no offset information to delete.); no id UNKNOWN_TOPIC_OR_PARTITION (This server does not host this topic-partition.)
after it: NONE
after it: NONE Empty e1/1
again: NONE; no id UNKNOWN_TOPIC_OR_PARTITION (There is no offset information to delete.)
joined: NONE Stable e2/2
set with a member: NON_EMPTY_GROUP (The group is not empty.)
deleted with a member: NON_EMPTY_GROUP (The group is not empty.)
read from where it was set: [\"2-2\"]
set to the start: NONE; its id, 0 NONE
all: NONE; its id, 0 NONE 0+3 e0, 1 NONE 1+2 e0
deleted: NONE; its id NONE
all: NONE
"
    );
}
