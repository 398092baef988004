//! What the machine reports, as errors of the client.

use ackflow_protocol::machine::consumer::{BadBatch, ConsumerFault, Offsets, TopicPartition};
use ackflow_protocol::machine::{MachineError, MachineErrorKind};

use crate::error::{ClientError, ErrorKind, RecordRange};
use crate::heard::said;

pub(super) const CONSUMING: &str = "consuming in a consumer group";

/// The error for the application; `None` where the log is enough, since the consumer helps itself.
pub(super) fn of_machine(error: &MachineError) -> Option<ClientError> {
    match (&error.kind, error.code()) {
        (MachineErrorKind::PollInterval { .. }, _) => None,
        (MachineErrorKind::Fetch { code, .. }, _) if code.is_retriable() => None,
        _ => Some(of_any(error)),
    }
}

/// The error of a question, which somebody waits for.
pub(super) fn of_any(error: &MachineError) -> ClientError {
    let kind = match (&error.kind, error.code()) {
        (MachineErrorKind::ShareGroupsDisabled, _) => ErrorKind::UnsupportedVersion,
        (MachineErrorKind::Consumer(fault), code) => match fault {
            ConsumerFault::Disabled => ErrorKind::UnsupportedVersion,
            ConsumerFault::InstanceFenced { .. } | ConsumerFault::NotMember { .. } => ErrorKind::Fenced,
            ConsumerFault::NotAssigned { .. }
            | ConsumerFault::NoGroup
            | ConsumerFault::BelowZero { .. }
            | ConsumerFault::NoOffset { .. } => ErrorKind::Invalid,
            ConsumerFault::TimedOut { .. } => ErrorKind::TimedOut,
            ConsumerFault::Closed => ErrorKind::Closed,
            _ => code.map_or(ErrorKind::Invalid, ErrorKind::Broker),
        },
        (_, Some(code)) => ErrorKind::Broker(code),
        (_, None) => ErrorKind::Malformed,
    };
    ClientError::new(kind, CONSUMING, said(&error.to_string()))
}

/// The error of a batch that cannot be read, at which its partition stands.
pub(super) fn bad_batch(partition: &TopicPartition, bad: &BadBatch) -> ClientError {
    let TopicPartition { topic, partition } = partition;
    let records = RecordRange { topic: topic.clone(), partition: *partition, first: bad.first, last: bad.last };
    let reason = format!("{records} cannot be read: {}", bad.error);
    ClientError::new(ErrorKind::Malformed, CONSUMING, reason)
        .remedy(format!("seek {topic}-{partition} to offset {} to pass over it", bad.last.saturating_add(1)))
        .about(records)
}

/// The error of a call about a partition that the consumer does not have.
pub(super) fn not_assigned(partition: &TopicPartition, doing: &'static str) -> ClientError {
    let reason = format!("{partition} is not assigned to this consumer");
    ClientError::new(ErrorKind::Invalid, doing, reason)
        .remedy("wait for it in a RebalanceListener, or poll until assignment() has it")
}

/// What was committed, if it is of all these partitions: those that are lost, though the application has not heard of it yet, were not.
pub(super) fn all_of(expected: &[TopicPartition], committed: Offsets) -> Result<Offsets, ClientError> {
    let Some(lost) = expected.iter().find(|partition| !committed.contains_key(*partition)) else {
        return Ok(committed);
    };
    let reason = format!("{lost} was lost before, and others may have it");
    Err(ClientError::new(ErrorKind::Fenced, super::handle::COMMITTING, reason).remedy(
        "poll to join again; where that came of too few polls, raise max.poll.interval.ms or lower max.poll.records",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Mutation: client/src/consumer/failures.rs
    // - ClientError::new(kind, CONSUMING, said(&error.to_string()))
    // + ClientError::new(kind, CONSUMING, error.to_string())
    #[test]
    fn what_a_broker_says_is_not_obeyed_by_a_terminal() {
        let message = Some("\u{1b}[2Jno".to_owned());
        let fault = ConsumerFault::Pattern { pattern: "(".to_owned(), message };
        let error = of_any(&MachineError { kind: MachineErrorKind::Consumer(fault), fatal: true });
        assert!(error.to_string().contains("[2Jno") && !error.to_string().contains('\u{1b}'), "{error}");
    }
}
