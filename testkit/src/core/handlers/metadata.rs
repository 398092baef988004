//! Metadata: the brokers, and topics by name or id. A topic that does not exist is created on the way where both sides
//! allow it; the answer has it already (Kafka's has it the next time).

use ackflow_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};
use ackflow_protocol::wire::ErrorCode;

use super::{CLUSTER_OPERATIONS, NO_NODE, TOPIC_OPERATIONS, operations};
use crate::core::Cluster;
use crate::core::configs::Values;
use crate::core::dispatch::RequestContext;
use crate::core::handlers::create_topics;
use crate::core::topics::{Topic, check_name};

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: MetadataRequest) -> MetadataResponse {
    let operations_asked = request.include_topic_authorized_operations;
    let topics = match request.topics {
        None => cluster.topics.iter().map(|topic| describe(cluster, topic, operations_asked)).collect(),
        // Before version 1 there was no null: no topic named meant all of them.
        Some(topics) if topics.is_empty() && cx.version == 0 => {
            cluster.topics.iter().map(|topic| describe(cluster, topic, operations_asked)).collect()
        }
        Some(topics) => topics
            .into_iter()
            .map(|topic| find(cluster, cx.version, topic, request.allow_auto_topic_creation, operations_asked))
            .collect(),
    };
    MetadataResponse {
        brokers: cluster
            .nodes
            .registered()
            .map(|node| MetadataResponseBroker {
                node_id: node.id,
                host: node.host.clone(),
                port: node.port.into(),
                rack: node.rack.clone(),
            })
            .collect(),
        cluster_id: Some(cluster.cluster_id.to_string()),
        controller_id: cluster.nodes.registered().next().map_or(NO_NODE, |node| node.id),
        topics,
        cluster_authorized_operations: operations(request.include_cluster_authorized_operations, CLUSTER_OPERATIONS),
        ..MetadataResponse::default()
    }
}

fn find(
    cluster: &mut Cluster,
    version: i16,
    asked: MetadataRequestTopic,
    create: bool,
    operations_asked: bool,
) -> MetadataResponseTopic {
    let Some(name) = asked.name else {
        let error_code = match cluster.topics.by_id(asked.topic_id) {
            // Ids are in the schema before they work.
            _ if version < 12 => ErrorCode::INVALID_REQUEST,
            Some(topic) => return describe(cluster, topic, operations_asked),
            None => ErrorCode::UNKNOWN_TOPIC_ID,
        };
        let name = (version < 12).then(String::new);
        return MetadataResponseTopic {
            error_code,
            name,
            topic_id: asked.topic_id,
            ..MetadataResponseTopic::default()
        };
    };
    if create && cluster.config.is_true("auto.create.topics.enable") && cluster.topics.by_name(&name).is_none() {
        // A name that is not allowed is answered below.
        let _ = create_topics::create(cluster, &name, -1, None, Values::new(), false);
    }
    match cluster.topics.by_name(&name) {
        Some(topic) => describe(cluster, topic, operations_asked),
        None => {
            let valid = check_name(&name).is_ok();
            let error_code =
                if valid { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION } else { ErrorCode::INVALID_TOPIC_EXCEPTION };
            MetadataResponseTopic { error_code, name: Some(name), ..MetadataResponseTopic::default() }
        }
    }
}

fn describe(cluster: &Cluster, topic: &Topic, operations_asked: bool) -> MetadataResponseTopic {
    MetadataResponseTopic {
        name: Some(topic.name.to_string()),
        topic_id: topic.id,
        partitions: (0..)
            .zip(&topic.partitions)
            .map(|(partition_index, partition)| {
                let (in_sync, offline) =
                    partition.replicas.iter().partition(|replica| cluster.nodes.is_registered(**replica));
                MetadataResponsePartition {
                    error_code: partition.leader.map_or(ErrorCode::LEADER_NOT_AVAILABLE, |_| ErrorCode::NONE),
                    partition_index,
                    leader_id: partition.leader.unwrap_or(NO_NODE),
                    leader_epoch: partition.leader_epoch,
                    replica_nodes: partition.replicas.clone(),
                    isr_nodes: in_sync,
                    offline_replicas: offline,
                }
            })
            .collect(),
        topic_authorized_operations: operations(operations_asked, TOPIC_OPERATIONS),
        ..MetadataResponseTopic::default()
    }
}
