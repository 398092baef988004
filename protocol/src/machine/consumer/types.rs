//! What goes into and comes out of the machine of a consumer.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    machine::error::MachineError,
    messages::{
        consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse},
        fetch::{FetchRequest, FetchResponse},
        find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse},
        list_offsets::{ListOffsetsRequest, ListOffsetsResponse},
        metadata::{MetadataRequest, MetadataResponse},
        offset_commit::{OffsetCommitRequest, OffsetCommitResponse},
        offset_fetch::{OffsetFetchRequest, OffsetFetchResponse},
        offset_for_leader_epoch::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse},
    },
    records::{BatchError, RecordBatch},
};

/// A partition by the name of its topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition, from 0.
    pub partition: i32,
}

impl TopicPartition {
    /// The partition with this index of a topic.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Where to read on: the next offset, and the leader epoch of the record before it, by which a truncated log is noticed (KIP-320).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The offset of the next record.
    pub offset: i64,
    /// The epoch of the leader that appended the record before; `None` where it is not known.
    pub leader_epoch: Option<i32>,
}

/// What a group keeps for a partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OffsetAndMetadata {
    /// The offset of the next record to read.
    pub offset: i64,
    /// The leader epoch of the last record read; `None` where it is not known.
    pub leader_epoch: Option<i32>,
    /// What the application keeps beside the offset.
    pub metadata: String,
}

impl OffsetAndMetadata {
    /// An offset without metadata.
    pub fn new(offset: i64) -> Self {
        Self { offset, leader_epoch: None, metadata: String::new() }
    }
}

impl From<Position> for OffsetAndMetadata {
    fn from(Position { offset, leader_epoch }: Position) -> Self {
        Self { offset, leader_epoch, metadata: String::new() }
    }
}

/// The first record that is not older than a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffsetAndTimestamp {
    /// Its offset.
    pub offset: i64,
    /// Its time in ms since 1970; -1 for the ends of a partition.
    pub timestamp: i64,
    /// The epoch of the leader that appended it; `None` where it is not known.
    pub leader_epoch: Option<i32>,
}

/// One stretch of time over which a partition is read from front to back: since it was assigned, and the last seek in it. What was fetched
/// in an earlier one must not be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Run {
    /// Counts the assignments of the machine, from 1.
    pub assignment: u64,
    /// Counts the seeks since the partition was assigned.
    pub seeks: u32,
}

impl Run {
    /// The one after one more seek.
    #[must_use]
    pub fn after_seek(self) -> Self {
        Self { seeks: self.seeks.wrapping_add(1), ..self }
    }
}

/// Where a seek goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SeekTo {
    /// This offset.
    Position(Position),
    /// The first offset that the partition has.
    Beginning,
    /// Behind the last record; under read_committed, behind the last one whose transaction is decided.
    End,
}

/// Records of one partition that are to be handed out, or the word that there are none up to an offset.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The partition.
    pub partition: TopicPartition,
    /// The stretch that it belongs to.
    pub run: Run,
    /// The first offset to hand out. The first batch may begin before.
    pub first: i64,
    /// The batches to hand out, ascending, checked and decompressed. Batches of control records and of aborted transactions are left out.
    pub batches: Vec<RecordBatch>,
    /// Where to read on after them.
    pub next: Position,
    /// The end of what is replicated, as the broker said with the records.
    pub high_watermark: i64,
    /// Why nothing can be read behind `next`, where that is so: nothing more is fetched before the application seeks.
    pub error: Option<BadBatch>,
}

/// A batch that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadBatch {
    /// The first offset of it that was to be read.
    pub first: i64,
    /// The last one, as far as is known.
    pub last: i64,
    /// What is wrong.
    pub error: BatchError,
}

/// Names one question to the machine, whose answer comes as [`ConsumerEvent::Answered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// Names one step of a rebalance that the application has to confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RebalanceId(pub u64);

/// Offsets by partition.
pub type Offsets = BTreeMap<TopicPartition, OffsetAndMetadata>;

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// What was committed.
    Committed(Offsets),
    /// What the group has of the partitions that were asked for; `None` where it has nothing.
    Kept(BTreeMap<TopicPartition, Option<OffsetAndMetadata>>),
    /// The offsets of the times that were asked for; `None` where no record is so new.
    Found(BTreeMap<TopicPartition, Option<OffsetAndTimestamp>>),
    /// Where a partition is read on.
    Position(Position),
}

/// What the machine tells its driver.
#[derive(Debug, Clone)]
pub enum ConsumerEvent {
    /// Records to hand out, in the order in which they come.
    Fetched(Fetched),
    /// Partitions are to be given up: no record of them may be handed out any more. Answered with
    /// [`revoked`](super::ConsumerMachine::revoked).
    Revoking {
        /// Names the step.
        id: RebalanceId,
        /// The partitions.
        partitions: Vec<TopicPartition>,
    },
    /// Partitions have come. They are read once this is answered with [`assigned`](super::ConsumerMachine::assigned).
    Assigning {
        /// Names the step.
        id: RebalanceId,
        /// The partitions, and the stretch that begins.
        partitions: Vec<(TopicPartition, Run)>,
    },
    /// Partitions are lost: the group took them, or the subscription is another one. No record of them may be handed out, and nothing can be
    /// committed for them as a member.
    Lost(Vec<TopicPartition>),
    /// The answer to a question; exactly once for each.
    Answered {
        /// What the question returned.
        id: CallId,
        /// The answer.
        result: Result<Answer, MachineError>,
    },
    /// Something that the application has to know. After a fatal one the consumer is out of its group for good.
    Failed(MachineError),
    /// `close` is complete.
    Closed,
}

/// A request that the driver has to send.
#[derive(Debug, Clone, PartialEq)]
pub enum ConsumerRequest {
    /// Metadata, to any broker.
    Metadata(MetadataRequest),
    /// FindCoordinator, to any broker.
    FindCoordinator(FindCoordinatorRequest),
    /// ConsumerGroupHeartbeat, to the coordinator.
    Heartbeat(ConsumerGroupHeartbeatRequest),
    /// OffsetFetch, to the coordinator.
    OffsetFetch(OffsetFetchRequest),
    /// OffsetCommit, to the coordinator.
    OffsetCommit(OffsetCommitRequest),
    /// ListOffsets, to a leader.
    ListOffsets(ListOffsetsRequest),
    /// OffsetForLeaderEpoch, to a leader.
    OffsetForLeaderEpoch(OffsetForLeaderEpochRequest),
    /// Fetch, to a replica.
    Fetch(FetchRequest),
}

/// The response to a [`ConsumerRequest`], of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub enum ConsumerResponse {
    /// Metadata.
    Metadata(MetadataResponse),
    /// FindCoordinator.
    FindCoordinator(FindCoordinatorResponse),
    /// ConsumerGroupHeartbeat.
    Heartbeat(ConsumerGroupHeartbeatResponse),
    /// OffsetFetch.
    OffsetFetch(OffsetFetchResponse),
    /// OffsetCommit.
    OffsetCommit(OffsetCommitResponse),
    /// ListOffsets.
    ListOffsets(ListOffsetsResponse),
    /// OffsetForLeaderEpoch.
    OffsetForLeaderEpoch(OffsetForLeaderEpochResponse),
    /// Fetch.
    Fetch(FetchResponse),
}

/// The epoch that a wire field holds; -1 is none.
pub(super) fn epoch(said: i32) -> Option<i32> {
    (said >= 0).then_some(said)
}
