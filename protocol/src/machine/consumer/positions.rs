//! Where partitions are read from: the group's offset (`kept.rs`), or what `auto.offset.reset` says, and whether the log still has what was read before
//! (KIP-320).

use std::{collections::BTreeMap, time::Instant};

use super::{
    Asked, ConsumerFault, ConsumerMachine, ConsumerRequest, Mode, Position, Run, TopicPartition, by_topic, millis,
    partition::{Partition, Phase, Target},
    types::epoch,
};
use crate::{
    machine::{
        error::{MachineError, MachineErrorKind},
        metadata::Urgency,
        types::{Destination, RequestFailure, RequestId, earlier},
    },
    messages::{
        list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic},
        offset_for_leader_epoch::{
            OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
        },
    },
    wire::ErrorCode,
};

/// Since this version ListOffsets has the isolation level and leader epochs.
pub(super) const LIST_SINCE: i16 = 4;
/// Since this version OffsetForLeaderEpoch says who asks.
const EPOCHS_SINCE: i16 = 3;

const END: i64 = -1;
const BEGINNING: i64 = -2;
/// Who asks, of a consumer.
const NO_REPLICA: i32 = -1;

/// A partition that a leader was asked about.
#[derive(Debug)]
pub(super) struct Questioned {
    partition: TopicPartition,
    run: Run,
    /// The leader epoch that the question went with.
    leader_epoch: i32,
    about: Phase,
}

impl ConsumerMachine {
    /// Asks for positions that are not known. Returns when there is more to do.
    pub(super) fn advance_positions(&mut self, now: Instant) -> Option<Instant> {
        let mut wait = None;
        let mut unknown = Vec::new();
        let mut by_leader: BTreeMap<i32, Vec<Questioned>> = BTreeMap::new();
        self.reset_without_group();
        let names: Vec<(TopicPartition, Option<(i32, i32)>)> = self
            .partitions
            .iter()
            .map(|(name, partition)| (name, partition, self.leader_of(name, partition)))
            .filter(|(_, partition, leader)| needs_leader(partition, *leader))
            .map(|(name, _, leader)| (name.clone(), leader))
            .collect();
        for (name, leader) in names {
            let Some(partition) = self.partitions.get_mut(&name) else { continue };
            if let (Phase::Ready(position), Some((_, leader_epoch))) = (partition.phase, leader) {
                check_again(partition, position, leader_epoch);
            }
            if partition.retry_at.is_some_and(|at| now < at) {
                wait = earlier(wait, partition.retry_at);
            }
            if !partition.may_ask(now) {
                continue;
            }
            match (partition.phase, leader) {
                (Phase::Unknown, _) => unknown.push(name),
                (about @ (Phase::Resetting(_) | Phase::Validating(_)), Some((leader, leader_epoch))) => {
                    let run = partition.run;
                    let questioned = Questioned { partition: name, run, leader_epoch, about };
                    by_leader.entry(leader).or_default().push(questioned);
                }
                // The group's coordinator may know of partitions earlier than the broker that was asked for metadata.
                (_, None)
                    if self.mode == Mode::Partitions && self.id_of(&name).is_some_and(|id| self.metadata.lacks(id)) =>
                {
                    self.told_once(&name, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
                }
                _ => {}
            }
        }
        self.ask_group(&unknown);
        for (leader, questioned) in by_leader {
            self.ask_leader(now, leader, questioned);
        }
        wait
    }

    /// Without a group there is nobody to ask what it has.
    fn reset_without_group(&mut self) {
        let is_unknown = |(_, partition): &(&TopicPartition, &Partition)| partition.phase == Phase::Unknown;
        if self.group.is_none() {
            let unknown: Vec<_> = self.partitions.iter().filter(is_unknown).map(|(name, _)| name.clone()).collect();
            unknown.iter().for_each(|name| self.reset(name, None));
        }
    }

    pub(super) fn asking<'a>(&mut self, names: impl IntoIterator<Item = &'a TopicPartition>, id: RequestId) {
        for name in names {
            if let Some(partition) = self.partitions.get_mut(name) {
                partition.asking = Some(id);
            }
        }
    }

    /// What `auto.offset.reset` says happens; `fault` where it is no position to begin with but one that is lost.
    pub(super) fn reset(&mut self, name: &TopicPartition, fault: Option<ConsumerFault>) {
        let Some(partition) = self.partitions.get_mut(name) else { return };
        match Target::of(self.options.offset_reset) {
            Some(target) => {
                partition.phase = Phase::Resetting(target);
                partition.out_of_range = false;
            }
            None => {
                partition.phase = Phase::Stopped;
                self.fault(fault.unwrap_or_else(|| ConsumerFault::NoOffset { partition: name.clone() }));
            }
        }
    }

    /// The position is outside the log: once all that was fetched is handed out, that counts.
    pub(super) fn leave_range(&mut self, name: &TopicPartition) {
        if let Some(partition) = self.partitions.get_mut(name)
            && let Phase::Ready(Position { offset, .. }) = partition.phase
            && partition.out_of_range
            && partition.is_drained()
        {
            self.reset(name, Some(ConsumerFault::OutOfRange { partition: name.clone(), offset }));
        }
    }

    fn ask_leader(&mut self, now: Instant, leader: i32, questioned: Vec<Questioned>) {
        let Some(address) = self.metadata.address(leader).cloned() else {
            return self.metadata.refresh(now, Urgency::Now);
        };
        let (epochs, times): (Vec<_>, Vec<_>) =
            questioned.into_iter().partition(|asked| matches!(asked.about, Phase::Validating(_)));
        if !times.is_empty() {
            let wall = self.wall_ms(now);
            let asked =
                times.iter().map(|asked| (asked.partition.clone(), asked.leader_epoch, time_of(asked.about, wall)));
            let request = ConsumerRequest::ListOffsets(self.list_offsets(asked.collect()));
            self.question(Destination::Leader(address.clone()), request, LIST_SINCE, times);
        }
        if !epochs.is_empty() {
            let asked = epochs.iter().map(|asked| {
                let leader_epoch = match asked.about {
                    Phase::Validating(position) => position.leader_epoch.unwrap_or(-1),
                    _ => -1,
                };
                let said = OffsetForLeaderPartition {
                    partition: asked.partition.partition,
                    current_leader_epoch: asked.leader_epoch,
                    leader_epoch,
                };
                (asked.partition.clone(), said)
            });
            let topics = by_topic(asked).into_iter();
            let topics =
                topics.map(|(topic, partitions)| OffsetForLeaderTopic { topic: topic.to_string(), partitions });
            let request = OffsetForLeaderEpochRequest { replica_id: NO_REPLICA, topics: topics.collect() };
            let request = ConsumerRequest::OffsetForLeaderEpoch(request);
            self.question(Destination::Leader(address), request, EPOCHS_SINCE, epochs);
        }
    }

    fn question(&mut self, to: Destination, request: ConsumerRequest, least: i16, asked: Vec<Questioned>) {
        let names: Vec<TopicPartition> = asked.iter().map(|asked| asked.partition.clone()).collect();
        let id = self.ask(to, request, least, Asked::Positions(asked));
        self.asking(&names, id);
    }

    /// The question for the offsets of times: partition, leader epoch, time.
    pub(super) fn list_offsets(&self, asked: Vec<(TopicPartition, i32, i64)>) -> ListOffsetsRequest {
        let topics = by_topic(asked.into_iter().map(|(partition, current_leader_epoch, timestamp)| {
            let said = ListOffsetsPartition { partition_index: partition.partition, current_leader_epoch, timestamp };
            (partition, said)
        }));
        ListOffsetsRequest {
            replica_id: NO_REPLICA,
            isolation_level: self.options.isolation.wire(),
            topics: topics
                .into_iter()
                .map(|(topic, partitions)| ListOffsetsTopic { name: topic.to_string(), partitions })
                .collect(),
            timeout_ms: millis(self.options.request_timeout),
        }
    }

    /// Those of a question whose answer still matters.
    fn waiting(&self, id: RequestId, asked: &Questioned) -> bool {
        let partition = self.partitions.get(&asked.partition);
        partition.is_some_and(|p| p.asking == Some(id) && p.run == asked.run && p.phase == asked.about)
    }

    pub(super) fn listed(&mut self, now: Instant, id: RequestId, asked: &[Questioned], response: ListOffsetsResponse) {
        let said = response.topics.into_iter().flat_map(|topic| {
            topic
                .partitions
                .into_iter()
                .map(move |said| (TopicPartition::new(topic.name.as_str(), said.partition_index), said))
        });
        let said: BTreeMap<_, _> = said.collect();
        for asked in asked {
            if !self.waiting(id, asked) {
                continue;
            }
            let name = &asked.partition;
            match said.get(name) {
                Some(said) if said.error_code.is_none() => {
                    let Some(partition) = self.partitions.get_mut(name) else { continue };
                    if said.offset >= 0 {
                        let position = Position { offset: said.offset, leader_epoch: epoch(said.leader_epoch) };
                        partition.begin(position, asked.leader_epoch);
                    } else {
                        // No record is so new: the end, as KIP-1106 has it.
                        partition.went_well();
                        partition.phase = Phase::Resetting(Target::Latest);
                    }
                }
                said => {
                    self.leader_said(now, name, said.map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |said| said.error_code))
                }
            }
        }
    }

    pub(super) fn epochs_ended(
        &mut self,
        now: Instant,
        id: RequestId,
        asked: &[Questioned],
        response: OffsetForLeaderEpochResponse,
    ) {
        let said = response.topics.into_iter().flat_map(|topic| {
            topic
                .partitions
                .into_iter()
                .map(move |said| (TopicPartition::new(topic.topic.as_str(), said.partition), said))
        });
        let said: BTreeMap<_, _> = said.collect();
        for asked in asked {
            if !self.waiting(id, asked) {
                continue;
            }
            let (name, Phase::Validating(position)) = (&asked.partition, asked.about) else { continue };
            match said.get(name) {
                Some(said) if said.error_code.is_none() => {
                    let Some(partition) = self.partitions.get_mut(name) else { continue };
                    partition.went_well();
                    let end = Position { offset: said.end_offset, leader_epoch: epoch(said.leader_epoch) };
                    if end.offset >= position.offset {
                        partition.phase = Phase::Ready(position);
                        partition.checked = asked.leader_epoch;
                    } else {
                        self.truncated(name, position, end, asked.leader_epoch);
                    }
                }
                said => {
                    self.leader_said(now, name, said.map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |said| said.error_code))
                }
            }
        }
    }

    /// The log has other records now where this one has read: on from where they begin to differ.
    fn truncated(&mut self, name: &TopicPartition, position: Position, end: Position, leader_epoch: i32) {
        let diverged = (end.offset >= 0 && end.leader_epoch.is_some()).then_some(end.offset);
        let fault = ConsumerFault::Truncated { partition: name.clone(), offset: position.offset, diverged };
        let Some(partition) = self.partitions.get_mut(name) else { return };
        match diverged {
            Some(_) if Target::of(self.options.offset_reset).is_some() => {
                partition.phase = Phase::Ready(end);
                partition.checked = leader_epoch;
                if partition.is_drained() {
                    partition.position = Some(end);
                }
            }
            _ => self.reset(name, Some(fault)),
        }
    }

    pub(super) fn positions_failed(
        &mut self,
        now: Instant,
        id: RequestId,
        asked: &[Questioned],
        failure: RequestFailure,
    ) {
        for asked in asked {
            if !self.waiting(id, asked) {
                continue;
            }
            let Some(partition) = self.partitions.get_mut(&asked.partition) else { continue };
            match (failure, asked.about) {
                // A broker so old cannot tell, which is no reason not to read.
                (RequestFailure::UnsupportedVersion(_), Phase::Validating(position)) => {
                    partition.went_well();
                    partition.phase = Phase::Ready(position);
                    partition.checked = asked.leader_epoch;
                }
                _ => partition.back_off(now),
            }
        }
        self.metadata.refresh(now, Urgency::Now);
    }

    /// A leader has an error about a partition.
    pub(super) fn leader_said(&mut self, now: Instant, name: &TopicPartition, code: ErrorCode) {
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.back_off(now);
        }
        match code {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::INCONSISTENT_TOPIC_ID => {
                self.metadata.refresh(now, Urgency::Debounced);
            }
            code if code.is_retriable() => self.metadata.refresh(now, Urgency::Now),
            code => self.told_once(name, code),
        }
    }

    /// Tells the application of an error of a partition that is tried again, once until it goes well.
    pub(super) fn told_once(&mut self, name: &TopicPartition, code: ErrorCode) {
        let Some(partition) = self.partitions.get_mut(name) else { return };
        if partition.reported.replace(code) == Some(code) {
            return;
        }
        match code {
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                let kind = MachineErrorKind::TopicAuthorization { topic: Some(name.topic.clone()) };
                self.fail_with(MachineError::passing(kind));
            }
            code => self.fault(ConsumerFault::LookUp { partition: name.clone(), code }),
        }
    }
}

/// Whether there is anything to ask about a partition.
fn needs_leader(partition: &Partition, leader: Option<(i32, i32)>) -> bool {
    match partition.phase {
        Phase::Unknown | Phase::Resetting(_) | Phase::Validating(_) => true,
        Phase::Ready(_) => leader.is_some_and(|(_, epoch)| epoch > partition.checked),
        Phase::Stopped => false,
    }
}

/// A new leader may have another log: the position is checked against it, where an epoch is known to check by.
fn check_again(partition: &mut Partition, position: Position, leader_epoch: i32) {
    if leader_epoch <= partition.checked {
        return;
    }
    match position.leader_epoch {
        Some(_) => partition.phase = Phase::Validating(position),
        None => partition.checked = leader_epoch,
    }
}

fn time_of(about: Phase, wall_ms: i64) -> i64 {
    match about {
        Phase::Resetting(Target::Earliest) => BEGINNING,
        Phase::Resetting(Target::Age(age)) => {
            wall_ms.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX)).max(0)
        }
        _ => END,
    }
}
