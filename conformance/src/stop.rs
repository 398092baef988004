//! Why a case ends before its end.

use ackflow_client::net::Address;
use ackflow_client::{ClientError, ErrorKind};

/// Why a case ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The broker does not advertise what the case is about.
    NotOffered(String),
    /// The broker does something else than the rule says.
    Failed {
        /// What the rule says.
        expected: String,
        /// What the broker did.
        got: String,
    },
}

/// What a step of a case leads to.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

impl Stop {
    pub(crate) fn failed(expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self::Failed { expected: expected.into(), got: got.into() }
    }

    /// What it means where no case runs yet.
    pub(crate) fn into_error(self, at: &Address) -> ClientError {
        let reason = match self {
            Self::NotOffered(what) => what,
            Self::Failed { expected, got } => format!("expected: {expected}; got: {got}"),
        };
        ClientError::new(ErrorKind::Malformed, format!("asking {at} what it is"), reason)
    }
}
