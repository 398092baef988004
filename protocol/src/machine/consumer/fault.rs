//! What a consumer of partitions can meet, and a share consumer cannot.

use std::sync::Arc;

use super::types::TopicPartition;
use crate::wire::ErrorCode;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsumerFault {
    /// The cluster does not speak the consumer protocol of KIP-848.
    #[error(
        "the cluster has no consumer groups of KIP-848 (group.protocol=consumer): Kafka 4.0 or later has them, where its finalized feature \
         group.version is 1; enable it with `kafka-features.sh --bootstrap-server ... upgrade --feature group.version=1`"
    )]
    Disabled,

    /// The group has as many members as it may have. The member goes on asking to be let in.
    #[error(
        "group {group} (group.id) is full, this member waits until another one leaves; raise the broker's group.consumer.max.size or start \
         fewer members"
    )]
    GroupFull {
        /// The group.
        group: String,
    },

    /// The member of this `group.instance.id` is still in the group. This one goes on asking for its place.
    #[error(
        "the static member {instance} (group.instance.id) of group {group} is still there; this one waits until it leaves or its session times \
         out: give each process an id of its own"
    )]
    InstanceHeld {
        /// The name of the static member.
        instance: String,
        /// The group.
        group: String,
    },

    /// Another process has taken the place of this static member.
    #[error(
        "another process has taken the place of the static member {instance} (group.instance.id) of group {group}, and this one has stopped: give \
         each process an id of its own"
    )]
    InstanceFenced {
        /// The name of the static member.
        instance: String,
        /// The group.
        group: String,
    },

    /// The coordinator has no such assignor.
    #[error(
        "the broker has no assignor {assignor} (group.remote.assignor){}; use one of its group.consumer.assignors, or none",
        said(message)
    )]
    Assignor {
        /// The assignor.
        assignor: String,
        /// What the broker says about it.
        message: Option<String>,
    },

    /// The coordinator cannot read the pattern.
    #[error("the broker refuses the pattern `{pattern}`{}; use the syntax of RE2/J", said(message))]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What the broker says about it.
        message: Option<String>,
    },

    /// Nothing is committed for a partition, and `auto.offset.reset` is `none`.
    #[error(
        "the group has no offset of {partition}, and auto.offset.reset=none: seek, commit an offset, or set another policy"
    )]
    NoOffset {
        /// The partition.
        partition: TopicPartition,
    },

    /// The position is outside what the partition holds, and `auto.offset.reset` is `none`.
    #[error(
        "offset {offset} of {partition} is outside what the broker has, and auto.offset.reset=none: seek, or set another policy"
    )]
    OutOfRange {
        /// The partition.
        partition: TopicPartition,
        /// The position.
        offset: i64,
    },

    /// The log was truncated behind the position, and `auto.offset.reset` is `none`.
    #[error(
        "the log of {partition} was truncated: offset {offset} was read{}, and auto.offset.reset=none: seek, or set another policy",
        diverged.map_or(String::new(), |at| format!(", and from offset {at} on its records are others now"))
    )]
    Truncated {
        /// The partition.
        partition: TopicPartition,
        /// The position.
        offset: i64,
        /// The first offset that differs, where it is known.
        diverged: Option<i64>,
    },

    /// The consumer does not have the partition.
    #[error("partition {partition} is not assigned to this consumer")]
    NotAssigned {
        /// The partition.
        partition: TopicPartition,
    },

    /// The member is not in its group, so that it cannot commit: others may have its partitions.
    #[error(
        "the consumer is no member of group {group} now, and others may have its partitions: poll to join again; where that came of too few polls, \
         raise max.poll.interval.ms or lower max.poll.records"
    )]
    NotMember {
        /// The group.
        group: String,
    },

    /// An offset cannot be kept.
    #[error("the offset of {partition} cannot be committed: {code}")]
    Commit {
        /// The partition.
        partition: TopicPartition,
        /// The broker's error code.
        code: ErrorCode,
    },

    /// What is to be committed is no offset.
    #[error("offset {offset} of {partition} cannot be committed, since it is below 0")]
    BelowZero {
        /// The partition.
        partition: TopicPartition,
        /// What was to be committed.
        offset: i64,
    },

    /// An offset cannot be looked up.
    #[error("offsets of {partition} cannot be looked up: {code}")]
    LookUp {
        /// The partition.
        partition: TopicPartition,
        /// The broker's error code.
        code: ErrorCode,
    },

    /// There was no answer in time.
    #[error(
        "no answer{} within {timeout_ms} ms (default.api.timeout.ms){}",
        of.as_ref().map_or(String::new(), |of| format!(" about {of}")),
        last.map_or(String::new(), |code| format!(", lastly {code}"))
    )]
    TimedOut {
        /// A partition that was asked about.
        of: Option<TopicPartition>,
        /// The time, in ms.
        timeout_ms: u128,
        /// What a broker said last.
        last: Option<ErrorCode>,
    },

    /// Without a group nothing can be committed.
    #[error("there is no group (group.id) that could keep offsets")]
    NoGroup,

    /// The consumer closes.
    #[error("the consumer is closed")]
    Closed,

    /// A topic whose offsets are asked for, or are to be committed, does not exist.
    #[error("topic {topic} does not exist, or this user may not see it")]
    NoTopic {
        /// The topic.
        topic: Arc<str>,
    },
}

impl ConsumerFault {
    /// The broker's error code, where one is the cause.
    pub fn code(&self) -> Option<ErrorCode> {
        Some(match self {
            Self::Disabled => ErrorCode::UNSUPPORTED_VERSION,
            Self::GroupFull { .. } => ErrorCode::GROUP_MAX_SIZE_REACHED,
            Self::InstanceHeld { .. } => ErrorCode::UNRELEASED_INSTANCE_ID,
            Self::InstanceFenced { .. } => ErrorCode::FENCED_INSTANCE_ID,
            Self::Assignor { .. } => ErrorCode::UNSUPPORTED_ASSIGNOR,
            Self::Pattern { .. } => ErrorCode::INVALID_REGULAR_EXPRESSION,
            Self::OutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
            Self::NotMember { .. } => ErrorCode::UNKNOWN_MEMBER_ID,
            Self::NoTopic { .. } => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Self::Commit { code, .. } | Self::LookUp { code, .. } => *code,
            Self::NoOffset { .. }
            | Self::Truncated { .. }
            | Self::NotAssigned { .. }
            | Self::TimedOut { .. }
            | Self::BelowZero { .. }
            | Self::NoGroup
            | Self::Closed => return None,
        })
    }
}

fn said(message: &Option<String>) -> String {
    message.as_deref().map_or(String::new(), |message| format!(" ({message})"))
}
