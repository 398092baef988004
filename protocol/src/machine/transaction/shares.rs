//! Acknowledgements of share groups in transactions: the draft KIP-1289, generation C.
//!
//! They go to the brokers that hold the records, which make them wait for the end of the transaction: one request a broker, one after the other. A broker has
//! to be asked within the lock of its records and cannot be asked twice, since what it has taken it does not take again; so whatever goes wrong there leaves
//! nothing but to abort. Only what brokers say before they take anything is tried again.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
    time::Instant,
};

use super::{
    Asked, OperationId, ProducerIdentity, Started, State, TransactionFault, TransactionMachine, TransactionRequest,
    TransactionStep,
};
use crate::{
    machine::{
        consumer::TopicPartition,
        types::{AckRange, AckType, BrokerAddress, Destination, RequestFailure, TopicIdPartition},
    },
    messages::txn_share_acknowledge::{
        AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, TxnShareAcknowledgeRequest,
        TxnShareAcknowledgeResponse,
    },
    wire::{ErrorCode, Uuid},
};

/// The only version of the draft.
const ONLY_VERSION: i16 = 0;

/// The member of a share group that holds the records (KIP-1289). The group is asked for it when the records are staged, and refuses another epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGroupMetadata {
    /// `group.id`.
    pub group_id: String,
    /// The member's id.
    pub member_id: String,
    /// The member's epoch.
    pub member_epoch: i32,
}

/// Acknowledgements that are to count when a transaction is committed, of one member of a share group (KIP-1289). Whoever has them decides about the records:
/// the consumer that they were taken from says nothing of them any more. Dropped, they let the locks of the records run out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShareAcknowledgements(BTreeMap<(i32, TopicIdPartition), SourceAcknowledgements>);

/// Acknowledgements of one partition at the broker that holds its records.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceAcknowledgements {
    /// The broker from which the records were acquired: no other one knows that they are held.
    pub leader: BrokerAddress,
    /// Name of the topic.
    pub topic: Arc<str>,
    /// The partition.
    pub topic_partition: TopicIdPartition,
    /// What is said: accepted, rejected, or gaps. Sorted and disjoint.
    pub ranges: Vec<AckRange>,
}

impl ShareAcknowledgements {
    /// Adds acknowledgements to these.
    ///
    /// # Errors
    /// The first range that is a release or a renewal, which are no part of transactions; then nothing is added.
    pub fn add(&mut self, mut source: SourceAcknowledgements) -> Result<(), AckRange> {
        let refused = |range: &&AckRange| matches!(range.ack, AckType::Release | AckType::Renew);
        if let Some(range) = source.ranges.iter().find(refused) {
            return Err(*range);
        }
        if source.ranges.is_empty() {
            return Ok(());
        }
        match self.0.entry((source.leader.node, source.topic_partition)) {
            std::collections::btree_map::Entry::Vacant(entry) => _ = entry.insert(source),
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let ranges = &mut entry.get_mut().ranges;
                ranges.append(&mut source.ranges);
                ranges.sort_by_key(|range| range.first);
            }
        }
        Ok(())
    }

    /// Adds others of the same member to these.
    pub fn append(&mut self, others: Self) {
        for source in others.0.into_values() {
            // They were checked when they were added there.
            let _ = self.add(source);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many offsets they are of.
    pub fn records(&self) -> u64 {
        let ranges = self.0.values().flat_map(|source| &source.ranges);
        ranges.map(|range| u64::try_from(range.last - range.first + 1).unwrap_or_default()).sum()
    }

    /// All of them, by broker and partition.
    pub fn iter(&self) -> impl Iterator<Item = &SourceAcknowledgements> {
        self.0.values()
    }
}

/// What a cluster does not have that acknowledgements in transactions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareLack {
    /// The broker does not offer TxnShareAcknowledge.
    Api,
    /// The finalized `share.version`, where there is one, is below 3.
    ShareVersion(Option<i16>),
    /// The finalized `transaction.version` is below 2 (KIP-890), or the coordinator does not speak what that needs.
    TransactionVersion,
}

impl ShareLack {
    /// The finalized `share.version` that it takes.
    pub const SHARE_VERSION: i16 = 3;

    /// What a broker lacks that offers TxnShareAcknowledge or not, and names this `share.version`.
    pub fn of(offers_api: bool, share_version: Option<i16>) -> Option<Self> {
        if !offers_api {
            return Some(Self::Api);
        }
        let is_enough = share_version.is_some_and(|level| level >= Self::SHARE_VERSION);
        (!is_enough).then_some(Self::ShareVersion(share_version))
    }
}

impl fmt::Display for ShareLack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api => f.write_str("it does not offer TxnShareAcknowledge (KIP-1289, which no released Kafka has)"),
            Self::ShareVersion(level) => {
                let needed = Self::SHARE_VERSION;
                write!(f, "share.version is finalized at {}, and {needed} is needed", level.unwrap_or(0))
            }
            Self::TransactionVersion => f.write_str("transaction.version 2 (KIP-890) is not finalized"),
        }
    }
}

/// Acknowledgements that are on their way into the transaction.
#[derive(Debug)]
pub(super) struct SharesCall {
    id: OperationId,
    member: ShareGroupMetadata,
    /// By broker, those that have not taken theirs yet.
    left: VecDeque<Vec<SourceAcknowledgements>>,
}

impl SharesCall {
    fn new(id: OperationId, acknowledgements: ShareAcknowledgements, member: ShareGroupMetadata) -> Self {
        let mut left: VecDeque<Vec<SourceAcknowledgements>> = VecDeque::new();
        for source in acknowledgements.0.into_values() {
            match left.back_mut().filter(|sources| sources[0].leader.node == source.leader.node) {
                Some(sources) => sources.push(source),
                None => left.push_back(vec![source]),
            }
        }
        Self { id, member, left }
    }
}

impl TransactionMachine {
    /// Makes these acknowledgements count where the transaction is committed. The answer tells that the brokers that hold the records have them. Where one has
    /// not, the transaction has to be aborted.
    pub fn send_share_acknowledgements(
        &mut self,
        acknowledgements: ShareAcknowledgements,
        member: ShareGroupMetadata,
    ) -> OperationId {
        let id = self.operation();
        match self.state {
            State::InTransaction if acknowledgements.is_empty() => self.answer(id, Ok(())),
            State::InTransaction => self.shares.push_back(SharesCall::new(id, acknowledgements, member)),
            _ => {
                let error = self.refusal("send acknowledgements to the transaction");
                self.answer(id, Err(error));
            }
        }
        id
    }

    pub(super) fn has_shares(&self) -> bool {
        !self.shares.is_empty()
    }

    pub(super) fn fail_shares(&mut self, error: &super::TransactionError) {
        for call in std::mem::take(&mut self.shares) {
            self.answer(call.id, Err(error.clone()));
        }
    }

    pub(super) fn stage_shares(&mut self) -> Option<TransactionStep> {
        let ProducerIdentity { id, epoch } = self.producer?;
        let call = self.shares.front()?;
        let sources = call.left.front()?;
        let leader = sources[0].leader.clone();
        if !self.is_v2 {
            self.shares_lack(ShareLack::TransactionVersion);
            return None;
        }
        let request = TxnShareAcknowledgeRequest {
            transactional_id: Some(self.options.transactional_id.clone()),
            group_id: call.member.group_id.clone(),
            producer_id: id,
            producer_epoch: epoch,
            member_id: call.member.member_id.clone(),
            member_epoch: call.member.member_epoch,
            topics: topics(sources),
        };
        self.started = self.started.at_least(Started::Maybe);
        let request = TransactionRequest::TxnShareAcknowledge(request);
        let to = Destination::Leader(leader);
        Some(self.send_to(Asked::Shares, to, request, ONLY_VERSION..=ONLY_VERSION))
    }

    /// The broker that was asked cannot do it.
    pub(super) fn shares_lack(&mut self, lack: ShareLack) {
        if let Some(broker) = self.asked_for_shares() {
            self.make_abortable(TransactionFault::SharesUnsupported { broker, lack });
        }
    }

    /// Nobody knows whether the broker has taken them.
    pub(super) fn shares_not_answered(&mut self, failure: RequestFailure) {
        if let RequestFailure::UnsupportedVersion(_) = failure {
            return self.shares_lack(ShareLack::Api);
        }
        if let Some(broker) = self.asked_for_shares() {
            self.make_abortable(TransactionFault::SharesUnanswered { broker });
        }
    }

    /// The broker whose answer is due; `None` where the transaction is aborted already, and it does not matter.
    fn asked_for_shares(&self) -> Option<BrokerAddress> {
        self.shares.front()?.left.front()?.first().map(|source| source.leader.clone())
    }

    pub(super) fn shares_staged(&mut self, now: Instant, response: &TxnShareAcknowledgeResponse) {
        let Some(call) = self.shares.front_mut() else { return };
        if let Err(code) = response.error_code.ok() {
            return self.shares_refused(now, code);
        }
        let Some(sources) = call.left.front() else { return };
        if let Some(fault) = first_refusal(sources, &call.member.group_id, response) {
            return self.make_abortable(fault);
        }
        call.left.pop_front();
        let (id, is_done) = (call.id, call.left.is_empty());
        self.started = Started::Yes;
        self.backoff.reset();
        if is_done {
            self.shares.pop_front();
            self.answer(id, Ok(()));
        }
    }

    /// The request was refused as a whole.
    fn shares_refused(&mut self, now: Instant, code: ErrorCode) {
        let is_passing = matches!(
            code,
            ErrorCode::CONCURRENT_TRANSACTIONS
                | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
                | ErrorCode::COORDINATOR_NOT_AVAILABLE
                | ErrorCode::NOT_COORDINATOR
        );
        // Of the coordinator nothing was asked, so that what other errors tell to try again is of no use here.
        let code = if is_passing || !code.is_retriable() {
            match self.common_error(now, &Asked::Shares, code) {
                None => return,
                Some(code) => code,
            }
        } else {
            code
        };
        match code {
            ErrorCode::INVALID_TXN_STATE | ErrorCode::INVALID_PRODUCER_ID_MAPPING => {
                self.fail(self.refused(&Asked::Shares, code));
            }
            code => {
                let group = self.shares.front().map(|call| call.member.group_id.clone()).unwrap_or_default();
                self.make_abortable(TransactionFault::Shares { group, partition: None, code, message: None });
            }
        }
    }
}

/// What one broker is told.
fn topics(sources: &[SourceAcknowledgements]) -> Vec<AcknowledgeTopic> {
    let mut topics: BTreeMap<Uuid, Vec<AcknowledgePartition>> = BTreeMap::new();
    for source in sources {
        let mut batches: Vec<AcknowledgementBatch> = Vec::new();
        for AckRange { first, last, ack } in source.ranges.iter().copied() {
            match batches.last_mut() {
                Some(before) if before.acknowledge_types == [ack as i8] && before.last_offset + 1 == first => {
                    before.last_offset = last;
                }
                _ => batches.push(AcknowledgementBatch {
                    first_offset: first,
                    last_offset: last,
                    acknowledge_types: vec![ack as i8],
                }),
            }
        }
        let TopicIdPartition { topic_id, partition } = source.topic_partition;
        topics
            .entry(topic_id)
            .or_default()
            .push(AcknowledgePartition { partition_index: partition, acknowledgement_batches: batches });
    }
    topics.into_iter().map(|(topic_id, partitions)| AcknowledgeTopic { topic_id, partitions }).collect()
}

/// The first partition that was not taken, or was not spoken of.
fn first_refusal(
    sources: &[SourceAcknowledgements],
    group: &str,
    response: &TxnShareAcknowledgeResponse,
) -> Option<TransactionFault> {
    sources.iter().find_map(|source| {
        let TopicIdPartition { topic_id, partition } = source.topic_partition;
        let topic = response.responses.iter().filter(|topic| topic.topic_id == topic_id);
        let answer = topic.flat_map(|topic| &topic.partitions).find(|answer| answer.partition_index == partition);
        let (code, message) = answer.map_or((ErrorCode::UNKNOWN_SERVER_ERROR, None), |answer| {
            (answer.error_code, answer.error_message.clone())
        });
        let partition = Some(TopicPartition { topic: source.topic.clone(), partition });
        (!code.is_none()).then(|| TransactionFault::Shares { group: group.to_owned(), partition, code, message })
    })
}
