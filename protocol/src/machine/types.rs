//! What goes into and comes out of the machines: plain values, shared by all of them.

use std::{fmt, sync::Arc, time::Duration, time::Instant};

use crate::{
    machine::error::MachineError,
    messages::{
        find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse},
        metadata::{MetadataRequest, MetadataResponse},
        share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse},
        share_fetch::{ShareFetchRequest, ShareFetchResponse},
        share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse},
    },
    records::{BatchError, RecordBatch},
    wire::{ErrorCode, Uuid},
};

/// A partition of a topic by the topic's id. A topic that is deleted and made again under its name is another topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TopicIdPartition {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Index of the partition, from 0.
    pub partition: i32,
}

/// What is said about an acquired record, with its value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i8)]
pub enum AckType {
    /// No record has this offset (compacted, or a control record): the broker archives it.
    Gap = 0,
    /// Processed: the broker never delivers it to the group again.
    Accept = 1,
    /// Not processed: available again at once. The delivery counts as an attempt.
    Release = 2,
    /// Cannot be processed: archived, or written to the group's dead letter queue.
    Reject = 3,
    /// Still being processed: the lock starts anew, the record stays acquired and has to be acknowledged again
    /// (KIP-1222).
    Renew = 4,
}

impl AckType {
    /// Whether the record is done with, for this member.
    pub fn is_terminal(self) -> bool {
        self != Self::Renew
    }
}

/// Offsets that are acknowledged alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AckRange {
    /// First offset.
    pub first: i64,
    /// Last offset, inclusive.
    pub last: i64,
    /// What is said about them.
    pub ack: AckType,
}

/// Acquired offsets, each of which has a record, with the same number of deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AcquiredRange {
    /// First offset.
    pub first: i64,
    /// Last offset, inclusive.
    pub last: i64,
    /// How often the records have been acquired, this time included: 1 at the first delivery.
    pub delivery_count: i16,
}

/// A share session with one broker. The incarnation is new whenever a session is opened, so what was acquired in one
/// can never be acknowledged in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId {
    /// Id of the broker.
    pub node: i32,
    /// Counts the sessions with this broker, from 1.
    pub incarnation: u64,
}

/// Names an acquisition. The same offsets acquired again, after their locks were lost, are another one: what is said about
/// the first is not said about the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AcquisitionId {
    /// The session that acquired it.
    pub session: SessionId,
    /// Counts the acquisitions of the machine.
    pub number: u64,
}

/// What one response acquired of one partition. Every offset in `ranges` has a record in `batches` and may be handed
/// out.
#[derive(Debug, Clone)]
pub struct Acquisition {
    /// Name of the topic.
    pub topic: Arc<str>,
    /// The partition.
    pub topic_partition: TopicIdPartition,
    /// The session that acquired it, and the only one that can acknowledge it.
    pub session: SessionId,
    /// Tells it from other acquisitions of the session.
    pub number: u64,
    /// How long the group locks records.
    pub lock_timeout: Duration,
    /// When the lock has to be taken as lost. It counts from when the fetch was written, so the broker's own lock ends
    /// later.
    pub lock_deadline: Instant,
    /// Sorted and disjoint. Offsets without a record are taken out (and acknowledged as gaps).
    pub ranges: Vec<AcquiredRange>,
    /// The batches that hold the offsets, ascending, checked and decompressed. They may hold records outside `ranges`,
    /// which are not ours.
    pub batches: Vec<RecordBatch>,
    /// How many records `ranges` covers.
    pub records: u32,
}

impl Acquisition {
    /// Its name.
    pub fn id(&self) -> AcquisitionId {
        AcquisitionId { session: self.session, number: self.number }
    }
}

/// Names one call of `acknowledge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AckId(pub u64);

/// Names records whose locks are renewed by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeepId(pub u64);

/// How locks are renewed by themselves (KIP-1222 has renewals), and how long at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoRenew {
    /// A lock is renewed when this part of it is over, in percent: 1 to 90.
    pub at_percent: u8,
    /// No more renewals than so many.
    pub max_renewals: u32,
    /// No renewal after so long. The last lock ends by itself, or with what is decided about the records.
    pub max_time: Duration,
}

impl Default for AutoRenew {
    /// At half of the lock, as often as it takes, for five minutes: Kafka's default of `max.poll.interval.ms`.
    fn default() -> Self {
        Self { at_percent: 50, max_renewals: u32::MAX, max_time: Duration::from_secs(300) }
    }
}

/// Why locks are not renewed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepEnd {
    /// Everything is decided about, or renewed by another call of `keep`.
    Settled,
    /// A limit of [`AutoRenew`] is reached.
    Limit,
    /// The broker refuses it: `UNSUPPORTED_VERSION` where it does not know renewals, `INVALID_RECORD_STATE` where the
    /// group has `share.renew.acknowledge.enable=false` or the locks were lost.
    Refused(ErrorCode),
    /// The locks were lost, with their session or otherwise.
    Lost,
}

/// Names one call of `commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(pub u64);

/// How one partition of a commit ended: the partition, its topic's name, and the first error if any.
pub type CommitResult = (TopicIdPartition, Arc<str>, Result<(), ErrorCode>);

/// What a machine tells its driver.
#[derive(Debug, Clone)]
pub enum Event {
    /// Records were acquired; hand them out before their deadline.
    Acquired(Acquisition),
    /// The session is gone and all its locks with it. Acquisitions of it that still wait must be dropped;
    /// acknowledgements of it end, or have ended, with this error.
    SessionLost {
        /// The session.
        session: SessionId,
        /// Why.
        error: ErrorCode,
    },
    /// As [`Event::SessionLost`], of one partition: its leader moved, or its topic was deleted.
    PartitionLost {
        /// The session, which goes on.
        session: SessionId,
        /// The partition.
        topic_partition: TopicIdPartition,
        /// Why.
        error: ErrorCode,
    },
    /// An acknowledgement ended; exactly once for each id.
    Acknowledged {
        /// What `acknowledge` returned.
        id: AckId,
        /// Name of the topic.
        topic: Arc<str>,
        /// The partition.
        topic_partition: TopicIdPartition,
        /// The ranges that were given to `acknowledge`.
        ranges: Vec<AckRange>,
        /// The broker's answer, or why it never got the acknowledgement. `INVALID_RECORD_STATE` means that the lock was
        /// lost.
        result: Result<(), ErrorCode>,
        /// Where `result` is an error, the offsets of `ranges` that it is about; the others went well.
        failed: Vec<AckRange>,
        /// Where `ranges` holds renewals and `result` is `Ok`: when the renewed locks have to be taken as lost. Else
        /// `None`.
        lock_deadline: Option<Instant>,
    },
    /// Everything that was acknowledged before the commit has ended.
    Committed {
        /// What `commit` returned.
        id: CommitId,
        /// One entry a partition that had something outstanding or has failed since the last commit, sorted by
        /// partition.
        results: Vec<CommitResult>,
    },
    /// Locks were renewed by themselves.
    Renewed {
        /// What `keep` returned.
        id: KeepId,
        /// When the renewed locks have to be taken as lost.
        lock_deadline: Instant,
    },
    /// Locks are not renewed by themselves any more; exactly once for each id.
    KeepEnded {
        /// What `keep` returned.
        id: KeepId,
        /// Why.
        end: KeepEnd,
    },
    /// The partitions that this member serves have changed; all of them are listed, sorted by topic name and partition.
    Assigned(Vec<(Arc<str>, TopicIdPartition)>),
    /// The group's lock duration became known or changed.
    LockTimeout(Duration),
    /// A batch that cannot be read. Named once; its acquired offsets are acknowledged as `settled`, and the rest of the
    /// partition goes on.
    BadBatch {
        /// Name of the topic.
        topic: Arc<str>,
        /// The partition.
        topic_partition: TopicIdPartition,
        /// First acquired offset that is affected.
        first: i64,
        /// Last acquired offset that is affected.
        last: i64,
        /// Reject where the batch is corrupt, release where another member may be able to read it.
        settled: AckType,
        /// What is wrong.
        error: BatchError,
    },
    /// Something that the application has to know. After a fatal one the member is out of the group and stays so.
    Failed(MachineError),
    /// `close` is complete.
    Closed,
}

/// Where a broker can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BrokerAddress {
    /// Id of the broker.
    pub node: i32,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// `host:port`.
impl fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Which connection a request goes over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Any broker, known or of the bootstrap list.
    Any,
    /// The group's coordinator, over a connection that no session uses.
    Coordinator(BrokerAddress),
    /// A leader, over the connection of this member's session with it, which carries nothing else. A broker ties the
    /// session to the connection.
    Session(BrokerAddress),
    /// A leader, over a connection that carries no fetches: a question is not to wait behind one that the broker holds.
    Leader(BrokerAddress),
}

/// A request that the driver has to send.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientRequest {
    /// Metadata, to any broker.
    Metadata(MetadataRequest),
    /// FindCoordinator, to any broker.
    FindCoordinator(FindCoordinatorRequest),
    /// ShareGroupHeartbeat, to the coordinator.
    Heartbeat(ShareGroupHeartbeatRequest),
    /// ShareFetch, to a leader.
    ShareFetch(ShareFetchRequest),
    /// ShareAcknowledge, to a leader.
    ShareAcknowledge(ShareAcknowledgeRequest),
}

/// The response to a [`ClientRequest`], of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientResponse {
    /// Metadata.
    Metadata(MetadataResponse),
    /// FindCoordinator.
    FindCoordinator(FindCoordinatorResponse),
    /// ShareGroupHeartbeat.
    Heartbeat(ShareGroupHeartbeatResponse),
    /// ShareFetch.
    ShareFetch(ShareFetchResponse),
    /// ShareAcknowledge.
    ShareAcknowledge(ShareAcknowledgeResponse),
}

/// Why a request has no response. The driver knows the details and logs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestFailure {
    /// The connection ended before the answer came; the broker may have acted on the request.
    Disconnected,
    /// No answer in time; the driver has closed the connection.
    TimedOut,
    /// No connection could be made; nothing was sent.
    Unreachable,
    /// The broker does not offer the API, or no version that can carry the request; nothing was sent. With the newest version
    /// that both sides know, where there is one.
    UnsupportedVersion(Option<i16>),
    /// The answer could not be decoded; the driver has closed the connection.
    Malformed,
}

/// Names one request. A response is matched by it, and ignored where it comes too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// What the driver does next. After each call that changes the machine, poll until `Wait`.
#[derive(Debug, Clone)]
pub enum Output<R = ClientRequest, E = Event> {
    /// Send the request; then call `handle_response` once with its id.
    Send {
        /// Names the request.
        id: RequestId,
        /// Where to.
        to: Destination,
        /// What.
        request: R,
        /// The lowest version of the API that does what the machine wants. Where the broker and the driver agree on a lower one,
        /// nothing may be sent, and the answer is [`RequestFailure::UnsupportedVersion`].
        least_version: i16,
    },
    /// Tell the application.
    Event(E),
    /// Nothing to do until then (`None`: until the next input).
    Wait(Option<Instant>),
}

/// What a part of the machine does next: [`Output`] before it has an id and an address.
#[derive(Debug)]
pub(crate) enum Step<Request, Event> {
    Send(Request),
    Event(Event),
    Wait(Option<Instant>),
}

/// The earlier of two deadlines, where `None` is never.
pub(crate) fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
