//! OffsetFetch (key 9, versions 1-10, flexible from 6): reads the offsets that consumer groups have committed. Sent to
//! the groups' coordinator.
//!
//! Version 2 can ask for all topics and has an error of the whole group; 3 adds the throttle time; 5 leader epochs
//! (KIP-320); 7 can wait for open transactions (KIP-447); 8 takes several groups (KIP-709); 9 serves members of the
//! consumer protocol (KIP-848); 10 names topics by id (KIP-848).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Whose offsets to read.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetFetchRequest {
    /// The group. Up to version 7.
    pub group_id: String,
    /// The partitions by topic; `None` for all (since version 2). Up to version 7.
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// The groups. Since version 8.
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// Whether partitions with offsets in an open transaction are to answer UNSTABLE_OFFSET_COMMIT. Since version 7.
    pub require_stable: bool,
}

impl Default for OffsetFetchRequest {
    fn default() -> Self {
        Self { group_id: String::new(), topics: Some(Vec::new()), groups: Vec::new(), require_stable: false }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetFetchRequestTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partition_indexes: Vec<i32>,
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetFetchRequestGroup {
    /// The group.
    pub group_id: String,
    /// The member of the consumer protocol that asks; `None` for anybody else. Since version 9.
    pub member_id: Option<String>,
    /// That member's epoch; -1 for anybody else. Since version 9.
    pub member_epoch: i32,
    /// The partitions by topic; `None` for all.
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

impl Default for OffsetFetchRequestGroup {
    fn default() -> Self {
        Self { group_id: String::new(), member_id: None, member_epoch: -1, topics: None }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetFetchRequestTopics {
    /// The topic. Up to version 9.
    pub name: String,
    /// The topic. Since version 10.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partition_indexes: Vec<i32>,
}

impl Encode for OffsetFetchRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.required_until(7, "groupId", self.group_id.is_empty(), |w| w.string("groupId", &self.group_id));
        w.required_until(7, "topics", self.topics.as_ref().is_some_and(Vec::is_empty), |w| {
            w.nullable_since(2).nullable_array("topics", self.topics.as_deref());
        });
        w.required_since(8, "groups", self.groups.is_empty(), |w| w.array("groups", &self.groups));
        w.required_since(7, "requireStable", !self.require_stable, |w| w.bool("requireStable", self.require_stable));
    }
}

impl Decode for OffsetFetchRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.until(7, String::new(), |r| r.string("groupId"))?,
            topics: r.until(7, Some(Vec::new()), |r| r.nullable_since(2).nullable_array("topics"))?,
            groups: r.since(8, Vec::new(), |r| r.array("groups"))?,
            require_stable: r.since(7, false, |r| r.bool("requireStable"))?,
        })
    }
}

impl Encode for OffsetFetchRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitionIndexes", &self.partition_indexes);
    }
}

impl Decode for OffsetFetchRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partition_indexes: r.array("partitionIndexes")? })
    }
}

impl Encode for OffsetFetchRequestGroup {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.since(9, |w| w.nullable_string("memberId", self.member_id.as_deref()));
        w.since(9, |w| w.i32("memberEpoch", self.member_epoch));
        w.nullable_array("topics", self.topics.as_deref());
    }
}

impl Decode for OffsetFetchRequestGroup {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            member_id: r.since(9, None, |r| r.nullable_string("memberId"))?,
            member_epoch: r.since(9, -1, |r| r.i32("memberEpoch"))?,
            topics: r.nullable_array("topics")?,
        })
    }
}

impl Encode for OffsetFetchRequestTopics {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(9, |w| w.string("name", &self.name));
        w.since(10, |w| w.uuid("topicId", self.topic_id));
        w.array("partitionIndexes", &self.partition_indexes);
    }
}

impl Decode for OffsetFetchRequestTopics {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(9, String::new(), |r| r.string("name"))?,
            topic_id: r.since(10, Uuid::default(), |r| r.uuid("topicId"))?,
            partition_indexes: r.array("partitionIndexes")?,
        })
    }
}

impl Message for OffsetFetchRequest {
    const NAME: &'static str = "OffsetFetchRequest";
    const KEY: ApiKey = ApiKey::OFFSET_FETCH;
    const VERSIONS: RangeInclusive<i16> = 1..=10;
    const FLEXIBLE_FROM: i16 = 6;
}

impl Request for OffsetFetchRequest {
    type Response = OffsetFetchResponse;
    const NEWEST_STABLE: i16 = 10;
}

/// The offsets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetFetchResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 3.
    pub throttle_time_ms: i32,
    /// The partitions by topic. Up to version 7.
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// The error of the whole request. In versions 2 to 7.
    pub error_code: ErrorCode,
    /// The groups. Since version 8.
    pub groups: Vec<OffsetFetchResponseGroup>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetFetchResponseTopic {
    /// The topic.
    pub name: String,
    /// Its partitions.
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

/// The offset of one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetFetchResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to read; -1 where none is committed.
    pub committed_offset: i64,
    /// The leader epoch of the last record read; -1 where it is not known. Since version 5.
    pub committed_leader_epoch: i32,
    /// What the client keeps beside the offset.
    pub metadata: Option<String>,
    /// The error of the partition.
    pub error_code: ErrorCode,
}

impl Default for OffsetFetchResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: ErrorCode::NONE,
        }
    }
}

/// One group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetFetchResponseGroup {
    /// The group.
    pub group_id: String,
    /// The partitions by topic.
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// The error of the group.
    pub error_code: ErrorCode,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetFetchResponseTopics {
    /// The topic. Up to version 9.
    pub name: String,
    /// The topic. Since version 10.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

/// The offset of one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetFetchResponsePartitions {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to read; -1 where none is committed.
    pub committed_offset: i64,
    /// The leader epoch of the last record read; -1 where it is not known.
    pub committed_leader_epoch: i32,
    /// What the client keeps beside the offset.
    pub metadata: Option<String>,
    /// The error of the partition.
    pub error_code: ErrorCode,
}

impl Default for OffsetFetchResponsePartitions {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: ErrorCode::NONE,
        }
    }
}

impl Encode for OffsetFetchResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(3, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.required_until(7, "topics", self.topics.is_empty(), |w| w.array("topics", &self.topics));
        w.since(2, |w| w.until(7, |w| w.i16("errorCode", self.error_code.0)));
        w.required_since(8, "groups", self.groups.is_empty(), |w| w.array("groups", &self.groups));
    }
}

impl Decode for OffsetFetchResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            throttle_time_ms: r.since(3, 0, |r| r.i32("throttleTimeMs"))?,
            topics: r.until(7, Vec::new(), |r| r.array("topics"))?,
            error_code: r
                .since(2, ErrorCode::NONE, |r| r.until(7, ErrorCode::NONE, |r| r.i16("errorCode").map(ErrorCode)))?,
            groups: r.since(8, Vec::new(), |r| r.array("groups"))?,
        })
    }
}

impl Encode for OffsetFetchResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("name", &self.name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetFetchResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { name: r.string("name")?, partitions: r.array("partitions")? })
    }
}

impl Encode for OffsetFetchResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("committedOffset", self.committed_offset);
        w.since(5, |w| w.i32("committedLeaderEpoch", self.committed_leader_epoch));
        w.nullable_string("metadata", self.metadata.as_deref());
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for OffsetFetchResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            committed_offset: r.i64("committedOffset")?,
            committed_leader_epoch: r.since(5, -1, |r| r.i32("committedLeaderEpoch"))?,
            metadata: r.nullable_string("metadata")?,
            error_code: ErrorCode(r.i16("errorCode")?),
        })
    }
}

impl Encode for OffsetFetchResponseGroup {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for OffsetFetchResponseGroup {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            topics: r.array("topics")?,
            error_code: ErrorCode(r.i16("errorCode")?),
        })
    }
}

impl Encode for OffsetFetchResponseTopics {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(9, |w| w.string("name", &self.name));
        w.since(10, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetFetchResponseTopics {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(9, String::new(), |r| r.string("name"))?,
            topic_id: r.since(10, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for OffsetFetchResponsePartitions {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("committedOffset", self.committed_offset);
        w.i32("committedLeaderEpoch", self.committed_leader_epoch);
        w.nullable_string("metadata", self.metadata.as_deref());
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for OffsetFetchResponsePartitions {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            committed_offset: r.i64("committedOffset")?,
            committed_leader_epoch: r.i32("committedLeaderEpoch")?,
            metadata: r.nullable_string("metadata")?,
            error_code: ErrorCode(r.i16("errorCode")?),
        })
    }
}

impl Message for OffsetFetchResponse {
    const NAME: &'static str = "OffsetFetchResponse";
    const KEY: ApiKey = ApiKey::OFFSET_FETCH;
    const VERSIONS: RangeInclusive<i16> = 1..=10;
    const FLEXIBLE_FROM: i16 = 6;
}

impl Response for OffsetFetchResponse {
    const THROTTLES_SINCE: i16 = 4;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
