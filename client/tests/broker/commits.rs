//! Offsets of groups.

use ackflow_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ackflow_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ackflow_protocol::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use ackflow_protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ackflow_protocol::wire::Uuid;

use super::members::{Member, stay};
use super::support::eventually;
use super::{Broker, Log};

pub(super) fn commit(
    group: &str,
    member: &str,
    epoch: i32,
    topic_id: Uuid,
    offsets: &[(i32, i64)],
) -> OffsetCommitRequest {
    let partition = |&(partition_index, committed_offset)| OffsetCommitRequestPartition {
        partition_index,
        committed_offset,
        committed_leader_epoch: 0,
        committed_metadata: Some("note".to_owned()),
    };
    let partitions = offsets.iter().map(partition).collect();
    OffsetCommitRequest {
        group_id: group.to_owned(),
        member_id: member.to_owned(),
        generation_id_or_member_epoch: epoch,
        topics: vec![OffsetCommitRequestTopic { topic_id, partitions, ..Default::default() }],
        ..Default::default()
    }
}

async fn committed(broker: &Broker, log: &mut Log, what: &str, request: &OffsetCommitRequest) {
    let response = broker.call(request).await;
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    let codes: Vec<&str> = partitions.map(|partition| partition.error_code.name().unwrap()).collect();
    log.say(what, codes.join(" "));
}

pub(super) fn fetch(group: &str, member: Option<(&str, i32)>, topics: Option<(Uuid, &[i32])>) -> OffsetFetchRequest {
    let topics = topics.map(|(topic_id, partitions)| {
        vec![OffsetFetchRequestTopics { topic_id, partition_indexes: partitions.to_vec(), ..Default::default() }]
    });
    let group = OffsetFetchRequestGroup {
        group_id: group.to_owned(),
        member_id: member.map(|(id, _)| id.to_owned()),
        member_epoch: member.map_or(-1, |(_, epoch)| epoch),
        topics,
    };
    OffsetFetchRequest { groups: vec![group], require_stable: true, ..Default::default() }
}

pub(super) async fn fetched(broker: &Broker, log: &mut Log, what: &str, request: &OffsetFetchRequest) {
    let group = broker.call(request).await.groups.remove(0);
    let mut text = group.error_code.name().unwrap().to_owned();
    for partition in group.topics.iter().flat_map(|topic| &topic.partitions) {
        let code = partition.error_code.name().unwrap();
        let (index, offset, epoch) =
            (partition.partition_index, partition.committed_offset, partition.committed_leader_epoch);
        text.push_str(&format!(" [{index} {offset} {epoch} {:?} {code}]", partition.metadata));
    }
    log.say(what, text);
}

pub(super) async fn commits_that_are_refused(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let (topic, id) = broker.topic(2).await;
    committed(broker, &mut log, "no group", &commit(&group, "m", 1, id, &[(0, 5)])).await;
    let mut member = Member::join(broker, &group, "m", (&topic, id)).await;
    member.until(2).await;
    let epoch = member.epoch;
    committed(broker, &mut log, "without a member", &commit(&group, "", -1, id, &[(0, 5)])).await;
    committed(broker, &mut log, "unknown member", &commit(&group, "n", epoch, id, &[(0, 5)])).await;
    committed(broker, &mut log, "later epoch", &commit(&group, "m", epoch + 1, id, &[(0, 5)])).await;
    committed(broker, &mut log, "early epoch", &commit(&group, "m", epoch - 1, id, &[(0, 5)])).await;
    committed(broker, &mut log, "unknown topic", &commit(&group, "m", epoch, Uuid([3; 16]), &[(0, 5)])).await;
    let mut long = commit(&group, "m", epoch, id, &[(0, 5), (1, 6)]);
    long.topics[0].partitions[1].committed_metadata = Some("x".repeat(4097));
    committed(broker, &mut log, "long metadata", &long).await;
    committed(broker, &mut log, "right", &commit(&group, "m", epoch, id, &[(0, 7), (1, 0)])).await;
    committed(broker, &mut log, "unknown partition", &commit(&group, "m", epoch, id, &[(9, 7)])).await;
    // A second member raises the epoch; what the first one has kept since before it may commit with the epoch of before.
    let mut other = Member::join(broker, &group, "o", (&topic, id)).await;
    for _ in 0..500 {
        if member.epoch > epoch && member.epoch == other.epoch {
            break;
        }
        member.beat().await;
        other.beat().await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    other.until(1).await;
    let (kept, gone) = if member.holds(0) { (0, 1) } else { (1, 0) };
    committed(broker, &mut log, "kept", &commit(&group, "m", epoch, id, &[(kept, 8)])).await;
    committed(broker, &mut log, "given up", &commit(&group, "m", epoch, id, &[(gone, 8)])).await;
    committed(broker, &mut log, "of another", &commit(&group, "m", member.epoch, id, &[(gone, 8)])).await;
    assert_eq!(
        log.0,
        "no group: GROUP_ID_NOT_FOUND
without a member: UNKNOWN_MEMBER_ID
unknown member: UNKNOWN_MEMBER_ID
later epoch: STALE_MEMBER_EPOCH
early epoch: STALE_MEMBER_EPOCH
unknown topic: UNKNOWN_TOPIC_ID
long metadata: NONE OFFSET_METADATA_TOO_LARGE
right: NONE NONE
unknown partition: UNKNOWN_TOPIC_OR_PARTITION
kept: NONE
given up: STALE_MEMBER_EPOCH
of another: NONE
"
    );
}

pub(super) async fn offsets_are_read_back(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let (topic, id) = broker.topic(2).await;
    fetched(broker, &mut log, "no group", &fetch(&group, None, Some((id, &[0])))).await;
    fetched(broker, &mut log, "all of no group", &fetch(&group, None, None)).await;
    fetched(broker, &mut log, "a member of no group", &fetch(&group, Some(("m", 1)), Some((id, &[0])))).await;
    committed(broker, &mut log, "outside a membership", &commit(&group, "", -1, id, &[(0, 5)])).await;
    fetched(broker, &mut log, "offsets", &fetch(&group, None, Some((id, &[0, 1])))).await;
    fetched(broker, &mut log, "all", &fetch(&group, None, None)).await;
    fetched(broker, &mut log, "unknown topic", &fetch(&group, None, Some((Uuid([3; 16]), &[0])))).await;
    let mut member = Member::join(broker, &group, "m", (&topic, id)).await;
    member.until(2).await;
    let epoch = member.epoch;
    fetched(broker, &mut log, "outside", &fetch(&group, None, Some((id, &[0])))).await;
    fetched(broker, &mut log, "member", &fetch(&group, Some(("m", epoch)), Some((id, &[0])))).await;
    fetched(broker, &mut log, "unknown member", &fetch(&group, Some(("n", epoch)), Some((id, &[0])))).await;
    fetched(broker, &mut log, "later epoch", &fetch(&group, Some(("m", epoch + 1)), Some((id, &[0])))).await;
    fetched(broker, &mut log, "no epoch", &fetch(&group, Some(("m", -1)), Some((id, &[0])))).await;
    assert_eq!(
        log.0,
        "no group: NONE [0 -1 -1 Some(\"\") NONE]
all of no group: NONE
a member of no group: NONE [0 -1 -1 Some(\"\") NONE]
outside a membership: NONE
offsets: NONE [0 5 0 Some(\"note\") NONE] [1 -1 -1 Some(\"\") NONE]
all: NONE [0 5 0 Some(\"note\") NONE]
unknown topic: NONE [0 -1 -1 Some(\"\") UNKNOWN_TOPIC_ID]
outside: NONE [0 5 0 Some(\"note\") NONE]
member: NONE [0 5 0 Some(\"note\") NONE]
unknown member: UNKNOWN_MEMBER_ID
later epoch: STALE_MEMBER_EPOCH
no epoch: STALE_MEMBER_EPOCH
"
    );
}

pub(super) async fn offsets_of_topics_that_are_deleted(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let (topic, id) = broker.topic(1).await;
    let (_, other_id) = broker.topic(1).await;
    committed(broker, &mut log, "commits", &commit(&group, "", -1, id, &[(0, 5)])).await;
    committed(broker, &mut log, "commits another", &commit(&group, "", -1, other_id, &[(0, 6)])).await;
    let deleted = DeleteTopicState { name: Some(topic.clone()), ..Default::default() };
    let request = DeleteTopicsRequest { topics: vec![deleted], timeout_ms: 10_000, ..Default::default() };
    log.code("deletes", broker.call(&request).await.responses[0].error_code);
    let all = fetch(&group, None, None);
    let left = eventually("the end of the offset", async || {
        let found = broker.call_version(9, &all).await.groups.remove(0);
        (found.topics.len() < 2)
            .then(|| found.topics.iter().flat_map(|t| &t.partitions).map(|p| p.committed_offset).collect::<Vec<_>>())
    })
    .await;
    log.say("left", format!("{left:?}"));
    assert_eq!(log.0, "commits: NONE\ncommits another: NONE\ndeletes: NONE\nleft: [6]\n");
}

pub(super) async fn offsets_are_deleted(broker: &Broker) {
    let (group, mut log) = (broker.group().await, Log::default());
    let (topic, id) = broker.topic(1).await;
    let (other, other_id) = broker.topic(1).await;
    let delete = async |log: &mut Log, what: &str, topic: &str| {
        let partitions = vec![OffsetDeleteRequestPartition { partition_index: 0 }];
        let topics = vec![OffsetDeleteRequestTopic { name: topic.to_owned(), partitions }];
        let response = broker.call(&OffsetDeleteRequest { group_id: group.clone(), topics }).await;
        let of = response.topics.first().map_or("-", |topic| topic.partitions[0].error_code.name().unwrap());
        log.say(what, format!("{} {of}", response.error_code.name().unwrap()));
    };
    delete(&mut log, "no group", &topic).await;
    let mut member = Member::join(broker, &group, "m", (&topic, id)).await;
    member.until(1).await;
    committed(broker, &mut log, "commits", &commit(&group, "m", member.epoch, id, &[(0, 5)])).await;
    committed(broker, &mut log, "commits another", &commit(&group, "m", member.epoch, other_id, &[(0, 6)])).await;
    delete(&mut log, "subscribed", &topic).await;
    delete(&mut log, "not subscribed", &other).await;
    delete(&mut log, "unknown", "nothing").await;
    fetched(broker, &mut log, "left", &fetch(&group, None, None)).await;
    broker.call(&stay(&group, "m", -1)).await;
    delete(&mut log, "empty", &topic).await;
    delete(&mut log, "again", &topic).await;
    fetched(broker, &mut log, "nothing left", &fetch(&group, None, None)).await;
    assert_eq!(
        log.0,
        "no group: GROUP_ID_NOT_FOUND -
commits: NONE
commits another: NONE
subscribed: NONE GROUP_SUBSCRIBED_TO_TOPIC
not subscribed: NONE NONE
unknown: NONE UNKNOWN_TOPIC_OR_PARTITION
left: NONE [0 5 0 Some(\"note\") NONE]
empty: NONE NONE
again: NONE NONE
nothing left: NONE
"
    );
}
