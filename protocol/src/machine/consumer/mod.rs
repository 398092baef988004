//! The machine of a consumer of partitions: a member of a consumer group by KIP-848, or a reader of partitions that it is told.
//!
//! ```text
//!   coordinator --address--> membership --target--> rebalance: revoke, assign --partitions--+
//!        |                                                                                  v
//!        +--> commits, committed offsets --------------------------------> positions of the partitions
//!                                                                                           |
//!   metadata --leaders, addresses--> nodes: one fetch session a broker <--------------------+
//!                                        +--> what was fetched
//! ```
//!
//! This file has the commands and inputs; each other file has one of the boxes, and `schedule.rs` goes through them in turn.

mod calls;
mod commits;
mod content;
mod fault;
mod fetch_session;
mod fetched;
mod fetching;
mod kept;
mod membership;
mod options;
mod partition;
mod positions;
mod rebalance;
mod schedule;
#[cfg(test)]
mod tests;
mod types;

pub use fault::ConsumerFault;
pub use options::{ConsumerOptions, IsolationLevel, OffsetReset};
pub use types::{
    Answer, BadBatch, CallId, ConsumerEvent, ConsumerRequest, ConsumerResponse, Fetched, OffsetAndMetadata,
    OffsetAndTimestamp, Offsets, Position, RebalanceId, Run, SeekTo, TopicPartition,
};

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use self::{
    calls::Calls,
    commits::Commits,
    fetching::Node,
    membership::{Membership, Topics},
    partition::{Partition, Phase, Target},
    positions::Questioned,
    rebalance::Rebalance,
};
use crate::machine::{
    coordinator::{CoordinatorMachine, KeyType},
    error::{MachineError, MachineErrorKind},
    metadata::Metadata,
    types::{Destination, Output, RequestFailure, RequestId, TopicIdPartition},
};

/// The group's assignments are counted from here; the caller counts those of its own from 1.
const GROUP_ASSIGNMENTS: u64 = 1 << 32;

/// The machine of one consumer.
///
/// # Contract
/// - After each command and each input, call [`poll`](Self::poll) until it gives [`Output::Wait`]; then again at that instant.
/// - Each [`Output::Send`] is answered by one [`handle_response`](Self::handle_response), in whatever order the answers come.
/// - Each [`ConsumerEvent::Revoking`] and [`ConsumerEvent::Assigning`] is answered once, by [`revoked`](Self::revoked) and
///   [`assigned`](Self::assigned).
/// - `now` never goes back.
#[derive(Debug)]
pub struct ConsumerMachine {
    options: ConsumerOptions,
    seed: u64,
    /// An instant, and what the clocks on the wall said then, in ms since 1970.
    wall: (Instant, i64),
    state: State,
    mode: Mode,
    /// Of the group, where there is one.
    group: Option<Group>,
    metadata: Metadata,
    partitions: BTreeMap<TopicPartition, Partition>,
    rebalance: Option<Rebalance>,
    nodes: BTreeMap<i32, Node>,
    calls: Calls,
    commits: Commits,
    /// When to commit by itself next.
    auto_commit_at: Option<Instant>,
    last_polled: Option<Instant>,
    pending: HashMap<RequestId, Asked>,
    last_request: u64,
    last_rebalance: u64,
    last_assignment: u64,
    outputs: VecDeque<Output<ConsumerRequest, ConsumerEvent>>,
}

#[derive(Debug)]
struct Group {
    id: String,
    coordinator: CoordinatorMachine,
    membership: Membership,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    /// The application did not poll in time.
    Away,
    /// What is to be committed is, then the member leaves.
    Closing,
    Closed,
    /// An error that only a new consumer can get over.
    Failed,
}

/// What is read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mode {
    Nothing,
    /// What the group says.
    Member(Topics),
    /// What the caller says.
    Partitions,
}

/// What a request was sent for.
#[derive(Debug)]
enum Asked {
    Coordinator,
    Heartbeat,
    Metadata,
    Fetch(i32),
    Commit(CallId),
    /// The group's offsets of these partitions, for their positions.
    Kept(BTreeMap<TopicIdPartition, TopicPartition>),
    /// Positions of partitions, from their leader.
    Positions(Vec<Questioned>),
    /// For a question of the application.
    Call(CallId, Vec<TopicPartition>),
}

impl ConsumerMachine {
    /// A machine that does nothing until it is told to subscribe. `wall_ms` is what clocks say `now`, in ms since 1970; `seed` decides the
    /// jitter of backoffs.
    pub fn new(now: Instant, wall_ms: i64, seed: u64, options: ConsumerOptions) -> Self {
        let ConsumerOptions { retry_backoff, retry_backoff_max, .. } = options;
        let group = options.group_id.clone().map(|id| Group {
            coordinator: CoordinatorMachine::new(
                KeyType::Group,
                id.clone(),
                retry_backoff,
                retry_backoff_max,
                seed ^ 1,
            ),
            membership: Membership::new(id.clone(), &options, seed ^ 2),
            id,
        });
        Self {
            seed,
            wall: (now, wall_ms),
            state: State::Active,
            mode: Mode::Nothing,
            group,
            metadata: Metadata::new(options.metadata_max_age, retry_backoff, retry_backoff_max, seed ^ 3)
                .may_create(options.allow_auto_create_topics),
            partitions: BTreeMap::new(),
            rebalance: None,
            nodes: BTreeMap::new(),
            calls: Calls::default(),
            commits: Commits::new(&options, seed ^ 4),
            auto_commit_at: options.auto_commit.map(|interval| now + interval),
            last_polled: None,
            pending: HashMap::new(),
            last_request: 0,
            last_rebalance: 0,
            last_assignment: GROUP_ASSIGNMENTS,
            outputs: VecDeque::new(),
            options,
        }
    }

    /// Its settings.
    pub fn options(&self) -> &ConsumerOptions {
        &self.options
    }

    /// The epoch of the member, while the group counts it.
    pub fn member_epoch(&self) -> Option<i32> {
        self.group.as_ref()?.membership.epoch()
    }

    /// Becomes a member of the group that reads these topics. What was read as something else is dropped. The options have a group.
    pub fn subscribe(&mut self, now: Instant, topics: Vec<String>) {
        self.join(now, Topics { names: sorted(topics), pattern: String::new() });
    }

    /// Becomes a member of the group that reads the topics whose whole names match a regular expression of RE2/J, which the coordinator
    /// evaluates. The options have a group.
    pub fn subscribe_pattern(&mut self, now: Instant, pattern: String) {
        self.join(now, Topics { names: Vec::new(), pattern });
    }

    fn join(&mut self, now: Instant, topics: Topics) {
        if matches!(self.state, State::Closing | State::Closed | State::Failed) {
            return;
        }
        if self.mode == Mode::Partitions {
            self.partitions.clear();
        }
        self.state = State::Active;
        self.last_polled = Some(now);
        self.mode = Mode::Member(topics.clone());
        if let Some(group) = &mut self.group {
            group.membership.subscribe(topics);
        }
        self.want(now);
    }

    /// Reads these partitions, all of them, without being a member of a group; offsets can be committed where there is one. New ones begin
    /// as the stretch of this number, which is larger than any before and below 2^32; others go on as they are. Of those that go, what was handed out
    /// is committed where that goes by itself.
    pub fn assign(&mut self, now: Instant, partitions: &[TopicPartition], assignment: u64) {
        if matches!(self.state, State::Closing | State::Closed | State::Failed) {
            return;
        }
        if self.mode != Mode::Partitions {
            self.partitions.clear();
        }
        self.state = State::Active;
        self.mode = Mode::Partitions;
        let wanted: BTreeSet<&TopicPartition> = partitions.iter().collect();
        let dropped: Vec<_> = self.partitions.keys().filter(|partition| !wanted.contains(partition)).cloned().collect();
        self.commit_of(now, &dropped, Offsets::new(), self.options.default_api_timeout);
        self.partitions.retain(|partition, _| wanted.contains(partition));
        for partition in wanted.into_iter().filter(|_| assignment < GROUP_ASSIGNMENTS) {
            let seed = self.seed ^ partition.partition as u64;
            let new = || Partition::new(None, Run { assignment, seeks: 0 }, &self.options, seed);
            self.partitions.entry(partition.clone()).or_insert_with(new);
        }
        self.want(now);
    }

    /// Reads nothing any more: commits `offsets`, and before them what was handed out where that goes by itself, and leaves the group.
    pub fn unsubscribe(&mut self, now: Instant, offsets: Offsets) {
        if !matches!(self.state, State::Closing | State::Closed) {
            self.commit_last(now, offsets, self.options.default_api_timeout);
            self.stop_reading(now);
        }
    }

    /// Ends: commits as [`unsubscribe`](Self::unsubscribe) does, unless `commits` says not to, leaves, then [`ConsumerEvent::Closed`]. The
    /// driver bounds it by `timeout`, and drops the machine then; commits get three quarters of it, so that there is time to leave.
    pub fn close(&mut self, now: Instant, offsets: Offsets, commits: bool, timeout: Duration) {
        if matches!(self.state, State::Closing | State::Closed) {
            return;
        }
        if commits {
            self.commit_last(now, offsets, self.options.default_api_timeout);
        } else {
            self.drop_commits();
        }
        self.commits.end_by(now, now + timeout * 3 / 4);
        self.stop_reading(now);
        self.state = State::Closing;
        self.fail_calls();
    }

    /// Whether it is too late for questions.
    fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing | State::Closed)
    }

    fn stop_reading(&mut self, now: Instant) {
        self.mode = Mode::Nothing;
        self.rebalance = None;
        self.partitions.clear();
        self.metadata.want_partitions(now, BTreeSet::new());
        self.want(now);
    }

    /// The application asks for records. Call it at the start of each poll, before it is handed anything, and again while a poll waits, well
    /// within `max.poll.interval.ms`: without it for so long the member leaves, and joins again at the next.
    pub fn polled(&mut self, now: Instant) {
        self.last_polled = Some(now);
        self.commit_by_itself(now);
        if self.state == State::Away {
            self.state = State::Active;
            if let (Mode::Member(topics), Some(group)) = (&self.mode, &mut self.group) {
                group.membership.subscribe(topics.clone());
            }
        }
    }

    /// Everything of a partition before this position was handed out.
    pub fn taken(&mut self, _now: Instant, partition: &TopicPartition, run: Run, position: Position) {
        let taken = self.partitions.get_mut(partition).filter(|partition| partition.run == run);
        if let Some(taken) = taken {
            taken.taken(position);
            self.leave_range(partition);
        }
    }

    /// Goes on elsewhere; with this, `run` begins, which is the one before [after a seek](Run::after_seek). Nothing where the partition
    /// is not read any more.
    pub fn seek(&mut self, _now: Instant, partition: &TopicPartition, run: Run, to: SeekTo) {
        let leader_epoch = self.leader(partition).map_or(-1, |(_, epoch)| epoch);
        let Some(sought) = self.partitions.get_mut(partition).filter(|p| p.run.assignment == run.assignment) else {
            return;
        };
        match to {
            SeekTo::Beginning => sought.seek(run, Phase::Resetting(Target::Earliest)),
            SeekTo::End => sought.seek(run, Phase::Resetting(Target::Latest)),
            SeekTo::Position(position) if position.leader_epoch.is_some() => {
                sought.seek(run, Phase::Validating(position));
            }
            SeekTo::Position(position) => {
                sought.seek(run, Phase::Ready(position));
                sought.checked = leader_epoch;
            }
        }
    }

    /// Fetches nothing of these partitions, or goes on with them. What was fetched stays.
    pub fn pause(&mut self, _now: Instant, partitions: &[TopicPartition], is_paused: bool) {
        for partition in partitions {
            if let Some(partition) = self.partitions.get_mut(partition) {
                partition.is_paused = is_paused;
            }
        }
    }

    /// The answer to a request, exactly once for each. One that comes too late to matter is ignored.
    pub fn handle_response(&mut self, now: Instant, id: RequestId, response: Result<ConsumerResponse, RequestFailure>) {
        use ConsumerResponse as Response;
        let Some(asked) = self.pending.remove(&id) else { return };
        match (asked, response) {
            (Asked::Metadata, Ok(Response::Metadata(response))) => self.metadata.handle_response(now, response),
            (Asked::Metadata, response) => self.metadata.handle_failure(now, failure(response)),
            (Asked::Fetch(node), Ok(Response::Fetch(response))) => self.fetched(now, node, response),
            (Asked::Fetch(node), response) => self.fetch_failed(now, node, failure(response)),
            (Asked::Commit(commit), Ok(Response::OffsetCommit(response))) => {
                self.committed_answered(now, commit, &response);
            }
            (Asked::Commit(commit), response) => self.commit_failed(now, commit, failure(response)),
            (Asked::Kept(asked), Ok(Response::OffsetFetch(response))) => self.kept(now, id, &asked, response),
            (Asked::Kept(asked), response) => {
                self.coordinator_failed(now, failure(response));
                self.kept_failed(now, id, asked.values());
            }
            (Asked::Positions(asked), Ok(Response::ListOffsets(response))) => self.listed(now, id, &asked, response),
            (Asked::Positions(asked), Ok(Response::OffsetForLeaderEpoch(response))) => {
                self.epochs_ended(now, id, &asked, response);
            }
            (Asked::Positions(asked), response) => self.positions_failed(now, id, &asked, failure(response)),
            (Asked::Call(call, _), Ok(Response::OffsetFetch(response))) => self.call_kept(now, call, response),
            (Asked::Call(call, partitions), Ok(Response::ListOffsets(response))) => {
                self.call_listed(now, call, &partitions, response);
            }
            (Asked::Call(call, partitions), response) => self.call_failed(now, call, &partitions, failure(response)),
            (Asked::Coordinator, response) => self.coordinator_found(now, response),
            (Asked::Heartbeat, response) => self.heartbeat_answered(now, response),
        }
    }

    /// What to do next.
    pub fn poll(&mut self, now: Instant) -> Output<ConsumerRequest, ConsumerEvent> {
        if let Some(output) = self.outputs.pop_front() {
            return output;
        }
        let wait = self.advance(now);
        self.outputs.pop_front().unwrap_or(Output::Wait(wait))
    }

    /// What is read, by the topic's id as it is known now.
    fn id_of(&self, partition: &TopicPartition) -> Option<TopicIdPartition> {
        let assigned = self.partitions.get(partition).and_then(|assigned| assigned.id);
        assigned.or_else(|| {
            let topic_id = self.metadata.topic_id(&partition.topic)?;
            Some(TopicIdPartition { topic_id, partition: partition.partition })
        })
    }

    /// The leader of a partition and its epoch.
    fn leader(&self, partition: &TopicPartition) -> Option<(i32, i32)> {
        self.metadata.leader_and_epoch(self.id_of(partition)?)
    }

    /// The same of one that is read.
    fn leader_of(&self, name: &TopicPartition, partition: &Partition) -> Option<(i32, i32)> {
        match partition.id {
            Some(id) => self.metadata.leader_and_epoch(id),
            None => self.leader(name),
        }
    }

    /// Has metadata keep to the topics that matter.
    fn want(&mut self, now: Instant) {
        let mut names: BTreeSet<&str> = self.partitions.keys().map(|partition| &*partition.topic).collect();
        if let Mode::Member(topics) = &self.mode {
            names.extend(topics.names.iter().map(String::as_str));
        }
        let asked = self.asked_topics();
        names.extend(asked.iter().map(|topic| &**topic));
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        if !names.iter().map(String::as_str).eq(self.metadata.wanted_topics().iter().map(|topic| &**topic)) {
            self.metadata.want_topics(now, &names);
        }
    }

    /// What the clocks on the wall say, in ms since 1970.
    fn wall_ms(&self, now: Instant) -> i64 {
        let passed = i64::try_from(now.duration_since(self.wall.0).as_millis()).unwrap_or(i64::MAX);
        self.wall.1.saturating_add(passed)
    }

    fn ask(&mut self, to: Destination, request: ConsumerRequest, least_version: i16, asked: Asked) -> RequestId {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.pending.insert(id, asked);
        self.outputs.push_back(Output::Send { id, to, request, least_version });
        id
    }

    fn tell(&mut self, event: ConsumerEvent) {
        self.outputs.push_back(Output::Event(event));
    }

    fn fault(&mut self, fault: ConsumerFault) {
        self.fail_with(MachineError::passing(MachineErrorKind::Consumer(fault)));
    }

    fn fail_with(&mut self, error: MachineError) {
        if error.fatal && matches!(self.state, State::Active | State::Away) {
            self.state = State::Failed;
        }
        self.tell(ConsumerEvent::Failed(error));
    }
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

/// The failure of a response that is none, or that belongs to another request.
fn failure(response: Result<ConsumerResponse, RequestFailure>) -> RequestFailure {
    response.err().unwrap_or(RequestFailure::Malformed)
}

/// Puts what belongs to a partition under the name of its topic.
pub(super) fn by_topic<T>(entries: impl IntoIterator<Item = (TopicPartition, T)>) -> BTreeMap<Arc<str>, Vec<T>> {
    let mut topics: BTreeMap<Arc<str>, Vec<T>> = BTreeMap::new();
    for (partition, entry) in entries {
        topics.entry(partition.topic).or_default().push(entry);
    }
    topics
}

/// A time in ms, as far as the field goes.
fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}
