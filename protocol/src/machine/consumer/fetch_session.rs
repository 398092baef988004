//! A fetch session with one broker (KIP-227): only what has changed is said.
//!
//! The broker keeps which partitions are read and from where. A request says those that are new or read on from elsewhere, and those that
//! are not read any more; the epoch rises by one a request. Where an answer fails, what the broker knows is unknown, and another session is
//! begun, which ends the one before.

use std::collections::BTreeMap;

use crate::{
    machine::types::TopicIdPartition,
    messages::fetch::{FetchPartition, FetchTopic, ForgottenTopic},
    wire::ErrorCode,
};

/// From where and how a partition is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) max_bytes: i32,
}

#[derive(Debug, Default)]
pub(super) struct FetchSession {
    /// 0 where there is none.
    id: i32,
    /// Of the next request.
    epoch: i32,
    /// What the broker was told.
    told: BTreeMap<TopicIdPartition, Ask>,
}

/// What a request says of the session.
#[derive(Debug)]
pub(super) struct SessionStep {
    pub(super) id: i32,
    pub(super) epoch: i32,
    pub(super) topics: Vec<FetchTopic>,
    pub(super) forgotten: Vec<ForgottenTopic>,
}

impl FetchSession {
    /// Says that these partitions are read, and no others.
    pub(super) fn step(
        &mut self,
        wanted: &BTreeMap<TopicIdPartition, Ask>,
        name: impl Fn(TopicIdPartition) -> String,
    ) -> SessionStep {
        if self.epoch == 0 {
            self.told.clear();
        }
        let mut topics: Vec<FetchTopic> = Vec::new();
        for (partition, ask) in wanted.iter().filter(|(partition, ask)| self.told.get(partition) != Some(ask)) {
            let said = FetchPartition {
                partition: partition.partition,
                current_leader_epoch: ask.leader_epoch,
                fetch_offset: ask.offset,
                partition_max_bytes: ask.max_bytes,
                ..FetchPartition::default()
            };
            match topics.last_mut().filter(|topic| topic.topic_id == partition.topic_id) {
                Some(topic) => topic.partitions.push(said),
                None => topics.push(FetchTopic {
                    topic: name(*partition),
                    topic_id: partition.topic_id,
                    partitions: vec![said],
                }),
            }
        }
        let mut forgotten: Vec<ForgottenTopic> = Vec::new();
        for partition in self.told.keys().filter(|partition| !wanted.contains_key(partition)) {
            match forgotten.last_mut().filter(|topic| topic.topic_id == partition.topic_id) {
                Some(topic) => topic.partitions.push(partition.partition),
                None => forgotten.push(ForgottenTopic {
                    topic: name(*partition),
                    topic_id: partition.topic_id,
                    partitions: vec![partition.partition],
                }),
            }
        }
        self.told.clone_from(wanted);
        SessionStep { id: self.id, epoch: self.epoch, topics, forgotten }
    }

    /// The request was answered.
    pub(super) fn answered(&mut self, code: ErrorCode, id: i32) {
        match code {
            ErrorCode::NONE if id != 0 => {
                self.id = id;
                // 0 opens a session, so that after the largest epoch comes 1.
                self.epoch = self.epoch.checked_add(1).unwrap_or(1);
            }
            // The broker keeps none: every request says everything.
            ErrorCode::NONE => *self = Self::default(),
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND => *self = Self::default(),
            _ => self.failed(),
        }
    }

    /// There was no answer, or one that says that the session is not what it should be: the next request begins another, which ends this one.
    pub(super) fn failed(&mut self) {
        self.epoch = 0;
        self.told.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Uuid;

    fn asks(asks: &[(i32, i64)]) -> BTreeMap<TopicIdPartition, Ask> {
        let ask = |(partition, offset): &(i32, i64)| {
            let partition = TopicIdPartition { topic_id: Uuid([1; 16]), partition: *partition };
            (partition, Ask { offset: *offset, leader_epoch: 1, max_bytes: 10 })
        };
        asks.iter().map(ask).collect()
    }

    fn said(step: &SessionStep) -> (i32, i32, Vec<i32>, Vec<i32>) {
        let partitions = step.topics.iter().flat_map(|topic| topic.partitions.iter().map(|said| said.partition));
        let forgotten = step.forgotten.iter().flat_map(|topic| topic.partitions.iter().copied());
        (step.id, step.epoch, partitions.collect(), forgotten.collect())
    }

    #[test]
    fn only_changes_are_said_within_a_session() {
        let mut session = FetchSession::default();
        let name = |_| "t".to_owned();
        assert_eq!(said(&session.step(&asks(&[(0, 5), (1, 5)]), name)), (0, 0, vec![0, 1], vec![]));
        session.answered(ErrorCode::NONE, 77);
        assert_eq!(said(&session.step(&asks(&[(0, 9), (1, 5)]), name)), (77, 1, vec![0], vec![]));
        session.answered(ErrorCode::NONE, 77);
        assert_eq!(said(&session.step(&asks(&[(1, 5), (2, 0)]), name)), (77, 2, vec![2], vec![0]));
    }

    #[test]
    fn what_failed_begins_a_session_that_ends_the_one_before() {
        let mut session = FetchSession::default();
        let name = |_| "t".to_owned();
        session.step(&asks(&[(0, 5)]), name);
        session.answered(ErrorCode::NONE, 77);
        session.failed();
        assert_eq!(said(&session.step(&asks(&[(0, 5)]), name)), (77, 0, vec![0], vec![]));
        session.answered(ErrorCode::FETCH_SESSION_ID_NOT_FOUND, 0);
        assert_eq!(said(&session.step(&asks(&[(0, 5)]), name)), (0, 0, vec![0], vec![]));
    }

    #[test]
    fn a_broker_without_sessions_is_told_everything_each_time() {
        let mut session = FetchSession::default();
        for _ in 0..3 {
            assert_eq!(said(&session.step(&asks(&[(0, 5)]), |_| "t".to_owned())), (0, 0, vec![0], vec![]));
            session.answered(ErrorCode::NONE, 0);
        }
    }
}
