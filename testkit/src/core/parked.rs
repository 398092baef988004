//! Fetches that wait for records.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ConnectionId;
use super::fetch::Fetch;
use super::share::fetch::ShareFetch;
use super::timers::TimerId;
use super::topics::TopicIdPartition;

/// Names one waiting fetch; rises in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ParkedId(u64);

/// What a fetch asked for.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// Of a share group.
    Share(ShareFetch),
    /// Of a consumer of its own.
    Plain(Fetch),
}

impl Waiting {
    fn partitions(&self) -> impl Iterator<Item = TopicIdPartition> {
        let (share, plain) = match self {
            Self::Share(fetch) => (&fetch.partitions[..], &[][..]),
            Self::Plain(fetch) => (&[][..], &fetch.asked[..]),
        };
        share.iter().copied().chain(plain.iter().filter_map(|asked| asked.id))
    }
}

/// A fetch that waits.
#[derive(Debug)]
pub(crate) struct Parked {
    /// Who waits.
    pub(crate) connection: ConnectionId,
    /// What it waits for.
    pub(crate) fetch: Waiting,
    /// Ends the wait.
    pub(crate) timer: Option<TimerId>,
}

/// All waiting fetches.
#[derive(Debug, Default)]
pub(crate) struct ParkedFetches {
    next: u64,
    by_id: BTreeMap<ParkedId, Parked>,
    by_partition: HashMap<TopicIdPartition, BTreeSet<ParkedId>>,
}

impl ParkedFetches {
    /// Lets a fetch wait.
    pub(crate) fn park(&mut self, connection: ConnectionId, fetch: Waiting) -> ParkedId {
        let id = ParkedId(self.next);
        self.next += 1;
        self.put_back(id, Parked { connection, fetch, timer: None });
        id
    }

    /// Lets a fetch wait on that was taken out.
    pub(crate) fn put_back(&mut self, id: ParkedId, parked: Parked) {
        for partition in parked.fetch.partitions() {
            self.by_partition.entry(partition).or_default().insert(id);
        }
        self.by_id.insert(id, parked);
    }

    /// A waiting fetch.
    pub(crate) fn get_mut(&mut self, id: ParkedId) -> Option<&mut Parked> {
        self.by_id.get_mut(&id)
    }

    /// Takes a fetch out.
    pub(crate) fn take(&mut self, id: ParkedId) -> Option<Parked> {
        let parked = self.by_id.remove(&id)?;
        for partition in parked.fetch.partitions() {
            if let Some(ids) = self.by_partition.get_mut(&partition) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_partition.remove(&partition);
                }
            }
        }
        Some(parked)
    }

    /// The fetches that wait for one of the partitions, the longest waiting first.
    pub(crate) fn waiting_for(&self, partitions: &BTreeSet<TopicIdPartition>) -> BTreeSet<ParkedId> {
        partitions.iter().filter_map(|partition| self.by_partition.get(partition)).flatten().copied().collect()
    }

    /// The fetches of one connection.
    pub(crate) fn of_connection(&self, connection: ConnectionId) -> Vec<ParkedId> {
        self.by_id.iter().filter(|(_, parked)| parked.connection == connection).map(|(&id, _)| id).collect()
    }
}
