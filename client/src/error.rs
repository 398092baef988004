//! What went wrong, whose fault it is, and what to do about it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ackflow_protocol::wire::ErrorCode;

use crate::heard::said;

/// An error of the client. It is cheap to clone: one lost connection fails all its waiters with the same error.
///
/// It reads as one line: what was being done, with which broker, what went wrong, and the remedy.
#[derive(Clone)]
pub struct ClientError(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    doing: Cow<'static, str>,
    broker: Option<Cow<'static, str>>,
    reason: Cow<'static, str>,
    remedy: Cow<'static, str>,
    records: Option<RecordRange>,
    setting: Option<Box<str>>,
}

/// Records of one partition, by their offsets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordRange {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The first offset.
    pub first: i64,
    /// The last offset, inclusive.
    pub last: i64,
}

impl fmt::Display for RecordRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, partition, first, last } = self;
        match first == last {
            true => write!(f, "offset {first} of {topic}-{partition}"),
            false => write!(f, "offsets {first} to {last} of {topic}-{partition}"),
        }
    }
}

/// What kind of error it is. Small enough to be copied into a state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting has a value that cannot work.
    Config,
    /// An argument cannot be used, such as a record larger than `max.request.size`.
    Invalid,
    /// No connection could be made: nothing was sent.
    Unreachable,
    /// The connection ended before a byte of the request was written: it may be sent again.
    NotSent,
    /// The connection ended after the request was written, or while it was: the broker may have acted on it.
    Disconnected,
    /// No answer came in time: the broker may have acted on the request.
    TimedOut,
    /// Broker and client do not accept each other: a certificate, a password, a token.
    Authentication,
    /// Broker and client have no version of the API in common.
    UnsupportedVersion,
    /// The broker sent bytes that are not an answer.
    Malformed,
    /// The broker answered with this code.
    Broker(ErrorCode),
    /// Another process has taken this client's place, since both have the same id.
    Fenced,
    /// The transaction that is under way cannot be committed any more: abort it, then go on.
    Abortable,
    /// The client or connection was closed by its owner.
    Closed,
}

/// Who has to act for the error to go away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The program or its configuration.
    Caller,
    /// The way to the broker: addresses, listeners, the network itself.
    Network,
    /// The broker: its state, its version, its permissions.
    Broker,
}

impl ClientError {
    /// An error of `kind` that happened while `doing` ("creating topic a"), because of `reason`.
    pub fn new(kind: ErrorKind, doing: impl Into<Cow<'static, str>>, reason: impl Into<Cow<'static, str>>) -> Self {
        Self(Arc::new(Inner {
            kind,
            doing: doing.into(),
            broker: None,
            reason: reason.into(),
            remedy: Cow::Borrowed(""),
            records: None,
            setting: None,
        }))
    }

    /// The broker answered `code`. `message` is what it said beyond that, where it said anything: it is shown on one line, without what a terminal
    /// would obey.
    pub fn broker(doing: impl Into<Cow<'static, str>>, code: ErrorCode, message: Option<&str>) -> Self {
        let reason = match message {
            Some(message) if !message.is_empty() => format!("{code} ({})", said(message)),
            _ => code.to_string(),
        };
        Self::new(ErrorKind::Broker(code), doing, reason)
    }

    /// Setting `key` has a `value` that cannot work; secrets must not be passed as `value`.
    pub fn config(key: &str, value: &str, reason: &str, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Config, "reading the configuration", format!("{key}={value}: {reason}"))
            .with(|inner| inner.setting = Some(key.into()))
            .remedy(remedy)
    }

    /// The same error, which names the broker.
    #[must_use]
    pub fn at(self, broker: impl Into<Cow<'static, str>>) -> Self {
        self.with(|inner| inner.broker = Some(broker.into()))
    }

    /// The same error, which says what can be done about it.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<Cow<'static, str>>) -> Self {
        self.with(|inner| inner.remedy = remedy.into())
    }

    /// The same error as seen from what its caller was doing.
    #[must_use]
    pub fn while_doing(self, doing: impl Into<Cow<'static, str>>) -> Self {
        self.with(|inner| inner.doing = doing.into())
    }

    /// The same error, which says which records it is about.
    #[must_use]
    pub fn about(self, records: RecordRange) -> Self {
        self.with(|inner| inner.records = Some(records))
    }

    /// The same error with another kind.
    #[must_use]
    pub(crate) fn of_kind(self, kind: ErrorKind) -> Self {
        self.with(|inner| inner.kind = kind)
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What went wrong, without what was being done and what to do about it.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The records that it is about, where it is about some: a batch that cannot be read.
    pub fn records(&self) -> Option<&RecordRange> {
        self.0.records.as_ref()
    }

    /// The key of the setting that cannot work, where it is about one.
    pub fn setting(&self) -> Option<&str> {
        self.0.setting.as_deref()
    }

    /// The code that the broker answered, where it is a broker's answer.
    pub fn code(&self) -> Option<ErrorCode> {
        match self.0.kind {
            ErrorKind::Broker(code) => Some(code),
            _ => None,
        }
    }

    /// Whether the same call may succeed later without anyone changing anything.
    pub fn is_retriable(&self) -> bool {
        match self.0.kind {
            ErrorKind::Unreachable | ErrorKind::NotSent | ErrorKind::Disconnected | ErrorKind::TimedOut => true,
            ErrorKind::Broker(code) => code.is_retriable(),
            ErrorKind::Config
            | ErrorKind::Invalid
            | ErrorKind::Authentication
            | ErrorKind::UnsupportedVersion
            | ErrorKind::Malformed
            | ErrorKind::Fenced
            | ErrorKind::Abortable
            | ErrorKind::Closed => false,
        }
    }

    /// Who has to act.
    pub fn fault(&self) -> Fault {
        match self.0.kind {
            ErrorKind::Config
            | ErrorKind::Invalid
            | ErrorKind::Authentication
            | ErrorKind::Fenced
            | ErrorKind::Closed => Fault::Caller,
            ErrorKind::Unreachable | ErrorKind::NotSent | ErrorKind::Disconnected | ErrorKind::TimedOut => {
                Fault::Network
            }
            ErrorKind::UnsupportedVersion | ErrorKind::Malformed | ErrorKind::Abortable | ErrorKind::Broker(_) => {
                Fault::Broker
            }
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { doing, broker, reason, remedy, .. } = &*self.0;
        f.write_str(doing)?;
        if let Some(broker) = broker {
            write!(f, " (broker {broker})")?;
        }
        write!(f, ": {reason}")?;
        if !remedy.is_empty() {
            write!(f, "; {remedy}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for ClientError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_one_line_with_broker_and_remedy() {
        let error = ClientError::broker("creating topic a", ErrorCode::INVALID_PARTITIONS, Some("0 partitions"))
            .at("b1:9092")
            .remedy("ask for at least one");
        assert_eq!(
            error.to_string(),
            "creating topic a (broker b1:9092): INVALID_PARTITIONS (37): The number of partitions is not allowed. \
             (0 partitions); ask for at least one"
        );
        assert_eq!((error.code(), error.fault()), (Some(ErrorCode::INVALID_PARTITIONS), Fault::Broker));
        assert!(!error.is_retriable());
        let error = ClientError::broker("creating topic a", ErrorCode::INVALID_PARTITIONS, Some("a\u{1b}[2J\nb"));
        assert!(error.to_string().contains("(a [2J b)"), "{error:?}");
    }
}
