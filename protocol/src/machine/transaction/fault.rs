//! Why a transaction, or the producer, cannot go on.

#[cfg(feature = "unstable-kip-1289")]
use super::shares::ShareLack;
#[cfg(feature = "unstable-kip-1289")]
use crate::machine::types::BrokerAddress;
use crate::{
    machine::{consumer::TopicPartition, error::MachineErrorKind},
    wire::ErrorCode,
};

/// An error of a command, and what it leaves to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{fault}{}", self.remedy())]
pub struct TransactionError {
    /// What happened.
    pub fault: TransactionFault,
    /// Whether the transaction has to be aborted, after which the producer may go on.
    pub is_abortable: bool,
    /// Whether the producer is of no use any more.
    pub is_fatal: bool,
}

impl TransactionError {
    pub(super) fn abortable(fault: TransactionFault) -> Self {
        Self { fault, is_abortable: true, is_fatal: false }
    }

    pub(super) fn fatal(fault: TransactionFault) -> Self {
        Self { fault, is_abortable: false, is_fatal: true }
    }

    /// Nothing is changed by it.
    pub(super) fn refused(fault: TransactionFault) -> Self {
        Self { fault, is_abortable: false, is_fatal: false }
    }

    fn remedy(&self) -> &'static str {
        match (self.is_fatal, self.is_abortable) {
            (true, _) => "; the producer can do nothing more: close it",
            (_, true) if self.fault != TransactionFault::Aborted => "; abort the transaction, then go on",
            _ => "",
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransactionFault {
    /// The command does not fit what is under way.
    #[error("cannot {what}: {state}")]
    State {
        /// The command.
        what: &'static str,
        /// What is under way.
        state: &'static str,
    },

    /// The transaction was aborted by the application.
    #[error("the transaction was aborted")]
    Aborted,

    /// Another producer of the same transactional id has taken over, or the coordinator has aborted the transaction because it took too long.
    #[error(
        "another producer with transactional.id={transactional_id} has taken over, or the transaction took longer than transaction.timeout.ms={timeout_ms} \
         and was aborted"
    )]
    Fenced {
        /// `transactional.id`.
        transactional_id: String,
        /// `transaction.timeout.ms`.
        timeout_ms: u128,
    },

    /// The coordinator has no such transaction any more.
    #[error(
        "the coordinator has aborted the transaction of transactional.id={transactional_id}, most likely because it took longer than \
         transaction.timeout.ms={timeout_ms}"
    )]
    Late {
        /// `transactional.id`.
        transactional_id: String,
        /// `transaction.timeout.ms`.
        timeout_ms: u128,
    },

    /// The time that a transaction may take exceeds what the broker allows.
    #[error(
        "transaction.timeout.ms={timeout_ms} exceeds transaction.max.timeout.ms of the broker: lower it, or raise that"
    )]
    Timeout {
        /// `transaction.timeout.ms`.
        timeout_ms: u128,
    },

    /// No right to the transactional id.
    #[error(
        "not authorized for transactional.id={transactional_id}: WRITE and DESCRIBE on the transactional id are needed"
    )]
    NotAuthorized {
        /// `transactional.id`.
        transactional_id: String,
    },

    /// A record of the transaction was not written.
    #[error("a record of the transaction was not written: {reason}")]
    Records {
        /// The broker's error code, where it refused it.
        code: Option<ErrorCode>,
        /// What happened.
        reason: String,
    },

    /// A partition cannot be added to the transaction.
    #[error("{partition} cannot be added to the transaction: {code}")]
    Partition {
        /// The partition.
        partition: TopicPartition,
        /// The coordinator's error code.
        code: ErrorCode,
    },

    /// The group does not take the offsets.
    #[error("group {group} does not take the offset of {partition}: {code}{}", of_member(*code))]
    Offsets {
        /// The group.
        group: String,
        /// A partition.
        partition: TopicPartition,
        /// The coordinator's error code.
        code: ErrorCode,
    },

    /// A share group does not take acknowledgements into the transaction (KIP-1289).
    #[cfg(feature = "unstable-kip-1289")]
    #[error("share group {group} does not take acknowledgements{} into the transaction: {code}{}", of(partition), of_shares(*code, message))]
    Shares {
        /// The group.
        group: String,
        /// The partition, unless all of the request was refused.
        partition: Option<TopicPartition>,
        /// The broker's error code.
        code: ErrorCode,
        /// What it says besides.
        message: Option<String>,
    },

    /// The broker that holds records cannot take acknowledgements into transactions (KIP-1289).
    #[cfg(feature = "unstable-kip-1289")]
    #[error("the broker {broker} does not take acknowledgements of share groups into transactions: {lack}")]
    SharesUnsupported {
        /// The broker.
        broker: BrokerAddress,
        /// What it lacks.
        lack: ShareLack,
    },

    /// It is not known whether a broker has taken acknowledgements into the transaction (KIP-1289).
    #[cfg(feature = "unstable-kip-1289")]
    #[error(
        "the broker {broker} did not answer whether it takes acknowledgements into the transaction, and cannot be asked twice"
    )]
    SharesUnanswered {
        /// The broker.
        broker: BrokerAddress,
    },

    /// The coordinator of the group, or of transactions, cannot be used.
    #[error(transparent)]
    Coordinator(Box<MachineErrorKind>),

    /// The coordinator refused the request.
    #[error("{api} of transactional.id={transactional_id} was refused: {code}")]
    Refused {
        /// The request.
        api: &'static str,
        /// `transactional.id`.
        transactional_id: String,
        /// Its error code.
        code: ErrorCode,
    },

    /// The coordinator does not speak what is needed.
    #[error("the broker does not speak a version of {api} that transactions need: Kafka 2.5 or later does")]
    Unsupported {
        /// The request.
        api: &'static str,
    },
}

impl TransactionFault {
    /// The broker's error code, where one is the cause.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Fenced { .. } => Some(ErrorCode::PRODUCER_FENCED),
            Self::Late { .. } => Some(ErrorCode::INVALID_TXN_STATE),
            Self::Timeout { .. } => Some(ErrorCode::INVALID_TRANSACTION_TIMEOUT),
            Self::NotAuthorized { .. } => Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
            Self::Records { code, .. } => *code,
            Self::Partition { code, .. } | Self::Offsets { code, .. } | Self::Refused { code, .. } => Some(*code),
            Self::Unsupported { .. } => Some(ErrorCode::UNSUPPORTED_VERSION),
            #[cfg(feature = "unstable-kip-1289")]
            Self::Shares { code, .. } => Some(*code),
            #[cfg(feature = "unstable-kip-1289")]
            Self::SharesUnsupported { .. } => Some(ErrorCode::UNSUPPORTED_VERSION),
            #[cfg(feature = "unstable-kip-1289")]
            Self::SharesUnanswered { .. } => None,
            Self::State { .. } | Self::Aborted | Self::Coordinator(_) => None,
        }
    }
}

fn of_member(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::UNKNOWN_MEMBER_ID
        | ErrorCode::ILLEGAL_GENERATION
        | ErrorCode::STALE_MEMBER_EPOCH
        | ErrorCode::FENCED_MEMBER_EPOCH
        | ErrorCode::FENCED_INSTANCE_ID => {
            " (the consumer that they come from is no such member of the group any more, and others may have its partitions)"
        }
        _ => "",
    }
}

#[cfg(feature = "unstable-kip-1289")]
fn of(partition: &Option<TopicPartition>) -> String {
    partition.as_ref().map_or_else(String::new, |partition| format!(" of {partition}"))
}

#[cfg(feature = "unstable-kip-1289")]
fn of_shares(code: ErrorCode, message: &Option<String>) -> String {
    let said = message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
    let why = match code {
        ErrorCode::INVALID_RECORD_STATE => {
            " (the member does not hold a record any more: its lock or its session has ended)"
        }
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::NOT_LEADER_OR_FOLLOWER => {
            " (the leader has moved, and what was held with it is free)"
        }
        code => of_member(code),
    };
    format!("{said}{why}")
}
