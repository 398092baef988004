//! DeleteTopics, by name or id. The topic's records are gone at once.

use ackflow_protocol::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::topics::{Topic, TopicIdPartition};

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let asked: Vec<DeleteTopicState> = if cx.version >= 6 {
        request.topics
    } else {
        let by_name = |name| DeleteTopicState { name: Some(name), topic_id: Uuid::ZERO };
        request.topic_names.into_iter().map(by_name).collect()
    };
    let responses = asked.into_iter().map(|asked| delete(cluster, asked)).collect();
    DeleteTopicsResponse { responses, ..DeleteTopicsResponse::default() }
}

fn delete(cluster: &mut Cluster, asked: DeleteTopicState) -> DeletableTopicResult {
    let refused = |name, topic_id, error_code, message: &str| DeletableTopicResult {
        name,
        topic_id,
        error_code,
        error_message: Some(message.to_owned()),
    };
    let id = match (&asked.name, asked.topic_id) {
        (None, Uuid::ZERO) => {
            let message = "Neither topic name nor id were specified.";
            return refused(None, Uuid::ZERO, ErrorCode::INVALID_REQUEST, message);
        }
        (Some(_), id) if !id.is_zero() => {
            let message = "You may not specify both topic name and topic id.";
            return refused(asked.name, id, ErrorCode::INVALID_REQUEST, message);
        }
        (Some(name), _) => cluster.topics.by_name(name).map(|topic| topic.id),
        (None, id) => Some(id),
    };
    match id.and_then(|id| delete_id(cluster, id)) {
        Some(topic) => DeletableTopicResult {
            name: Some(topic.name.to_string()),
            topic_id: topic.id,
            ..DeletableTopicResult::default()
        },
        None => {
            let (code, message) = match asked.name {
                Some(_) => (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."),
                None => (ErrorCode::UNKNOWN_TOPIC_ID, "This server does not host this topic ID."),
            };
            refused(asked.name, asked.topic_id, code, message)
        }
    }
}

/// Deletes a topic, and tells whoever waits for its records.
pub(crate) fn delete_id(cluster: &mut Cluster, id: Uuid) -> Option<Topic> {
    let topic = cluster.topics.delete(id)?;
    cluster.consumers.offsets.values_mut().for_each(|offsets| offsets.delete_topic(&topic.name));
    for (partition, _) in (0..).zip(&topic.partitions) {
        let partition = TopicIdPartition { topic_id: topic.id, partition };
        cluster.share_partitions.remove(partition);
        cluster.woken.insert(partition);
    }
    Some(topic)
}
