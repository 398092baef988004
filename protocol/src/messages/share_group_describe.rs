//! ShareGroupDescribe (key 77, version 1, flexible): the state and the members of share groups. Sent to the groups'
//! coordinator.
//!
//! Version 0 was the early access of Kafka 4.0 and is gone; 1 is the first stable version (KIP-932).

use std::ops::RangeInclusive;

use super::OPERATIONS_NOT_REQUESTED;
use crate::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, ErrorCode, Message, Request, Response, Uuid};

/// Which groups to describe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareGroupDescribeRequest {
    /// The groups.
    pub group_ids: Vec<String>,
    /// Whether to say what the client may do with each group.
    pub include_authorized_operations: bool,
}

impl Encode for ShareGroupDescribeRequest {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("groupIds", &self.group_ids);
        w.bool("includeAuthorizedOperations", self.include_authorized_operations);
    }
}

impl Decode for ShareGroupDescribeRequest {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            group_ids: r.array("groupIds")?,
            include_authorized_operations: r.bool("includeAuthorizedOperations")?,
        })
    }
}

impl Message for ShareGroupDescribeRequest {
    const NAME: &'static str = "ShareGroupDescribeRequest";
    const KEY: ApiKey = ApiKey::SHARE_GROUP_DESCRIBE;
    const VERSIONS: RangeInclusive<i16> = 1..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Request for ShareGroupDescribeRequest {
    type Response = ShareGroupDescribeResponse;
    const NEWEST_STABLE: i16 = 1;
}

/// The groups.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareGroupDescribeResponse {
    /// How long the request was held back by a quota, in milliseconds.
    pub throttle_time_ms: i32,
    /// The groups.
    pub groups: Vec<DescribedGroup>,
}

/// A share group.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedGroup {
    /// The error of this group.
    pub error_code: ErrorCode,
    /// What the error was about.
    pub error_message: Option<String>,
    /// The group.
    pub group_id: String,
    /// `Stable`, `Empty` or `Dead`; empty with an error.
    pub group_state: String,
    /// The epoch of the group's members and subscriptions.
    pub group_epoch: i32,
    /// The group epoch that the assignment was made for.
    pub assignment_epoch: i32,
    /// How partitions are assigned, such as `simple`.
    pub assignor_name: String,
    /// The members.
    pub members: Vec<Member>,
    /// A bit for each operation that the client may do on the group, or [`OPERATIONS_NOT_REQUESTED`].
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::NONE,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            group_epoch: 0,
            assignment_epoch: 0,
            assignor_name: String::new(),
            members: Vec::new(),
            authorized_operations: OPERATIONS_NOT_REQUESTED,
        }
    }
}

/// A member of a share group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Member {
    /// The member's id.
    pub member_id: String,
    /// Its rack.
    pub rack_id: Option<String>,
    /// Its epoch.
    pub member_epoch: i32,
    /// Its `client.id`.
    pub client_id: String,
    /// The address that it connects from.
    pub client_host: String,
    /// The topics that it subscribes to.
    pub subscribed_topic_names: Vec<String>,
    /// The partitions that it may fetch from.
    pub assignment: Assignment,
}

/// The partitions that a member may fetch from; members share them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assignment {
    /// The partitions by topic.
    pub topic_partitions: Vec<TopicPartitions>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The topic's name.
    pub topic_name: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for ShareGroupDescribeResponse {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("throttleTimeMs", self.throttle_time_ms);
        w.array("groups", &self.groups);
    }
}

impl Decode for ShareGroupDescribeResponse {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { throttle_time_ms: r.i32("throttleTimeMs")?, groups: r.array("groups")? })
    }
}

impl Encode for DescribedGroup {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("errorCode", self.error_code.0);
        w.nullable_string("errorMessage", self.error_message.as_deref());
        w.string("groupId", &self.group_id);
        w.string("groupState", &self.group_state);
        w.i32("groupEpoch", self.group_epoch);
        w.i32("assignmentEpoch", self.assignment_epoch);
        w.string("assignorName", &self.assignor_name);
        w.array("members", &self.members);
        w.i32("authorizedOperations", self.authorized_operations);
    }
}

impl Decode for DescribedGroup {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: ErrorCode(r.i16("errorCode")?),
            error_message: r.nullable_string("errorMessage")?,
            group_id: r.string("groupId")?,
            group_state: r.string("groupState")?,
            group_epoch: r.i32("groupEpoch")?,
            assignment_epoch: r.i32("assignmentEpoch")?,
            assignor_name: r.string("assignorName")?,
            members: r.array("members")?,
            authorized_operations: r.i32("authorizedOperations")?,
        })
    }
}

impl Encode for Member {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("memberId", &self.member_id);
        w.nullable_string("rackId", self.rack_id.as_deref());
        w.i32("memberEpoch", self.member_epoch);
        w.string("clientId", &self.client_id);
        w.string("clientHost", &self.client_host);
        w.array("subscribedTopicNames", &self.subscribed_topic_names);
        w.structure("assignment", &self.assignment);
    }
}

impl Decode for Member {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            member_id: r.string("memberId")?,
            rack_id: r.nullable_string("rackId")?,
            member_epoch: r.i32("memberEpoch")?,
            client_id: r.string("clientId")?,
            client_host: r.string("clientHost")?,
            subscribed_topic_names: r.array("subscribedTopicNames")?,
            assignment: r.structure("assignment")?,
        })
    }
}

impl Encode for Assignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topicPartitions", &self.topic_partitions);
    }
}

impl Decode for Assignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic_partitions: r.array("topicPartitions")? })
    }
}

impl Encode for TopicPartitions {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.uuid("topicId", self.topic_id);
        w.string("topicName", &self.topic_name);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TopicPartitions {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topic_id: r.uuid("topicId")?,
            topic_name: r.string("topicName")?,
            partitions: r.array("partitions")?,
        })
    }
}

impl Message for ShareGroupDescribeResponse {
    const NAME: &'static str = "ShareGroupDescribeResponse";
    const KEY: ApiKey = ApiKey::SHARE_GROUP_DESCRIBE;
    const VERSIONS: RangeInclusive<i16> = 1..=1;
    const FLEXIBLE_FROM: i16 = 0;
}

impl Response for ShareGroupDescribeResponse {
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}
