//! Questions of the application, and their answers.

use std::collections::{BTreeMap, BTreeSet};

use super::world::World;
use crate::machine::MachineError;
use crate::machine::consumer::{Answer, CallId, Offsets, TopicPartition};

/// What was asked.
#[derive(Debug)]
pub(super) enum Question {
    Commit,
    Kept(BTreeSet<TopicPartition>),
    Times(BTreeSet<TopicPartition>),
    Position(TopicPartition),
}

/// What was asked, and how often it was answered.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<CallId, (Question, u32)>);

impl Calls {
    fn asked(&mut self, id: CallId, question: Question) {
        assert!(self.0.insert(id, (question, 0)).is_none(), "{id:?} twice");
    }

    /// Whether all are answered.
    pub(super) fn are_answered(&self) -> bool {
        self.0.values().all(|(_, ends)| *ends == 1)
    }
}

impl World {
    pub(super) fn ask_commit(&mut self, offsets: Option<Offsets>) {
        self.says(offsets.iter().flatten());
        let id = self.machine.commit(self.now, offsets);
        self.calls.asked(id, Question::Commit);
    }

    pub(super) fn ask_kept(&mut self, partitions: Vec<TopicPartition>) {
        let id = self.machine.committed(self.now, partitions.clone());
        self.calls.asked(id, Question::Kept(partitions.into_iter().collect()));
    }

    pub(super) fn ask_times(&mut self, times: BTreeMap<TopicPartition, i64>) {
        let partitions = times.keys().cloned().collect();
        let id = self.machine.offsets_for_times(self.now, times);
        self.calls.asked(id, Question::Times(partitions));
    }

    pub(super) fn ask_position(&mut self, partition: TopicPartition) {
        let id = self.machine.position(self.now, partition.clone());
        self.calls.asked(id, Question::Position(partition));
    }

    pub(super) fn hear_answer(&mut self, id: CallId, result: Result<Answer, MachineError>) {
        let (_, ends) = self.calls.0.get_mut(&id).expect("a question that was asked");
        *ends += 1;
        assert_eq!(*ends, 1, "{id:?} answered again");
        let Ok(answer) = result else { return };
        let question = &self.calls.0[&id].0;
        match (question, answer) {
            (Question::Commit, Answer::Committed(offsets)) => {
                for (name, offset) in offsets {
                    assert_eq!(self.committed.get(&name), Some(&offset.offset), "{name} was not committed");
                }
            }
            (Question::Kept(asked), Answer::Kept(kept)) => assert!(kept.keys().eq(asked), "{kept:?} of {asked:?}"),
            (Question::Times(asked), Answer::Found(found)) => assert!(found.keys().eq(asked), "{found:?} of {asked:?}"),
            (Question::Position(name), Answer::Position(position)) => {
                assert!(self.may_commit(name, position.offset), "{name} was never at {position:?}");
            }
            (question, answer) => panic!("{answer:?} to {question:?}"),
        }
    }
}
