//! What goes into and comes out of the machine of transactions.

use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use super::fault::TransactionError;
#[cfg(feature = "unstable-kip-1289")]
use super::shares::ShareLack;
#[cfg(feature = "unstable-kip-1289")]
use crate::messages::txn_share_acknowledge::{TxnShareAcknowledgeRequest, TxnShareAcknowledgeResponse};
use crate::{
    machine::types::{Destination, RequestId},
    messages::{
        add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse},
        add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse},
        end_txn::{EndTxnRequest, EndTxnResponse},
        find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse},
        init_producer_id::{InitProducerIdRequest, InitProducerIdResponse},
        txn_offset_commit::{TxnOffsetCommitRequest, TxnOffsetCommitResponse},
    },
};

/// Settings, by Kafka's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionOptions {
    /// `transactional.id`.
    pub transactional_id: String,
    /// `transaction.timeout.ms`: the coordinator aborts a transaction that takes longer.
    pub transaction_timeout: Duration,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`.
    pub retry_backoff_max: Duration,
}

/// The id and epoch by which brokers recognise a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerIdentity {
    /// The producer id.
    pub id: i64,
    /// Counts the producers, or with version 2 the transactions, of a transactional id.
    pub epoch: i16,
}

/// The member of a group whose offsets a transaction commits (KIP-447). The coordinator refuses them where the group does not count that member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMetadata {
    /// `group.id`.
    pub group_id: String,
    /// The member's id; empty where the offsets are those of no member.
    pub member_id: String,
    /// The member's epoch, or the generation in classic groups; -1 for no member.
    pub generation_id_or_member_epoch: i32,
    /// `group.instance.id`.
    pub group_instance_id: Option<String>,
}

impl GroupMetadata {
    /// Of no member: nobody checks that these offsets are to be committed by this producer.
    pub fn of_nobody(group_id: impl Into<String>) -> Self {
        Self {
            group_id: group_id.into(),
            member_id: String::new(),
            generation_id_or_member_epoch: -1,
            group_instance_id: None,
        }
    }
}

/// Names one command, whose end comes as [`TransactionEvent::Answered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub u64);

/// What the driver does next.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionStep {
    /// A request is to be sent.
    Send {
        /// Names it.
        id: RequestId,
        /// Where to.
        to: Destination,
        /// The request.
        request: TransactionRequest,
        /// The versions that will do. In newer ones the same request means something else.
        versions: RangeInclusive<i16>,
    },
    /// Something is told.
    Event(TransactionEvent),
    /// Nothing to do before then, or before something comes in.
    Wait(Option<Instant>),
}

/// Names the flush of one end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushId(pub(super) u64);

/// What the machine tells its driver.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionEvent {
    /// What [`may_send`](super::TransactionMachine::may_send), [`producer`](super::TransactionMachine::producer) or
    /// [`failure`](super::TransactionMachine::failure) give may be something else now.
    Changed,
    /// The transaction ends: send what may be sent, give up the rest, wait for all answers, then call
    /// [`flushed`](super::TransactionMachine::flushed) with this id. A flush that was called for before may be given up.
    Flush(FlushId),
    /// A command has ended; exactly once for each.
    Answered {
        /// What the command returned.
        id: OperationId,
        /// How it ended.
        result: Result<(), TransactionError>,
    },
}

/// A request that the driver has to send.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionRequest {
    /// FindCoordinator, to any broker.
    FindCoordinator(FindCoordinatorRequest),
    /// InitProducerId, to the coordinator of the transactional id.
    InitProducerId(InitProducerIdRequest),
    /// AddPartitionsToTxn, to the same.
    AddPartitionsToTxn(AddPartitionsToTxnRequest),
    /// AddOffsetsToTxn, to the same.
    AddOffsetsToTxn(AddOffsetsToTxnRequest),
    /// TxnOffsetCommit, to the coordinator of the group.
    TxnOffsetCommit(TxnOffsetCommitRequest),
    /// EndTxn, to the coordinator of the transactional id.
    EndTxn(EndTxnRequest),
    /// TxnShareAcknowledge, to a broker that holds records, which has to have what [`ShareLack`](super::ShareLack) is about; the
    /// version is not stable.
    #[cfg(feature = "unstable-kip-1289")]
    TxnShareAcknowledge(TxnShareAcknowledgeRequest),
}

/// The response to a [`TransactionRequest`], of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionResponse {
    /// FindCoordinator.
    FindCoordinator(FindCoordinatorResponse),
    /// InitProducerId.
    InitProducerId(InitProducerIdResponse),
    /// AddPartitionsToTxn.
    AddPartitionsToTxn(AddPartitionsToTxnResponse),
    /// AddOffsetsToTxn.
    AddOffsetsToTxn(AddOffsetsToTxnResponse),
    /// TxnOffsetCommit.
    TxnOffsetCommit(TxnOffsetCommitResponse),
    /// EndTxn.
    EndTxn(EndTxnResponse),
    /// TxnShareAcknowledge.
    #[cfg(feature = "unstable-kip-1289")]
    TxnShareAcknowledge(TxnShareAcknowledgeResponse),
    /// TxnShareAcknowledge was not sent, for the broker lacks this.
    #[cfg(feature = "unstable-kip-1289")]
    SharesLack(ShareLack),
}
