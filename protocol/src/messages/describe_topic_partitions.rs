//! DescribeTopicPartitions (key 75, version 0, flexible): topics with their partitions, in pages (KIP-966). Sent to any
//! broker.

use std::ops::RangeInclusive;

use super::OPERATIONS_NOT_REQUESTED;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which topics to describe.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeTopicPartitionsRequest {
    /// The topics; none for all.
    pub topics: Vec<TopicRequest>,
    /// How many partitions a page holds at most.
    pub response_partition_limit: i32,
    /// Where the page begins; `None` for the first.
    pub cursor: Option<Cursor>,
}

impl Default for DescribeTopicPartitionsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), response_partition_limit: 2000, cursor: None }
    }
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicRequest {
    /// The topic.
    pub name: String,
}

/// A place in the list of partitions, which is ordered by topic name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cursor {
    /// The topic.
    pub topic_name: String,
    /// The partition.
    pub partition_index: i32,
}

impl Encode for DescribeTopicPartitionsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topics", &self.topics);
        w.i32("responsePartitionLimit", self.response_partition_limit);
        w.nullable_structure("cursor", self.cursor.as_ref());
    }
}

impl Decode for DescribeTopicPartitionsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topics: r.array("topics")?,
            response_partition_limit: r.i32("responsePartitionLimit")?,
            cursor: r.nullable_structure("cursor")?,
        })
    }
}

impl Encode for TopicRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
    }
}

impl Decode for TopicRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")? })
    }
}

impl Encode for Cursor {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topicName", &self.topic_name);
        w.i32("partitionIndex", self.partition_index);
    }
}

impl Decode for Cursor {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_name: r.string("topicName")?, partition_index: r.i32("partitionIndex")? })
    }
}

impl Message for DescribeTopicPartitionsRequest {
    const NAME: &'static str = "DescribeTopicPartitionsRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_TOPIC_PARTITIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DescribeTopicPartitionsRequest {
    type Response = DescribeTopicPartitionsResponse;
    const NEWEST_STABLE: i16 = 0;
}

/// One page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeTopicPartitionsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The topics.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// Where the next page begins; `None` after the last.
    pub next_cursor: Option<Cursor>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// The error of the topic.
    pub error_code: ErrorCode,
    /// The name; `None` where it is not known.
    pub name: Option<String>,
    /// The id; zero where it is not known.
    pub topic_id: Uuid,
    /// Whether Kafka keeps the topic for itself.
    pub is_internal: bool,
    /// The partitions, as far as the page reaches.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// A bit for each operation that the client may do on the topic, or [`OPERATIONS_NOT_REQUESTED`].
    pub topic_authorized_operations: i32,
}

impl Default for DescribeTopicPartitionsResponseTopic {
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
pub struct DescribeTopicPartitionsResponsePartition {
    /// The error of the partition.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: i32,
    /// The broker that leads it; -1 where there is none.
    pub leader_id: i32,
    /// The leader epoch; -1 where it is unknown.
    pub leader_epoch: i32,
    /// The brokers that hold the partition.
    pub replica_nodes: Vec<i32>,
    /// Those of them that are in sync with the leader.
    pub isr_nodes: Vec<i32>,
    /// Those of them that may lead though they are not in sync; `None` where the cluster does not keep track.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// Those of them that were last known to be eligible; `None` where the cluster does not keep track.
    pub last_known_elr: Option<Vec<i32>>,
    /// Those of them that are offline.
    pub offline_replicas: Vec<i32>,
}

impl Default for DescribeTopicPartitionsResponsePartition {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::NONE,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            offline_replicas: Vec::new(),
        }
    }
}

impl Encode for DescribeTopicPartitionsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("topics", &self.topics);
        w.nullable_structure("nextCursor", self.next_cursor.as_ref());
    }
}

impl Decode for DescribeTopicPartitionsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.i32("throttleTimeMs")?,
            topics: r.array("topics")?,
            next_cursor: r.nullable_structure("nextCursor")?,
        })
    }
}

impl Encode for DescribeTopicPartitionsResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("name", self.name.as_deref());
        w.uuid("topicId", self.topic_id);
        w.bool("isInternal", self.is_internal);
        w.array("partitions", &self.partitions);
        w.i32("topicAuthorizedOperations", self.topic_authorized_operations);
    }
}

impl Decode for DescribeTopicPartitionsResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            name: r.nullable_string("name")?,
            topic_id: r.uuid("topicId")?,
            is_internal: r.bool("isInternal")?,
            partitions: r.array("partitions")?,
            topic_authorized_operations: r.i32("topicAuthorizedOperations")?,
        })
    }
}

impl Encode for DescribeTopicPartitionsResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.i32("partitionIndex", self.partition_index);
        w.i32("leaderId", self.leader_id);
        w.i32("leaderEpoch", self.leader_epoch);
        w.array("replicaNodes", &self.replica_nodes);
        w.array("isrNodes", &self.isr_nodes);
        w.nullable_array("eligibleLeaderReplicas", self.eligible_leader_replicas.as_deref());
        w.nullable_array("lastKnownElr", self.last_known_elr.as_deref());
        w.array("offlineReplicas", &self.offline_replicas);
    }
}

impl Decode for DescribeTopicPartitionsResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            partition_index: r.i32("partitionIndex")?,
            leader_id: r.i32("leaderId")?,
            leader_epoch: r.i32("leaderEpoch")?,
            replica_nodes: r.array("replicaNodes")?,
            isr_nodes: r.array("isrNodes")?,
            eligible_leader_replicas: r.nullable_array("eligibleLeaderReplicas")?,
            last_known_elr: r.nullable_array("lastKnownElr")?,
            offline_replicas: r.array("offlineReplicas")?,
        })
    }
}

impl Message for DescribeTopicPartitionsResponse {
    const NAME: &'static str = "DescribeTopicPartitionsResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_TOPIC_PARTITIONS;
    const VERSIONS: RangeInclusive<i16> = 0..=0;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DescribeTopicPartitionsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
