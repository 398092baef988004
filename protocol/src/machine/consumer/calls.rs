//! Questions of the application: what the group has kept, what offsets times have, where a partition is read on.
//!
//! Each is asked until it is answered, cannot be, or its time is over.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use super::{
    Answer, Asked, CallId, ConsumerEvent, ConsumerFault, ConsumerMachine, ConsumerRequest, OffsetAndMetadata,
    OffsetAndTimestamp, TopicPartition, positions::LIST_SINCE, types::epoch,
};
use crate::{
    machine::{
        backoff::Backoff,
        metadata::Urgency,
        types::{Destination, RequestFailure, earlier},
    },
    messages::{list_offsets::ListOffsetsResponse, offset_fetch::OffsetFetchResponse},
    wire::ErrorCode,
};

#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    open: BTreeMap<CallId, Call>,
}

#[derive(Debug)]
struct Call {
    question: Question,
    deadline: Instant,
    /// Requests that are out for it.
    out: usize,
    retry_at: Option<Instant>,
    backoff: Backoff,
    last_code: Option<ErrorCode>,
}

#[derive(Debug)]
enum Question {
    Kept(BTreeSet<TopicPartition>),
    Times { left: BTreeMap<TopicPartition, i64>, found: BTreeMap<TopicPartition, Option<OffsetAndTimestamp>> },
    Position(TopicPartition),
}

impl Question {
    /// What it asks about.
    fn partitions(&self) -> Vec<TopicPartition> {
        match self {
            Self::Kept(partitions) => partitions.iter().cloned().collect(),
            Self::Times { left, .. } => left.keys().cloned().collect(),
            Self::Position(partition) => vec![partition.clone()],
        }
    }
}

impl Calls {
    pub(super) fn next_id(&mut self) -> CallId {
        self.last += 1;
        CallId(self.last)
    }

    /// The topics that have to be known for them.
    fn topics(&self) -> BTreeSet<Arc<str>> {
        let mut topics = BTreeSet::new();
        for call in self.open.values() {
            if !matches!(call.question, Question::Position(_)) {
                topics.extend(call.question.partitions().into_iter().map(|partition| partition.topic));
            }
        }
        topics
    }
}

impl ConsumerMachine {
    /// Asks what the group has kept of these partitions. The answer is [`Answer::Kept`].
    pub fn committed(&mut self, now: Instant, partitions: Vec<TopicPartition>) -> CallId {
        let id = self.open_call(now, Question::Kept(partitions.into_iter().collect()));
        if self.group.is_none() {
            self.end_call(id, Err(ConsumerFault::NoGroup));
        }
        id
    }

    /// Asks for the first records that are not older than these times, in ms since 1970; -1 is the end, and -2 the beginning. The answer is
    /// [`Answer::Found`].
    pub fn offsets_for_times(&mut self, now: Instant, times: BTreeMap<TopicPartition, i64>) -> CallId {
        self.open_call(now, Question::Times { left: times, found: BTreeMap::new() })
    }

    /// Asks where a partition is read on, as soon as that is known. The answer is [`Answer::Position`].
    pub fn position(&mut self, now: Instant, partition: TopicPartition) -> CallId {
        self.open_call(now, Question::Position(partition))
    }

    fn open_call(&mut self, now: Instant, question: Question) -> CallId {
        let id = self.calls.next_id();
        let options = &self.options;
        let call = Call {
            question,
            deadline: now + options.default_api_timeout,
            out: 0,
            retry_at: None,
            backoff: Backoff::new(options.retry_backoff, options.retry_backoff_max, self.seed ^ id.0),
            last_code: None,
        };
        self.calls.open.insert(id, call);
        if self.is_closing() {
            self.end_call(id, Err(ConsumerFault::Closed));
        }
        self.want(now);
        id
    }

    /// The topics that questions and commits need, whether or not they are read.
    pub(super) fn asked_topics(&self) -> BTreeSet<Arc<str>> {
        let mut topics = self.calls.topics();
        topics.extend(self.commits.partitions().map(|partition| partition.topic.clone()));
        topics
    }

    /// Whether a question needs the coordinator.
    pub(super) fn asks_coordinator(&self) -> bool {
        self.calls.open.values().any(|call| matches!(call.question, Question::Kept(_)))
    }

    fn end_call(&mut self, id: CallId, result: Result<Answer, ConsumerFault>) {
        if self.calls.open.remove(&id).is_some() {
            match result {
                Ok(answer) => self.tell(ConsumerEvent::Answered { id, result: Ok(answer) }),
                Err(fault) => self.refuse(id, fault),
            }
        }
    }

    /// The consumer closes.
    pub(super) fn fail_calls(&mut self) {
        for id in self.calls.open.keys().copied().collect::<Vec<_>>() {
            self.end_call(id, Err(ConsumerFault::Closed));
        }
    }

    /// Asks what can be asked. Returns when there is more to do.
    pub(super) fn advance_calls(&mut self, now: Instant) -> Option<Instant> {
        let mut wait = None;
        for id in self.calls.open.keys().copied().collect::<Vec<_>>() {
            let Some(call) = self.calls.open.get(&id) else { continue };
            if call.deadline <= now {
                let timeout_ms = self.options.default_api_timeout.as_millis();
                let (of, last) = (call.question.partitions().into_iter().next(), call.last_code);
                self.end_call(id, Err(ConsumerFault::TimedOut { of, timeout_ms, last }));
                self.want(now);
                continue;
            }
            wait = earlier(wait, Some(call.deadline));
            match &call.question {
                Question::Position(partition) => {
                    let known = self.partitions.get(partition).map(|partition| partition.position);
                    match known {
                        None => {
                            let partition = partition.clone();
                            self.end_call(id, Err(ConsumerFault::NotAssigned { partition }));
                        }
                        Some(Some(position)) => self.end_call(id, Ok(Answer::Position(position))),
                        Some(None) => {}
                    }
                }
                _ if call.out > 0 => {}
                question if let Some(fault) = self.why_unanswerable(question) => {
                    self.end_call(id, Err(fault));
                    self.want(now);
                }
                _ if call.retry_at.is_some_and(|at| now < at) => wait = earlier(wait, call.retry_at),
                Question::Kept(partitions) => {
                    let partitions: Vec<TopicPartition> = partitions.iter().cloned().collect();
                    self.ask_kept(id, &partitions);
                }
                Question::Times { left, .. } => {
                    let left = left.clone();
                    self.ask_times(now, id, left);
                }
            }
        }
        wait
    }

    /// What a question names that does not exist.
    fn why_unanswerable(&self, question: &Question) -> Option<ConsumerFault> {
        let missing = |of: &TopicPartition| self.id_of(of).is_none() && self.metadata.is_missing(&of.topic);
        let missing = question.partitions().into_iter().find(missing)?;
        Some(ConsumerFault::NoTopic { topic: missing.topic })
    }

    fn ask_kept(&mut self, id: CallId, partitions: &[TopicPartition]) {
        let Some(address) = self.group.as_ref().and_then(|group| group.coordinator.address()).cloned() else { return };
        let ids = partitions.iter().filter_map(|partition| Some((self.id_of(partition)?, partition.clone())));
        let ids: BTreeMap<_, _> = ids.collect();
        if ids.len() < partitions.len() {
            // Metadata is on its way.
            return;
        }
        let request = self.offset_fetch(&ids, None);
        self.ask(
            Destination::Coordinator(address),
            ConsumerRequest::OffsetFetch(request),
            8,
            Asked::Call(id, partitions.to_vec()),
        );
        self.asked_for(id);
    }

    fn ask_times(&mut self, now: Instant, id: CallId, left: BTreeMap<TopicPartition, i64>) {
        if left.is_empty() {
            return self.end_times(now, id);
        }
        let mut by_leader: BTreeMap<i32, Vec<(TopicPartition, i32, i64)>> = BTreeMap::new();
        for (partition, time) in left {
            if let Some((leader, epoch)) = self.leader(&partition) {
                by_leader.entry(leader).or_default().push((partition, epoch, time));
            }
        }
        for (leader, asked) in by_leader {
            let Some(address) = self.metadata.address(leader).cloned() else {
                self.metadata.refresh(now, Urgency::Now);
                continue;
            };
            let partitions = asked.iter().map(|(partition, ..)| partition.clone()).collect();
            let request = ConsumerRequest::ListOffsets(self.list_offsets(asked));
            self.ask(Destination::Leader(address), request, LIST_SINCE, Asked::Call(id, partitions));
            self.asked_for(id);
        }
    }

    fn asked_for(&mut self, id: CallId) {
        if let Some(call) = self.calls.open.get_mut(&id) {
            call.out += 1;
        }
    }

    /// One request of a question is answered. Returns the question, where it is still open.
    fn answered_for(&mut self, id: CallId) -> Option<&mut Call> {
        let call = self.calls.open.get_mut(&id)?;
        call.out = call.out.saturating_sub(1);
        Some(call)
    }

    /// It is asked again a while later.
    fn call_again(&mut self, now: Instant, id: CallId, code: ErrorCode) {
        if let Some(call) = self.calls.open.get_mut(&id) {
            call.last_code = Some(code);
            call.retry_at = Some(now + call.backoff.next_delay());
        }
    }

    pub(super) fn call_failed(
        &mut self,
        now: Instant,
        id: CallId,
        partitions: &[TopicPartition],
        failure: RequestFailure,
    ) {
        let Some(call) = self.answered_for(id) else { return };
        let asks_coordinator = matches!(call.question, Question::Kept(_));
        if let (RequestFailure::UnsupportedVersion(_), Some(partition)) = (failure, partitions.first()) {
            let code = ErrorCode::UNSUPPORTED_VERSION;
            return self.end_call(id, Err(ConsumerFault::LookUp { partition: partition.clone(), code }));
        }
        match asks_coordinator {
            true => self.coordinator_failed(now, failure),
            false => self.metadata.refresh(now, Urgency::Now),
        }
        self.call_again(now, id, ErrorCode::NETWORK_EXCEPTION);
    }

    pub(super) fn call_kept(&mut self, now: Instant, id: CallId, response: OffsetFetchResponse) {
        let Some(Call { question: Question::Kept(asked), .. }) = self.answered_for(id) else { return };
        let asked = asked.clone();
        let names: BTreeMap<_, _> = asked.iter().filter_map(|name| Some((self.id_of(name)?, name.clone()))).collect();
        let mut kept: BTreeMap<TopicPartition, Option<OffsetAndMetadata>> =
            asked.into_iter().map(|partition| (partition, None)).collect();
        for group in response.groups {
            if !group.error_code.is_none() {
                self.coordinator_said(now, group.error_code);
                return match group.error_code {
                    code if code.is_retriable() => self.call_again(now, id, code),
                    code => {
                        let partition = kept.into_keys().next().unwrap_or_else(|| TopicPartition::new("", -1));
                        self.end_call(id, Err(ConsumerFault::LookUp { partition, code }));
                    }
                };
            }
            for topic in group.topics {
                for said in topic.partitions {
                    let name = super::kept::name_of(&names, topic.topic_id, &topic.name, said.partition_index);
                    match said.error_code {
                        ErrorCode::NONE if said.committed_offset >= 0 => {
                            let offset = OffsetAndMetadata {
                                offset: said.committed_offset,
                                leader_epoch: epoch(said.committed_leader_epoch),
                                metadata: said.metadata.unwrap_or_default(),
                            };
                            kept.entry(name).and_modify(|kept| *kept = Some(offset));
                        }
                        ErrorCode::NONE => {}
                        code if code.is_retriable() => return self.call_again(now, id, code),
                        code => return self.end_call(id, Err(ConsumerFault::LookUp { partition: name, code })),
                    }
                }
            }
        }
        self.end_call(id, Ok(Answer::Kept(kept)));
        self.want(now);
    }

    pub(super) fn call_listed(
        &mut self,
        now: Instant,
        id: CallId,
        asked: &[TopicPartition],
        response: ListOffsetsResponse,
    ) {
        let Some(Call { question: Question::Times { left, found }, .. }) = self.answered_for(id) else { return };
        let mut again = None;
        let mut refused = None;
        for topic in response.topics {
            for said in topic.partitions {
                let partition = TopicPartition::new(topic.name.as_str(), said.partition_index);
                match said.error_code {
                    ErrorCode::NONE => {
                        let offset = (said.offset >= 0).then_some(OffsetAndTimestamp {
                            offset: said.offset,
                            timestamp: said.timestamp,
                            leader_epoch: epoch(said.leader_epoch),
                        });
                        if left.remove(&partition).is_some() {
                            found.insert(partition, offset);
                        }
                    }
                    code if code.is_retriable() => again = Some(code),
                    code => refused = Some(ConsumerFault::LookUp { partition, code }),
                }
            }
        }
        // What the leader said nothing of is asked for again, though not at once.
        if again.is_none() && asked.iter().any(|partition| left.contains_key(partition)) {
            again = Some(ErrorCode::UNKNOWN_SERVER_ERROR);
        }
        let is_done = left.is_empty();
        if let Some(fault) = refused {
            self.end_call(id, Err(fault));
        } else if is_done {
            self.end_times(now, id);
        } else if let Some(code) = again {
            self.metadata.refresh(now, Urgency::Now);
            self.call_again(now, id, code);
        }
    }

    fn end_times(&mut self, now: Instant, id: CallId) {
        if let Some(Call { question: Question::Times { found, .. }, .. }) = self.calls.open.get_mut(&id) {
            let found = std::mem::take(found);
            self.end_call(id, Ok(Answer::Found(found)));
            self.want(now);
        }
    }
}
