//! Where partitions are read from: the group's offset, or what `auto.offset.reset` says, and whether the log still has what was read before
//! (KIP-320).

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use super::{
    Asked, ConsumerFault, ConsumerMachine, ConsumerRequest, Position, Run, TopicPartition, by_topic, millis,
    partition::{Partition, Phase, Target},
    types::epoch,
};
use crate::{
    machine::{
        error::{MachineError, MachineErrorKind},
        metadata::Urgency,
        types::{Destination, RequestFailure, RequestId, TopicIdPartition, earlier},
    },
    messages::{
        list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic},
        offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse},
        offset_for_leader_epoch::{
            OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
        },
    },
    wire::{ErrorCode, Uuid},
};

/// Since this version ListOffsets has the isolation level and leader epochs.
pub(super) const LIST_SINCE: i16 = 4;
/// Since this version OffsetFetch takes groups; since 9 it serves members by KIP-848.
const GROUPS_SINCE: i16 = 8;
const MEMBERS_SINCE: i16 = 9;
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

    fn ask_group(&mut self, unknown: &[TopicPartition]) {
        let Some(group) = &self.group else { return };
        let Some(address) = group.coordinator.address().cloned() else { return };
        let is_member = self.mode != super::Mode::Partitions;
        let member_epoch = group.membership.epoch();
        let ids = unknown.iter().filter_map(|name| Some((self.id_of(name)?, name.clone())));
        let ids: BTreeMap<TopicIdPartition, TopicPartition> = ids.collect();
        if ids.is_empty() || is_member && member_epoch.is_none() {
            return;
        }
        let request = self.offset_fetch(&ids, member_epoch.filter(|_| is_member));
        let names: Vec<TopicPartition> = ids.values().cloned().collect();
        let least = if is_member { MEMBERS_SINCE } else { GROUPS_SINCE };
        let request = ConsumerRequest::OffsetFetch(request);
        let id = self.ask(Destination::Coordinator(address), request, least, Asked::Kept(ids));
        self.asking(&names, id);
    }

    fn asking<'a>(&mut self, names: impl IntoIterator<Item = &'a TopicPartition>, id: RequestId) {
        for name in names {
            if let Some(partition) = self.partitions.get_mut(name) {
                partition.asking = Some(id);
            }
        }
    }

    /// The question what the group has of these partitions, as the member of this epoch or as nobody.
    pub(super) fn offset_fetch(
        &self,
        partitions: &BTreeMap<TopicIdPartition, TopicPartition>,
        member_epoch: Option<i32>,
    ) -> OffsetFetchRequest {
        let mut topics: Vec<OffsetFetchRequestTopics> = Vec::new();
        for (id, name) in partitions {
            match topics.last_mut().filter(|topic| topic.topic_id == id.topic_id) {
                Some(topic) => topic.partition_indexes.push(id.partition),
                None => topics.push(OffsetFetchRequestTopics {
                    name: name.topic.to_string(),
                    topic_id: id.topic_id,
                    partition_indexes: vec![id.partition],
                }),
            }
        }
        OffsetFetchRequest {
            groups: vec![OffsetFetchRequestGroup {
                group_id: self.options.group_id.clone().unwrap_or_default(),
                member_id: member_epoch.map(|_| self.options.member_id.clone()),
                member_epoch: member_epoch.unwrap_or(-1),
                topics: Some(topics),
            }],
            // Offsets that a transaction may still change are waited for, as in Kafka's own client.
            require_stable: true,
            ..OffsetFetchRequest::default()
        }
    }

    pub(super) fn kept(
        &mut self,
        now: Instant,
        asked: &BTreeMap<TopicIdPartition, TopicPartition>,
        response: OffsetFetchResponse,
    ) {
        let mut left: BTreeSet<&TopicPartition> = asked.values().collect();
        for group in response.groups {
            if !group.error_code.is_none() {
                self.coordinator_said(now, group.error_code);
                match group.error_code {
                    // The next heartbeat heals it, or tells that the member is none.
                    ErrorCode::STALE_MEMBER_EPOCH
                    | ErrorCode::UNKNOWN_MEMBER_ID
                    | ErrorCode::FENCED_MEMBER_EPOCH
                    | ErrorCode::GROUP_ID_NOT_FOUND => {}
                    ErrorCode::GROUP_AUTHORIZATION_FAILED => {
                        let kind = MachineErrorKind::GroupAuthorization { group: group.group_id };
                        self.fail_with(MachineError::fatal(kind));
                    }
                    code if code.is_retriable() => {}
                    code => {
                        let kind = MachineErrorKind::Refused { api: "OffsetFetch", node: None, code, message: None };
                        self.fail_with(MachineError::passing(kind));
                    }
                }
                break;
            }
            for topic in group.topics {
                for said in topic.partitions {
                    let name = name_of(asked, topic.topic_id, &topic.name, said.partition_index);
                    match said.error_code {
                        ErrorCode::NONE => {
                            left.remove(&name);
                            let offset = said.committed_offset;
                            let position = Position { offset, leader_epoch: epoch(said.committed_leader_epoch) };
                            self.found_in_group(&name, position);
                        }
                        code if !code.is_retriable() => self.told_once(&name, code),
                        _ => {}
                    }
                }
            }
        }
        self.kept_failed(now, left);
    }

    /// These partitions are asked for again a while later.
    pub(super) fn kept_failed<'a>(&mut self, now: Instant, left: impl IntoIterator<Item = &'a TopicPartition>) {
        for name in left {
            if let Some(partition) = self.partitions.get_mut(name).filter(|p| p.phase == Phase::Unknown) {
                partition.back_off(now);
            }
        }
    }

    fn found_in_group(&mut self, name: &TopicPartition, kept: Position) {
        let leader_epoch = self.leader(name).map_or(-1, |(_, epoch)| epoch);
        let Some(partition) = self.partitions.get_mut(name).filter(|p| p.phase == Phase::Unknown) else { return };
        partition.went_well();
        if kept.offset < 0 {
            return self.reset(name, None);
        }
        partition.committed = Some(kept.offset);
        partition.begin(kept, if kept.leader_epoch.is_some() { -1 } else { leader_epoch });
        if kept.leader_epoch.is_some() {
            partition.phase = Phase::Validating(kept);
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
                    partition.checked = asked.leader_epoch;
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

/// The partition of an answer, by the topic's id or, in older versions, its name.
pub(super) fn name_of(
    asked: &BTreeMap<TopicIdPartition, TopicPartition>,
    topic_id: Uuid,
    topic: &str,
    partition: i32,
) -> TopicPartition {
    let by_id = asked.get(&TopicIdPartition { topic_id, partition });
    by_id.cloned().unwrap_or_else(|| TopicPartition::new(topic, partition))
}
