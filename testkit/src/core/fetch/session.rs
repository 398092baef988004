//! Fetch sessions (KIP-227): what a client reads on a node, so that it need not say it again with each fetch.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ErrorCode, Uuid};

/// The session epoch that opens a session.
pub(crate) const INITIAL_EPOCH: i32 = 0;
/// The session epoch that closes it.
pub(crate) const FINAL_EPOCH: i32 = -1;
/// Stands for a session where there is none.
pub(crate) const NO_SESSION: i32 = 0;

/// A session that nobody used for so long gives way to a new one (`min.incremental.fetch.session.eviction.ms`).
const EVICTED_AFTER: Duration = Duration::from_secs(120);

/// How a client names a topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TopicKey {
    /// Up to version 12.
    Name(Arc<str>),
    /// Since version 13.
    Id(Uuid),
}

/// What a client reads of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reads {
    /// From here on.
    pub(crate) offset: i64,
    /// So many bytes at most, the first batch aside.
    pub(crate) max_bytes: i32,
    /// The leader epoch that the client knows; -1 where it does not say.
    pub(crate) leader_epoch: i32,
    /// The leader epoch of the last record that it has; -1 where it does not say.
    pub(crate) last_epoch: i32,
}

/// A partition of a session.
pub(crate) type PartitionKey = (TopicKey, i32);

#[derive(Debug)]
struct Cached {
    reads: Reads,
    /// The partitions of a session are read in this order.
    turn: u64,
    /// The high watermark and the start of the log that the client was told last.
    told: Option<(i64, i64)>,
}

#[derive(Debug)]
struct FetchSession {
    /// The epoch that the next request has to carry.
    epoch: i32,
    by_id: bool,
    used: Instant,
    partitions: BTreeMap<PartitionKey, Cached>,
    turns: u64,
}

impl FetchSession {
    fn add(&mut self, key: PartitionKey, reads: Reads) {
        let turn = self.turns;
        self.turns += 1;
        let cached = self.partitions.entry(key).or_insert(Cached { reads, turn, told: None });
        cached.reads = reads;
    }

    fn in_turn(&self) -> Vec<(PartitionKey, Reads)> {
        let mut partitions: Vec<_> = self.partitions.iter().collect();
        partitions.sort_by_key(|(_, cached)| cached.turn);
        partitions.into_iter().map(|(key, cached)| (key.clone(), cached.reads)).collect()
    }
}

/// What is to be told of a partition, and whether it is worth an answer in a session that goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    /// The high watermark and the start of the log; `None` with an error.
    pub(crate) ends: Option<(i64, i64)>,
    /// Whether there are records.
    pub(crate) has_records: bool,
}

/// The fetch sessions of one node.
#[derive(Debug, Default)]
pub(crate) struct FetchSessions {
    by_id: HashMap<i32, FetchSession>,
}

impl FetchSessions {
    /// Opens a session under an id that is free, unless `limit` sessions are in use.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        id: i32,
        by_id: bool,
        limit: usize,
        partitions: &[(PartitionKey, Reads)],
    ) -> Option<i32> {
        if self.by_id.len() >= limit {
            let (oldest, used) = self.by_id.iter().map(|(id, session)| (*id, session.used)).min_by_key(|(_, u)| *u)?;
            if now < used + EVICTED_AFTER {
                return None;
            }
            self.by_id.remove(&oldest);
        }
        if id == NO_SESSION || self.by_id.contains_key(&id) {
            return None;
        }
        let mut session = FetchSession { epoch: 1, by_id, used: now, partitions: BTreeMap::new(), turns: 0 };
        for (key, reads) in partitions {
            session.add(key.clone(), *reads);
        }
        self.by_id.insert(id, session);
        Some(id)
    }

    /// Takes a request's epoch and what it adds, changes and forgets. Gives what the session reads; a session without partitions ends.
    ///
    /// # Errors
    /// FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, and FETCH_SESSION_TOPIC_ID_ERROR where the session names topics otherwise.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        id: i32,
        epoch: i32,
        by_id: bool,
        changed: Vec<(PartitionKey, Reads)>,
        forgotten: impl IntoIterator<Item = PartitionKey>,
    ) -> Result<Vec<(PartitionKey, Reads)>, ErrorCode> {
        let session = self.by_id.get_mut(&id).ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        if session.by_id != by_id {
            return Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
        }
        (session.epoch, session.used) = (if epoch == i32::MAX { 1 } else { epoch + 1 }, now);
        for (key, reads) in changed {
            session.add(key, reads);
        }
        for key in forgotten {
            session.partitions.remove(&key);
        }
        let reads = session.in_turn();
        if reads.is_empty() {
            self.by_id.remove(&id);
        }
        Ok(reads)
    }

    /// Whether there is such a session.
    pub(crate) fn contains(&self, id: i32) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Ends a session; one that is not there is no error.
    pub(crate) fn close(&mut self, id: i32) {
        self.by_id.remove(&id);
    }

    /// Notes what the client is told of a partition. Says whether it has to be told; what has records has its turn behind the others then.
    pub(crate) fn tell(&mut self, id: i32, key: &PartitionKey, told: Told) -> bool {
        let Some(session) = self.by_id.get_mut(&id) else { return true };
        let Some(cached) = session.partitions.get_mut(key) else { return true };
        let changed = told.ends.is_none() || cached.told != told.ends;
        cached.told = told.ends;
        if told.has_records {
            cached.turn = session.turns;
            session.turns += 1;
        }
        changed || told.has_records
    }
}
