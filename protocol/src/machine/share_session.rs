//! The share session with one broker: its epoch, and which partitions the broker takes for part of it.
//!
//! ```text
//!             begin_fetch (epoch 0, everything listed)        accepted
//!   Closed(0) ---------------------------------------> Opening --------> Open(1) --+
//!      ^  ^                                               |                 |  ^   | accepted: e -> e + 1,
//!      |  +---------------- reset ------------------------+------- reset ---+  +---+ i32::MAX -> 1
//!      |                                                                    | begin_close (epoch -1)
//!      +------------------------- accepted or reset ---------------- Closing
//! ```
//!
//! ShareFetch and ShareAcknowledge count with the one epoch. A ShareAcknowledge cannot open a session, and the fetch
//! that opens one carries no acknowledgements. The broker ends the session with its connection, so each loss of the
//! connection is a reset.
//!
//! A broker that says that the epoch is another one is asked again with the same. Where it says so again, over a connection
//! that lives and of a session in which this side cannot have lost count, somebody else has opened the session anew.

use std::collections::BTreeSet;

use crate::machine::types::{SessionId, TopicIdPartition};

const FINAL_EPOCH: i32 = -1;

#[derive(Debug)]
pub(crate) struct ShareSession {
    id: SessionId,
    state: State,
    /// Every partition that a request has listed and none has forgotten since: the broker's view.
    listed: BTreeSet<TopicIdPartition>,
    /// The partitions to fetch from.
    wanted: BTreeSet<TopicIdPartition>,
    /// What the last fetch listed and forgot, which the broker has not taken if it refused the fetch.
    unconfirmed: (Vec<TopicIdPartition>, Vec<TopicIdPartition>),
    /// Whether the broker has taken every request of the session so far, as its answers say.
    is_sure: bool,
    /// Whether a request has got no answer: it may reach the broker yet, and count in a session that was opened since.
    is_haunted: bool,
    /// Whether the broker said that the epoch is another one, and has taken no request since.
    is_doubted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Opening,
    Open(i32),
    Closing,
}

/// What it means that the broker says that the epoch is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This side may have lost count: the session has to be opened anew.
    Lost,
    /// Nothing yet: the same epoch has to be said again.
    Doubted,
    /// Another process has opened the session anew.
    Taken,
}

/// What a fetch says about the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchStep {
    pub(crate) epoch: i32,
    /// Partitions to list in `Topics`.
    pub(crate) add: Vec<TopicIdPartition>,
    /// Partitions to list in `ForgottenTopicsData`.
    pub(crate) forget: Vec<TopicIdPartition>,
}

impl ShareSession {
    pub(crate) fn new(node: i32) -> Self {
        Self {
            id: SessionId { node, incarnation: 0 },
            state: State::Closed,
            listed: BTreeSet::new(),
            wanted: BTreeSet::new(),
            unconfirmed: Default::default(),
            is_sure: false,
            is_haunted: false,
            is_doubted: false,
        }
    }

    pub(crate) fn id(&self) -> SessionId {
        self.id
    }

    /// Whether the broker has the session, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether there is no session and none is being opened or closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    pub(crate) fn wanted(&self) -> &BTreeSet<TopicIdPartition> {
        &self.wanted
    }

    pub(crate) fn want(&mut self, wanted: BTreeSet<TopicIdPartition>) {
        self.wanted = wanted;
    }

    /// Whether the broker lists a partition for this session.
    pub(crate) fn lists(&self, topic_partition: TopicIdPartition) -> bool {
        self.listed.contains(&topic_partition)
    }

    /// The partitions that the broker lists for this session.
    pub(crate) fn listed(&self) -> impl Iterator<Item = TopicIdPartition> {
        self.listed.iter().copied()
    }

    /// Whether the broker still lists partitions that are not wanted.
    pub(crate) fn has_to_forget(&self) -> bool {
        self.is_open() && !self.listed.is_subset(&self.wanted)
    }

    /// The broker serves partitions that the session never listed: a request that another session of this member left behind has opened it
    /// in place of this one, and the epochs met. What else it lists nobody knows: the next fetch lists all that is wanted, and forgets these.
    pub(crate) fn mistaken(&mut self, served: Vec<TopicIdPartition>) {
        if self.is_open() && !served.is_empty() {
            self.listed = served.into_iter().collect();
        }
    }

    /// Takes the epoch for a fetch, opening the session where there is none; `None` while it opens or closes. The
    /// request may list no partition but those of the step and wanted ones, or the broker would serve partitions that
    /// are never forgotten: acknowledgements of others go by ShareAcknowledge, which adds nothing to the session.
    pub(crate) fn begin_fetch(&mut self) -> Option<FetchStep> {
        match self.state {
            State::Closed => {
                self.id.incarnation += 1;
                self.state = State::Opening;
                self.listed = self.wanted.clone();
                Some(FetchStep { epoch: 0, add: self.listed.iter().copied().collect(), forget: Vec::new() })
            }
            State::Open(epoch) => {
                let add: Vec<TopicIdPartition> = self.wanted.difference(&self.listed).copied().collect();
                let forget: Vec<TopicIdPartition> = self.listed.difference(&self.wanted).copied().collect();
                self.listed.extend(&add);
                forget.iter().for_each(|partition| _ = self.listed.remove(partition));
                self.unconfirmed = (add.clone(), forget.clone());
                Some(FetchStep { epoch, add, forget })
            }
            State::Opening | State::Closing => None,
        }
    }

    /// Takes the epoch for an acknowledgement, where there is a session.
    pub(crate) fn begin_acknowledge(&mut self) -> Option<i32> {
        match self.state {
            State::Open(epoch) => Some(epoch),
            _ => None,
        }
    }

    /// Takes the epoch that ends the session, where there is one.
    pub(crate) fn begin_close(&mut self) -> Option<i32> {
        self.is_open().then(|| {
            self.state = State::Closing;
            FINAL_EPOCH
        })
    }

    /// The broker has taken the request of the epoch that was begun last.
    pub(crate) fn accepted(&mut self) {
        self.is_sure |= self.state == State::Opening;
        self.advance();
    }

    /// The broker has most likely taken the request of the epoch that was begun last, though its answer is an error.
    pub(crate) fn failed(&mut self) {
        self.is_sure = false;
        self.advance();
    }

    fn advance(&mut self) {
        self.is_doubted = false;
        self.unconfirmed = Default::default();
        self.state = match self.state {
            State::Opening | State::Open(i32::MAX) => State::Open(1),
            State::Open(epoch) => State::Open(epoch + 1),
            State::Closing | State::Closed => State::Closed,
        };
    }

    /// The request of the epoch that was begun last gets no answer, since its connection or its time has ended.
    pub(crate) fn unanswered(&mut self) {
        self.is_haunted = true;
    }

    /// The broker says that the session has another epoch than the request that was begun last.
    pub(crate) fn refused(&mut self) -> Refusal {
        if !self.is_sure || !self.is_open() || std::mem::take(&mut self.is_haunted) {
            return Refusal::Lost;
        }
        let (added, forgotten) = std::mem::take(&mut self.unconfirmed);
        added.iter().for_each(|partition| _ = self.listed.remove(partition));
        self.listed.extend(forgotten);
        match std::mem::replace(&mut self.is_doubted, true) {
            false => Refusal::Doubted,
            true => Refusal::Taken,
        }
    }

    /// The session is gone, or may be. Returns whether there was one to lose.
    pub(crate) fn reset(&mut self) -> bool {
        let lost = matches!(self.state, State::Open(_) | State::Closing);
        self.state = State::Closed;
        self.listed.clear();
        self.unconfirmed = Default::default();
        (self.is_sure, self.is_doubted) = (false, false);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Uuid;

    fn partition(partition: i32) -> TopicIdPartition {
        TopicIdPartition { topic_id: Uuid([7; 16]), partition }
    }

    fn open(wanted: &[i32]) -> ShareSession {
        let mut session = ShareSession::new(1);
        session.want(wanted.iter().map(|p| partition(*p)).collect());
        session.begin_fetch().unwrap();
        session.accepted();
        session
    }

    // Mutation: protocol/src/machine/share_session.rs
    // - State::Opening | State::Open(i32::MAX) => State::Open(1),
    // + State::Opening => State::Open(1), State::Open(i32::MAX) => State::Open(0),
    #[test]
    fn row_07_the_epoch_wraps_to_one() {
        let mut session = open(&[0]);
        session.state = State::Open(i32::MAX);
        assert_eq!(session.begin_fetch().unwrap().epoch, i32::MAX);
        session.accepted();
        assert_eq!(session.begin_acknowledge(), Some(1));
    }

    #[test]
    fn an_incremental_fetch_lists_only_what_is_new() {
        let mut session = open(&[0, 1]);
        session.want([0, 2].map(partition).into());
        assert!(session.has_to_forget());
        let step = session.begin_fetch().unwrap();
        assert_eq!(step, FetchStep { epoch: 1, add: vec![partition(2)], forget: vec![partition(1)] });
        session.accepted();
        assert!(!session.has_to_forget());
        let step = session.begin_fetch().unwrap();
        assert_eq!(step, FetchStep { epoch: 2, add: vec![], forget: vec![] });
    }

    #[test]
    fn a_session_that_lists_what_it_never_did_is_told_all_that_is_wanted() {
        let mut session = open(&[0, 1]);
        session.mistaken(vec![partition(5)]);
        assert!(session.has_to_forget());
        let step = session.begin_fetch().unwrap();
        assert_eq!(step, FetchStep { epoch: 1, add: vec![partition(0), partition(1)], forget: vec![partition(5)] });
        session.accepted();
        session.mistaken(Vec::new());
        assert_eq!(session.begin_fetch().unwrap(), FetchStep { epoch: 2, add: vec![], forget: vec![] });
    }

    #[test]
    fn a_refused_epoch_is_said_again_with_all_that_the_broker_did_not_take() {
        let mut session = open(&[0, 1]);
        session.want([0, 2].map(partition).into());
        let step = session.begin_fetch().unwrap();
        assert_eq!(session.refused(), Refusal::Doubted);
        assert!(session.lists(partition(1)) && !session.lists(partition(2)));
        assert_eq!(session.begin_fetch().unwrap(), step);
        session.accepted();
        assert!(!session.lists(partition(1)) && session.lists(partition(2)));
        session.begin_fetch().unwrap();
        assert_eq!(session.refused(), Refusal::Doubted, "a request that was taken ends the doubt");
        assert_eq!(session.begin_acknowledge(), Some(2));
        assert_eq!(session.refused(), Refusal::Taken);
    }

    #[test]
    fn a_session_in_which_a_request_has_failed_may_have_lost_count() {
        let mut session = open(&[0]);
        session.begin_fetch().unwrap();
        session.failed();
        session.begin_fetch().unwrap();
        assert_eq!(session.refused(), Refusal::Lost);
        session.reset();
        session.begin_fetch().unwrap();
        session.accepted();
        assert_eq!(session.refused(), Refusal::Doubted);
    }

    // Mutation: protocol/src/machine/share_session.rs
    // - self.is_haunted = true;
    // +
    #[test]
    fn a_request_without_an_answer_may_count_in_the_next_session_once() {
        let mut session = open(&[0]);
        session.begin_fetch().unwrap();
        session.unanswered();
        for refusal in [Refusal::Lost, Refusal::Doubted] {
            session.reset();
            session.begin_fetch().unwrap();
            session.accepted();
            session.begin_fetch().unwrap();
            assert_eq!(session.refused(), refusal);
        }
        assert_eq!(session.refused(), Refusal::Taken);
    }

    #[test]
    fn a_new_session_has_a_new_incarnation_and_lists_everything() {
        let mut session = open(&[0]);
        let first = session.id();
        assert!(session.reset());
        assert_eq!(session.begin_acknowledge(), None);
        assert_eq!(session.begin_fetch().unwrap(), FetchStep { epoch: 0, add: vec![partition(0)], forget: vec![] });
        assert_ne!(session.id(), first);
        assert!(!session.reset(), "a session that never opened has nothing to lose");
    }
}
