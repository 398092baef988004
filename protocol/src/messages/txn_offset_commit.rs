//! TxnOffsetCommit (key 28, versions 0-6, flexible from 3): commits the offsets of a group as part of a transaction
//! (KIP-98). Sent to the group's coordinator.
//!
//! Version 2 adds leader epochs (KIP-320); 3 the member, by which one that has lost its place is found (KIP-447); 4 may
//! answer TRANSACTION_ABORTABLE; 5 does the work of AddOffsetsToTxn by itself (KIP-890); 6 names topics by id
//! (KIP-1319).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// The offsets.
#[derive(Debug, Clone, PartialEq)]
pub struct TxnOffsetCommitRequest {
    /// The transactional id.
    pub transactional_id: String,
    /// The group.
    pub group_id: String,
    /// The producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The generation in the classic protocol, the member's epoch in the consumer protocol; -1 outside a group. Since
    /// version 3.
    pub generation_id_or_member_epoch: i32,
    /// The member; empty outside a group. Since version 3.
    pub member_id: String,
    /// The static member's name; `None` for a dynamic one. Since version 3.
    pub group_instance_id: Option<String>,
    /// The partitions by topic.
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
}

impl Default for TxnOffsetCommitRequest {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            group_id: String::new(),
            producer_id: 0,
            producer_epoch: 0,
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            topics: Vec::new(),
        }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnOffsetCommitRequestTopic {
    /// The topic. Up to version 5.
    pub name: String,
    /// The topic. Since version 6.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
}

/// The offset of one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct TxnOffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: i32,
    /// The offset of the next record to read.
    pub committed_offset: i64,
    /// The leader epoch of the last record read; -1 where it is not known. Since version 2.
    pub committed_leader_epoch: i32,
    /// What the client wants to keep beside the offset.
    pub committed_metadata: Option<String>,
}

impl Default for TxnOffsetCommitRequestPartition {
    fn default() -> Self {
        Self { partition_index: 0, committed_offset: 0, committed_leader_epoch: -1, committed_metadata: None }
    }
}

impl Encode for TxnOffsetCommitRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("transactionalId", &self.transactional_id);
        w.string("groupId", &self.group_id);
        w.i64("producerId", self.producer_id);
        w.i16("producerEpoch", self.producer_epoch);
        w.required_since(3, "generationIdOrMemberEpoch", self.generation_id_or_member_epoch == -1, |w| {
            w.i32("generationIdOrMemberEpoch", self.generation_id_or_member_epoch);
        });
        w.required_since(3, "memberId", self.member_id.is_empty(), |w| w.string("memberId", &self.member_id));
        w.required_since(3, "groupInstanceId", self.group_instance_id.is_none(), |w| {
            w.nullable_string("groupInstanceId", self.group_instance_id.as_deref());
        });
        w.array("topics", &self.topics);
    }
}

impl Decode for TxnOffsetCommitRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: r.string("transactionalId")?,
            group_id: r.string("groupId")?,
            producer_id: r.i64("producerId")?,
            producer_epoch: r.i16("producerEpoch")?,
            generation_id_or_member_epoch: r.since(3, -1, |r| r.i32("generationIdOrMemberEpoch"))?,
            member_id: r.since(3, String::new(), |r| r.string("memberId"))?,
            group_instance_id: r.since(3, None, |r| r.nullable_string("groupInstanceId"))?,
            topics: r.array("topics")?,
        })
    }
}

impl Encode for TxnOffsetCommitRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(5, |w| w.string("name", &self.name));
        w.since(6, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TxnOffsetCommitRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(5, String::new(), |r| r.string("name"))?,
            topic_id: r.since(6, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for TxnOffsetCommitRequestPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("committedOffset", self.committed_offset);
        w.since(2, |w| w.i32("committedLeaderEpoch", self.committed_leader_epoch));
        w.nullable_string("committedMetadata", self.committed_metadata.as_deref());
    }
}

impl Decode for TxnOffsetCommitRequestPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            committed_offset: r.i64("committedOffset")?,
            committed_leader_epoch: r.since(2, -1, |r| r.i32("committedLeaderEpoch"))?,
            committed_metadata: r.nullable_string("committedMetadata")?,
        })
    }
}

impl Message for TxnOffsetCommitRequest {
    const NAME: &'static str = "TxnOffsetCommitRequest";
    const KEY: ApiKey = ApiKey::TXN_OFFSET_COMMIT;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Request for TxnOffsetCommitRequest {
    type Response = TxnOffsetCommitResponse;
    const NEWEST_STABLE: i16 = 6;
}

/// How the commits went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnOffsetCommitResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The partitions by topic.
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnOffsetCommitResponseTopic {
    /// The topic. Up to version 5.
    pub name: String,
    /// The topic. Since version 6.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
}

/// How the commit for one partition went.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxnOffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The error of the partition.
    pub error_code: ErrorCode,
}

impl Encode for TxnOffsetCommitResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("topics", &self.topics);
    }
}

impl Decode for TxnOffsetCommitResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, topics: r.array("topics")? })
    }
}

impl Encode for TxnOffsetCommitResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.until(5, |w| w.string("name", &self.name));
        w.since(6, |w| w.uuid("topicId", self.topic_id));
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TxnOffsetCommitResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.until(5, String::new(), |r| r.string("name"))?,
            topic_id: r.since(6, Uuid::default(), |r| r.uuid("topicId"))?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for TxnOffsetCommitResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i16("errorCode", self.error_code.0);
    }
}

impl Decode for TxnOffsetCommitResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32("partitionIndex")?, error_code: ErrorCode(r.i16("errorCode")?) })
    }
}

impl Message for TxnOffsetCommitResponse {
    const NAME: &'static str = "TxnOffsetCommitResponse";
    const KEY: ApiKey = ApiKey::TXN_OFFSET_COMMIT;
    const VERSIONS: RangeInclusive<i16> = 0..=6;
    const FLEXIBLE_FROM: i16 = 3;
}

impl Response for TxnOffsetCommitResponse {
    const THROTTLES_SINCE: i16 = 1;

    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
