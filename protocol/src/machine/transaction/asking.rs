//! What to send next.

use std::{ops::RangeInclusive, time::Instant};

use super::{
    Asked, ProducerIdentity, Started, State, TransactionFault, TransactionMachine, TransactionRequest, TransactionStep,
};
use crate::{
    machine::{
        consumer::by_topic,
        types::{BrokerAddress, Destination, RequestId, Step},
    },
    messages::{
        add_offsets_to_txn::AddOffsetsToTxnRequest,
        add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic},
        end_txn::EndTxnRequest,
        init_producer_id::InitProducerIdRequest,
        txn_offset_commit::{TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic},
    },
};

/// Since version 3 InitProducerId raises the epoch of a producer that it knows (KIP-360); 6 and later ask for two-phase commits.
const INIT: RangeInclusive<i16> = 3..=5;
/// From version 4 on it is a request of brokers.
const ADD_PARTITIONS: RangeInclusive<i16> = 0..=3;
const ADD_OFFSETS: RangeInclusive<i16> = 0..=3;
/// Since version 3 it has the member of the group (KIP-447); from 5 on it adds the group to a transaction of version 2 by itself.
const COMMIT_OFFSETS: RangeInclusive<i16> = 3..=4;
const COMMIT_OFFSETS_V2: RangeInclusive<i16> = 5..=5;
/// From version 5 on it is the end of a transaction of version 2, and gives the producer a new epoch.
const END: RangeInclusive<i16> = 1..=4;
const END_V2: RangeInclusive<i16> = 5..=5;
const FIND: RangeInclusive<i16> = 1..=i16::MAX;

impl TransactionMachine {
    /// Does one thing. Gives `None` where there may be more to do at once.
    pub(super) fn advance(&mut self, now: Instant) -> Option<TransactionStep> {
        match self.state {
            State::Initializing | State::Bumping => self.ask_for_epoch(now),
            State::InTransaction | State::Ending { commits: true, .. } if !self.partitions.to_add.is_empty() => {
                self.add_partitions(now)
            }
            State::InTransaction | State::Ending { commits: true, .. } if !self.offsets.is_empty() => {
                self.commit_offsets(now)
            }
            #[cfg(feature = "unstable-kip-1289")]
            State::InTransaction | State::Ending { commits: true, .. } if self.has_shares() => self.stage_shares(),
            State::Ending { commits, is_flushed: true } if self.started == Started::No => {
                self.ended(commits);
                None
            }
            State::Ending { commits, is_flushed: true } => self.end_transaction(now, commits),
            _ => Some(TransactionStep::Wait(None)),
        }
    }

    fn ask_for_epoch(&mut self, now: Instant) -> Option<TransactionStep> {
        let Some(to) = self.coordinator.address().cloned() else { return self.find_coordinator(now) };
        let known = self.producer;
        let request = InitProducerIdRequest {
            transactional_id: Some(self.options.transactional_id.clone()),
            transaction_timeout_ms: i32::try_from(self.options.transaction_timeout.as_millis()).unwrap_or(i32::MAX),
            producer_id: known.map_or(-1, |producer| producer.id),
            producer_epoch: known.map_or(-1, |producer| producer.epoch),
            ..InitProducerIdRequest::default()
        };
        Some(self.send(Asked::Init, to, TransactionRequest::InitProducerId(request), INIT))
    }

    fn add_partitions(&mut self, now: Instant) -> Option<TransactionStep> {
        let Some(to) = self.coordinator.address().cloned() else { return self.find_coordinator(now) };
        let ProducerIdentity { id, epoch } = self.producer?;
        self.started = self.started.at_least(Started::Maybe);
        let topics = by_topic(self.partitions.to_add.iter().map(|name| (name.clone(), name.partition)));
        let topics = topics.into_iter().map(|(name, partitions)| {
            let name = name.to_string();
            AddPartitionsToTxnTopic { name, partitions }
        });
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.options.transactional_id.clone(),
            v3_and_below_producer_id: id,
            v3_and_below_producer_epoch: epoch,
            v3_and_below_topics: topics.collect(),
            ..AddPartitionsToTxnRequest::default()
        };
        Some(self.send(Asked::Partitions, to, TransactionRequest::AddPartitionsToTxn(request), ADD_PARTITIONS))
    }

    fn commit_offsets(&mut self, now: Instant) -> Option<TransactionStep> {
        let ProducerIdentity { id, epoch } = self.producer?;
        let transactional_id = self.options.transactional_id.clone();
        let call = self.offsets.front()?;
        let group_id = call.group.group_id.clone();
        if !self.is_v2 && !call.is_added {
            let Some(to) = self.coordinator.address().cloned() else { return self.find_coordinator(now) };
            self.started = self.started.at_least(Started::Maybe);
            let request = AddOffsetsToTxnRequest { transactional_id, producer_id: id, producer_epoch: epoch, group_id };
            return Some(self.send(Asked::Offsets, to, TransactionRequest::AddOffsetsToTxn(request), ADD_OFFSETS));
        }
        let group = self.groups.get_mut(&group_id)?;
        let Some(to) = group.address().cloned() else {
            return match group.poll(now) {
                Step::Send(request) => {
                    let request = TransactionRequest::FindCoordinator(request);
                    Some(self.send_to(Asked::GroupCoordinator(group_id), Destination::Any, request, FIND))
                }
                Step::Event(error) => {
                    self.groups.remove(&group_id);
                    self.make_abortable(TransactionFault::Coordinator(Box::new(error.kind)));
                    None
                }
                Step::Wait(at) => Some(TransactionStep::Wait(at)),
            };
        };
        self.started = self.started.at_least(Started::Maybe);
        let call = self.offsets.front()?;
        let said = call.left.iter().map(|(name, offset)| {
            let said = TxnOffsetCommitRequestPartition {
                partition_index: name.partition,
                committed_offset: offset.offset,
                committed_leader_epoch: offset.leader_epoch.unwrap_or(-1),
                committed_metadata: Some(offset.metadata.clone()),
            };
            (name.clone(), said)
        });
        let topics = by_topic(said).into_iter().map(|(name, partitions)| TxnOffsetCommitRequestTopic {
            name: name.to_string(),
            partitions,
            ..TxnOffsetCommitRequestTopic::default()
        });
        let request = TxnOffsetCommitRequest {
            transactional_id,
            group_id,
            producer_id: id,
            producer_epoch: epoch,
            generation_id_or_member_epoch: call.group.generation_id_or_member_epoch,
            member_id: call.group.member_id.clone(),
            group_instance_id: call.group.group_instance_id.clone(),
            topics: topics.collect(),
        };
        let versions = if self.is_v2 { COMMIT_OFFSETS_V2 } else { COMMIT_OFFSETS };
        Some(self.send(Asked::GroupOffsets, to, TransactionRequest::TxnOffsetCommit(request), versions))
    }

    fn end_transaction(&mut self, now: Instant, commits: bool) -> Option<TransactionStep> {
        let Some(to) = self.coordinator.address().cloned() else { return self.find_coordinator(now) };
        let ProducerIdentity { id, epoch } = self.producer?;
        let request = EndTxnRequest {
            transactional_id: self.options.transactional_id.clone(),
            producer_id: id,
            producer_epoch: epoch,
            committed: commits,
        };
        let versions = if self.is_v2 { END_V2 } else { END };
        Some(self.send(Asked::End { commits }, to, TransactionRequest::EndTxn(request), versions))
    }

    fn find_coordinator(&mut self, now: Instant) -> Option<TransactionStep> {
        match self.coordinator.poll(now) {
            Step::Send(request) => {
                let request = TransactionRequest::FindCoordinator(request);
                Some(self.send_to(Asked::Coordinator, Destination::Any, request, FIND))
            }
            Step::Event(error) => {
                self.fail(TransactionFault::Coordinator(Box::new(error.kind)));
                None
            }
            Step::Wait(at) => Some(TransactionStep::Wait(at)),
        }
    }

    fn send(
        &mut self,
        asked: Asked,
        to: BrokerAddress,
        request: TransactionRequest,
        versions: RangeInclusive<i16>,
    ) -> TransactionStep {
        self.send_to(asked, Destination::Coordinator(to), request, versions)
    }

    pub(super) fn send_to(
        &mut self,
        asked: Asked,
        to: Destination,
        request: TransactionRequest,
        versions: RangeInclusive<i16>,
    ) -> TransactionStep {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.in_flight = Some((id, asked));
        self.retry_at = None;
        TransactionStep::Send { id, to, request, versions }
    }
}
