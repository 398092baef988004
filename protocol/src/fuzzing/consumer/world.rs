//! The application, what it has of each partition, and the requests that are out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use super::answers;
use super::calls::Calls;
use crate::fuzzing::{Input, OUTPUTS};
use crate::machine::consumer::{
    ConsumerEvent, ConsumerMachine, ConsumerOptions, ConsumerRequest, ConsumerResponse, Fetched, OffsetAndMetadata,
    Offsets, Position, RebalanceId, Run, SeekTo, TopicPartition,
};
use crate::machine::{Destination, Output, RequestFailure, RequestId};
use crate::messages::offset_commit::OffsetCommitRequest;

/// Requests that are remembered after their answer.
const REMEMBERED: usize = 8;

#[derive(Debug)]
pub(super) struct Sent {
    pub(super) id: RequestId,
    to: Destination,
    pub(super) request: ConsumerRequest,
}

/// What the application reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Nothing,
    Topics(Vec<String>),
    Pattern(String),
    Partitions,
}

#[derive(Debug)]
enum Step {
    Revoke(RebalanceId, Vec<TopicPartition>),
    Assign(RebalanceId, Vec<(TopicPartition, Run)>),
}

/// What the application has of a partition.
#[derive(Debug)]
struct View {
    run: Run,
    /// The last request that was sent before the run began: answers to those before it say nothing of it.
    since: u64,
    /// Whether the application has confirmed that it has the partition.
    is_held: bool,
    /// Whether it is to be given up.
    is_leaving: bool,
    /// Where the next records begin.
    next: Option<i64>,
    /// Where else they may begin, because the application or a broker said so.
    allowed: BTreeSet<i64>,
    /// What was fetched and is not handed out: its first offset, and where it goes on.
    parts: VecDeque<(i64, Position)>,
}

impl View {
    fn new(run: Run, since: u64, is_held: bool) -> Self {
        let (allowed, parts) = (BTreeSet::new(), VecDeque::new());
        Self { run, since, is_held, is_leaving: false, next: None, allowed, parts }
    }
}

pub(super) struct World {
    pub(super) machine: ConsumerMachine,
    pub(super) now: Instant,
    wait: Option<Instant>,
    sent: Vec<Sent>,
    pub(super) answered: Vec<Sent>,
    last_request: u64,
    pub(super) reading: Reading,
    last_assignment: u64,
    views: BTreeMap<TopicPartition, View>,
    steps: VecDeque<Step>,
    pub(super) calls: Calls,
    /// What may be committed: offsets that the application said, sought or was handed out up to, and those where a broker had
    /// a partition begin.
    may_commit: BTreeMap<TopicPartition, BTreeSet<i64>>,
    /// What commits that were answered said last.
    pub(super) committed: BTreeMap<TopicPartition, i64>,
    is_closed: bool,
}

impl World {
    pub(super) fn new(now: Instant, options: ConsumerOptions, seed: u64) -> Self {
        Self {
            machine: ConsumerMachine::new(now, 1_000_000, seed, options),
            now,
            wait: None,
            sent: Vec::new(),
            answered: Vec::new(),
            last_request: 0,
            reading: Reading::Nothing,
            last_assignment: 0,
            views: BTreeMap::new(),
            steps: VecDeque::new(),
            calls: Calls::default(),
            may_commit: BTreeMap::new(),
            committed: BTreeMap::new(),
            is_closed: false,
        }
    }

    pub(super) fn has_group(&self) -> bool {
        self.machine.options().group_id.is_some()
    }

    pub(super) fn may_commit(&self, name: &TopicPartition, offset: i64) -> bool {
        self.may_commit.get(name).is_some_and(|offsets| offsets.contains(&offset))
    }

    /// The application wants these offsets to be committed.
    pub(super) fn says<'a>(&mut self, offsets: impl IntoIterator<Item = (&'a TopicPartition, &'a OffsetAndMetadata)>) {
        for (name, offset) in offsets {
            self.may_commit.entry(name.clone()).or_default().insert(offset.offset);
        }
    }

    pub(super) fn assign(&mut self, partitions: &[TopicPartition]) {
        self.last_assignment += 1;
        self.reading = Reading::Partitions;
        self.views.retain(|name, _| partitions.contains(name));
        let run = Run { assignment: self.last_assignment, seeks: 0 };
        for name in partitions {
            self.views.entry(name.clone()).or_insert_with(|| View::new(run, self.last_request, true));
        }
        self.machine.assign(self.now, partitions, self.last_assignment);
    }

    pub(super) fn unsubscribe(&mut self, offsets: Offsets) {
        self.says(&offsets);
        self.reading = Reading::Nothing;
        self.views.clear();
        self.steps.clear();
        self.machine.unsubscribe(self.now, offsets);
    }

    pub(super) fn close(&mut self, offsets: Offsets, commits: bool) {
        self.says(&offsets);
        self.reading = Reading::Nothing;
        self.views.clear();
        self.steps.clear();
        self.machine.close(self.now, offsets, commits, Duration::from_secs(30));
    }

    /// Confirms the next step of a rebalance. Offsets are committed where partitions go; the first partition that comes is read from
    /// elsewhere.
    pub(super) fn confirm(&mut self, offsets: Offsets, to: Option<SeekTo>) {
        match self.steps.pop_front() {
            None => {}
            Some(Step::Revoke(id, partitions)) => {
                self.says(&offsets);
                self.views.retain(|name, view| !(view.is_leaving && partitions.contains(name)));
                self.machine.revoked(self.now, id, offsets);
            }
            Some(Step::Assign(id, partitions)) => {
                let mut seeks = Vec::new();
                for (name, run) in partitions {
                    let Some(view) = self.views.get_mut(&name).filter(|view| view.run == run) else { continue };
                    view.is_held = true;
                    if let (Some(to), true) = (to, seeks.is_empty()) {
                        seeks.push((name.clone(), self.begin_run(&name, to), to));
                    }
                }
                self.machine.assigned(self.now, id, seeks);
            }
        }
    }

    pub(super) fn seek(&mut self, name: &TopicPartition, to: SeekTo) {
        if self.views.get(name).is_some_and(|view| view.is_held) {
            let run = self.begin_run(name, to);
            self.machine.seek(self.now, name, run, to);
        }
    }

    /// A partition that the application has goes on elsewhere.
    fn begin_run(&mut self, name: &TopicPartition, to: SeekTo) -> Run {
        let Some(view) = self.views.get_mut(name) else { return Run::default() };
        let run = view.run.after_seek();
        *view = View { is_leaving: view.is_leaving, ..View::new(run, self.last_request, true) };
        if let SeekTo::Position(position) = to {
            view.allowed.insert(position.offset);
            self.may_commit.entry(name.clone()).or_default().insert(position.offset);
        }
        run
    }

    /// Hands out some of what was fetched, or all of a part.
    pub(super) fn take(&mut self, input: &mut Input<'_>) {
        self.machine.polled(self.now);
        self.drain();
        let with_parts = self.views.iter_mut().filter(|(_, view)| !view.parts.is_empty() && !view.is_leaving);
        let mut with_parts: Vec<_> = with_parts.collect();
        if with_parts.is_empty() {
            return;
        }
        let at = input.below(with_parts.len());
        let (name, view) = &mut with_parts[at];
        let Some((first, next)) = view.parts.pop_front() else { return };
        let mut position = next;
        if input.once_in(4) {
            let middle = first.saturating_add(input.below(4).try_into().unwrap_or(0));
            position.offset = middle.min(next.offset);
        }
        if position.offset < next.offset {
            view.parts.push_front((position.offset, next));
        }
        self.may_commit.entry(name.clone()).or_default().insert(position.offset);
        self.machine.taken(self.now, name, view.run, position);
    }

    /// A request to be answered.
    pub(super) fn take_sent(&mut self, input: &mut Input<'_>) -> Option<Sent> {
        match self.sent.len() {
            0 => None,
            sent => Some(self.sent.remove(input.below(sent))),
        }
    }

    /// A broker answers a request.
    pub(super) fn respond(&mut self, sent: Sent, response: Result<ConsumerResponse, RequestFailure>) {
        if let Ok(response) = &response {
            self.learn(&sent, response);
        }
        self.machine.handle_response(self.now, sent.id, response);
        self.answered.push(sent);
        if self.answered.len() > REMEMBERED {
            self.answered.remove(0);
        }
        self.drain();
    }

    /// Where a broker has partitions begin.
    fn learn(&mut self, sent: &Sent, response: &ConsumerResponse) {
        match (response, &sent.request) {
            // Topics are told apart by ids, which brokers may give to several of them.
            (ConsumerResponse::OffsetFetch(response), _) => {
                for topic in response.groups.iter().flat_map(|group| &group.topics) {
                    for name in ["topic", "other", "nowhere"] {
                        for said in topic.partitions.iter().filter(|said| said.error_code.is_none()) {
                            self.told(sent.id, TopicPartition::new(name, said.partition_index), said.committed_offset);
                        }
                    }
                }
            }
            (ConsumerResponse::ListOffsets(response), _) => {
                for topic in &response.topics {
                    for said in topic.partitions.iter().filter(|said| said.error_code.is_none()) {
                        let name = TopicPartition::new(topic.name.as_str(), said.partition_index);
                        self.told(sent.id, name, said.offset);
                    }
                }
            }
            (ConsumerResponse::OffsetForLeaderEpoch(response), _) => {
                for topic in &response.topics {
                    for said in topic.partitions.iter().filter(|said| said.error_code.is_none()) {
                        let name = TopicPartition::new(topic.topic.as_str(), said.partition);
                        self.told(sent.id, name, said.end_offset);
                    }
                }
            }
            (ConsumerResponse::OffsetCommit(_), ConsumerRequest::OffsetCommit(request)) => {
                self.committed.extend(offsets_of(request));
            }
            _ => {}
        }
    }

    fn told(&mut self, request: RequestId, name: TopicPartition, offset: i64) {
        if let Some(view) = self.views.get_mut(&name).filter(|view| view.since < request.0 && offset >= 0) {
            view.allowed.insert(offset);
            self.may_commit.entry(name).or_default().insert(offset);
        }
    }

    /// Lets time pass, waking the machine as it wants.
    pub(super) fn sleep(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..OUTPUTS {
            let Some(wait) = self.wait.filter(|wait| *wait <= end) else { break };
            self.now = wait;
            self.drain();
        }
        self.now = end;
        self.drain();
    }

    /// Polls until the machine waits.
    pub(super) fn drain(&mut self) {
        for _ in 0..OUTPUTS {
            match self.machine.poll(self.now) {
                Output::Send { id, to, request, .. } => self.send(Sent { id, to, request }),
                Output::Event(event) => self.hear(event),
                Output::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.now), "a deadline has passed and was not acted on");
                    self.wait = wait;
                    return;
                }
            }
        }
        panic!("the machine never waits");
    }

    fn send(&mut self, sent: Sent) {
        assert!(!self.is_closed, "{sent:?} of a consumer that is closed");
        assert!(sent.id.0 > self.last_request, "{:?} again", sent.id);
        self.last_request = sent.id.0;
        let other = self.sent.iter().find(|other| excludes(&sent, other));
        assert!(other.is_none(), "{sent:?} beside {other:?}");
        if let ConsumerRequest::OffsetCommit(request) = &sent.request {
            for (name, offset) in offsets_of(request) {
                assert!(self.may_commit(&name, offset), "{offset} of {name} is committed, which nobody said");
            }
        }
        self.sent.push(sent);
    }

    fn hear(&mut self, event: ConsumerEvent) {
        let is_answer = matches!(event, ConsumerEvent::Answered { .. });
        assert!(is_answer || !self.is_closed, "{event:?} of a consumer that is closed");
        match event {
            ConsumerEvent::Fetched(fetched) => self.fetched(&fetched),
            ConsumerEvent::Revoking { id, partitions } => {
                for name in &partitions {
                    let view = self.views.get_mut(name).expect("a partition that the application has");
                    view.is_leaving = true;
                }
                self.steps.push_back(Step::Revoke(id, partitions));
            }
            ConsumerEvent::Assigning { id, partitions } => {
                for (name, run) in &partitions {
                    let before = self.views.insert(name.clone(), View::new(*run, self.last_request, false));
                    assert!(before.is_none(), "{name} comes again");
                }
                self.steps.push_back(Step::Assign(id, partitions));
            }
            ConsumerEvent::Lost(partitions) => {
                for name in &partitions {
                    assert!(self.views.remove(name).is_some(), "{name} is lost, and was not there");
                }
            }
            ConsumerEvent::Answered { id, result } => self.hear_answer(id, result),
            ConsumerEvent::Failed(_) => {}
            ConsumerEvent::Closed => self.is_closed = true,
        }
    }

    fn fetched(&mut self, fetched: &Fetched) {
        let Fetched { partition: name, run, first, batches, next, error, .. } = fetched;
        let view = self.views.get_mut(name).expect("a partition that the application has");
        assert_eq!(view.run, *run, "of {name}");
        assert!(view.is_held && !view.is_leaving, "{name} is not to be read: {view:?}");
        let is_expected = view.next == Some(*first) || view.allowed.contains(first);
        assert!(is_expected, "{name} goes on at {first}, of {view:?}");
        assert!(*first < next.offset || error.is_some(), "nothing of {name} from {first} to {next:?}");
        let mut from = *first;
        for record in batches.iter().flat_map(|batch| batch.records()) {
            // One that cannot be read ends what is handed out.
            let Ok(record) = record else { break };
            if record.offset < *first {
                continue;
            }
            assert!(from <= record.offset, "{} of {name} is handed out again, after {from}", record.offset);
            from = record.offset.saturating_add(1);
        }
        assert!(from <= next.offset, "{name} has records up to {from}, and goes on at {next:?}");
        view.next = Some(next.offset);
        view.allowed.clear();
        view.parts.push_back((*first, *next));
    }

    /// The consumer closes, and brokers answer well.
    pub(super) fn finish(mut self) {
        const ROUNDS: usize = 200;
        self.close(Offsets::new(), true);
        self.drain();
        for _ in 0..ROUNDS {
            for sent in std::mem::take(&mut self.sent) {
                let response = answers::response(&sent.request, &mut Input::new(&[]));
                self.respond(sent, response);
            }
            if self.is_closed && self.calls.are_answered() {
                return;
            }
            self.sleep(Duration::from_secs(1));
        }
        panic!("closed: {}, and these questions were asked: {:?}", self.is_closed, self.calls);
    }
}

/// Whether one of these requests may be out only when the other is answered.
fn excludes(sent: &Sent, other: &Sent) -> bool {
    use ConsumerRequest as Request;
    match (&sent.request, &other.request) {
        (Request::Metadata(_), Request::Metadata(_))
        | (Request::FindCoordinator(_), Request::FindCoordinator(_))
        | (Request::Heartbeat(_), Request::Heartbeat(_))
        | (Request::OffsetCommit(_), Request::OffsetCommit(_)) => true,
        (Request::Fetch(_), Request::Fetch(_)) => node(&sent.to) == node(&other.to),
        _ => false,
    }
}

fn node(to: &Destination) -> Option<i32> {
    match to {
        Destination::Any => None,
        Destination::Coordinator(address) | Destination::Session(address) | Destination::Leader(address) => {
            Some(address.node)
        }
    }
}

fn offsets_of(request: &OffsetCommitRequest) -> impl Iterator<Item = (TopicPartition, i64)> {
    request.topics.iter().flat_map(|topic| {
        topic
            .partitions
            .iter()
            .map(|said| (TopicPartition::new(topic.name.as_str(), said.partition_index), said.committed_offset))
    })
}
