//! What the machine reports, as errors of the client.

use ackflow_protocol::machine::{AckType, MachineError, MachineErrorKind};
use ackflow_protocol::records::BatchError;
use ackflow_protocol::wire::ErrorCode;

use crate::error::{ClientError, ErrorKind, RecordRange};
use crate::heard::said;

const CONSUMING: &str = "consuming in a share group";

/// The error for the application; `None` where the log is enough, since the consumer helps itself.
pub(super) fn of_machine(error: &MachineError) -> Option<ClientError> {
    let kind = match (&error.kind, error.code()) {
        (MachineErrorKind::PollInterval { .. }, _) => return None,
        (MachineErrorKind::Fetch { code, .. }, _) if code.is_retriable() => return None,
        (MachineErrorKind::ShareGroupsDisabled | MachineErrorKind::OldBroker { .. }, _) => {
            ErrorKind::UnsupportedVersion
        }
        (MachineErrorKind::MemberTaken { .. }, _) => ErrorKind::Fenced,
        (_, Some(code)) => ErrorKind::Broker(code),
        (_, None) => ErrorKind::Malformed,
    };
    Some(ClientError::new(kind, CONSUMING, said(&error.to_string())))
}

/// The broker that an error is about, where it is about one alone.
pub(super) fn place(error: &MachineError) -> Option<String> {
    match &error.kind {
        MachineErrorKind::OldBroker { broker, .. }
        | MachineErrorKind::SessionLimit { broker }
        | MachineErrorKind::MemberTaken { broker, .. } => Some(broker.to_string()),
        _ => None,
    }
}

/// The error for locks that are to be renewed by themselves and cannot be.
pub(super) fn no_renewal(code: ErrorCode) -> ClientError {
    let reason = format!("the broker does not renew the locks of records that are held: {code}");
    let remedy = "set share.renew.acknowledge.enable=true on the group, or raise its share.record.lock.duration.ms";
    ClientError::new(ErrorKind::Broker(code), CONSUMING, reason).remedy(remedy)
}

/// The error for records of a batch that cannot be read, which were acknowledged as `settled` for that reason.
pub(super) fn bad_batch(records: RecordRange, settled: AckType, error: &BatchError) -> ClientError {
    let settled = match settled {
        AckType::Release => "released, for a member that can read it",
        _ => "rejected",
    };
    let reason = format!("{records} cannot be read: {error} ({settled})");
    ClientError::new(ErrorKind::Malformed, CONSUMING, reason).about(records)
}
