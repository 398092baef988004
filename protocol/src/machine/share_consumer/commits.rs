//! Which acknowledgements have not ended, and which commits wait for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    machine::{
        ack_ledger::Outcome,
        types::{AckId, CommitId, Event, TopicIdPartition},
    },
    wire::ErrorCode,
};

#[derive(Debug, Default)]
pub(super) struct Commits {
    last_ack: u64,
    last_commit: u64,
    outstanding: BTreeSet<AckId>,
    waiting: Vec<Commit>,
}

#[derive(Debug)]
struct Commit {
    id: CommitId,
    /// The newest acknowledgement that it covers.
    up_to: AckId,
    remaining: usize,
    results: BTreeMap<TopicIdPartition, (Arc<str>, Result<(), ErrorCode>)>,
}

impl Commits {
    /// A new acknowledgement, outstanding until [`ended`](Self::ended).
    pub(super) fn acknowledge(&mut self) -> AckId {
        self.last_ack += 1;
        let id = AckId(self.last_ack);
        self.outstanding.insert(id);
        id
    }

    /// A new commit, which waits for everything outstanding. Its event, where nothing is.
    pub(super) fn commit(&mut self) -> (CommitId, Option<Event>) {
        self.last_commit += 1;
        let id = CommitId(self.last_commit);
        if self.outstanding.is_empty() {
            return (id, Some(Event::Committed { id, results: Vec::new() }));
        }
        self.waiting.push(Commit {
            id,
            up_to: AckId(self.last_ack),
            remaining: self.outstanding.len(),
            results: BTreeMap::new(),
        });
        (id, None)
    }

    /// An acknowledgement ended. The events of commits that are complete with it, oldest first.
    pub(super) fn ended(&mut self, outcome: &Outcome) -> Vec<Event> {
        if !self.outstanding.remove(&outcome.id) {
            return Vec::new();
        }
        for commit in self.waiting.iter_mut().filter(|commit| outcome.id <= commit.up_to) {
            commit.remaining -= 1;
            let (_, result) =
                commit.results.entry(outcome.topic_partition).or_insert_with(|| (outcome.topic.clone(), Ok(())));
            *result = result.and(outcome.result);
        }
        self.waiting
            .extract_if(.., |commit| commit.remaining == 0)
            .map(|commit| Event::Committed {
                id: commit.id,
                results: commit
                    .results
                    .into_iter()
                    .map(|(partition, (topic, result))| (partition, topic, result))
                    .collect(),
            })
            .collect()
    }
}
