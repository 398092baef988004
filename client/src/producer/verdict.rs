//! What the broker's answer to a batch means.

use ackflow_protocol::messages::produce::PartitionProduceResponse;
use ackflow_protocol::wire::ErrorCode;

use super::delivery::Appended;
use super::queue::Verdict;
use crate::error::{ClientError, ErrorKind};

/// Judges an answer. `doing` says which records and where they went.
pub(super) fn judge(
    answer: &PartitionProduceResponse,
    idempotent: bool,
    doing: impl FnOnce() -> String,
    broker: &str,
) -> Verdict {
    let known = |value: i64| Some(value).filter(|value| *value >= 0);
    let code = answer.error_code;
    if code.is_none() || (idempotent && code == ErrorCode::DUPLICATE_SEQUENCE_NUMBER) {
        let append_time = known(answer.log_append_time_ms);
        return Verdict::Appended(Appended { base_offset: known(answer.base_offset), append_time });
    }
    let error = ClientError::broker(doing(), code, message(answer).as_deref()).at(broker.to_owned());
    match code {
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER | ErrorCode::UNKNOWN_PRODUCER_ID if idempotent => {
            Verdict::OutOfSequence(error)
        }
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_ID_MAPPING
            if idempotent =>
        {
            Verdict::Fenced(error)
        }
        ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE => {
            Verdict::Refused(error.remedy("lower batch.size, or raise max.message.bytes of the topic"))
        }
        _ if code.is_retriable() => Verdict::Again(error),
        _ => Verdict::Refused(error),
    }
}

/// Judges a request that has no answer.
pub(super) fn judge_failure(error: ClientError) -> Verdict {
    match error.kind() {
        ErrorKind::UnsupportedVersion | ErrorKind::Invalid | ErrorKind::Config => Verdict::Refused(error),
        // Whether the records were written is unknown: the same bytes and numbers will tell.
        _ => Verdict::Again(error),
    }
}

/// Whether the answer says that the metadata is old.
pub(super) fn is_about_leaders(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::LEADER_NOT_AVAILABLE
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::UNKNOWN_TOPIC_ID
            | ErrorCode::INCONSISTENT_TOPIC_ID
            | ErrorCode::KAFKA_STORAGE_ERROR
            | ErrorCode::FENCED_LEADER_EPOCH
    )
}

/// What the broker says beyond the code: about the batch, and about the first record that it names.
fn message(answer: &PartitionProduceResponse) -> Option<String> {
    let record = answer.record_errors.iter().find_map(|record| {
        let message = record.batch_index_error_message.as_deref()?;
        Some(format!("record {}: {message}", record.batch_index))
    });
    match (answer.error_message.clone(), record) {
        (Some(message), Some(record)) => Some(format!("{message}; {record}")),
        (message, record) => message.or(record),
    }
}
