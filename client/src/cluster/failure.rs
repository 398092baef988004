//! What a machine hears of a request that has no answer.

use ackflow_protocol::machine::RequestFailure;

use super::Failed;
use crate::error::{ClientError, ErrorKind};

/// What it hears; the log has the reason.
pub(crate) fn failure(Failed { error, speaks }: Failed) -> RequestFailure {
    match error.kind() {
        ErrorKind::Malformed => tracing::warn!("{error}"),
        _ => tracing::debug!("{error}"),
    }
    kind_of_failure(&error, speaks)
}

/// The same without a word to the log. `speaks` is the version of the API that the connection has, if any.
pub(crate) fn kind_of_failure(error: &ClientError, speaks: Option<i16>) -> RequestFailure {
    match error.kind() {
        ErrorKind::Unreachable | ErrorKind::Authentication => RequestFailure::Unreachable,
        ErrorKind::TimedOut => RequestFailure::TimedOut,
        ErrorKind::UnsupportedVersion => RequestFailure::UnsupportedVersion(speaks),
        ErrorKind::Malformed => RequestFailure::Malformed,
        _ => RequestFailure::Disconnected,
    }
}
