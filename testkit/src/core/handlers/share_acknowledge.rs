//! ShareAcknowledge: acknowledges without fetching; with the final epoch it ends the session as well.

use std::collections::BTreeMap;

use ackflow_protocol::messages::share_acknowledge::{
    LeaderIdAndEpoch, PartitionData, ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::acknowledgements::{self, AcknowledgeRules};
use super::share_group_heartbeat::is_member_id;
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::share::session::{FINAL_EPOCH, INITIAL_EPOCH, SessionKey};
use crate::core::topics::TopicIdPartition;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ShareAcknowledgeRequest,
) -> ShareAcknowledgeResponse {
    match acknowledge(cluster, cx, request) {
        Ok(response) => response,
        Err(error_code) => ShareAcknowledgeResponse { error_code, ..ShareAcknowledgeResponse::default() },
    }
}

fn acknowledge(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ShareAcknowledgeRequest,
) -> Result<ShareAcknowledgeResponse, ErrorCode> {
    if cluster.share_version == 0 {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    let key = session_key(request.group_id.as_deref(), request.member_id.as_deref())?;
    match request.share_session_epoch {
        INITIAL_EPOCH => return Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH),
        FINAL_EPOCH if !cluster.nodes.sessions(cx.node).contains(&key) => {
            return Err(ErrorCode::SHARE_SESSION_NOT_FOUND);
        }
        FINAL_EPOCH => {}
        epoch => {
            cluster.nodes.sessions(cx.node).advance(&key, epoch, [], [])?;
        }
    }
    let rules = AcknowledgeRules { version: cx.version, is_renew_ack: request.is_renew_ack };
    let mut by_topic: BTreeMap<Uuid, Vec<PartitionData>> = BTreeMap::new();
    for topic in &request.topics {
        for asked in &topic.partitions {
            let partition = TopicIdPartition { topic_id: topic.topic_id, partition: asked.partition_index };
            let ranges: Vec<_> = asked.acknowledgement_batches.iter().map(Into::into).collect();
            let outcome =
                acknowledgements::acknowledge(cluster, cx, &key.group, &key.member, partition, &ranges, rules);
            let (error_code, error_message) = outcome.err().unwrap_or_default();
            by_topic.entry(topic.topic_id).or_default().push(PartitionData {
                partition_index: asked.partition_index,
                error_code,
                error_message,
                // A node that does not lead does not know the partition's records, and says no more than that. Kafka writes
                // zeros then.
                current_leader: LeaderIdAndEpoch { leader_id: 0, leader_epoch: 0 },
            });
        }
    }
    if request.share_session_epoch == FINAL_EPOCH
        && let Some(partitions) = cluster.nodes.sessions(cx.node).close(&key)
    {
        cluster.release(cx.node, &key.group, &key.member, partitions);
    }
    let lock_duration = cluster.group_config(&key.group).limits().lock_duration;
    Ok(ShareAcknowledgeResponse {
        acquisition_lock_timeout_ms: i32::try_from(lock_duration.as_millis()).unwrap_or(i32::MAX),
        responses: by_topic
            .into_iter()
            .map(|(topic_id, partitions)| ShareAcknowledgeTopicResponse { topic_id, partitions })
            .collect(),
        ..ShareAcknowledgeResponse::default()
    })
}

/// Whose session a request is about.
pub(crate) fn session_key(group: Option<&str>, member: Option<&str>) -> Result<SessionKey, ErrorCode> {
    match (group, member) {
        (Some(group), Some(member)) if !group.is_empty() && is_member_id(member) => {
            Ok(SessionKey { group: group.into(), member: member.into() })
        }
        _ => Err(ErrorCode::INVALID_REQUEST),
    }
}
