//! What the group has of partitions: where a member goes on that others have read before.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use super::{
    Asked, ConsumerMachine, ConsumerRequest, Mode, Position, TopicPartition,
    partition::{Partition, Phase},
    types::epoch,
};
use crate::{
    machine::{
        error::{MachineError, MachineErrorKind},
        types::{Destination, RequestId, TopicIdPartition},
    },
    messages::offset_fetch::{
        OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
    },
    wire::{ErrorCode, Uuid},
};

/// Since this version OffsetFetch takes groups; since 9 it serves members by KIP-848.
const GROUPS_SINCE: i16 = 8;
const MEMBERS_SINCE: i16 = 9;

impl ConsumerMachine {
    /// Asks the group where these partitions are to be read from. What is still being committed of one, such as by a member that has left and
    /// come back at once, counts: it is asked about afterwards.
    pub(super) fn ask_group(&mut self, unknown: &[TopicPartition]) {
        let Some(group) = &self.group else { return };
        let Some(address) = group.coordinator.address().cloned() else { return };
        let is_member = self.mode != Mode::Partitions;
        let member_epoch = group.membership.epoch();
        let committing: BTreeSet<&TopicPartition> = self.commits.partitions().collect();
        let settled = unknown.iter().filter(|name| !committing.contains(name));
        let ids = settled.filter_map(|name| Some((self.id_of(name)?, name.clone())));
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
        id: RequestId,
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
                            self.found_in_group(id, &name, position);
                        }
                        code if !code.is_retriable() => self.told_once(&name, code),
                        _ => {}
                    }
                }
            }
        }
        self.kept_failed(now, id, left);
    }

    /// These partitions are asked for again a while later.
    pub(super) fn kept_failed<'a>(
        &mut self,
        now: Instant,
        id: RequestId,
        left: impl IntoIterator<Item = &'a TopicPartition>,
    ) {
        for name in left {
            if let Some(partition) = self.waiting_for_group(id, name) {
                partition.back_off(now);
            }
        }
    }

    /// The partition, where this answer still matters to it. One that came to this member again meanwhile may have been read further by
    /// others, which only a later answer knows.
    fn waiting_for_group(&mut self, id: RequestId, name: &TopicPartition) -> Option<&mut Partition> {
        self.partitions.get_mut(name).filter(|p| p.phase == Phase::Unknown && p.asking == Some(id))
    }

    fn found_in_group(&mut self, id: RequestId, name: &TopicPartition, kept: Position) {
        let leader_epoch = self.leader(name).map_or(-1, |(_, epoch)| epoch);
        let Some(partition) = self.waiting_for_group(id, name) else { return };
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
