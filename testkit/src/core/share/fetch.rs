//! Fetching for a member of a share group: read the logs, acquire, cut the records to what was acquired.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::wire::ErrorCode;
use bytes::{Bytes, BytesMut};

use super::partition::{AcquireMode, AcquireRequest, AcquiredRange, LogSpan};
use super::session::SessionKey;
use crate::core::Cluster;
use crate::core::configs::OffsetReset;
use crate::core::log::{Isolation, PartitionLog, StoredBatch};
use crate::core::topics::TopicIdPartition;

/// How the acknowledgements of one partition went: the error and its message.
pub(crate) type AcknowledgeOutcome = Result<(), (ErrorCode, Option<String>)>;

/// A share fetch whose session and acknowledgements are done with; only records are missing.
#[derive(Debug)]
pub(crate) struct ShareFetch {
    /// The version of the request.
    pub(crate) version: i16,
    /// The node that it came to.
    pub(crate) node: i32,
    /// Whether it opened its session: then partitions without records are answered as well.
    pub(crate) opens_session: bool,
    /// The correlation id of the request.
    pub(crate) correlation_id: i32,
    /// Whose session it is.
    pub(crate) key: SessionKey,
    /// How exact `max_records` is.
    pub(crate) mode: AcquireMode,
    /// How many records to acquire over all partitions.
    pub(crate) max_records: i32,
    /// How many records a range of the answer should have.
    pub(crate) batch_size: i32,
    /// How many bytes to wait for.
    pub(crate) min_bytes: i32,
    /// How many bytes to read at most, the first batch aside.
    pub(crate) max_bytes: i32,
    /// Where to look, in this order.
    pub(crate) partitions: Vec<TopicIdPartition>,
    /// How the acknowledgements went that came with the fetch.
    pub(crate) acknowledged: BTreeMap<TopicIdPartition, AcknowledgeOutcome>,
}

/// What one partition gave.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// It cannot be fetched from.
    Error(ErrorCode),
    /// Batches, and what of them the member holds now; none of both where nothing could be acquired.
    Records(Bytes, Vec<AcquiredRange>),
}

/// A partition that may have something to acquire.
struct Candidate {
    partition: TopicIdPartition,
    offset: i64,
}

impl Cluster {
    /// Fetches, if there is enough or if `now_or_never`; `None` where the fetch has to wait.
    pub(crate) fn fetch(
        &mut self,
        now: Instant,
        fetch: &ShareFetch,
        now_or_never: bool,
    ) -> Option<BTreeMap<TopicIdPartition, Fetched>> {
        let mut fetched = BTreeMap::new();
        let mut candidates = Vec::new();
        let mut available = 0u64;
        let config = self.group_config(&fetch.key.group);
        let (limits, isolation) = (config.limits(), config.isolation());
        for &partition in &fetch.partitions {
            let log = match self.topics.partition(partition) {
                Ok(found) if found.leader == Some(fetch.node) => &found.log,
                Ok(_) => {
                    fetched.insert(partition, Fetched::Error(ErrorCode::NOT_LEADER_OR_FOLLOWER));
                    continue;
                }
                Err(code) => {
                    // A session remembers the name of a topic that was there when it began.
                    let known = !fetch.opens_session && self.topics.was_deleted(partition.topic_id);
                    let code = if known { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION } else { code };
                    fetched.insert(partition, Fetched::Error(code));
                    continue;
                }
            };
            let Some(entry) = self.share_partitions.get_mut(&fetch.key.group, partition) else { continue };
            if entry.partition.can_acquire(&limits) {
                let offset = entry.partition.next_fetch_offset();
                available = available.saturating_add(log.bytes_between(offset, log.readable_end(isolation)));
                candidates.push(Candidate { partition, offset });
            }
        }
        let wanted = u64::try_from(fetch.min_bytes.min(fetch.max_bytes)).unwrap_or_default();
        let worthwhile = available >= wanted && !candidates.is_empty();
        if !worthwhile && !now_or_never && fetched.len() < fetch.partitions.len() {
            return None;
        }
        self.acquire(now, fetch, &candidates, &mut fetched);
        Some(fetched)
    }

    fn acquire(
        &mut self,
        now: Instant,
        fetch: &ShareFetch,
        candidates: &[Candidate],
        fetched: &mut BTreeMap<TopicIdPartition, Fetched>,
    ) {
        let config = self.group_config(&fetch.key.group);
        let (limits, isolation) = (config.limits(), config.isolation());
        let mut bytes_left = u64::try_from(fetch.max_bytes).unwrap_or_default();
        let share = bytes_left / candidates.len().max(1) as u64;
        let mut records_left = fetch.max_records;
        let mut first = true;
        for candidate in candidates {
            let partition = candidate.partition;
            let (Ok(log), Some(entry)) =
                (self.topics.log(partition), self.share_partitions.get_mut(&fetch.key.group, partition))
            else {
                continue;
            };
            let batches = log.read(candidate.offset, share.min(bytes_left), first);
            let readable = log.readable_end(isolation);
            let batches = &batches[..batches.partition_point(|batch| batch.first < readable)];
            first &= batches.is_empty();
            // What lies behind the records that may be asked for at most need not be looked at.
            let first_read = batches.first().map_or(candidate.offset, |batch| batch.first.max(candidate.offset));
            let horizon = entry.partition.horizon(first_read, records_left);
            let batches = &batches[..batches.partition_point(|batch| batch.first <= horizon)];
            let spans: Vec<LogSpan> =
                batches.iter().map(|batch| LogSpan { first: batch.first, last: batch.last }).collect();
            let request = AcquireRequest {
                member: &fetch.key.member,
                mode: fetch.mode,
                batch_size: fetch.batch_size,
                max_records: records_left,
                fetch_offset: candidate.offset,
            };
            let mut acquired = entry.partition.acquire(now, &limits, request, &spans);
            if isolation == Isolation::Committed {
                for batch in batches.iter().filter(|batch| log.is_aborted(batch)) {
                    acquired = entry.partition.withhold(now, &limits, request, acquired, batch.first, batch.last);
                }
            }
            let records = records_of(batches, &acquired);
            bytes_left = bytes_left.saturating_sub(records.len() as u64);
            let count: i64 = acquired.iter().map(AcquiredRange::len).sum();
            records_left = i32::try_from(i64::from(records_left) - count).unwrap_or_default();
            fetched.insert(partition, Fetched::Records(records, acquired));
            self.arm_locks(&fetch.key.group, partition);
        }
    }

    /// Loads the share partitions that a group fetches from on the node, those for the first time that are new.
    pub(crate) fn load_share_partitions(
        &mut self,
        now: Instant,
        node: i32,
        group: &Arc<str>,
        partitions: &[TopicIdPartition],
    ) {
        let reset = self.group_config(group).offset_reset();
        let now_ms = self.clock.millis(now);
        for &partition in partitions {
            if let Some(found) = self.topics.partition(partition).ok().filter(|found| found.leader == Some(node)) {
                self.share_partitions.load(group, partition, || start_offset(&found.log, reset, now_ms));
                if let Some(entry) = self.share_partitions.get_mut(group, partition) {
                    // Its start may have been set to before the log begins.
                    entry.partition.log_starts_at(found.log.start_offset());
                }
            }
        }
    }
}

fn start_offset(log: &PartitionLog, reset: OffsetReset, now_ms: i64) -> i64 {
    match reset {
        OffsetReset::Earliest => log.start_offset(),
        OffsetReset::Latest => log.end_offset(),
        OffsetReset::ByDuration(age) => {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            log.offset_for_timestamp(now_ms.saturating_sub(age))
        }
    }
}

/// The batches that hold what was acquired, and those between them. One batch is not copied.
fn records_of(batches: &[StoredBatch], acquired: &[AcquiredRange]) -> Bytes {
    let (Some(first), Some(last)) = (acquired.first(), acquired.last()) else { return Bytes::new() };
    let from = batches.partition_point(|batch| batch.last < first.first);
    let to = batches.partition_point(|batch| batch.first <= last.last);
    match batches.get(from..to) {
        None | Some([]) => Bytes::new(),
        Some([batch]) => batch.bytes.clone(),
        Some(batches) => {
            let mut records = BytesMut::with_capacity(batches.iter().map(|batch| batch.bytes.len()).sum());
            for batch in batches {
                records.extend_from_slice(&batch.bytes);
            }
            records.freeze()
        }
    }
}
