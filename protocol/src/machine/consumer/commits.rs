//! OffsetCommit: what was handed out, or what the application says, becomes the group's.
//!
//! One is on the wire at a time and the others wait behind it, so that none is undone by an older one. What can be tried again is, until
//! its time is over.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use super::{
    Answer, Asked, CallId, ConsumerEvent, ConsumerFault, ConsumerMachine, ConsumerOptions, ConsumerRequest, Mode,
    OffsetAndMetadata, Offsets, TopicPartition, by_topic,
};
use crate::{
    machine::{
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        metadata::Urgency,
        types::{Destination, RequestFailure},
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
    offsets: Offsets,
    /// What of it the group has.
    done: Offsets,
    deadline: Instant,
    timeout: Duration,
    /// Whether nobody waits for the answer.
    is_own: bool,
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
        self.waiting.iter().flat_map(|commit| commit.offsets.keys())
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
        self.commit_within(now, offsets, self.options.default_api_timeout, false)
    }

    fn commit_within(&mut self, now: Instant, offsets: Offsets, timeout: Duration, is_own: bool) -> CallId {
        let id = self.calls.next_id();
        if offsets.is_empty() {
            self.tell(ConsumerEvent::Answered { id, result: Ok(Answer::Committed(offsets)) });
            return id;
        }
        if self.group.is_none() {
            self.refuse(id, ConsumerFault::NoGroup);
            return id;
        }
        self.commits.waiting.push_back(Commit {
            id,
            offsets,
            done: Offsets::new(),
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
        said: Offsets,
        timeout: Duration,
    ) -> Option<CallId> {
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
                let last = self.commits.last_code;
                self.end_commit(now, Err(ConsumerFault::TimedOut { timeout_ms, last }));
                continue;
            }
            let deadline = commit.deadline;
            if let Some(at) = self.commits.retry_at.filter(|at| now < *at) {
                return Some(at.min(deadline));
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
                self.end_commit(now, Err(ConsumerFault::NotMember { group }));
                continue;
            }
            let Some(address) = group.coordinator.address().cloned() else { return Some(deadline) };
            let ids: BTreeMap<&TopicPartition, Uuid> =
                commit.offsets.keys().filter_map(|p| Some((p, self.id_of(p)?.topic_id))).collect();
            if ids.len() < commit.offsets.len() {
                // Metadata is on its way.
                return Some(deadline);
            }
            let topics = by_topic(commit.offsets.iter().map(|(partition, offset)| {
                (partition.clone(), (ids.get(partition).copied().unwrap_or_default(), said(partition, offset)))
            }));
            let request = OffsetCommitRequest {
                group_id: group.id.clone(),
                generation_id_or_member_epoch: epoch.filter(|_| is_member).unwrap_or(-1),
                member_id: if is_member { self.options.member_id.clone() } else { String::new() },
                group_instance_id: self.options.instance_id.clone().filter(|_| is_member),
                topics: topics
                    .into_iter()
                    .map(|(name, partitions)| OffsetCommitRequestTopic {
                        name: name.to_string(),
                        topic_id: partitions.first().map(|(id, _)| *id).unwrap_or_default(),
                        partitions: partitions.into_iter().map(|(_, said)| said).collect(),
                    })
                    .collect(),
                ..OffsetCommitRequest::default()
            };
            let least = if is_member { MEMBERS_SINCE } else { 0 };
            let id = commit.id;
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

    pub(super) fn committed_answered(&mut self, now: Instant, id: CallId, response: &OffsetCommitResponse) {
        self.commits.in_flight.take_if(|out| *out == id);
        // One that was given up says nothing of the next.
        let Some(commit) = self.commits.waiting.front().filter(|commit| commit.id == id) else { return };
        let mut failed = BTreeSet::new();
        let mut worst: Option<(TopicPartition, ErrorCode)> = None;
        let names: BTreeMap<Uuid, &TopicPartition> =
            commit.offsets.keys().filter_map(|name| Some((self.id_of(name)?.topic_id, name))).collect();
        for topic in &response.topics {
            let name = names.get(&topic.topic_id).map_or_else(|| topic.name.as_str().into(), |name| name.topic.clone());
            for partition in topic.partitions.iter().filter(|partition| !partition.error_code.is_none()) {
                let code = partition.error_code;
                let of = TopicPartition { topic: name.clone(), partition: partition.partition_index };
                failed.insert(of.clone());
                // What cannot be healed counts for more.
                if worst.as_ref().is_none_or(|(_, worst)| heals(*worst) && !heals(code)) {
                    worst = Some((of, code));
                }
            }
        }
        match worst {
            None => {
                let offsets = commit.offsets.clone().into_iter().chain(commit.done.clone()).collect();
                self.end_commit(now, Ok(offsets));
            }
            Some((_, code)) if heals(code) => {
                self.commits.last_code = Some(code);
                self.commit_is_done_but_for(&failed);
                match code {
                    ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => self.lose_coordinator(now),
                    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID => {
                        self.metadata.refresh(now, Urgency::Debounced);
                    }
                    _ => {}
                }
                self.commits.retry_at = Some(now + self.commits.backoff.next_delay());
            }
            Some((_, ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH)) => {
                let group = self.group.as_ref().map(|group| group.id.clone()).unwrap_or_default();
                self.end_commit(now, Err(ConsumerFault::NotMember { group }));
            }
            Some((partition, code)) => self.end_commit(now, Err(ConsumerFault::Commit { partition, code })),
        }
    }

    /// All of the commit under way but this is done, and need not wait for the rest.
    fn commit_is_done_but_for(&mut self, failed: &BTreeSet<TopicPartition>) {
        let Some(commit) = self.commits.waiting.front_mut() else { return };
        let (left, done) = std::mem::take(&mut commit.offsets).into_iter().partition(|(name, _)| failed.contains(name));
        commit.offsets = left;
        let done: Offsets = done;
        commit.done.extend(done);
    }

    pub(super) fn commit_failed(&mut self, now: Instant, id: CallId, failure: RequestFailure) {
        self.commits.in_flight.take_if(|out| *out == id);
        if self.commits.waiting.front().is_none_or(|commit| commit.id != id) {
            return;
        }
        self.commits.last_code = Some(ErrorCode::NETWORK_EXCEPTION);
        if matches!(failure, RequestFailure::UnsupportedVersion(_)) {
            return self.end_commit(now, Err(ConsumerFault::Disabled));
        }
        self.coordinator_failed(now, failure);
        self.commits.retry_at = Some(now + self.commits.backoff.next_delay());
    }

    fn end_commit(&mut self, now: Instant, result: Result<Offsets, ConsumerFault>) {
        let Some(commit) = self.commits.waiting.pop_front() else { return };
        self.commits.retry_at = None;
        self.commits.last_code = None;
        self.commits.backoff.reset();
        if let Ok(offsets) = &result {
            for (name, offset) in offsets {
                if let Some(partition) = self.partitions.get_mut(name) {
                    partition.committed = Some(offset.offset);
                }
            }
        }
        self.commit_ended(now, commit.id);
        self.want(now);
        match result {
            Ok(offsets) if !commit.is_own => {
                self.tell(ConsumerEvent::Answered { id: commit.id, result: Ok(Answer::Committed(offsets)) });
            }
            Ok(_) => {}
            Err(fault) if commit.is_own => self.fault(fault),
            Err(fault) => self.refuse(commit.id, fault),
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
            self.end_commit(now, Err(ConsumerFault::NotMember { group }));
        }
    }

    pub(super) fn refuse(&mut self, id: CallId, fault: ConsumerFault) {
        let error = MachineError::passing(MachineErrorKind::Consumer(fault));
        self.tell(ConsumerEvent::Answered { id, result: Err(error) });
    }
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
