//! OffsetCommit: what was handed out, or what the application says, becomes the group's.
//!
//! One is on the wire at a time and the others wait behind it, so that none is undone by an older one. What can be tried again is, until
//! its time is over; what is of a topic that is gone is given up, so that it holds back neither the others nor a member that leaves.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use super::{
    Answer, Asked, CallId, ConsumerEvent, ConsumerFault, ConsumerMachine, ConsumerOptions, ConsumerRequest, Mode,
    OffsetAndMetadata, Offsets, TopicPartition,
};
use crate::{
    machine::{
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        metadata::{MISSING_GRACE, Urgency},
        types::{Destination, RequestFailure, TopicIdPartition},
    },
    messages::offset_commit::{
        OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
    },
    wire::{ErrorCode, Uuid},
};

/// Since this version OffsetCommit serves members by KIP-848.
const MEMBERS_SINCE: i16 = 9;

#[derive(Debug)]
pub(super) struct Commits {
    waiting: VecDeque<Commit>,
    /// Whose request is out, be it given up meanwhile.
    in_flight: Option<CallId>,
    retry_at: Option<Instant>,
    backoff: Backoff,
    last_code: Option<ErrorCode>,
}

#[derive(Debug)]
struct Commit {
    id: CallId,
    /// What the group does not have yet.
    left: BTreeMap<TopicPartition, Left>,
    /// What of it the group has.
    done: Offsets,
    /// Why something of it cannot be committed.
    fault: Option<ConsumerFault>,
    deadline: Instant,
    timeout: Duration,
    /// Whether nobody waits for the answer.
    is_own: bool,
}

#[derive(Debug)]
struct Left {
    offset: OffsetAndMetadata,
    /// The topic that it is of, even where another one gets the name.
    topic_id: Option<Uuid>,
    /// Since when the coordinator does not know the partition.
    unknown_since: Option<Instant>,
}

impl Commits {
    pub(super) fn new(options: &ConsumerOptions, seed: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            in_flight: None,
            retry_at: None,
            backoff: Backoff::new(options.retry_backoff, options.retry_backoff_max, seed),
            last_code: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The partitions that are to be committed, whose topics have to be known.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.waiting.iter().flat_map(|commit| commit.left.keys())
    }

    /// None takes longer than to this instant.
    pub(super) fn end_by(&mut self, now: Instant, end: Instant) {
        for commit in self.waiting.iter_mut().filter(|commit| end < commit.deadline) {
            commit.deadline = end;
            commit.timeout = end.duration_since(now);
        }
    }
}

impl ConsumerMachine {
    /// Commits these offsets, or all that was handed out. The answer is [`Answer::Committed`], once all commits before have ended.
    pub fn commit(&mut self, now: Instant, offsets: Option<Offsets>) -> CallId {
        if self.is_closing() {
            let id = self.calls.next_id();
            self.refuse(id, ConsumerFault::Closed);
            return id;
        }
        let offsets = offsets.unwrap_or_else(|| self.handed_out(|_| true));
        if let Some(fault) = below_zero(&offsets) {
            let id = self.calls.next_id();
            self.refuse(id, fault);
            return id;
        }
        self.commit_within(now, offsets, self.options.default_api_timeout, false)
    }

    fn commit_within(&mut self, now: Instant, offsets: Offsets, timeout: Duration, is_own: bool) -> CallId {
        let id = self.calls.next_id();
        // Also where there is nothing to commit: the next call would fail all the same.
        if self.group.is_none() {
            self.refuse(id, ConsumerFault::NoGroup);
            return id;
        }
        if offsets.is_empty() {
            self.tell(ConsumerEvent::Answered { id, result: Ok(Answer::Committed(offsets)) });
            return id;
        }
        let left = offsets.into_iter().map(|(partition, offset)| {
            let topic_id = self.id_of(&partition).map(|id| id.topic_id);
            (partition, Left { offset, topic_id, unknown_since: None })
        });
        self.commits.waiting.push_back(Commit {
            id,
            left: left.collect(),
            done: Offsets::new(),
            fault: None,
            deadline: now + timeout,
            timeout,
            is_own,
        });
        self.want(now);
        id
    }

    /// The positions behind what was handed out of these partitions, where they are known.
    fn handed_out(&self, wanted: impl Fn(&TopicPartition) -> bool) -> Offsets {
        let known = self.partitions.iter().filter(|(name, _)| wanted(name));
        known.filter_map(|(name, partition)| Some((name.clone(), partition.position?.into()))).collect()
    }

    /// As [`handed_out`](Self::handed_out), without what the group has already.
    fn uncommitted(&self, wanted: impl Fn(&TopicPartition) -> bool) -> Offsets {
        let mut offsets = self.handed_out(wanted);
        offsets.retain(|name, offset| self.partitions.get(name).is_none_or(|p| p.committed != Some(offset.offset)));
        offsets
    }

    /// Commits what was handed out before this poll, when it is time to.
    pub(super) fn commit_by_itself(&mut self, now: Instant) {
        let Some(interval) = self.options.auto_commit.filter(|_| self.group.is_some()) else { return };
        if self.auto_commit_at.is_none_or(|at| now < at) || self.commits.waiting.iter().any(|commit| commit.is_own) {
            return;
        }
        self.auto_commit_at = Some(now + interval);
        let offsets = self.uncommitted(|_| true);
        if !offsets.is_empty() {
            self.commit_within(now, offsets, self.options.default_api_timeout, true);
        }
    }

    /// Commits the last of some partitions before they go; `None` where there is nothing.
    pub(super) fn commit_of(
        &mut self,
        now: Instant,
        partitions: &[TopicPartition],
        mut said: Offsets,
        timeout: Duration,
    ) -> Option<CallId> {
        // Before it is known whether there is anything to commit, which somebody waits for.
        if let Some(fault) = below_zero(&said) {
            self.fault(fault);
            said.retain(|_, said| said.offset >= 0);
        }
        let mut offsets = match self.options.auto_commit {
            Some(_) => self.uncommitted(|name| partitions.contains(name)),
            None => Offsets::new(),
        };
        offsets.extend(said);
        let worth = !offsets.is_empty() && self.group.is_some();
        worth.then(|| self.commit_within(now, offsets, timeout.min(self.options.default_api_timeout), true))
    }

    /// Commits the last of all partitions before the consumer stops to read them.
    pub(super) fn commit_last(&mut self, now: Instant, said: Offsets, timeout: Duration) {
        let all: Vec<TopicPartition> = self.partitions.keys().cloned().collect();
        self.commit_of(now, &all, said, timeout);
    }

    /// Sends the next one. Returns when there is more to do.
    pub(super) fn advance_commits(&mut self, now: Instant) -> Option<Instant> {
        while let Some(commit) = self.commits.waiting.front().filter(|_| self.commits.in_flight.is_none()) {
            if commit.deadline <= now {
                let timeout_ms = commit.timeout.as_millis();
                let (of, last) = (commit.left.keys().next().cloned(), self.commits.last_code);
                self.end_commit(now, Some(ConsumerFault::TimedOut { of, timeout_ms, last }));
                continue;
            }
            let (id, deadline) = (commit.id, commit.deadline);
            if let Some(at) = self.commits.retry_at.filter(|at| now < *at) {
                return Some(at.min(deadline));
            }
            if self.give_up_what_is_gone(now) {
                continue;
            }
            let Some(group) = &self.group else { return None };
            let is_member = self.is_member_of_group();
            let epoch = group.membership.epoch();
            if is_member && epoch.is_none() {
                if group.membership.is_member() || self.mode == Mode::Partitions {
                    // It joins, and may have partitions a moment later that the offsets are of; or it leaves, and commits as nobody then.
                    return Some(deadline);
                }
                let group = group.id.clone();
                self.end_commit(now, Some(ConsumerFault::NotMember { group }));
                continue;
            }
            let Some(address) = group.coordinator.address().cloned() else { return Some(deadline) };
            let Some(topics) = self.commits.waiting.front().and_then(Commit::topics) else {
                // Metadata is on its way.
                return Some(deadline);
            };
            let request = OffsetCommitRequest {
                group_id: group.id.clone(),
                generation_id_or_member_epoch: epoch.filter(|_| is_member).unwrap_or(-1),
                member_id: if is_member { self.options.member_id.clone() } else { String::new() },
                group_instance_id: self.options.instance_id.clone().filter(|_| is_member),
                topics,
                ..OffsetCommitRequest::default()
            };
            let least = if is_member { MEMBERS_SINCE } else { 0 };
            self.commits.in_flight = Some(id);
            let request = ConsumerRequest::OffsetCommit(request);
            self.ask(Destination::Coordinator(address), request, least, Asked::Commit(id));
        }
        None
    }

    /// Whether commits are those of a member, whose epoch the coordinator looks at.
    fn is_member_of_group(&self) -> bool {
        let counts = |group: &super::Group| group.membership.needs_coordinator();
        self.group.as_ref().is_some_and(counts) || matches!(self.mode, Mode::Member(_))
    }

    /// Lets go of what the first commit has of topics and partitions that are gone. Returns whether there was any.
    fn give_up_what_is_gone(&mut self, now: Instant) -> bool {
        let Some(commit) = self.commits.waiting.front() else { return false };
        let mut gone = None;
        let mut learnt = Vec::new();
        for (partition, left) in &commit.left {
            let topic_id = left.topic_id.or_else(|| self.id_of(partition).map(|id| id.topic_id));
            match topic_id {
                Some(topic_id) if left.topic_id.is_none() => learnt.push((partition.clone(), topic_id)),
                _ => {}
            }
            gone = gone.or_else(|| Some((partition.clone(), self.why_gone(now, partition, topic_id, left)?)));
        }
        let Some(commit) = self.commits.waiting.front_mut() else { return false };
        for (partition, topic_id) in learnt {
            commit.left.entry(partition).and_modify(|left| left.topic_id = Some(topic_id));
        }
        let Some((partition, fault)) = gone else { return false };
        commit.left.remove(&partition);
        commit.fault.get_or_insert(fault);
        if commit.left.is_empty() {
            self.end_commit(now, None);
        }
        true
    }

    /// Why a partition can never be committed, if metadata says so.
    fn why_gone(
        &self,
        now: Instant,
        partition: &TopicPartition,
        topic_id: Option<Uuid>,
        left: &Left,
    ) -> Option<ConsumerFault> {
        let no_topic = || ConsumerFault::NoTopic { topic: partition.topic.clone() };
        let Some(topic_id) = topic_id else { return self.metadata.is_missing(&partition.topic).then(no_topic) };
        let unknown_since = left.unknown_since?;
        if self.metadata.is_replaced_or_missing(&partition.topic, topic_id) {
            return Some(no_topic());
        }
        let id = TopicIdPartition { topic_id, partition: partition.partition };
        let lacks = unknown_since + MISSING_GRACE <= now && self.metadata.lacks(id);
        let (partition, code) = (partition.clone(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        lacks.then_some(ConsumerFault::Commit { partition, code })
    }

    pub(super) fn committed_answered(&mut self, now: Instant, id: CallId, response: &OffsetCommitResponse) {
        self.commits.in_flight.take_if(|out| *out == id);
        // One that was given up says nothing of the next.
        let Some(commit) = self.commits.waiting.front_mut().filter(|commit| commit.id == id) else { return };
        let mut failed = commit.failed(response);
        if failed.values().any(|code| matches!(*code, ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH)) {
            let group = self.group.as_ref().map(|group| group.id.clone()).unwrap_or_default();
            return self.end_commit(now, Some(ConsumerFault::NotMember { group }));
        }
        for (partition, left) in commit.left.extract_if(.., |name, _| !failed.contains_key(name)) {
            commit.done.insert(partition, left.offset);
        }
        for (partition, code) in failed.extract_if(.., |_, code| !heals(*code)) {
            commit.left.remove(&partition);
            commit.fault.get_or_insert(ConsumerFault::Commit { partition, code });
        }
        if commit.left.is_empty() {
            return self.end_commit(now, None);
        }
        let mut is_lost = false;
        let mut is_unknown = false;
        for (partition, code) in failed {
            self.commits.last_code = Some(code);
            is_lost |= matches!(code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE);
            if matches!(code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID) {
                is_unknown = true;
                let left = commit.left.entry(partition);
                left.and_modify(|left| _ = left.unknown_since.get_or_insert(now));
            }
        }
        self.commits.retry_at = Some(now + self.commits.backoff.next_delay());
        if is_lost {
            self.lose_coordinator(now);
        }
        if is_unknown {
            self.metadata.refresh(now, Urgency::Debounced);
        }
    }

    pub(super) fn commit_failed(&mut self, now: Instant, id: CallId, failure: RequestFailure) {
        self.commits.in_flight.take_if(|out| *out == id);
        if self.commits.waiting.front().is_none_or(|commit| commit.id != id) {
            return;
        }
        self.commits.last_code = Some(ErrorCode::NETWORK_EXCEPTION);
        if matches!(failure, RequestFailure::UnsupportedVersion(_)) {
            return self.end_commit(now, Some(ConsumerFault::Disabled));
        }
        self.coordinator_failed(now, failure);
        self.commits.retry_at = Some(now + self.commits.backoff.next_delay());
    }

    /// The first commit ends: with this fault, or the one that it has met already.
    fn end_commit(&mut self, now: Instant, fault: Option<ConsumerFault>) {
        let Some(commit) = self.commits.waiting.pop_front() else { return };
        self.commits.retry_at = None;
        self.commits.last_code = None;
        self.commits.backoff.reset();
        for (name, offset) in &commit.done {
            if let Some(partition) = self.partitions.get_mut(name) {
                partition.committed = Some(offset.offset);
            }
        }
        self.commit_ended(now, commit.id);
        self.want(now);
        match commit.fault.or(fault) {
            Some(fault) if commit.is_own => self.fault(fault),
            Some(fault) => self.refuse(commit.id, fault),
            None if commit.is_own => {}
            None => {
                let result = Ok(Answer::Committed(commit.done));
                self.tell(ConsumerEvent::Answered { id: commit.id, result });
            }
        }
    }

    /// Forgets what is not sent yet.
    pub(super) fn drop_commits(&mut self) {
        let is_out = |commit: &&Commit| self.commits.in_flight == Some(commit.id);
        let sent = usize::from(self.commits.waiting.front().filter(is_out).is_some());
        for dropped in self.commits.waiting.split_off(sent).into_iter().filter(|commit| !commit.is_own) {
            self.refuse(dropped.id, ConsumerFault::Closed);
        }
    }

    /// No commit can go well any more.
    pub(super) fn fail_commits(&mut self, now: Instant) {
        while !self.commits.is_empty() {
            let group = self.options.group_id.clone().unwrap_or_default();
            self.end_commit(now, Some(ConsumerFault::NotMember { group }));
        }
    }

    pub(super) fn refuse(&mut self, id: CallId, fault: ConsumerFault) {
        let error = MachineError::passing(MachineErrorKind::Consumer(fault));
        self.tell(ConsumerEvent::Answered { id, result: Err(error) });
    }
}

impl Commit {
    /// What to say of it, once the ids of all topics are known.
    fn topics(&self) -> Option<Vec<OffsetCommitRequestTopic>> {
        let mut topics: Vec<OffsetCommitRequestTopic> = Vec::new();
        for (partition, left) in &self.left {
            let (name, topic_id) = (&*partition.topic, left.topic_id?);
            let said = said(partition, &left.offset);
            match topics.last_mut().filter(|topic| topic.name == name) {
                Some(topic) => topic.partitions.push(said),
                None => {
                    topics.push(OffsetCommitRequestTopic { name: name.to_owned(), topic_id, partitions: vec![said] });
                }
            }
        }
        Some(topics)
    }

    /// What the coordinator did not take, and why. Topics are named by id, or by name in older versions.
    fn failed(&self, response: &OffsetCommitResponse) -> BTreeMap<TopicPartition, ErrorCode> {
        let names: BTreeMap<Uuid, &TopicPartition> =
            self.left.iter().filter_map(|(name, left)| Some((left.topic_id?, name))).collect();
        let mut failed = BTreeMap::new();
        for topic in &response.topics {
            let name = names.get(&topic.topic_id).map_or_else(|| topic.name.as_str().into(), |name| name.topic.clone());
            for partition in topic.partitions.iter().filter(|partition| !partition.error_code.is_none()) {
                let of = TopicPartition { topic: name.clone(), partition: partition.partition_index };
                failed.insert(of, partition.error_code);
            }
        }
        failed
    }
}

/// Why these cannot be committed, where one is no offset.
fn below_zero(offsets: &Offsets) -> Option<ConsumerFault> {
    let (partition, said) = offsets.iter().find(|(_, said)| said.offset < 0)?;
    Some(ConsumerFault::BelowZero { partition: partition.clone(), offset: said.offset })
}

/// Whether the same commit may go well later. A stale epoch is one that the next heartbeat brings up to date.
fn heals(code: ErrorCode) -> bool {
    code.is_retriable() || code == ErrorCode::STALE_MEMBER_EPOCH
}

fn said(partition: &TopicPartition, offset: &OffsetAndMetadata) -> OffsetCommitRequestPartition {
    OffsetCommitRequestPartition {
        partition_index: partition.partition,
        committed_offset: offset.offset,
        committed_leader_epoch: offset.leader_epoch.unwrap_or(-1),
        committed_metadata: Some(offset.metadata.clone()),
    }
}
