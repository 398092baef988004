//! OffsetCommit: keeps the offsets that a group has read up to.

use ackflow_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::GroupKind;
use crate::core::groups::classic::ClassicGroup;
use crate::core::groups::offsets::Committed;
use crate::core::topics::TopicIdPartition;

/// Since this version members of the consumer protocol commit.
const CONSUMER_PROTOCOL_SINCE: i16 = 9;
/// Since this version topics are named by id.
const BY_ID_SINCE: i16 = 10;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: OffsetCommitRequest,
) -> OffsetCommitResponse {
    let refused = check(cluster, cx, &request).err();
    let topics = request.topics.iter().map(|topic| {
        let found = topic_of(cluster, cx.version, topic);
        let partitions = topic.partitions.iter().map(|asked| {
            let committed = match (refused, &found) {
                // What names no topic is not looked at by the group.
                (_, Err(code)) => Err(*code),
                (Some(code), _) => Err(code),
                (None, Ok((id, name))) => commit(cluster, &request, *id, name, asked),
            };
            let error_code = committed.err().unwrap_or(ErrorCode::NONE);
            OffsetCommitResponsePartition { partition_index: asked.partition_index, error_code }
        });
        OffsetCommitResponseTopic {
            partitions: partitions.collect(),
            name: topic.name.clone(),
            topic_id: topic.topic_id,
        }
    });
    OffsetCommitResponse { topics: topics.collect(), ..OffsetCommitResponse::default() }
}

fn topic_of(cluster: &Cluster, version: i16, topic: &OffsetCommitRequestTopic) -> Result<(Uuid, String), ErrorCode> {
    let found = if version >= BY_ID_SINCE {
        cluster.topics.by_id(topic.topic_id).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)
    } else {
        cluster.topics.by_name(&topic.name).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    };
    found.map(|topic| (topic.id, topic.name.to_string()))
}

/// Whether the group takes commits of this member at all.
fn check(cluster: &Cluster, cx: &RequestContext<'_>, request: &OffsetCommitRequest) -> Result<(), ErrorCode> {
    cluster.check_group_coordinator(cx.node, &request.group_id)?;
    let epoch = request.generation_id_or_member_epoch;
    match cluster.group_kind(&request.group_id) {
        None if epoch < 0 => Ok(()),
        None | Some(GroupKind::Share) if cx.version >= CONSUMER_PROTOCOL_SINCE => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        None | Some(GroupKind::Share) => Err(ErrorCode::ILLEGAL_GENERATION),
        Some(GroupKind::Classic) => {
            let instance = request.group_instance_id.as_deref();
            match cluster.consumers.classic.get(&request.group_id) {
                Some(group) => group.check_commit(&request.member_id, instance, epoch, false),
                None => ClassicGroup::default().check_commit(&request.member_id, instance, epoch, false),
            }
        }
        Some(GroupKind::Consumer) => {
            let group = cluster.consumers.consumer.get(&request.group_id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
            if epoch < 0 && group.members.is_empty() {
                return Ok(());
            }
            if !group.members.contains_key(&request.member_id) {
                return Err(ErrorCode::UNKNOWN_MEMBER_ID);
            }
            if cx.version < CONSUMER_PROTOCOL_SINCE { Err(ErrorCode::UNSUPPORTED_VERSION) } else { Ok(()) }
        }
    }
}

fn commit(
    cluster: &mut Cluster,
    request: &OffsetCommitRequest,
    topic_id: Uuid,
    topic: &str,
    asked: &OffsetCommitRequestPartition,
) -> Result<(), ErrorCode> {
    let partition = TopicIdPartition { topic_id, partition: asked.partition_index };
    cluster.topics.partition(partition)?;
    let group = cluster.consumers.consumer.get(&request.group_id);
    if let Some(group) = group.filter(|group| !group.members.is_empty()) {
        group.check_member(&request.member_id, request.generation_id_or_member_epoch, Some(partition))?;
    }
    let metadata = asked.committed_metadata.clone().unwrap_or_default();
    cluster.check_metadata(&metadata)?;
    let (offset, leader_epoch) = (asked.committed_offset, asked.committed_leader_epoch);
    let offsets = cluster.consumers.offsets.entry(request.group_id.clone()).or_default();
    offsets.commit((topic.to_owned(), asked.partition_index), Committed { offset, leader_epoch, metadata });
    Ok(())
}

impl Cluster {
    /// Checks the length of what a client keeps with an offset.
    ///
    /// # Errors
    /// OFFSET_METADATA_TOO_LARGE.
    pub(crate) fn check_metadata(&self, metadata: &str) -> Result<(), ErrorCode> {
        let most = usize::try_from(self.config.int("offset.metadata.max.bytes")).unwrap_or(usize::MAX);
        if metadata.len() > most { Err(ErrorCode::OFFSET_METADATA_TOO_LARGE) } else { Ok(()) }
    }
}
