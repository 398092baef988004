//! What a machine reports to the application.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    machine::{
        consumer::ConsumerFault,
        types::{BrokerAddress, TopicIdPartition},
    },
    wire::ErrorCode,
};

/// An error for the application: what happened, and whether the consumer can go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct MachineError {
    /// What happened.
    pub kind: MachineErrorKind,
    /// True where the member is out of its group for good: only a new consumer, after the cause is removed, can help.
    pub fatal: bool,
}

impl MachineError {
    pub(crate) fn fatal(kind: MachineErrorKind) -> Self {
        Self { kind, fatal: true }
    }

    pub(crate) fn passing(kind: MachineErrorKind) -> Self {
        Self { kind, fatal: false }
    }

    /// The broker's error code, where one is the cause.
    pub fn code(&self) -> Option<ErrorCode> {
        use MachineErrorKind as Kind;
        match &self.kind {
            Kind::ShareGroupsDisabled | Kind::OldBroker { .. } => Some(ErrorCode::UNSUPPORTED_VERSION),
            Kind::GroupAuthorization { .. } => Some(ErrorCode::GROUP_AUTHORIZATION_FAILED),
            Kind::TopicAuthorization { .. } => Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
            Kind::UnknownTopic { .. } => Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            Kind::GroupFull { .. } => Some(ErrorCode::GROUP_MAX_SIZE_REACHED),
            Kind::SessionLimit { .. } => Some(ErrorCode::SHARE_SESSION_LIMIT_REACHED),
            Kind::MemberTaken { .. } => Some(ErrorCode::INVALID_SHARE_SESSION_EPOCH),
            Kind::Refused { code, .. } | Kind::Fetch { code, .. } | Kind::OtherGroupType { code, .. } => Some(*code),
            Kind::Consumer(fault) => fault.code(),
            Kind::PollInterval { .. } | Kind::AcquiredRange { .. } | Kind::Unreadable { .. } => None,
        }
    }
}

/// Something that not every broker with share groups can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// `share.acquire.mode=record_limit` (KIP-1206).
    RecordLimit,
    /// Renewed locks (KIP-1222): the acknowledgement RENEW, or `ackflow.renew.enable=true`.
    Renewal,
}

impl Feature {
    /// The first version of Kafka that has it.
    fn since(self) -> &'static str {
        match self {
            Self::RecordLimit | Self::Renewal => "4.2 or later",
        }
    }

    /// What can be done without it.
    fn instead(self) -> &'static str {
        match self {
            Self::RecordLimit => {
                "no record is acquired from it: upgrade it, or set share.acquire.mode=batch_optimized, under which a fetch \
                 may acquire whole batches, more than max.poll.records"
            }
            Self::Renewal => {
                "the locks end when they would have: upgrade it, or renew nothing and raise share.record.lock.duration.ms of \
                 the group"
            }
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RecordLimit => "share.acquire.mode=record_limit",
            Self::Renewal => "renewing locks (the acknowledgement RENEW, ackflow.renew.enable=true)",
        })
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineErrorKind {
    /// The cluster has share groups switched off, or is older than they are.
    #[error(
        "the cluster has no share groups: its finalized feature share.version is 0 or missing; enable it with \
         `kafka-features.sh --bootstrap-server ... upgrade --feature share.version=1` (Kafka 4.2 or later; 4.1 has a \
         preview)"
    )]
    ShareGroupsDisabled,

    /// No right to read the group.
    #[error("not authorized for group {group} (group.id): READ on the group is needed")]
    GroupAuthorization {
        /// The group.
        group: String,
    },

    /// The id belongs to a group of another type, such as a classic one.
    #[error(
        "group {group} (group.id) is no {wanted} group ({}): use another group.id, or delete that group once it is empty",
        message.as_deref().map_or_else(|| code.to_string(), str::to_owned)
    )]
    OtherGroupType {
        /// The group.
        group: String,
        /// The type that it should have.
        wanted: &'static str,
        /// The coordinator's error code.
        code: ErrorCode,
        /// What the coordinator says.
        message: Option<String>,
    },

    /// No right to a topic. Without `topic`, the broker did not say which of the subscribed ones.
    #[error(
        "not authorized for {}: DESCRIBE and READ are needed on every subscribed topic",
        topic.as_deref().map_or("a subscribed topic".to_owned(), |topic| format!("topic {topic}"))
    )]
    TopicAuthorization {
        /// The topic, where known.
        topic: Option<Arc<str>>,
    },

    /// A subscribed topic does not exist. It is served as soon as it does.
    #[error("topic {topic} does not exist; create it, or correct the subscription")]
    UnknownTopic {
        /// The topic.
        topic: Arc<str>,
    },

    /// The group has as many members as it may have. The member goes on asking to be let in.
    #[error(
        "group {group} (group.id) is full, this member waits until another one leaves; raise the broker's \
         group.share.max.size or start fewer members"
    )]
    GroupFull {
        /// The group.
        group: String,
    },

    /// Another process that lives has become the same member, since it was given the same id. This one has stopped, and has told neither the group
    /// nor a broker, who would take it for the other.
    #[error(
        "another process has become the member {member} (ackflow.member.id) of group {group} and works in its place, as its \
         share session with the broker shows: this one has stopped; give each process an id of its own, or none"
    )]
    MemberTaken {
        /// Id of the member.
        member: String,
        /// The group.
        group: String,
        /// The broker whose session the other one has.
        broker: BrokerAddress,
    },

    /// A broker has as many share sessions as it may have. It is asked again, and its partitions stand still until it has room.
    #[error(
        "broker {broker} (node {}) has as many share sessions as it may have; raise its group.share.max.share.sessions or \
         start fewer members", broker.node
    )]
    SessionLimit {
        /// The broker.
        broker: BrokerAddress,
    },

    /// A broker is too old for something that was asked for. Nothing was sent, and what is acquired stays so.
    #[error(
        "{feature} takes {api} version {least} (Kafka {}), and broker {broker} (node {}) offers {}; {}",
        feature.since(), broker.node,
        offered.map_or("none".to_owned(), |offered| format!("no more than version {offered}")), feature.instead()
    )]
    OldBroker {
        /// The broker.
        broker: BrokerAddress,
        /// Name of the API.
        api: &'static str,
        /// The newest version of the API that it offers and this client knows.
        offered: Option<i16>,
        /// The version that it takes.
        least: i16,
        /// What was asked for.
        feature: Feature,
    },

    /// A broker refuses a request for good.
    #[error("the broker refuses {api}{}: {code}{}",
        node.map_or(String::new(), |node| format!(" (node {node})")),
        message.as_deref().map_or(String::new(), |message| format!(" ({message})")))]
    Refused {
        /// Name of the API.
        api: &'static str,
        /// The broker, where it matters.
        node: Option<i32>,
        /// Its error code.
        code: ErrorCode,
        /// What the broker says about it.
        message: Option<String>,
    },

    /// One partition cannot be fetched. It is tried again.
    #[error("partition {} of topic {topic} cannot be fetched from node {node}: {code}", topic_partition.partition)]
    Fetch {
        /// Name of the topic.
        topic: Arc<str>,
        /// The partition.
        topic_partition: TopicIdPartition,
        /// The leader.
        node: i32,
        /// Its error code.
        code: ErrorCode,
    },

    /// A broker's answer cannot be read. Its partitions are asked one at a time over new connections, and the one to blame is left alone for a
    /// minute, longer each time.
    #[error(
        "node {node}: the answer to {api} cannot be read, the log says why; where it is larger than this client takes, \
         lower fetch.max.bytes, or raise receive.message.max.bytes for a single record that is"
    )]
    Unreadable {
        /// The broker.
        node: i32,
        /// Name of the API.
        api: &'static str,
    },

    /// What only a consumer of partitions can meet.
    #[error(transparent)]
    Consumer(ConsumerFault),

    /// The application did not poll in time, and the member left its group. It joins again at the next poll.
    #[error(
        "no poll for {} ms: the member left its group and what it held is lost; poll more often, take fewer records a poll \
         (max.poll.records), or raise max.poll.interval.ms", interval.as_millis()
    )]
    PollInterval {
        /// `max.poll.interval.ms`.
        interval: Duration,
    },

    /// A broker says that it acquired offsets which cannot be.
    #[error(
        "node {node} acquired the offsets {first} to {last} of partition {} of topic {topic}, which makes no sense",
        topic_partition.partition
    )]
    AcquiredRange {
        /// Name of the topic.
        topic: Arc<str>,
        /// The partition.
        topic_partition: TopicIdPartition,
        /// The broker.
        node: i32,
        /// First offset of the range.
        first: i64,
        /// Last offset of the range.
        last: i64,
    },
}
