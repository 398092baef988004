//! Produce: appends one batch a partition.

use std::collections::BTreeSet;
use std::time::Instant;

use ackflow_protocol::messages::produce::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceResponse,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};
use bytes::Bytes;

use super::NO_NODE;
use crate::core::Cluster;
use crate::core::configs::topic::append_rules;
use crate::core::dispatch::{Answer, RequestContext};
use crate::core::log::AppendError;
use crate::core::topics::{Partition, TopicIdPartition};
use crate::core::transactions::admit::transactional;

/// Version from which topics are named by id.
const BY_ID: i16 = 13;

/// A batch that is in the log.
pub(crate) struct Appended {
    /// The offset of its first record.
    pub(crate) base_offset: i64,
    /// When it was appended in ms, where the topic's timestamps say so.
    append_time: Option<i64>,
    /// The start of the log.
    log_start: i64,
}

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: ProduceRequest) -> Answer {
    let mut responses = Vec::with_capacity(request.topic_data.len());
    let refusal = refuse(&request);
    let transactional_id = request.transactional_id;
    let mut leaders = BTreeSet::new();
    for topic in request.topic_data {
        let id = if cx.version >= BY_ID {
            Some(topic.topic_id)
        } else {
            cluster.topics.by_name(&topic.name).map(|topic| topic.id)
        };
        let partition_responses = topic
            .partition_data
            .into_iter()
            .map(|data| match &refusal {
                Some(error) => response(data.index, Err(error.clone())),
                None => append_one(cluster, cx, transactional_id.as_deref(), id, data, &mut leaders),
            })
            .collect();
        responses.push(TopicProduceResponse { name: topic.name, topic_id: topic.topic_id, partition_responses });
    }
    if request.acks != 0 {
        let node_endpoints = leaders.into_iter().filter_map(|leader| endpoint(cluster, leader)).collect();
        return cx.reply(&ProduceResponse { responses, node_endpoints, ..ProduceResponse::default() });
    }
    // Without a response the client learns of an error only by losing the connection.
    let failed = responses.iter().flat_map(|topic| &topic.partition_responses).find(|p| !p.error_code.is_none());
    match failed {
        Some(failed) => Answer::Close(format!("produce with acks=0 failed: {:?}", failed.error_code)),
        None => Answer::Silent,
    }
}

fn refuse(request: &ProduceRequest) -> Option<AppendError> {
    if !(-1..=1).contains(&request.acks) {
        let message = format!("acks={} is not one of -1 (all), 0 and 1", request.acks);
        return Some(AppendError { code: ErrorCode::INVALID_REQUIRED_ACKS, message });
    }
    let refused = |code: ErrorCode| Some(AppendError { code, message: code.meaning().to_owned() });
    let records = request.topic_data.iter().flat_map(|topic| &topic.partition_data).filter_map(|d| d.records.as_ref());
    let mut producers = records.filter_map(transactional).map(|batch| (batch.producer_id(), batch.producer_epoch()));
    match (producers.next(), &request.transactional_id) {
        (None, _) => None,
        (Some(_), None) => refused(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (Some(first), Some(_)) if producers.any(|producer| producer != first) => {
            refused(ErrorCode::INVALID_PRODUCER_ID_MAPPING)
        }
        (Some(_), Some(_)) => None,
    }
}

fn append_one(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    transactional_id: Option<&str>,
    topic_id: Option<Uuid>,
    data: PartitionProduceData,
    leaders: &mut BTreeSet<i32>,
) -> PartitionProduceResponse {
    if let Some(code) = cx.refused.partitions() {
        let message = code.meaning().to_owned();
        return response(data.index, Err(AppendError { code, message }));
    }
    let appended = match topic_id {
        Some(topic_id) => {
            let partition = TopicIdPartition { topic_id, partition: data.index };
            if let Some(found) = cluster.topics.partition(partition).ok().filter(|found| found.leader != Some(cx.node))
            {
                leaders.extend(found.leader);
                return not_leader(data.index, found);
            }
            let records = data.records.unwrap_or_default();
            let admitted = match (transactional_id, transactional(&records)) {
                (Some(id), Some(batch)) => cluster.admit(cx.now, cx.version, id, partition, &batch),
                _ => Ok(()),
            };
            match admitted {
                Ok(()) => append(cluster, cx.now, partition, &records),
                Err(code) => Err(AppendError { code, message: code.meaning().to_owned() }),
            }
        }
        None => Err(AppendError {
            code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            message: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.meaning().to_owned(),
        }),
    };
    response(data.index, appended)
}

fn not_leader(index: i32, partition: &Partition) -> PartitionProduceResponse {
    let code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    let leader_id = partition.leader.unwrap_or(NO_NODE);
    PartitionProduceResponse {
        current_leader: LeaderIdAndEpoch { leader_id, leader_epoch: partition.leader_epoch },
        ..response(index, Err(AppendError { code, message: code.meaning().to_owned() }))
    }
}

fn endpoint(cluster: &Cluster, node: i32) -> Option<NodeEndpoint> {
    let node = cluster.nodes.get(node)?;
    Some(NodeEndpoint { node_id: node.id, host: node.host.clone(), port: node.port.into(), rack: node.rack.clone() })
}

fn response(index: i32, appended: Result<Appended, AppendError>) -> PartitionProduceResponse {
    match appended {
        Ok(appended) => PartitionProduceResponse {
            index,
            base_offset: appended.base_offset,
            log_append_time_ms: appended.append_time.unwrap_or(-1),
            log_start_offset: appended.log_start,
            ..PartitionProduceResponse::default()
        },
        Err(error) => PartitionProduceResponse {
            index,
            error_code: error.code,
            base_offset: -1,
            error_message: Some(error.message),
            ..PartitionProduceResponse::default()
        },
    }
}

/// Appends a producer's batch and wakes whoever waits for it.
pub(crate) fn append(
    cluster: &mut Cluster,
    now: Instant,
    partition: TopicIdPartition,
    records: &Bytes,
) -> Result<Appended, AppendError> {
    let unknown = |code: ErrorCode| AppendError { code, message: code.meaning().to_owned() };
    let topic = cluster.topics.by_id_mut(partition.topic_id).ok_or_else(|| unknown(ErrorCode::UNKNOWN_TOPIC_ID))?;
    let found = usize::try_from(partition.partition).ok().and_then(|index| topic.partitions.get_mut(index));
    let found = found.ok_or_else(|| unknown(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))?;
    let rules = append_rules(&topic.configs, &cluster.config, cluster.clock.millis(now), found.leader_epoch);
    let base_offset = found.log.produce(records, rules)?;
    let log_start = found.log.start_offset();
    cluster.woken.insert(partition);
    cluster.arm_cleaning(now);
    Ok(Appended { base_offset, append_time: rules.append_time, log_start })
}
