//! What a sink says when it fails.

use std::{error::Error, fmt::Write, time::Duration};

/// Any error that a sink may carry as its cause.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a sink could not do what it was asked, told by what the worker shall do about it.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The same call may succeed later: a server is down, a disk is full. The worker holds the records, renews their locks and calls again.
    #[error("{error}")]
    Retriable {
        /// What went wrong.
        error: BoxError,
        /// The least time to wait before the next try. The worker chooses when it is `None`.
        after: Option<Duration>,
    },

    /// A record cannot be written, now or ever: it is malformed, too large, or refused by the destination.
    #[error("{0}")]
    Data(BoxError),

    /// The configuration is wrong. The message names the key, its value and the remedy.
    #[error("{0}")]
    Config(BoxError),

    /// Anything else. The task fails.
    #[error("{0}")]
    Fatal(BoxError),
}

impl SinkError {
    /// A [`Retriable`](Self::Retriable) error; the worker chooses when to try again.
    pub fn retriable(error: impl Into<BoxError>) -> Self {
        Self::Retriable { error: error.into(), after: None }
    }

    /// A [`Retriable`](Self::Retriable) error that knows how long it is useless to try again.
    pub fn retry_after(error: impl Into<BoxError>, after: Duration) -> Self {
        Self::Retriable { error: error.into(), after: Some(after) }
    }

    /// A [`Data`](Self::Data) error.
    pub fn data(error: impl Into<BoxError>) -> Self {
        Self::Data(error.into())
    }

    /// A [`Config`](Self::Config) error.
    pub fn config(error: impl Into<BoxError>) -> Self {
        Self::Config(error.into())
    }

    /// A [`Fatal`](Self::Fatal) error.
    pub fn fatal(error: impl Into<BoxError>) -> Self {
        Self::Fatal(error.into())
    }

    /// The error and its causes in one line.
    pub(crate) fn trace(&self) -> String {
        match self {
            Self::Retriable { error, .. } | Self::Data(error) | Self::Config(error) | Self::Fatal(error) => {
                chain(error.as_ref())
            }
        }
    }
}

/// An error and its causes in one line. A cause that its parent already quotes is not said twice.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            let _ = write!(text, ": {message}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("writing to the table")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_trace_names_the_error_and_each_cause_once() {
        let error = SinkError::fatal(Outer(std::io::Error::other("connection reset")));
        assert_eq!(error.trace(), "writing to the table: connection reset");
        assert_eq!(SinkError::data("too large").trace(), "too large");
    }
}
