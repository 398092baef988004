//! OffsetFetch: the offsets that groups have committed.

use std::collections::BTreeMap;

use ackflow_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::GroupKind;
use crate::core::groups::offsets::{Committed, NamedPartition, Offsets};

/// Since this version there is an error of the whole request.
const ERROR_SINCE: i16 = 2;
/// Since this version several groups are asked for at once.
const GROUPS_SINCE: i16 = 8;
/// Since this version topics are named by id.
const BY_ID_SINCE: i16 = 10;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: OffsetFetchRequest,
) -> OffsetFetchResponse {
    let stable = request.require_stable;
    if cx.version >= GROUPS_SINCE {
        let groups = request.groups.into_iter().map(|group| fetch(cluster, cx, group, stable)).collect();
        return OffsetFetchResponse { groups, ..OffsetFetchResponse::default() };
    }
    let topic = |topic: ackflow_protocol::messages::offset_fetch::OffsetFetchRequestTopic| OffsetFetchRequestTopics {
        name: topic.name,
        topic_id: Uuid::ZERO,
        partition_indexes: topic.partition_indexes,
    };
    let asked = request.topics.map(|topics| topics.into_iter().map(topic).collect());
    let names: Option<Vec<OffsetFetchRequestTopics>> = asked;
    let all = names.clone();
    let group = OffsetFetchRequestGroup { group_id: request.group_id, topics: names, ..Default::default() };
    single(fetch(cluster, cx, group, stable), all, cx.version)
}

/// The answer of before there were several groups in a request.
fn single(
    group: OffsetFetchResponseGroup,
    asked: Option<Vec<OffsetFetchRequestTopics>>,
    version: i16,
) -> OffsetFetchResponse {
    let topics = if group.error_code.is_none() || version >= ERROR_SINCE {
        group.topics
    } else {
        // Each partition has the error of the group.
        let refused = |topic: OffsetFetchRequestTopics| answer(&topic, |_| Err(group.error_code));
        asked.unwrap_or_default().into_iter().map(refused).collect()
    };
    let partition = |partition: OffsetFetchResponsePartitions| OffsetFetchResponsePartition {
        partition_index: partition.partition_index,
        committed_offset: partition.committed_offset,
        committed_leader_epoch: partition.committed_leader_epoch,
        metadata: partition.metadata,
        error_code: partition.error_code,
    };
    let topics = topics.into_iter().map(|topic| OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic.partitions.into_iter().map(partition).collect(),
    });
    OffsetFetchResponse { topics: topics.collect(), error_code: group.error_code, ..OffsetFetchResponse::default() }
}

fn fetch(
    cluster: &Cluster,
    cx: &RequestContext<'_>,
    asked: OffsetFetchRequestGroup,
    stable: bool,
) -> OffsetFetchResponseGroup {
    let group_id = asked.group_id.clone();
    if let Err(error_code) = check(cluster, cx, &asked) {
        return OffsetFetchResponseGroup { group_id, error_code, ..OffsetFetchResponseGroup::default() };
    }
    let by_id = cx.version >= BY_ID_SINCE;
    let offsets = cluster.consumers.offsets.get(&group_id);
    let is_unstable = |partition: &NamedPartition| stable && offsets.is_some_and(|all| all.is_unstable(partition));
    let find = |topic: &str, index: i32| {
        let partition = (topic.to_owned(), index);
        if is_unstable(&partition) {
            return Err(ErrorCode::UNSTABLE_OFFSET_COMMIT);
        }
        Ok(offsets.and_then(|all| all.get(&partition)).cloned())
    };
    let topics = match asked.topics {
        Some(topics) => topics
            .into_iter()
            .map(|topic| {
                let name = match by_id {
                    true => cluster.topics.by_id(topic.topic_id).map(|found| found.name.to_string()),
                    false => Some(topic.name.clone()),
                };
                answer(&topic, |index| find(name.as_deref().ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?, index))
            })
            .collect(),
        None => {
            let mut all: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
            for (topic, index) in offsets.into_iter().flat_map(Offsets::partitions) {
                all.entry(topic).or_default().push(*index);
            }
            all.into_iter()
                .map(|(name, partition_indexes)| {
                    let topic_id = cluster.topics.by_name(name).map_or(Uuid::ZERO, |topic| topic.id);
                    let topic = OffsetFetchRequestTopics { name: name.to_owned(), topic_id, partition_indexes };
                    answer(&topic, |index| find(name, index))
                })
                .collect()
        }
    };
    OffsetFetchResponseGroup { group_id, topics, error_code: ErrorCode::NONE }
}

type Found = Result<Option<Committed>, ErrorCode>;

fn answer(topic: &OffsetFetchRequestTopics, find: impl Fn(i32) -> Found) -> OffsetFetchResponseTopics {
    let partition = |&partition_index: &i32| {
        let none = OffsetFetchResponsePartitions {
            partition_index,
            committed_offset: -1,
            metadata: Some(String::new()),
            ..Default::default()
        };
        match find(partition_index) {
            Ok(Some(found)) => OffsetFetchResponsePartitions {
                committed_offset: found.offset,
                committed_leader_epoch: found.leader_epoch,
                metadata: Some(found.metadata),
                ..none
            },
            Ok(None) => none,
            Err(error_code) => OffsetFetchResponsePartitions { error_code, ..none },
        }
    };
    OffsetFetchResponseTopics {
        partitions: topic.partition_indexes.iter().map(partition).collect(),
        name: topic.name.clone(),
        topic_id: topic.topic_id,
    }
}

fn check(cluster: &Cluster, cx: &RequestContext<'_>, asked: &OffsetFetchRequestGroup) -> Result<(), ErrorCode> {
    cluster.check_group_coordinator(cx.node, &asked.group_id)?;
    if asked.member_id.is_none() && asked.member_epoch < 0 {
        return Ok(());
    }
    let member_id = asked.member_id.as_deref().unwrap_or_default();
    match cluster.group_kind(&asked.group_id) {
        Some(GroupKind::Consumer) => {
            let group = cluster.consumers.consumer.get(&asked.group_id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
            group.check_member(member_id, asked.member_epoch, None)
        }
        // A group that is not there has no offsets, whoever asks.
        Some(GroupKind::Classic | GroupKind::Share) | None => Ok(()),
    }
}
