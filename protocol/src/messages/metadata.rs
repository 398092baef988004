//! Metadata (key 3, versions 0-13, flexible from 9): the brokers of the cluster, and topics with their partitions and
//! leaders. Sent to any broker.
//!
//! Version 1 adds racks, the controller and internal topics; 2 the cluster id; 3 the throttle time; 4 the wish not to
//! create topics; 5 offline replicas; 7 leader epochs; 8 authorized operations, of which those on the cluster end
//! with 10 (KIP-700); 10 topic ids, which a request can name since 12; 13 the error of the whole request.

use std::ops::RangeInclusive;

use super::OPERATIONS_NOT_REQUESTED;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which topics to describe.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataRequest {
    /// The topics; `None` for all (since version 1). No topics asks for the brokers alone, in version 0 for all topics.
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Whether the broker may create a topic that does not exist. Since version 4; older ones always may.
    pub allow_auto_topic_creation: bool,
    /// Whether to say what the client may do with the cluster. In versions 8 to 10.
    pub include_cluster_authorized_operations: bool,
    /// Whether to say what the client may do with each topic. Since version 8.
    pub include_topic_authorized_operations: bool,
}

impl Default for MetadataRequest {
    fn default() -> Self {
        Self {
            topics: Some(Vec::new()),
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
        }
    }
}

/// One topic, by name or by id.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetadataRequestTopic {
    /// The id, zero where the name is given. Since version 10; brokers heed it since 12.
    pub topic_id: Uuid,
    /// The name; may be `None` since version 10.
    pub name: Option<String>,
}

impl Encode for MetadataRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_since(1).nullable_array("topics", self.topics.as_deref());
        w.required_since(4, "allowAutoTopicCreation", self.allow_auto_topic_creation, |w| {
            w.bool("allowAutoTopicCreation", self.allow_auto_topic_creation);
        });
        let (name, value) = ("includeClusterAuthorizedOperations", self.include_cluster_authorized_operations);
        w.required_since(8, name, !value, |w| w.required_until(10, name, !value, |w| w.bool(name, value)));
        let (name, value) = ("includeTopicAuthorizedOperations", self.include_topic_authorized_operations);
        w.required_since(8, name, !value, |w| w.bool(name, value));
    }
}

impl Decode for MetadataRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topics: r.nullable_since(1).nullable_array("topics")?,
            allow_auto_topic_creation: r.since(4, true, |r| r.bool("allowAutoTopicCreation"))?,
            include_cluster_authorized_operations: r
                .since(8, false, |r| r.until(10, false, |r| r.bool("includeClusterAuthorizedOperations")))?,
            include_topic_authorized_operations: r.since(8, false, |r| r.bool("includeTopicAuthorizedOperations"))?,
        })
    }
}

impl Encode for MetadataRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(10, |w| w.uuid("topicId", self.topic_id));
        w.nullable_since(10).nullable_string("name", self.name.as_deref());
    }
}

impl Decode for MetadataRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic_id: r.since(10, Uuid::default(), |r| r.uuid("topicId"))?,
            name: r.nullable_since(10).nullable_string("name")?,
        })
    }
}

impl Message for MetadataRequest {
    const NAME: &'static str = "MetadataRequest";
    const KEY: ApiKey = ApiKey::METADATA;
    const VERSIONS: RangeInclusive<i16> = 0..=13;
    const FLEXIBLE_FROM: i16 = 9;
}

impl Request for MetadataRequest {
    type Response = MetadataResponse;
    const NEWEST_STABLE: i16 = 13;
}

/// The cluster as one broker knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 3.
    pub throttle_time_ms: i32,
    /// The brokers that are alive.
    pub brokers: Vec<MetadataResponseBroker>,
    /// The cluster's id. Since version 2.
    pub cluster_id: Option<String>,
    /// The broker to send controller requests to; -1 where there is none. Since version 1.
    pub controller_id: i32,
    /// The topics.
    pub topics: Vec<MetadataResponseTopic>,
    /// A bit for each operation that the client may do on the cluster, or [`OPERATIONS_NOT_REQUESTED`]. In versions 8
    /// to 10.
    pub cluster_authorized_operations: i32,
    /// The error of the whole request. Since version 13.
    pub error_code: ErrorCode,
}

impl Default for MetadataResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            brokers: Vec::new(),
            cluster_id: None,
            controller_id: -1,
            topics: Vec::new(),
            cluster_authorized_operations: OPERATIONS_NOT_REQUESTED,
            error_code: ErrorCode::NONE,
        }
    }
}

/// A broker, and where it listens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetadataResponseBroker {
    /// The broker.
    pub node_id: i32,
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: i32,
    /// Its rack. Since version 1.
    pub rack: Option<String>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataResponseTopic {
    /// The error of the topic.
    pub error_code: ErrorCode,
    /// The name; `None` (since version 12) for an id that is not known.
    pub name: Option<String>,
    /// The id; zero for a name that is not known. Since version 10.
    pub topic_id: Uuid,
    /// Whether Kafka keeps the topic for itself. Since version 1.
    pub is_internal: bool,
    /// The partitions.
    pub partitions: Vec<MetadataResponsePartition>,
    /// A bit for each operation that the client may do on the topic, or [`OPERATIONS_NOT_REQUESTED`]. Since version 8.
    pub topic_authorized_operations: i32,
}

impl Default for MetadataResponseTopic {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::NONE,
            name: None,
            topic_id: Uuid::default(),
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: OPERATIONS_NOT_REQUESTED,
        }
    }
}

/// A partition, its leader and replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataResponsePartition {
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: i32,
    /// The broker that leads it; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch; -1 where it is unknown. Since version 7.
    pub leader_epoch: i32,
    /// The brokers that hold the partition.
    pub replica_nodes: Vec<i32>,
    /// Those of them that are in sync with the leader.
    pub isr_nodes: Vec<i32>,
    /// Those of them that are offline. Since version 5.
    pub offline_replicas: Vec<i32>,
}

impl Default for MetadataResponsePartition {
    /// A partition without a leader. Kafka's class starts with leader 0, which is a broker's id.
    fn default() -> Self {
        Self {
            error_code: ErrorCode::NONE,
            partition_index: 0,
            leader_id: -1,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            offline_replicas: Vec::new(),
        }
    }
}

impl Encode for MetadataResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(3, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.array("brokers", &self.brokers);
        w.since(2, |w| w.nullable_string("clusterId", self.cluster_id.as_deref()));
        w.since(1, |w| w.i32("controllerId", self.controller_id));
        w.array("topics", &self.topics);
        let (name, value) = ("clusterAuthorizedOperations", self.cluster_authorized_operations);
        let unasked = value == OPERATIONS_NOT_REQUESTED;
        w.required_since(8, name, unasked, |w| w.required_until(10, name, unasked, |w| w.i32(name, value)));
        w.since(13, |w| w.i16("errorCode", self.error_code.0));
    }
}

impl Decode for MetadataResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(3, 0, |r| r.i32("throttleTimeMs"))?,
            brokers: r.array("brokers")?,
            cluster_id: r.since(2, None, |r| r.nullable_string("clusterId"))?,
            controller_id: r.since(1, -1, |r| r.i32("controllerId"))?,
            topics: r.array("topics")?,
            cluster_authorized_operations: r.since(8, OPERATIONS_NOT_REQUESTED, |r| {
                r.until(10, OPERATIONS_NOT_REQUESTED, |r| r.i32("clusterAuthorizedOperations"))
            })?,
            error_code: r.since(13, ErrorCode::NONE, |r| r.i16("errorCode").map(ErrorCode))?,
        })
    }
}

impl Encode for MetadataResponseBroker {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("nodeId", self.node_id);
        w.string("host", &self.host);
        w.i32("port", self.port);
        w.since(1, |w| w.nullable_string("rack", self.rack.as_deref()));
    }
}

impl Decode for MetadataResponseBroker {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            node_id: r.i32("nodeId")?,
            host: r.string("host")?,
            port: r.i32("port")?,
            rack: r.since(1, None, |r| r.nullable_string("rack"))?,
        })
    }
}

impl Encode for MetadataResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_since(12).nullable_string("name", self.name.as_deref());
        w.since(10, |w| w.uuid("topicId", self.topic_id));
        w.since(1, |w| w.bool("isInternal", self.is_internal));
        w.array("partitions", &self.partitions);
        let (name, value) = ("topicAuthorizedOperations", self.topic_authorized_operations);
        w.required_since(8, name, value == OPERATIONS_NOT_REQUESTED, |w| w.i32(name, value));
    }
}

impl Decode for MetadataResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            name: r.nullable_since(12).nullable_string("name")?,
            topic_id: r.since(10, Uuid::default(), |r| r.uuid("topicId"))?,
            is_internal: r.since(1, false, |r| r.bool("isInternal"))?,
            partitions: r.array("partitions")?,
            topic_authorized_operations: r
                .since(8, OPERATIONS_NOT_REQUESTED, |r| r.i32("topicAuthorizedOperations"))?,
        })
    }
}

impl Encode for MetadataResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.i32("partitionIndex", self.partition_index);
        w.i32("leaderId", self.leader_id);
        w.since(7, |w| w.i32("leaderEpoch", self.leader_epoch));
        w.array("replicaNodes", &self.replica_nodes);
        w.array("isrNodes", &self.isr_nodes);
        w.since(5, |w| w.array("offlineReplicas", &self.offline_replicas));
    }
}

impl Decode for MetadataResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            partition_index: r.i32("partitionIndex")?,
            leader_id: r.i32("leaderId")?,
            leader_epoch: r.since(7, -1, |r| r.i32("leaderEpoch"))?,
            replica_nodes: r.array("replicaNodes")?,
            isr_nodes: r.array("isrNodes")?,
            offline_replicas: r.since(5, Vec::new(), |r| r.array("offlineReplicas"))?,
        })
    }
}

impl Message for MetadataResponse {
    const NAME: &'static str = "MetadataResponse";
    const KEY: ApiKey = ApiKey::METADATA;
    const VERSIONS: RangeInclusive<i16> = 0..=13;
    const FLEXIBLE_FROM: i16 = 9;
}

impl Response for MetadataResponse {
    const THROTTLES_SINCE: i16 = 6;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
