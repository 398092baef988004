//! OffsetCommit (key 8, versions 2-10, flexible from 8): keeps the offsets that a consumer group has read up to. Sent
//! to the group's coordinator.
//!
//! Version 3 adds the throttle time; 5 drops the retention time; 6 adds leader epochs (KIP-320); 7 static members
//! (KIP-345); 9 serves members of the consumer protocol (KIP-848); 10 names topics by id (KIP-848).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The offsets.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetCommitRequest {
    /// The group.
    pub group_id: String,
    /// The generation in the classic protocol, the member's epoch in the consumer protocol; -1 outside a group.
    pub generation_id_or_member_epoch: i32,
    /// The member; empty outside a group.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one. Since version 7.
    pub group_instance_id: Option<String>,
    /// How long to keep the offsets, in milliseconds; -1 for as long as the broker's configuration says. Up to version
    /// 4.
    pub retention_time_ms: i64,
    /// The partitions by topic.
    pub topics: Vec<OffsetCommitRequestTopic>,
}

impl Default for OffsetCommitRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Vec::new(),
        }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetCommitRequestTopic {
    /// The topic. Up to version 9.
    pub name: String,
    /// The topic. Since version 10.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

/// The offset of one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to read.
    pub committed_offset: i64,
    /// The leader epoch of the last record read; -1 where it is not known. Since version 6.
    pub committed_leader_epoch: i32,
    /// What the client wants to keep beside the offset.
    pub committed_metadata: Option<String>,
}

impl Default for OffsetCommitRequestPartition {
    fn default() -> Self {
        Self { partition_index: 0, committed_offset: 0, committed_leader_epoch: -1, committed_metadata: None }
    }
}

impl Encode for OffsetCommitRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.i32("generationIdOrMemberEpoch", self.generation_id_or_member_epoch);
        w.string("memberId", &self.member_id);
        w.required_since(7, "groupInstanceId", self.group_instance_id.is_none(), |w| {
            w.nullable_string("groupInstanceId", self.group_instance_id.as_deref());
        });
        w.until(4, |w| w.i64("retentionTimeMs", self.retention_time_ms));
        w.array("topics", &self.topics);
    }
}

impl Decode for OffsetCommitRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            generation_id_or_member_epoch: r.i32("generationIdOrMemberEpoch")?,
            member_id: r.string("memberId")?,
            group_instance_id: r.since(7, None, |r| r.nullable_string("groupInstanceId"))?,
            retention_time_ms: r.until(4, -1, |r| r.i64("retentionTimeMs"))?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for OffsetCommitRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(9, |w| w.string("name", &self.name));
        w.since(10, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetCommitRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(9, String::new(), |r| r.string("name"))?,
            topic_id: r.since(10, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for OffsetCommitRequestPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("committedOffset", self.committed_offset);
        w.since(6, |w| w.i32("committedLeaderEpoch", self.committed_leader_epoch));
        w.nullable_string("committedMetadata", self.committed_metadata.as_deref());
    }
}

impl Decode for OffsetCommitRequestPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            committed_offset: r.i64("committedOffset")?,
            committed_leader_epoch: r.since(6, -1, |r| r.i32("committedLeaderEpoch"))?,
            committed_metadata: r.nullable_string("committedMetadata")?,
        })
    }
}

impl Message for OffsetCommitRequest {
    const NAME: &'static str = "OffsetCommitRequest";
    const KEY: ApiKey = ApiKey::OFFSET_COMMIT;
    const VERSIONS: RangeInclusive<i16> = 2..=10;
    const FLEXIBLE_FROM: i16 = 8;
}

impl Request for OffsetCommitRequest {
    type Response = OffsetCommitResponse;
    const NEWEST_STABLE: i16 = 10;
}

/// How the commits went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetCommitResponse {
    /// How long the request was held back by a quota, in milliseconds. Since version 3.
    pub throttle_time_ms: i32,
    /// The partitions by topic.
    pub topics: Vec<OffsetCommitResponseTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetCommitResponseTopic {
    /// The topic. Up to version 9.
    pub name: String,
    /// The topic. Since version 10.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

/// How the commit for one partition went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
}

impl Encode for OffsetCommitResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.since(3, |w| w.i32("throttleTimeMs", self.throttle_time_ms));
        w.array("topics", &self.topics);
    }
}

impl Decode for OffsetCommitResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.since(3, 0, |r| r.i32("throttleTimeMs"))?, topics: r.array("topics")? })
    }
}

impl Encode for OffsetCommitResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(9, |w| w.string("name", &self.name));
        w.since(10, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for OffsetCommitResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(9, String::new(), |r| r.string("name"))?,
            topic_id: r.since(10, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for OffsetCommitResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for OffsetCommitResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, error_code: ErrorCode(r.i16("errorCode")?) })
    }
}

impl Message for OffsetCommitResponse {
    const NAME: &'static str = "OffsetCommitResponse";
    const KEY: ApiKey = ApiKey::OFFSET_COMMIT;
    const VERSIONS: RangeInclusive<i16> = 2..=10;
    const FLEXIBLE_FROM: i16 = 8;
}

impl Response for OffsetCommitResponse {
    const THROTTLES_SINCE: i16 = 4;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
