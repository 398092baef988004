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
    /// What failed and no commit has told of: the next one does, lest a failure pass unseen that came before it.
    failed: Results,
}

type Results = BTreeMap<TopicIdPartition, (Arc<str>, Result<(), ErrorCode>)>;

#[derive(Debug)]
struct Commit {
    id: CommitId,
    /// The newest acknowledgement that it covers.
    up_to: AckId,
    remaining: usize,
    results: Results,
}

impl Commit {
    fn committed(self) -> Event {
        let results = self.results.into_iter().map(|(partition, (topic, result))| (partition, topic, result));
        Event::Committed { id: self.id, results: results.collect() }
    }
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
        let remaining = self.outstanding.len();
        let results = std::mem::take(&mut self.failed);
        let commit = Commit { id, up_to: AckId(self.last_ack), remaining, results };
        if remaining == 0 {
            return (id, Some(commit.committed()));
        }
        self.waiting.push(commit);
        (id, None)
    }

    /// An acknowledgement ended. The events of commits that are complete with it, oldest first.
    pub(super) fn ended(&mut self, outcome: &Outcome) -> Vec<Event> {
        if !self.outstanding.remove(&outcome.id) {
            return Vec::new();
        }
        let mut is_told = false;
        for commit in self.waiting.iter_mut().filter(|commit| outcome.id <= commit.up_to) {
            is_told = true;
            commit.remaining -= 1;
            add(&mut commit.results, outcome);
        }
        if !is_told && outcome.result.is_err() {
            add(&mut self.failed, outcome);
        }
        self.waiting.extract_if(.., |commit| commit.remaining == 0).map(Commit::committed).collect()
    }
}

/// The first error of a partition counts.
fn add(results: &mut Results, outcome: &Outcome) {
    let (_, result) = results.entry(outcome.topic_partition).or_insert_with(|| (outcome.topic.clone(), Ok(())));
    *result = result.and(outcome.result);
}
