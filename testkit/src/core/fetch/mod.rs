//! Reading partitions as a consumer of its own does.

pub(crate) mod session;

use bytes::{Bytes, BytesMut};

use ackflow_protocol::wire::ErrorCode;

use super::Cluster;
use super::leadership::check_epoch;
use super::log::Isolation;
use super::topics::{Partition, TopicIdPartition};
use session::{PartitionKey, Reads};

/// Since this version consumers read from any replica (KIP-392).
const FROM_FOLLOWERS_SINCE: i16 = 11;

/// A fetch whose session is done with; only records are missing.
#[derive(Debug)]
pub(crate) struct Fetch {
    /// The version of the request.
    pub(crate) version: i16,
    /// The node that it came to.
    pub(crate) node: i32,
    /// The correlation id of the request.
    pub(crate) correlation_id: i32,
    /// The session; 0 for none.
    pub(crate) session: i32,
    /// Whether the session was there before: then only what is new is answered.
    pub(crate) is_incremental: bool,
    /// Up to where to read.
    pub(crate) isolation: Isolation,
    /// How many bytes to wait for.
    pub(crate) min_bytes: i32,
    /// How many bytes to read at most, the first batch aside.
    pub(crate) max_bytes: i32,
    /// What to read, in this order.
    pub(crate) asked: Vec<Asked>,
}

/// One partition to read.
#[derive(Debug)]
pub(crate) struct Asked {
    /// As the client names it.
    pub(crate) key: PartitionKey,
    /// The partition, where its topic exists.
    pub(crate) id: Option<TopicIdPartition>,
    /// What of it.
    pub(crate) reads: Reads,
}

/// What one partition gave.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// It cannot be read from.
    Error(ErrorCode),
    /// The client's log and this one differ from the end of this epoch on: epoch, end offset.
    Diverging(Ends, i32, i64),
    /// Batches, perhaps none, and the aborted transactions (producer, first offset) in what was read committed.
    Records(Ends, Vec<Bytes>, Option<Vec<(i64, i64)>>),
}

/// The offsets that a client is told with its records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// The start of the log.
    pub(crate) start: i64,
    /// The last stable offset.
    pub(crate) stable: i64,
    /// The high watermark, which is the end: no replica is ever behind.
    pub(crate) high_watermark: i64,
}

impl Cluster {
    /// Reads, if there is enough or if `now_or_never`; `None` where the fetch has to wait.
    pub(crate) fn read(&self, fetch: &Fetch, now_or_never: bool) -> Option<Vec<Fetched>> {
        let mut left = u64::try_from(fetch.max_bytes).unwrap_or_default();
        let wanted = u64::try_from(fetch.min_bytes).unwrap_or_default();
        let (mut read, mut at_least_one, mut is_urgent) = (0, true, now_or_never || fetch.asked.is_empty());
        let mut all = Vec::with_capacity(fetch.asked.len());
        for asked in &fetch.asked {
            let fetched = self.read_one(fetch, asked, left, at_least_one);
            match &fetched {
                Fetched::Records(_, pieces, _) => {
                    let size = pieces.iter().map(|piece| piece.len() as u64).sum();
                    at_least_one &= pieces.is_empty();
                    left = left.saturating_sub(size);
                    read += size;
                }
                Fetched::Error(_) | Fetched::Diverging(..) => is_urgent = true,
            }
            all.push(fetched);
        }
        (is_urgent || read >= wanted).then_some(all)
    }

    fn read_one(&self, fetch: &Fetch, asked: &Asked, left: u64, at_least_one: bool) -> Fetched {
        let found = match asked.id.map(|id| self.topics.partition(id)) {
            Some(Ok(found)) => found,
            _ => return Fetched::Error(unknown(asked)),
        };
        if let Err(code) = check_replica(fetch, found, asked.reads.leader_epoch) {
            return Fetched::Error(code);
        }
        let log = &found.log;
        let (start, end) = (log.start_offset(), log.end_offset());
        let ends = Ends { start, stable: log.last_stable_offset(), high_watermark: end };
        let Reads { offset, max_bytes, last_epoch, .. } = asked.reads;
        if last_epoch >= 0 {
            match log.epochs().end_of(last_epoch, end) {
                None => return Fetched::Error(ErrorCode::OFFSET_OUT_OF_RANGE),
                Some((epoch, end)) if epoch < last_epoch || end < offset => {
                    return Fetched::Diverging(ends, epoch, end);
                }
                Some(_) => {}
            }
        }
        if !(start..=end).contains(&offset) {
            return Fetched::Error(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        let most = u64::try_from(max_bytes).unwrap_or_default().min(left);
        let pieces = log.fetch(offset, log.readable_end(fetch.isolation), most, at_least_one);
        let aborted = (fetch.isolation == Isolation::Committed)
            .then(|| log.aborted(offset, pieces.len()).map(|aborted| (aborted.producer_id, aborted.first)).collect());
        Fetched::Records(ends, pieces, aborted)
    }
}

/// The error about a topic or partition that is not there.
fn unknown(asked: &Asked) -> ErrorCode {
    match asked.key.0 {
        session::TopicKey::Id(_) if asked.id.is_none() => ErrorCode::UNKNOWN_TOPIC_ID,
        _ => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    }
}

fn check_replica(fetch: &Fetch, partition: &Partition, epoch: i32) -> Result<(), ErrorCode> {
    check_epoch(partition, fetch.node, epoch)?;
    let is_leader = partition.leader == Some(fetch.node);
    if is_leader || fetch.version >= FROM_FOLLOWERS_SINCE { Ok(()) } else { Err(ErrorCode::NOT_LEADER_OR_FOLLOWER) }
}

/// Pieces of a log as one. A single one is not copied.
pub(crate) fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() < 2 {
        return pieces.pop().unwrap_or_default();
    }
    let mut all = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| all.extend_from_slice(piece));
    all.freeze()
}
