//! DescribeShareGroupOffsets (key 90, versions 0-1, flexible): where share groups stand in their partitions. Sent to
//! the groups' coordinator.
//!
//! Version 0 is the first (KIP-932); 1 adds the lag (KIP-1226).

use std::ops::RangeInclusive;

use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which offsets to describe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeShareGroupOffsetsRequest {
    /// The groups.
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    /// The group.
    pub group_id: String,
    /// The topics; `None` for all that the group has read.
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    /// The topic.
    pub topic_name: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for DescribeShareGroupOffsetsRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("groups", &self.groups);
    }
}

impl Decode for DescribeShareGroupOffsetsRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { groups: r.array("groups")? })
    }
}

impl Encode for DescribeShareGroupOffsetsRequestGroup {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.nullable_array("topics", self.topics.as_deref());
    }
}

impl Decode for DescribeShareGroupOffsetsRequestGroup {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string("groupId")?, topics: r.nullable_array("topics")? })
    }
}

impl Encode for DescribeShareGroupOffsetsRequestTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topicName", &self.topic_name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for DescribeShareGroupOffsetsRequestTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_name: r.string("topicName")?, partitions: r.array("partitions")? })
    }
}

impl Message for DescribeShareGroupOffsetsRequest {
    const NAME: &'static str = "DescribeShareGroupOffsetsRequest";
    const KEY: ApiKey = ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for DescribeShareGroupOffsetsRequest {
    type Response = DescribeShareGroupOffsetsResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// Where the groups stand.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeShareGroupOffsetsResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
}

/// Where one group stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    /// The group.
    pub group_id: String,
    /// Its topics.
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    /// The error of this group.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

/// Where a group stands in one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: String,
    /// The topic's id.
    pub topic_id: Uuid,
    /// Its partitions.
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
}

/// Where a group stands in one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: i32,
    /// The first offset that is not finished; -1 where the group has not begun.
    pub start_offset: i64,
    /// The partition's leader epoch.
    pub leader_epoch: i32,
    /// The number of records that are not finished; -1 where it is unknown. Since version 1.
    pub lag: i64,
    /// The error of this partition.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
}

impl Default for DescribeShareGroupOffsetsResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            start_offset: 0,
            leader_epoch: 0,
            lag: -1,
            error_code: ErrorCode::NONE,
            error_message: None,
        }
    }
}

impl Encode for DescribeShareGroupOffsetsResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("groups", &self.groups);
    }
}

impl Decode for DescribeShareGroupOffsetsResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, groups: r.array("groups")? })
    }
}

impl Encode for DescribeShareGroupOffsetsResponseGroup {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("groupId", &self.group_id);
        w.array("topics", &self.topics);
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for DescribeShareGroupOffsetsResponseGroup {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string("groupId")?,
            topics: r.array("topics")?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Encode for DescribeShareGroupOffsetsResponseTopic {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topicName", &self.topic_name);
        w.uuid("topicId", self.topic_id);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for DescribeShareGroupOffsetsResponseTopic {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic_name: r.string("topicName")?,
            topic_id: r.uuid("topicId")?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Encode for DescribeShareGroupOffsetsResponsePartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("partitionIndex", self.partition_index);
        w.i64("startOffset", self.start_offset);
        w.i32("leaderEpoch", self.leader_epoch);
        w.since(1, |w| w.i64("lag", self.lag));
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
    }
}

impl Decode for DescribeShareGroupOffsetsResponsePartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_index: r.i32("partitionIndex")?,
            start_offset: r.i64("startOffset")?,
            leader_epoch: r.i32("leaderEpoch")?,
            lag: r.since(1, -1, |r| r.i64("lag"))?,
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
        })
    }
}

impl Message for DescribeShareGroupOffsetsResponse {
    const NAME: &'static str = "DescribeShareGroupOffsetsResponse";
    const KEY: ApiKey = ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS;
    const VERSIONS: RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for DescribeShareGroupOffsetsResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
